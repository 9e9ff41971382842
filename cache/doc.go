// Package cache keeps the robots.txt of many sites, so that a site gets about one request for
// it a day, and crawling continues through outages.
//
//	c, err := cache.New(cache.Options{Fetcher: client})
//	...
//	record, err := c.Get(ctx, origin)
//	rules := record.Rules(robots.RFC9309, time.Now(), "MyBot")
//
// It keeps [fetch.Record] values: facts that are the same for all crawlers and dialects
// (CACHE-03). [Cache.Rules] also keeps the rules of a crawler with the record.
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
// A failure on our own side, such as a missing network or a refusal by the Guard, does not
// affect what is known of the site (fetch.Cause.OwnSide, D-55). If another process stored that
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
// Memory is limited by [Options.Memory]; the least recently used records are dropped. A
// [Store] keeps more, and longer: package cache/bolt uses a file, and package cachetest tests
// other implementations. Good responses are kept for 14 days ([Options.KeepOnce]), and for 90
// days ([Options.Keep]) if they were requested again or the site fails. If the store fails,
// files are fetched again, but Get does not fail.
//
// Several processes can share a [Locker], such as that of package cache/redis. One of them
// fetches an origin while the others poll, after 50 ms and then less often, up to every 500
// ms. The lock is taken when a connection to the site is free ([Fetcher]). While the shared
// store is unreachable, each process fetches for itself and marks records as
// fetch.Record.Degraded.
package cache
