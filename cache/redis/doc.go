// Package redis is a cache.Locker on Redis 7.0 or later or Valkey, for many processes: one of
// them fetches a robots.txt, and all of them use it.
//
//	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"redis:6379"}})
//	store, err := redis.New(client, redis.Options{})
//	defer store.Close()
//	c, err := cache.New(cache.Options{Store: store})
//
// The client belongs to the caller and can also serve package pace/redis. It connects to a
// server, a cluster or a primary behind sentinels, with or without TLS. In a cluster the
// records are spread over all nodes.
//
// A Get is one round trip and returns a complete, checksummed record. The store has no memory
// of its own: cache.Cache has, and reads the store once per lifetime of a record.
//
// # Keys
//
// Each origin has one key, which is its own hash tag. Numbers are big-endian, with their sizes
// in bytes.
//
//	robots:{ORIGIN}  2 (1), record; or 3 (1), token of the last lock (8), its end in microseconds
//	                 of the server's clock (8), record or nothing. A record is its fence (8),
//	                 CRC-32C of the fence and what follows (4), and the fetch.Record, deflated
//	                 with a dictionary
//
// So each step is atomic on one key, independent of other keys, and works while the key's slot
// moves to another node. A separate key for the lock would fail with TRYAGAIN during the move.
//
// A key expires as Put requested, and at least two days after its last token was granted, even
// if the record was deleted.
//
// A release that changes any of this raises the version, to 31 at most, or renames the key,
// and still reads this one. A higher version makes each call return an error and leaves the
// key unchanged. Any other value, and a key of another type, is damaged: Get returns an error,
// and the next Put or Lock replaces it.
//
// A user needs only these rights (TestACL) if the client is made with DisableCache, otherwise
// also +client|tracking. Clients send CLIENT SETINFO too, and ignore a refusal.
//
//	ACL SETUSER robots on >SECRET resetkeys ~robots:{* resetchannels -@all
//	  +hello +auth +ping +cluster|slots +cluster|shards
//	  +evalsha +eval +get +getrange +set +setrange +del +pexpire +time
//
// # Locks
//
// Locks expire by the server's clock, after two days at most. A token is the highest of the
// server's time in microseconds, the origin's last token plus one, and the fence of its entry
// plus one. So tokens grow even if the clock is set back, and after a failover that lost the
// last writes, unless the new primary's clock is behind by more than the time since then. A
// token can be granted twice only if the key is lost (an empty server, FLUSHALL, eviction,
// failover, or expiry) and the clock is behind the time at which the token was granted.
//
// # Failures
//
// If the server fails, calls return errors or cache.ErrAbsent, but never a wrong entry. Each
// call ends with its context or after three seconds. When Redis has not answered for a second
// ([Store.DownSince]), one call every half a second tries, and the others fail at once. A
// Cache then fetches without locks, so sites might get more requests, and uses the records in
// its memory. In a cluster this applies to each 64 slots separately.
//
//	connection breaks        calls in progress fail, except reads, which are repeated; the client
//	                         reconnects. A failed put might have taken effect, and a lock whose reply was
//	                         lost expires: the process that requested it fetches without it.
//	server hangs             calls fail after three seconds, then at once, and work soon after it continues
//	killed, append-only      appendfsync always, and no without a loss of power: acknowledged writes are
//	                         kept. everysec: a sync can delay writes for up to two seconds, so the last
//	                         entries can be lost, each completely
//	killed, nothing on disk  everything is lost, as with a new empty server: entries are absent and locks
//	                         are granted again
//	failover                 writes that the replica had not received are lost, each entry completely;
//	                         origins whose lock is lost might be fetched twice, and the later token wins
//	LOADING, CLUSTERDOWN,    an error that counts as no answer; so do NOAUTH and WRONGPASS
//	MASTERDOWN
//	READONLY, NOREPLICAS,    puts, locks, unlocks and deletes fail at once; reads work
//	MISCONF
//	memory full, noeviction  puts and locks fail with OOM and change nothing; everything else works
//	scripts lost             they are sent again
//	a slot moves             everything works
//
// Set maxmemory-policy noeviction and provide enough memory (docs/fleet.md). A server that
// evicts keys loses records with their fences and locks, and perhaps the state of pace/redis.
// All of this can be fetched again, except the last good responses of failing sites. To keep
// those, use an append-only file; everysec is enough, as a lost write costs one fetch.
//
// If the server's clock is set forward, all keys expire that would have expired by then. Reads
// that go to a replica return what the replica has.
package redis
