// Package redis is a cache.Store for a fleet of processes, on Redis 7.0 or later or
// Valkey, and a cache.Leaser: the processes fetch each robots.txt once.
//
//	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"redis:6379"}})
//	store, err := redis.New(client, redis.Options{})
//	defer store.Close()
//	c, err := cache.New(cache.Options{Store: store})
//
// The client is the caller's, and one serves this package and pace/redis alike. It
// may be of a server, of a cluster or of a sentinel's primary, over TLS or not.
//
// # What a Get sees
//
// Records are read through the client-side cache of rueidis: the server notes who
// has read what and says when it changes, so a hot record costs no round trip. That
// notice takes its time, so a Get may miss for a moment what another process has
// put. It never misses
//
//   - what the same Store has put or deleted before,
//   - what was there when a Lease or an Await of the same Store returned.
//
// Hence one who waited for the holder of a lease finds what the holder has put. A
// record comes with its bodies as of one moment, and a body only if its content has
// the hash of its name.
//
// # Leases
//
// A lease is a key that expires by the server's clock. Its token is the server's
// time in microseconds, or one more than the last token granted, or one more than
// the fence of the entry, whichever is highest: tokens of all origins grow over a
// clock set back, and over a failover that has lost the last writes unless the new
// primary's clock is behind by more than the time since then. Who waits asks how
// long the lease runs, again after 50 ms and ever later up to 500 ms; and nobody
// waits longer than the lease runs, so a dead holder delays the others by what is
// left of his lease and no more. A holder who lives and never heard that he is one,
// as the answer was lost, gives the lease back when the server answers again, by the
// nonce with which he asked.
//
// # Keys
//
// All begin with the prefix in braces, so that they lie on one shard of a cluster
// and each script is atomic. One fleet is one shard; what it can do is what one
// server can. Numbers are big-endian.
//
//	{robots}:record:ORIGIN   version octet (1), fence (8), epoch (8), number of bodies (1), for each
//	                         its hash (32) and birth (8), fetch.Record.Encode; expires as Put said
//	{robots}:body:SHA-256    version octet (1), references (4), birth (8), octets; the name in hex;
//	                         expires with the last of the records that refer to it
//	{robots}:lease:ORIGIN    version octet (1), token (8), nonce (8); expires as Lease said
//	{robots}:token           version octet (1), the last token granted (8); does not expire
//
// The birth of a body is the server's time in microseconds at which it came: a body
// that was lost and has come back counts only the records that came after. A body may
// count too many, of records that expired or were evicted, or of a put whose beginning
// alone a killed server had written (Redis 7.0 executes it when it loads that file a
// second time), and then ends by its own expiry. It never counts too few.
//
// A later release that changes any of this raises the version octet, to 31 at most, or
// names the key otherwise, and goes on reading this. What has a higher octet of those is
// refused with an error that says so and stays as it is, by Put and Delete too. Anything
// else, and a key of another type, is damage: a Get of that origin is an error that says
// so, a Put and a Lease replace it, and no other origin notices.
//
// A user needs no more than this (TestACL). Clients also say who they are with CLIENT
// SETINFO, and go on if they may not.
//
//	ACL SETUSER robots on >SECRET resetkeys ~{robots}:* resetchannels -@all
//	  +hello +auth +ping +client|tracking +client|caching +cluster|slots +cluster|shards
//	  +evalsha +eval +get +getrange +set +setrange +del +pexpire +pttl +time
//
// # Failures
//
// A store in trouble gives errors and absences, never another entry. Each call ends
// with its context, or after three seconds; an Await whose lease is known to run
// longer, with that. When Redis has not answered for a second ([Store.Away]), one
// call in half a second tries and the others fail at once. A Cache
// then fetches without leases, so origins may be asked more than once, and answers
// from its memory.
//
//	connection breaks        calls under way fail, but for reads and leases, which are sent again; the
//	                         client connects anew. A put that failed may have been done.
//	a lease unheard of       is given back with the first answer after it, 1,024 of them; if the network
//	                         holds the question back until after that, it runs out
//	server hangs             calls fail after three seconds, then at once; they end soon after it goes on
//	killed, append-only      what was acknowledged is there with appendfsync always, and with no, which
//	                         leaves only a loss of power to lose something. With everysec the server holds
//	                         back for up to two seconds what it should write while a sync is under way,
//	                         and the last acknowledged entries may be lost, each as a whole. Redis 7.0 may
//	                         execute half a script that was cut off by one kill after the next: a body
//	                         then counts a reference too many, and stays until its time is over
//	killed, nothing on disk  all is lost, so is all if an empty server takes its place: entries are absent,
//	                         leases are granted anew, and what is put is there again
//	failover                 what the replica had not heard is lost, each entry as a whole; origins whose
//	                         lease is lost may be asked twice, and the token tells the later from the earlier
//	LOADING, CLUSTERDOWN,    an error, counted as no answer; so are NOAUTH and WRONGPASS
//	MASTERDOWN
//	READONLY, NOREPLICAS,    puts, leases, releases and deletes fail, most at once; reads go on. The
//	MISCONF                  store is away until a write is taken, for which it looks by itself
//	memory full, noeviction  puts and leases fail with OOM, changing nothing; the rest goes on
//	scripts lost             sent again
//
// Memory wants maxmemory-policy noeviction, and room for what is kept (see below). A
// server that evicts makes records absent, with their fences, and takes bodies from
// records, which is an error until a Put brings them; it may drop leases and the last
// token as well, and the pace of pace/redis beside it. Nothing here is the only copy of
// what a fleet cannot do without but the last good answers of failing sites: for those
// append-only is worth having, with everysec too, where a last write lost costs a fetch.
//
// What it does not promise: a server whose clock is set forward expires what would
// have ended by then, all at once, as all keys of Redis do; with lives of 90 days
// that is little for an hour and everything for a quarter of a year. The client-side
// cache is as large as the client's CacheSizeEachConn, 128 MiB if not set. Reads sent
// to replicas see what replicas have.
//
// # Measured
//
// On 2026-11-21, two cores of an AMD EPYC shared with Redis 7.0.15 on the same machine,
// Go 1.26.8, rueidis 1.0.79. BenchmarkHot, three runs of nine turns of 200 round trips
// and 20,000 reads: medians of runs, and the ends of all turns; with other work on both
// cores round trips are 28 to 33 µs and 67 to 80 reads. BenchmarkScale: 10^5 origins
// with one hop and three headers, of twenty three without a file, five with one of a
// hundred shared bodies and twelve with one of their own, 1,168 octets a body on average.
//
//	Get from the client-side cache   0.33 to 0.35 µs
//	bare round trip                  51 to 54 µs, of reads 141 to 155 (105 to 306)
//	octets of Redis for an origin    2,006, of which 1,591 are record and body
//	puts/s, new                      39,400   128 at a time
//	puts/s, over old ones            36,000   128 at a time
//	puts/s, one by one               7,700
//	reads/s, not yet cached          32,700   128 at a time, at random
//
// TestFleet: 2 processes with 10^4 origins take 5 s, 8 that meet at each 8 to 15 s, with 10^4
// fetches over HTTP and none more; of 4 processes with 5 killed on the way 18 origins
// were asked again. TestKill with 100 kills: of 97,080 puts acknowledged none was lost
// with appendfsync always, nor of 97,062 with no; with everysec between 0 and 457 of
// 20,000 entries found were older than acknowledged, in four runs, and 2,059 in one in
// which three servers shared the disk.
package redis
