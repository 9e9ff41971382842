// Package cache keeps the robots.txt of many sites: one request to a site per
// day and not one per page, and an answer that survives the site's bad days.
//
//	c, err := cache.New(cache.Options{Fetcher: client})
//	...
//	record, err := c.Get(ctx, origin)
//	rules := record.Rules(robots.RFC9309, time.Now(), "MyBot")
//
// What it keeps are facts, [fetch.Record] values, the same for every crawler and
// dialect (CACHE-03). What they permit is judged by Record.Rules at the moment
// of the question and nowhere here: the cache only sees to it that the facts are
// there and who has to wait for them.
//
// # The life of a good answer
//
// A file, and the certainty that there is none (404), live as long as the site
// says within a floor of five minutes and a ceiling of a day, a day if it says
// nothing (CACHE-01, CACHE-04, D-28). Each life is made shorter by up to a tenth
// at random, so that origins first met together are not asked together for ever;
// it stays within floor and ceiling, and no longer than the site says.
//
//	0 %        answered from memory
//	80 %       answered from memory; whoever asks starts a fetch that nobody waits for
//	100 %      a fetch; whoever asks waits 1.8 s for it, then takes the old answer (RFC 8767 section 5)
//	a day more a fetch; whoever asks waits for it
//
// Nothing is fetched that nobody asks for, so an origin out of use costs nothing.
// At most one fetch for an origin is under way. It belongs to no caller: the
// first may give up without harm to those who came after, and each waits no
// longer than its own context.
//
// # The life of a failure
//
// A site that cannot be reached keeps its last good answer. The record says when
// the site began to fail, which is the first failed attempt after the last
// answer (D-42), and when it is asked again: after a minute, doubling to an hour,
// for a 503 to a quarter of an hour (HTTP-05), for a name that does not exist
// every hour, and never before the site's own Retry-After, up to a day. How long
// which dialect goes on with the old copy is data of the dialect, see
// robots.Dialect.Outage.
//
// What fails on our own side, such as a machine without a network or a refusal by
// our address guard, is no failure of the site (fetch.Cause.OwnSide). It is noted,
// so that the answer has its reason, and what held before goes on (D-55). A
// refusal found in a store is asked again by a process that has not seen it, for
// its guard may be another.
//
// # Clocks
//
// Records carry times of the wall clock, since they outlive the process. The wall
// clock is believed once, when a Cache starts; from then on time is what the
// monotonic clock says. If the wall clock moves by more than a minute against
// it, forward or backward, every record held is moved with it: an outage stays
// as old as it was, a wait as long, and a fresh answer as fresh. After a move
// forward answers that would have ended with it end at random within the
// following hour instead, as they may really be old (a machine that slept). A
// record of another process that claims to be from the future is taken as of
// now, and asked for again if it is more than an hour ahead. What nobody can tell
// is a clock that was put forward while no process was running from a pause of
// the same length: it is taken as a pause.
//
// # Keeping
//
// In memory there is a bound in bytes, [Options.Memory]; equal bodies are kept
// once. A [Store] behind it keeps more and longer: package cache/bolt is a file,
// and other stores that pass package cachetest can take its place. A store that
// fails costs fetches, never answers.
//
// Many processes share a [Leaser], such as the one of package cache/redis: each
// origin is then fetched by one of them, and the others wait for it. Who fetches
// waits first until the site's address may be asked ([Arriver]) and takes the
// lease then, so that nobody holds a lease who only waits. A [Tiered]
// store has one's own behind it, for when the shared one is away; answers given
// meanwhile are marked as fetch.Record.Degraded.
//
// The package depends on no cache or singleflight library. Bodies that many
// origins share are to count once against the bound, which no weigher of single
// entries can say; and a flight here hands out the old answer before it ends.
package cache
