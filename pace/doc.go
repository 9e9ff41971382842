// Package pace schedules requests to a site from its Crawl-delay, Request-rate and
// Visit-time, the operator's limits and the site's responses:
//
//	Crawl-delay: 10                   # ten seconds between requests
//	Request-rate: 1/30s 1800-1900     # a page in 30 s from 18:00 to 19:00
//	Request-rate: 10/1m               # at most 10 in any minute at other times
//	Visit-time: 0600-0845             # requests only in this window
//	HTTP/1.1 429 ... Retry-After: 120 # no request for two minutes
//
// A [Schedule] combines these lines with the [Policy] of the crawler's operator. It has no
// history. A [Limiter] records when a site was last requested, and issues permits, each for
// one request:
//
//	s, err := pace.NewSchedule(rules, pace.Policy{Zone: "Europe/Prague"})
//	limiter, err := pace.NewLocal(pace.Options{})
//	permit, err := limiter.Acquire(ctx, pace.Request{Origin: origin, Schedule: s})
//	err = limiter.Start(ctx, permit, addr) // before the request is written
//	err = limiter.Release(ctx, permit, pace.Result{Status: 200})
//
// A frontier of many sites calls [Limiter.Try] with hundreds of them. Package polite does all of this
// for an http.Client; the example of its PermitTransport is a complete frontier.
//
// A rate is an interval: its period divided by its number of documents. Intervals count
// from the end of the last response. The slower of several rules applies, but a rate whose
// window is open replaces those without a window. A closed site always opens again, so every
// refusal has a time at which to try again. The response with the robots.txt counts too, if
// Request.Fetched says when it was read, and at the origins to which it was redirected
// ([Limiter.Requested]). [Schedule.Entries] reports every declared line and how it is used. Clause ids
// such as D-31 are those of docs/clauses.md.
//
// An IP address has a rate limit too: one page request every half second, and one robots.txt
// fetch at least 100 ms from any other start. Networks that serve many sites from one address
// can have separate limits (Options.Addresses).
//
// # Schedules
//
// If s is the end of the last response, a request can start at an instant u if the site is
// open at u and
//
//	u >= s + interval that applies at u
//
// A rate of N documents per period P is an interval of P/N (D-32), so no period of length P
// contains more than N starts. There are no bursts: N at once, and N more after the period,
// would be 2N in some period. The interval is the one at u, not at s: a slower window that has
// opened counts from the last response, and a window that has closed counts no longer.
//
// Windows follow the wall clock of the policy's zone. They end at the written instant, and
// HH59 at the full hour. A start after the end continues past midnight; a start equal to the
// end is the whole day (D-30).
//
// # Limiters
//
// A crawler calls Acquire, dials, calls Start when it knows the address, sends one request, and
// calls Release when the response has ended (polite.ResultOf makes the result).
//
// The interval of an origin counts from the end of its last response, that of an address from
// the last start reserved there. At an address, pages are AddressInterval apart, and a fetch
// of robots.txt is FetchInterval from every other start: it takes its place between the pages
// that are reserved. A reserved start that is not used costs the address one interval. An
// invalid address, as of a request through a proxy, has no rate limit.
//
// A limiter keeps when events happened, never a schedule: a changed robots.txt counts from the
// next call on. It works on one clock, its own or that of its server. If the clock is set,
// callers might wait longer; no request starts earlier than an interval after the last event
// known.
//
// An error is never a permission. It says that the context ended or that the call failed; a
// site that is not ready is a refused Permit. All methods are safe for concurrent use.
//
// [Local] is the limiter of one process, pace/redis that of many. Package pace/pacetest
// tests other implementations.
package pace
