// Package fleet lets many workers crawl as one crawler: on a Redis they share the records
// of every robots.txt and one pace for every site.
//
//	f, err := fleet.Open(ctx, os.Getenv("REDIS_URL"), fleet.Options{})
//	...
//	defer f.Close()
//	client := polite.Client("MyBot", polite.Options{Fleet: f})
//
// The whole fleet fetches each robots.txt once, and asks each site for pages no faster
// than the site wishes, however many workers there are. A Fleet has two parts, which can
// be used without it: the store of package cache/redis and the limiter of package pace/redis. The documentation of these packages
// says which keys they use, and what happens when the server fails.
//
// # Whose pace
//
// Without an option any worker may ask any site, and each page costs the server a decision
// and the note of its end. Where the crawler's frontier gives each host to one worker, set
// Options.Leased on all of them: a worker then has a site for a minute at a time, and keeps
// its pace by itself. Open turns a worker away that is Leased where the others are not, or
// is not where they are. Two workers at one site are no danger to the site
// then, but the second is refused with the name of the first. docs/fleet.md has the numbers.
//
// Both limiters are a pace.Chooser: a frontier asks for hundreds of sites in one call.
//
// # Access
//
// The server is Redis 7.0 or later, or Valkey. A user needs these rights and no more
// (TestTLS), here for the prefix "robots". A fleet works without INFO too, and on one
// server without CLUSTER. Open says which rights are missing, and on which node of a
// cluster, as each has users of its own (TestRights, TestTagRights, TestCluster).
//
//	ACL SETUSER robots on >SECRET resetkeys ~{robots}:* ~{robots:*}:pace:* ~robots:{* resetchannels -@all
//	  +hello +auth +ping +cluster|slots +cluster|shards
//	  +eval +evalsha +time +get +mget +getrange +set +setrange +psetex +del +pexpire
//	  +zadd +zscore +zremrangebyscore +zrange +info
//
// # Memory
//
// A server that runs out of memory must return errors and not drop keys: the pace of a
// site is a key, and a site whose key was dropped counts as never asked. So Open refuses a
// server whose maxmemory-policy is not noeviction (but see Options.AllowEviction). Of a
// cluster, or behind sentinels, it checks each primary that there is then. Open reads the
// policy from INFO. Where the user may not use INFO nothing is checked, and a server that
// evicts breaks the pace without a sign. A server that is full (noeviction) is down for
// everything that takes memory.
//
// What a worker keeps in its own memory Options.MaxMemoryBytes bounds.
//
// # When a worker dies
//
// Its grants end 15 s after its last heartbeat, the sites that it had as Leased a minute
// after it renewed them last, and another worker fetches what it was
// fetching when its lease ends. A worker whose process was only stopped for that long
// asks for a new grant before it sends.
//
// # When Redis is down
//
// A worker goes on with the records that it has in memory, and marks them
// (fetch.Record.Degraded, State.Degraded of a verdict). What it has not seen it fetches,
// then once in each worker and no longer once in the fleet. Options.WhenDown says what
// becomes of the pace: it is divided by the number of workers, or nothing starts. Nothing
// has to be done when Redis is back.
//
// A server that answers and takes no writes is down as long as that lasts, and is read
// meanwhile: it is full, a replica that is not promoted yet, or without the replicas or the
// disk that it needs. A worker can begin with such a server. It cannot begin while Redis
// does not answer: it would know neither the records nor how many workers there are.
//
// # Operators
//
// Examine says what is wrong with the servers. An Operator, which is no worker, shows
// workers, servers and what is known of a site, and changes something for all workers: Hold
// keeps them from a site, Forget has its robots.txt read anew, Drain takes a worker out. The
// program has these as robots fleet. Options.Observe and Options.Log tell a worker's own
// program what it does, and when Redis goes and comes.
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
// The password is in the URL or in Options.Password. Errors never repeat it. It is for the
// server only. Sentinels have a password of their own (Options.SentinelPassword), which is
// never in the URL.
//
// Records and pace lie over all nodes of a cluster: a record by its origin, the pace in 256
// parts that fail, fail over and move each alone (package pace/redis). Set
// cluster-require-full-coverage no, so that the others go on without one node.
package fleet
