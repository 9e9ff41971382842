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
//
// # Reading order
//
// Go and Lua have the same names for the same states; those of a site are the names of package
// pace: last, retry, overload, factor and step, slowest, permits.
//
//  1. node.go: a server, the state arguments that each call begins with (stateArguments), and run,
//     which sends the calls of a script. A script includes the files that it has in common with others:
//     head.lua in all of them; arguments.lua, which reads the state arguments; clock_shift.lua, by how
//     much a stored time is moved after steps of the clock (node.observe finds the steps).
//  2. read_site.lua and write_site.lua: the state of a site as it is stored, how it is read and written.
//  3. acquire.go and acquire.lua: a decision for a site and its outcome. The script is Schedule.Next
//     over the spans of a schedule, and the concurrency.
//  4. start.go and address.lua: a start at an IP address is reserved, and the permit is confirmed
//     by acquire.lua if it is older than startable.
//  5. release.go and release.lua: permits end with a result; releases wait while a server is down.
//  6. heartbeat.go and heartbeat.lua: which workers are gone, and the configuration of the fleet.
//  7. operator.go, with show.lua and log.lua: what people see and change.
//
// Each script begins with its contract: keys, arguments, what it writes, its reply, and what a
// repeated call does. A worker calls scripts by the SHA-1 of their text and sends the text to a
// server that does not know it, so workers of different versions run their own scripts on the same
// keys. The formats of the values are therefore a contract: '<c8dddddHH' with '<c8ddI4' of each
// permit for a site, '<c8dddd' for an address.
package redis
