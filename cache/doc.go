// Package cache keeps the robots.txt of many sites, so that a site gets about one request for
// it a day, and crawling continues through outages.
//
//	client, err := fetch.New(fetch.Options{UserAgent: "MyBot"})
//	c, err := cache.New(cache.Options{Fetcher: client})
//	...
//	record, err := c.Get(ctx, origin)
//	rules := record.Rules(robots.RFC9309, time.Now(), "MyBot")
//
// It keeps [fetch.Record] values: facts that are the same for all crawlers and dialects
// (CACHE-03). [Cache.Rules] is the last two lines in one call, and keeps the rules of a crawler with
// the record: crawlers use that.
//
// # Good responses
//
// A file, or the absence of one (404), is used for the lifetime in its headers, at least five
// minutes and at most a day, or for a day without one (CACHE-01, CACHE-04, D-28). A random
// part of up to a tenth is subtracted, so that origins fetched together do not expire
// together.
//
//	of its lifetime
//	up to 80 %         returned from memory
//	80 to 100 %        returned from memory; the first request starts a fetch in the background
//	after 100 %        fetched; a caller waits up to 1.8 s, then gets the stale record (RFC 8767 section 5)
//	a day later        fetched; a caller waits
//
// Only requests cause fetches. There is at most one fetch per origin at a time. It belongs to
// no caller: if the first caller gives up, the others still get the record. No caller waits
// longer than its own context.
//
// # Failures
//
// During an outage the last good response is kept. The record contains the time of the first
// failure after it (D-42) and of the next attempt: after a minute, doubling to an hour; for
// 503 doubling to a quarter of an hour (HTTP-05); every hour for a host that does not exist;
// and never before the site's Retry-After, up to a day. How long a dialect uses the old copy
// is in robots.Dialect.Outage.
//
// A failure on our own side, such as a missing network or a refusal by the Guard, begins no
// outage: an earlier file stays in use (fetch.Cause.OwnSide, D-55). If another process stored that
// its Guard refused an address, this process tries for itself.
//
// # Clocks
//
// Records contain wall-clock times, because they outlive the process. If the clock is set
// forward, records expire accordingly, but an outage is counted in attempts and never opens a
// site by the clock alone (D-54). A record from the future is treated as a current one, with
// its outage of the same age, and is fetched again if it is more than an hour ahead.
//
// # Storage
//
// Memory is limited by [Options.Memory]. When it is full, the least recently used records are
// deflated, without their rules, and use of one then costs the time to inflate it. When
// three quarters are deflated records, the least recently used of these are dropped: a crawler of
// more sites than its memory holds fetches their files again, and the first time is reported as
// [EventEvicted].
//
// A [Store] keeps more, and longer, and memory then has only what was used lately: package cache/bolt
// uses a file, and package cachetest tests other implementations. Good responses are kept for 14 days ([Options.KeepOnce]), and for 90 days
// ([Options.Keep]) if they were requested again or the site fails. A fetched record is returned when
// it is stored, or after 1.8 s if the store is slow. If the store fails, files are fetched again, but
// Get does not fail.
//
// Several processes can share a [Locker], such as that of package cache/redis. One of them
// fetches an origin while the others poll, after 50 ms and then less often, up to every 500
// ms. The lock is taken when a connection to the site is free ([Fetcher]). While the shared
// store is unreachable, each process fetches for itself and marks records as
// fetch.Record.Degraded.
//
// # Contract of a Store
//
// Keys. The key is robots.Origin, as text Origin.String: scheme, host and port in canonical
// form, at most about 300 bytes of ASCII. A store can hash or prefix keys, but different
// origins must have different keys.
//
// Values. Get returns an entry as it was put: every field of the record, times to the
// millisecond in any zone, with no distinction between empty and nil bodies and headers.
// Stores of bytes use Record.Encode and fetch.Decode. Most of a record are its body and that
// of its last good response, up to 513,024 bytes each.
//
// Absence. For an origin that was never put, or was deleted or dropped, Get returns ErrAbsent.
// If an entry cannot be read, because it is damaged or was written by a later release, Get
// returns another error, and the entry stays until a Put or Delete of its origin. Other
// origins are not affected.
//
// Atomicity. A Put replaces an entry completely or not at all. No reader sees part of an
// entry, or the record of one Put with the fence of another. Entries of different origins are
// independent.
//
// Fences. A Put with a lower Fence than that of the stored entry returns ErrFenced and changes
// nothing; comparison and write are one step. An equal fence overwrites. A deleted or dropped
// entry takes its fence with it.
//
// Durability. In a store that outlives the process, an entry is durable when Put returns nil:
// killing the process at any time loses no acknowledged entry, and the store still opens.
//
// Expiry and limits. After the duration given to Put the store can drop an entry or keep it,
// which does no harm, as it contains its dates. Before that it can drop entries only to stay
// within its own limit, the least recently used or written first. Put returns no error if
// there is no room. A store must not drop many entries at once because its clock was set; if a
// server expires keys by itself, the documentation says what happens then.
//
// Concurrency. All methods can be called from any number of goroutines.
//
// Blocking. Methods can wait for a disk or a network, and return soon after ctx is done, with
// its error. A Put that was given up can still take effect later, completely. With a ctx that
// is already done, a method does nothing. A store does not retry after ctx is done.
//
// Versions. A store reads what all earlier releases have written. For an entry or store of a
// later release the error says so, and nothing is changed.
//
// A Store is not a queue, a history or a lock (see Locker), and nothing lists its entries.
//
// # Contract of a Locker
//
// A lock expires, and a process that was suspended can write after that. Fences prevent this:
// the token of a lock is higher than all earlier tokens of the origin and than the fence of
// its entry, and its holder uses it as the fence of Put. So a late holder gets ErrFenced and
// loses only its own work.
//
// Tokens need not be consecutive, and those of different origins are unrelated. A Locker
// whose server was replaced by an empty one can start again. A Locker that keeps entries
// issues only tokens above their fences.
package cache
