// Package redis is a cache.Store for many processes, on Redis 7.0 or later or Valkey.
// It is a cache.Leaser: one process fetches a robots.txt, and all of them have it.
//
//	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"redis:6379"}})
//	store, err := redis.New(client, redis.Options{})
//	defer store.Close()
//	c, err := cache.New(cache.Options{Store: store})
//
// The client is the caller's, and one client serves this package and pace/redis. It may
// be of a server, of a cluster or of a primary behind sentinels, with TLS or without.
//
// A Get is one round trip. It returns a record with its bodies as of one moment, and a
// body only if its content has the hash of its name. The store keeps nothing in the
// memory of the process: cache.Cache does, and asks the store once in the life of an
// answer.
//
// # Leases
//
// A lease is a key that expires by the server's clock. Its token is the highest of
// three: the server's time in microseconds, one more than the last token granted, one
// more than the fence of the entry. So tokens also grow when the clock is set back, and
// after a failover that has lost the last writes, unless the clock of the new primary is
// behind by more than the time since then.
//
// A process that waits for a lease asks how long it runs, again after 50 ms, then less
// and less often, up to every 500 ms. It waits no longer than the lease runs, so if the
// holder dies the others wait for the rest of the lease and no longer. If the server
// grants a lease but its answer is lost, the process gives the lease back when the
// server answers again; it knows the lease by the nonce of its request.
//
// # Keys
//
// All begin with the prefix in braces, so that they are on one shard of a cluster and
// each script is atomic. All processes that share a prefix use one shard, and can do
// together what one server can do. Numbers are big-endian, with their sizes in bytes.
//
//	{robots}:record:ORIGIN   version (1), fence (8), epoch (8), number of bodies (1), for each
//	                         its hash (32) and birth (8), fetch.Record.Encode; expires as Put said
//	{robots}:body:SHA-256    version (1), references (4), birth (8), content; the name in hex;
//	                         expires with the last of the records that refer to it
//	{robots}:lease:ORIGIN    version (1), token (8), nonce (8); expires as Lease said
//	{robots}:token           version (1), the last token granted (8); does not expire
//
// The birth of a body is the server's time in microseconds at which it was put. If a body
// was lost and put again, it counts the records that were put after that. A body may
// count too many references: of records that expired or were evicted, or of a put that a
// killed server had written in part (Redis 7.0 executes that part when it loads the file
// a second time). Such a body ends by its own expiry. It never counts too few.
//
// A later release that changes any of this raises the version, to 31 at most, or gives
// the key another name, and still reads this one. This release refuses what has a higher
// version: every call says so in its error, and the key does not change. Any other value,
// and a key of another type, is damage: Get of that origin returns an error, the next Put
// or Lease replaces it, and other origins are not affected.
//
// A user needs no more rights than these (TestACL), if the client is made with
// DisableCache; else +client|tracking too. Clients also send CLIENT SETINFO, and go on
// if that is refused.
//
//	ACL SETUSER robots on >SECRET resetkeys ~{robots}:* resetchannels -@all
//	  +hello +auth +ping +cluster|slots +cluster|shards
//	  +evalsha +eval +getrange +set +setrange +del +pexpire +pttl +time
//
// # Failures
//
// When the server fails, calls return errors or cache.ErrAbsent, but never another
// entry. Each call ends with its context, or after three seconds; an Await of which the
// rest of the lease is known, with the lease. When Redis has not answered for a second
// ([Store.DownSince]), one call every half a second tries and the others fail at once. A
// Cache then fetches without leases, so sites may be asked more than once, and answers
// from its memory.
//
//	connection breaks        calls under way fail, but for reads and leases, which are sent again; the
//	                         client connects anew. A put that failed may have been done.
//	answer to a lease lost   the lease is given back with the next answer of the server, 1,024 of them; if
//	                         the network delivers the request only after that, the lease runs out
//	server hangs             calls fail after three seconds, then at once; they work soon after it goes on
//	killed, append-only      with appendfsync always, what was acknowledged is there; with no as well, but
//	                         for a loss of power. With everysec the server delays its writes for up to two
//	                         seconds while a sync is under way, so the last acknowledged entries may be
//	                         lost, each as a whole. A body may count a reference too many, see above
//	killed, nothing on disk  all is lost, as it is when an empty server takes its place: entries are absent,
//	                         leases are granted anew, and what is put is there again
//	failover                 what the replica had not received is lost, each entry as a whole; origins whose
//	                         lease is lost may be fetched twice, and the later token wins
//	LOADING, CLUSTERDOWN,    an error, which counts as no answer; so do NOAUTH and WRONGPASS
//	MASTERDOWN
//	READONLY, NOREPLICAS,    puts, leases, releases and deletes fail, most at once; reads go on. The store
//	MISCONF                  is down until the server takes a write, which the store tries by itself
//	memory full, noeviction  puts and leases fail with OOM and change nothing; all else goes on
//	scripts lost             they are sent again
//
// Set maxmemory-policy noeviction, and give the server enough memory (docs/fleet.md). A
// server that evicts keys loses records with their fences, and bodies, which is an error
// of Get until the next Put. It may also lose leases, the last token, and the pace of
// pace/redis. All of this can be fetched again, except the last good answers of sites
// that fail. To keep those, use an append-only file; everysec is enough, as a lost write
// costs one fetch.
//
// If the server's clock is set forward, all keys expire that would have ended by then, as
// all keys of Redis do. With lives of 90 days an hour expires little, and a quarter of a
// year everything. Reads that go to a replica see what the replica has.
//
// What was measured is in docs/fleet.md.
package redis
