// Package redis is a pace.Limiter that the processes of a fleet share through Redis: however
// many workers crawl, each site sees one crawler with one crawl rate.
//
//	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"redis:6379"}, DisableCache: true})
//	limiter, err := redis.New(client, redis.Options{})
//	permit, err := limiter.Acquire(ctx, pace.Request{Origin: origin, Schedule: schedule})
//	err = limiter.Start(ctx, permit, addr)
//	...                                          // one request
//	err = limiter.Release(ctx, permit, pace.Result{Status: 200})
//
// It needs Redis 7.0 or later, or Valkey: one server, one with replicas, Sentinel, or a
// cluster, with maxmemory-policy noeviction. Each origin and each address is one key with its
// own hash tag, and each decision is one script on its server, by the clock of that server. So
// the servers of a cluster fail separately (cluster-require-full-coverage no).
//
// A server might lose what it knew, or know an older state: after a restart, a failover or a
// move of keys. So each state contains the replication id of the server that wrote it. A state
// that is missing or that another server wrote counts as requested now, and its site waits for
// one interval. Each worker also compares the clocks of the servers with its own: what was
// written before a step forward counts as later by that step.
//
// While a server is unreachable no request to its sites starts. Acquire waits until the server
// answers, Start returns a *pace.MissedError, and releases are queued.
//
// Keys, rights, failures and what is not covered are in docs/fleet.md.
package redis
