// Package fleet lets many workers crawl as one crawler: through Redis they share each robots.txt and one crawl rate per site.
//
//	f, err := fleet.Open(ctx, os.Getenv("REDIS_URL"), fleet.Options{})
//	...
//	defer f.Close()
//	transport, err := polite.New("MyBot", polite.Options{Fleet: f})
//	...
//	client := &http.Client{Transport: transport}
//
// Each robots.txt is fetched once for the whole fleet, and no site gets requests faster than it permits, however many workers
// there are. A Fleet combines the store of package cache/redis and the limiter of package pace/redis.
//
// While Redis is unreachable no request to a site starts; records that a worker has in memory stay in use, marked as degraded
// (fetch.Record.Degraded). Workers wait, and go on by themselves. When a worker dies, its permits expire 15 s after its last
// heartbeat.
//
// # URLs
//
//	redis://host:6379/0           one server, or any member of a cluster
//	rediss://host:6379            TLS, with the authorities that the machine trusts
//	valkey://, valkeys://         the same as redis:// and rediss://
//	rediss://user@host            a user of the server's access control list
//	redis://host1?addr=host2:6379 several members to start with
//	redis://sentinel:26379?master_set=name     sentinels, at this and further addr
//	unix:///run/redis.sock?db=1
//	redis://host?prefix=crawl     one of several fleets on a server
//
// The password is in the URL or in Options.Password; errors never repeat it. Sentinels have a separate password
// (Options.SentinelPassword).
//
// docs/fleet.md describes which rights a user needs, how to set up a server and what happens when it fails. Examine checks
// the servers, and an Operator inspects and controls the workers.
package fleet
