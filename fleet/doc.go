// Package fleet makes the workers of a crawler one crawler: they share what is
// known of every robots.txt and one pace for every site, on a Redis.
//
//	f, err := fleet.Open(ctx, os.Getenv("REDIS_URL"), fleet.Options{})
//	...
//	defer f.Close()
//	client := polite.Client("MyBot", polite.Options{Fleet: f})
//
// Each origin is then asked for its robots.txt once by the whole fleet, and each
// site is asked for pages no faster than it wishes, however many workers there
// are. A Fleet is no more than its parts, which can be used without it: the store
// of package cache/redis, with a copy of what this worker has seen behind it, and
// the limiter of package pace/redis. Their documentation says which keys they use,
// what they hold, and what happens when the server fails in which way.
//
// # Access
//
// A user of the server needs no more rights than these (TestTLS), here for the prefix
// "robots". If some are missing, Open says which ones (TestRights). INFO is not
// necessary, and CLUSTER only for a cluster. The server is Redis 7.0 or later, or Valkey.
//
//	ACL SETUSER robots on >SECRET resetkeys ~{robots}:* resetchannels -@all
//	  +hello +auth +ping +cluster|slots +cluster|shards
//	  +eval +evalsha +time +get +mget +getrange +set +setrange +psetex +del +pexpire +pttl
//	  +zadd +zscore +zremrangebyscore +zrange +info
//
// # Memory
//
// A server that runs out of memory must say so and not make room: the pace of a site is
// a key like others, and a site whose key was dropped is one that was never asked. So
// Open refuses a server whose maxmemory-policy is not noeviction, of a cluster or behind
// sentinels each primary that there is then (Options.AllowEviction). It reads the policy
// from INFO; for a user who may not use that, nobody looks, and a server that evicts
// breaks the pace without a sign. A server that is full (noeviction) is down for what
// takes room.
//
// # When a worker dies
//
// Its turns end 15 s after the server last heard of it, and what it was fetching is
// fetched by another when its lease ends. A worker that was only stopped for as long
// asks again before it sends.
//
// # When Redis is down
//
// Records that a worker holds in memory or in its copy go on being answered and
// are marked (fetch.Record.Degraded, State.Degraded of a verdict); what it has not
// seen it fetches, once in each worker and no longer once in the fleet. The pace
// is Options.WhenDown: divided by the number of workers, or none. Nothing has to be
// done when it is back. A server that answers and takes no writes, being full, a
// replica that is not promoted yet, or without the replicas or the disk it is to
// have, is down as long as that lasts, and is read meanwhile. A worker can begin
// with it. It cannot while Redis does not answer: it would know neither the records
// nor how many share the pace.
//
// # URLs
//
//	redis://host:6379/0           one server, or any member of a cluster
//	rediss://host:6379            TLS, by the authorities that the machine trusts
//	rediss://user@host            a user of the server's access control list
//	redis://host1?addr=host2:6379 several members to begin with
//	redis://sentinel:26379?master_set=name     by sentinels, of this and further addr
//	unix:///run/redis.sock?db=1
//	redis://host?prefix=crawl     a fleet of its own among others on a server
//
// The password may stand in the URL, as it does in the environment of many
// deployments, or be given apart (Options.Password); errors never repeat it. It is
// for the server alone. Sentinels that want a password have one of their own, which
// is never in the URL (Options.SentinelPassword), or are asked without. The
// keys of a fleet are on one shard of a cluster: every step of store and limiter
// is atomic there, and when the shard moves to another node each site rests for one
// interval. A fleet that needs more than one shard can do
// (docs/fleet.md) divides its sites among several prefixes.
package fleet
