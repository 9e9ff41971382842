// Package pace says when the next request to a site may start.
//
// A site can ask a crawler to be slow in four ways, all of them lines of its
// robots.txt or of an answer:
//
//	Crawl-delay: 10                   # ten seconds between requests
//	Request-rate: 1/30s 1800-1900     # a page in 30 s from 18:00 to 19:00
//	Request-rate: 10/1m               # else at most 10 in any minute
//	Visit-time: 0600-0845             # come only then
//	HTTP/1.1 429 ... Retry-After: 120 # not now
//
// A [Schedule] makes one pure answer of the lines and of the wishes of the
// crawler's operator, the [Policy]; a [Limiter] holds it against what happened:
//
//	s, err := pace.NewSchedule(rules, pace.Policy{Zone: "Europe/Prague"}) // err: the policy is impossible
//	turn := s.Turn(now, last)                  // when, and why
//
//	limiter, err := pace.NewLocal(pace.Options{})
//	key := pace.Key{Origin: origin, Addr: addr} // the address once it is known
//	grant, err := limiter.Wait(ctx, key, s)     // err: the context ended
//	...                                         // one request
//	limiter.Done(ctx, grant, pace.Result{Status: 200})
//
// What holds, in short. A rate is an interval, a period divided by its documents,
// and the slower wish wins. A rate whose window is open beats one without a
// window. A site that is closed is open later: no answer is ever "never".
// Intervals count from the end of the last response. Everything declared is
// reported with its line and what became of it, as [Schedule.Entries] and as the
// reasons of a [Turn]. Comments cite statements by ids such as D-31;
// docs/clauses.md lists them all.
//
// An IP address has a pace too, whatever sites are behind it, and beside that of
// pages one of the fetches of robots.txt (Local.Start), which takes nothing from it.
// Half a second and a tenth are right where an address is a machine. A crawl of
// millions of sites meets addresses with a million of them, of networks that
// deliver content and of site builders: it sets their pace by prefix, or to none
// (Options.Addresses). An address that is not known, as behind a proxy, has none.
//
// [Local] is the limiter of one process, pace/redis that of many. Every other
// fulfils the contract of [Limiter] and passes the tests of pace/pacetest.
package pace
