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
// A [Schedule] makes one answer of these lines and of the [Policy] of the crawler's
// operator. It knows no history. A [Limiter] remembers when a site was last asked, and
// grants the starts of requests:
//
//	s, err := pace.NewSchedule(rules, pace.Policy{Zone: "Europe/Prague"}) // err: the policy is impossible
//	turn := s.Turn(now, last)                  // when, and why
//
//	limiter, err := pace.NewLocal(pace.Options{})
//	grant, err := limiter.Wait(ctx, pace.Key{Origin: origin}, s) // err: the context ended
//	turn, err := limiter.Visit(ctx, grant, addr, s)              // at the address that is dialled
//	...                                                          // one request
//	limiter.Done(ctx, grant, pace.Result{Status: 200})
//
// A frontier that knows thousands of sites asks for hundreds in one call of [Chooser.Next]:
// which of them may start now, and when may the others.
//
// The rules, in short:
//   - a rate is an interval, the period divided by the number of documents;
//   - intervals count from the end of the last response;
//   - of several wishes the slower one wins, but a rate whose window is open beats one
//     without a window;
//   - a closed site opens later: no answer is ever "never".
//
// [Schedule.Entries] reports everything that is declared, with its line and what became
// of it; the reasons of a [Turn] say which lines decided. Comments cite statements by ids
// such as D-31; docs/clauses.md lists them all.
//
// An IP address has a pace too, whatever sites are behind it: one request in half a
// second, and a fetch of robots.txt a tenth of a second from any other start
// ([Local.Start]). A start at an address is booked when it is dialled, behind those that are
// booked already, so that 200 callers at one address ask once each. That is right where an
// address is one machine. Content delivery
// networks and site builders have a million sites at one address: a crawl of millions of
// sites sets the pace of their prefixes, or none (Options.Addresses). An address that is
// not known, as behind a proxy, has no pace.
//
// [Local] is the limiter of one process, pace/redis that of many. Whoever writes another
// finds the contract at [Limiter] and its tests in pace/pacetest.
package pace
