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
// A Get is one round trip. It returns a record with its bodies as of one moment, and a
// body only if its content has the hash of its name. There is no memory in front of the
// server: that is the cache.Cache's, which asks the store once in the life of an answer.
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
// server can. Numbers are big-endian, with their sizes in bytes.
//
//	{robots}:record:ORIGIN   version (1), fence (8), epoch (8), number of bodies (1), for each
//	                         its hash (32) and birth (8), fetch.Record.Encode; expires as Put said
//	{robots}:body:SHA-256    version (1), references (4), birth (8), content; the name in hex;
//	                         expires with the last of the records that refer to it
//	{robots}:lease:ORIGIN    version (1), token (8), nonce (8); expires as Lease said
//	{robots}:token           version (1), the last token granted (8); does not expire
//
// The birth of a body is the server's time in microseconds at which it came: a body
// that was lost and has come back counts only the records that came after. A body may
// count too many, of records that expired or were evicted, or of a put whose beginning
// alone a killed server had written (Redis 7.0 executes it when it loads that file a
// second time), and then ends by its own expiry. It never counts too few.
//
// A later release that changes any of this raises the version, to 31 at most, or
// names the key otherwise, and goes on reading this. What has a higher one of those is
// refused with an error that says so and stays as it is, by Put and Delete too. Anything
// else, and a key of another type, is damage: a Get of that origin is an error that says
// so, a Put and a Lease replace it, and no other origin notices.
//
// A user needs no more than this (TestACL), with a client that is made with
// DisableCache; others need +client|tracking too. Clients also say who they are with
// CLIENT SETINFO, and go on if they may not.
//
//	ACL SETUSER robots on >SECRET resetkeys ~{robots}:* resetchannels -@all
//	  +hello +auth +ping +cluster|slots +cluster|shards
//	  +evalsha +eval +getrange +set +setrange +del +pexpire +pttl +time
//
// # Failures
//
// A store in trouble gives errors and absences, never another entry. Each call ends
// with its context, or after three seconds; an Await whose lease is known to run
// longer, with that. When Redis has not answered for a second ([Store.DownSince]), one
// call in half a second tries and the others fail at once. A Cache then fetches without
// leases, so origins may be asked more than once, and answers from its memory.
//
//	connection breaks        calls under way fail, but for reads and leases, which are sent again; the
//	                         client connects anew. A put that failed may have been done.
//	a lease unheard of       is given back with the first answer after it, 1,024 of them; if the network
//	                         holds the call back until after that, it runs out
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
//	MISCONF                  store is down until a write is taken, for which it looks by itself
//	memory full, noeviction  puts and leases fail with OOM, changing nothing; the rest goes on
//	scripts lost             sent again
//
// Memory wants maxmemory-policy noeviction, and room for what is kept (docs/fleet.md). A
// server that evicts makes records absent, with their fences, and takes bodies from
// records, which is an error until a Put brings them; it may drop leases and the last
// token as well, and the pace of pace/redis beside it. Nothing here is the only copy of
// what a fleet cannot do without but the last good answers of failing sites: for those
// append-only is worth having, with everysec too, where a last write lost costs a fetch.
//
// What it does not promise: a server whose clock is set forward expires what would
// have ended by then, all at once, as all keys of Redis do; with lives of 90 days
// that is little for an hour and everything for a quarter of a year. Reads sent to
// replicas see what replicas have.
//
// What was measured stands in docs/fleet.md.
package redis
