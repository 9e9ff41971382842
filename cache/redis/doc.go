// Package redis is a cache.Store for many processes, on Redis 7.0 or later or Valkey.
// It is a cache.Locker: one process fetches a robots.txt, and all of them have it.
//
//	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"redis:6379"}})
//	store, err := redis.New(client, redis.Options{})
//	defer store.Close()
//	c, err := cache.New(cache.Options{Store: store})
//
// The client is the caller's, and one client serves this package and pace/redis. It may
// be of a server, of a cluster or of a primary behind sentinels, with TLS or without. In a
// cluster the records are spread over all nodes.
//
// A Get is one round trip. It returns a record with its bodies as of one moment, checked by
// a checksum. The store keeps nothing in the memory of the process: cache.Cache does, and asks
// the store once in the life of an answer.
//
// # Keys
//
// An origin has one key, whose hash tag it is. Numbers are big-endian, with their sizes in bytes.
//
//	robots:{ORIGIN}  2 (1), record; or 3 (1), token of the last lock (8), its end in microseconds
//	                 of the server's clock (8), record or nothing. A record is its fence (8),
//	                 CRC-32C of the fence and what follows (4), and the fetch.Record, deflated
//	                 with a dictionary
//
// So each step is atomic on one key, goes on while the slot of that key moves to another
// node, and depends on no other key. A lock in a key of its own would fail with TRYAGAIN
// for as long as the slot moves, as one of the two keys is not there. A record at rest has
// no room for one: its token is its fence.
//
// A key expires as Put said, and no sooner than two days after a token was granted, also if
// the record was deleted.
//
// A later release that changes any of this raises the version, to 31 at most, or gives
// the key another name, and still reads this one. This release refuses what has a higher
// version: every call says so in its error, and the key does not change. Any other value,
// and a key of another type, is damage: Get of that origin returns an error, the next Put
// or Lock replaces it, and other origins are not affected.
//
// A user needs no more rights than these (TestACL), if the client is made with
// DisableCache; else +client|tracking too. Clients also send CLIENT SETINFO, and go on
// if that is refused.
//
//	ACL SETUSER robots on >SECRET resetkeys ~robots:{* resetchannels -@all
//	  +hello +auth +ping +cluster|slots +cluster|shards
//	  +evalsha +eval +get +getrange +set +setrange +del +pexpire +time
//
// # Locks
//
// A lock ends by the server's clock, after two days at most. Its token is the highest of
// three: the server's time in microseconds, one more than the last token of this origin, one
// more than the fence of its entry. So tokens grow also when the clock is set back, and
// after a failover that has lost the last writes, unless the clock of the new primary is
// behind by more than the time since then. A token can be granted twice only if the key of
// the origin is lost and the clock is behind the time at which the token was granted: after
// a server without memory took the place of the old one, FLUSHALL, eviction or a failover,
// or if the clock is set back by more than two days after the key has expired.
//
// # Failures
//
// When the server fails, calls return errors or cache.ErrAbsent, but never another
// entry. Each call ends with its context, or after three seconds. When Redis has not answered for a second
// ([Store.DownSince]), one call every half a second tries and the others fail at once. A
// Cache then fetches without locks, so sites may be asked more than once, and answers
// from its memory. Of a cluster this is so for each 64 slots: a node that fails or hangs
// stops no origin of another.
//
//	connection breaks        calls under way fail, but for reads, which are sent again; the client
//	                         connects anew. A put that failed may have been done, and a lock whose answer
//	                         was lost runs out: the process that asked for it fetches all the same.
//	server hangs             calls fail after three seconds, then at once; they work soon after it goes on
//	killed, append-only      with appendfsync always, what was acknowledged is there; with no as well, but
//	                         for a loss of power. With everysec the server delays its writes for up to two
//	                         seconds while a sync is under way, so the last acknowledged entries may be
//	                         lost, each as a whole
//	killed, nothing on disk  all is lost, as it is when an empty server takes its place: entries are absent,
//	                         locks are granted anew, and what is put is there again
//	failover                 what the replica had not received is lost, each entry as a whole; origins whose
//	                         lock is lost may be fetched twice, and the later token wins
//	LOADING, CLUSTERDOWN,    an error, which counts as no answer; so do NOAUTH and WRONGPASS
//	MASTERDOWN
//	READONLY, NOREPLICAS,    puts, locks, unlocks and deletes fail at once; reads go on
//	MISCONF
//	memory full, noeviction  puts and locks fail with OOM and change nothing; all else goes on
//	scripts lost             they are sent again
//	a slot moves             all goes on
//
// Set maxmemory-policy noeviction, and give the server enough memory (docs/fleet.md). A
// server that evicts keys loses records with their fences and locks. It may also lose the
// pace of pace/redis. All of this can be fetched again, except the last good answers of
// sites that fail. To keep those, use an append-only file; everysec is enough, as a lost
// write costs one fetch.
//
// If the server's clock is set forward, all keys expire that would have ended by then, as
// all keys of Redis do. With lives of 90 days an hour expires little, and a quarter of a
// year everything. Reads that go to a replica see what the replica has.
//
// What was measured is in docs/fleet.md.
package redis
