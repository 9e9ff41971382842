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
// in Record.Rules. A crawler that asks for many pages of a site keeps its rules beside
// the record, in a [View].
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
// Records have times of the wall clock, because they outlive the process. A Cache
// reads the wall clock when it starts, and measures time with the monotonic clock
// from then on. If the wall clock moves by more than a minute against it, forward or
// backward, the times of every record move with it: an outage stays as old as it
// was, a wait as long, and a fresh answer as fresh. After a move forward, answers
// that would have ended with it end at random within the next hour instead. They
// may really be old, if the machine slept. If a record of another process has a time
// in the future, it counts as of now, and is fetched again if that time is more than
// an hour ahead. A clock that was put forward while no process was running cannot be
// told from a pause, and counts as one.
//
// # Keeping
//
// Memory is bounded in bytes, by [Options.Memory]; equal bodies are kept once, and what
// views have made of records counts too. A [Store] behind it keeps more, and for longer:
// package cache/bolt is a file, and any other store that passes package cachetest will do.
// It is asked to keep a good answer for 14 days ([Options.KeepOnce]), and for 90 days
// ([Options.Keep]) a failure with its last good answer, and whatever was asked for again.
// A store that fails costs fetches, never answers.
//
// Many processes share a [Leaser], such as the one of package cache/redis. One of
// them then fetches an origin, and the others wait for it. That one first waits until
// the site's address may be asked ([Arriver]) and takes the lease after that, so that
// no lease is held while waiting. A [Tiered] store has a local store behind the shared
// one, for the time when that is down. Answers are then marked fetch.Record.Degraded.
//
// The package uses no library for caches or for single flights: a body that many
// origins share counts once against the bound, and a flight here gives the old answer
// before it has ended.
package cache
