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
// A frontier of many sites calls [Limiter.Try] with hundreds of them.
//
// A rate is an interval: its period divided by its number of documents. Intervals count
// from the end of the last response. The slower of several rules applies, but a rate whose
// window is open replaces those without a window. A closed site opens later; no answer is
// "never". [Schedule.Entries] reports every declared line and how it is used. Clause ids
// such as D-31 are those of docs/clauses.md.
//
// An IP address has a pace too: one request in half a second, and a fetch of robots.txt a
// tenth of a second from any other start. Networks that serve many sites from one address
// can have their own (Options.Addresses).
//
// [Local] is the limiter of one process, pace/redis that of many. Package pace/pacetest
// tests other implementations.
package pace
