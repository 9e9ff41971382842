// Package cache keeps the robots.txt of many sites: one request to a site per
// day and not one per page, and an answer that survives the site's bad days.
//
//	c, err := cache.New(cache.Options{Fetcher: client})
//	...
//	record, err := c.Get(ctx, origin)
//	rules := record.Rules(robots.RFC9309, time.Now(), "MyBot")
//
// It keeps facts: [fetch.Record] values, which are the same for every crawler and
// dialect (CACHE-03). What a crawler may do follows from them when somebody asks,
// in Record.Rules. [Cache.Rules] keeps the rules of a crawler that asks for many pages of a
// site beside the record.
//
// # The life of a good answer
//
// A file, and the certainty that there is none (404), live as long as the site
// says, but at least five minutes and at most a day; a day if it says nothing
// (CACHE-01, CACHE-04, D-28). Each life is made shorter by up to a tenth at random,
// so that origins first fetched together are not fetched together for ever. It stays
// within the two bounds, and is never longer than the site says.
//
//	0 %        answered from memory
//	80 %       answered from memory; the caller starts a fetch that nobody waits for
//	100 %      a fetch; the caller waits 1.8 s for it, then gets the old answer (RFC 8767 section 5)
//	a day more a fetch; the caller waits for it
//
// Nothing is fetched unless somebody asks for it, so an origin out of use costs
// nothing. There is at most one fetch per origin at a time. It belongs to no caller:
// if the first one gives up, the others still get the answer. Each caller waits no
// longer than its own context.
//
// # The life of a failure
//
// A site that cannot be reached keeps its last good answer. The record says when
// the site began to fail: at the first failed attempt after the last answer (D-42).
// It also says when the site is asked again: after a minute, doubling to an hour;
// for a 503 doubling to a quarter of an hour (HTTP-05); for a name that does not
// exist every hour; and never before the site's own Retry-After, up to a day. How
// long each dialect goes on with the old copy is in robots.Dialect.Outage.
//
// A failure on our own side is no failure of the site (fetch.Cause.OwnSide), for
// example a machine without a network, or a refusal by our address guard. The record
// names it as the reason, and what was known of the site stays valid (D-55). If a
// process finds in a store that another process refused an address, it asks for
// itself, as its guard may have other rules.
//
// # Clocks
//
// Records have times of the wall clock, because they outlive the process. If that is set
// forward, answers end as if so much time had passed; how long an outage has lasted is
// counted in attempts and never opens a site by the clock alone (D-54). A record with a time
// in the future, as the clock was set back or that of another process is ahead, counts as of
// now, its outage as old as it was, and is fetched again if that time is more than an hour
// ahead.
//
// # Keeping
//
// Memory is bounded in bytes, by [Options.Memory]; what was used last stays, and rules that
// were made of records count too. A [Store] behind it keeps more, and for longer:
// package cache/bolt is a file, and any other store that passes package cachetest will do.
// It is asked to keep a good answer for 14 days ([Options.KeepOnce]), and for 90 days
// ([Options.Keep]) a failure with its last good answer, and whatever was asked for again.
// A store that fails costs fetches, never answers.
//
// Many processes share a [Locker], such as the one of package cache/redis. One of
// them then fetches an origin, and the others look again, after 50 ms and then less and less
// often, up to every 500 ms. That one takes the lock when it has a connection to the site's address
// ([Fetcher]), so that no lock is held during a wait. While the shared store is unreachable,
// each process fetches for itself, and answers are marked fetch.Record.Degraded.
package cache
