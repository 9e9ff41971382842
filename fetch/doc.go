// Package fetch gets the robots.txt of an origin over http, https or ftp and
// returns the outcome.
//
// # The protocol
//
// A robots.txt lies at /robots.txt of its origin, that is of a scheme, host and
// port. RFC 9309 section 2.3.1 knows three results of asking for it:
//
//   - Success: a file came. Its rules decide.
//   - Unavailable: the site says that there is none (4xx). Everything is allowed.
//   - Unreachable: the server or the network failed. Nothing is allowed, until
//     the failure has lasted so long that it means something else.
//
// Up to five redirects are followed, to any host; the rules found there hold for
// the origin that was asked. An answer is used for a day, or for what its
// headers say, within bounds.
//
// Nearly every open crawler turns some failure into permission: a redirect it
// does not follow, a compressed body it does not decode, a timeout, a
// certificate. Here a failure is a value with a cause, and what it permits is
// decided in one place.
//
// # Facts, then policy
//
// Fetch returns a Record: facts only, the same for every crawler and every
// dialect, to be kept and shared. What it permits is the answer of
//
//	record.Rules(dialect, now, tokens...)
//
// which is a *robots.Rules like those of a file: ask it for verdicts. Each
// verdict carries the state of the fetch, and says so where it mattered:
//
//	disallowed by line 3: Disallow: /a (status 503 since 2026-05-01T10:00:00Z, copy of 2026-04-30T22:00:00Z used)
//
// A Policy holds what only the caller can decide or know. A Record made by hand
// from an archive or a file is judged by the same call.
//
// # Outages
//
// A failing Record alone knows nothing of what was there before. Record.After
// joins it to the one kept so far: the last good answer is kept as LastGood, the
// first failure as FailingSince. While that answer is fresh nothing changes.
// After that the dialect's outage decides by its age; Dialect.Outage is the
// name of its steps. Without After every failure is the first.
//
// No age alone opens a site. Two failures a month apart say nothing about the
// weeks between them, so that a step which opens a site waits until failures
// cover its age, and until there were five (D-54). Record.Covered is the sum of
// the gaps between them, each counted as a day at most: a crawler that pauses
// reaches such a step later, one that asks once a day as any other does. Steps
// that close a site, and the return to the last good copy, go by the clock.
//
// A failure of our own side is none of the site's: no network, no name server, a
// version of TLS or an encoding that we lack, a limit of size, a refusal by the
// guard (Cause.OwnSide). It begins no outage and counts in none (D-55).
//
// # Safety
//
// A fetch is bounded in time and bytes whatever the other end does: Limits has
// the numbers, docs/fault-catalogue.md what each behaviour comes to. A Guard
// looks at the address of every connection, after DNS, on every hop and for
// every FTP data connection; by default only public addresses are asked. A
// refusal is an outcome of its own, Refused, and never ages into permission.
//
// Connections are bounded too, so many to one IP address and so many in all
// (Options), and their starts at an address have a pace if Options.Start is set:
// thousands of sites may lie on one machine, and a crowd that waits for it is in
// the way of no other.
//
// What has a pace at an address is a connection, whether a request follows or not: of
// the addresses of a site one is tried at a time, each at its start. An address that is
// dead costs robots.txt its share of Limits.Connect, and a page one second.
//
// No cookies, credentials, Referer or conditions are sent to a site, and nothing of
// one fetch is kept for the next.
//
// # The way to a site
//
// HTTP/1.1 is spoken, and HTTP/2 with a server of https that speaks nothing else: it
// is asked once more. Options change the way: Proxy, Dial and TLS are parts of the
// client's own road and keep its promises; a Transport replaces the road. A request
// makes at most two connections, whatever a server or a proxy refuses. Hop.Via and
// Hop.Protocol say how a site was asked.
//
//	                            own HTTP/1  HTTP/2       Proxy                        Transport
//	head of the answer checked  all of it   what counts  as without                   what is left of it
//	guard                       address     address      literals, ports; with        literals, ports
//	                                                     socks5 names too
//	time limits                 each phase  each phase   each; the way into the       all phases together,
//	                                                     tunnel is in Connect         and the total
//	bytes bounded               on the wire on the wire  on the wire                  as handed out
//	connections for a request   1           2            2                            unknown
//	goroutines left             none        end at once  none                         while it ignores its context
//	causes                      exact       coarser      exact in a tunnel            coarse
//
// A proxy that fails, refuses or wants another login is proxy-failed, a failure of our
// own side: it allows nothing and is no outage of the site. That is so too if the
// proxy could not reach the site, since nobody else has seen that. A site of http is
// asked through CONNECT; where a proxy refuses that, the request is forwarded, and
// only 2xx, 404 and 410 are the site's answers: the proxy says anything else itself, or
// may (D-60). A page that a filter puts in place of a file, with 200, is taken for the file.
//
// With Dial the limits of time and size hold if its connections keep deadlines, and the
// Guard sees what it is asked for, and the remote address where the connection is of
// TCP. An unknown error of it is proxy-failed.
//
// With a Transport the RoundTripper reads the answer. net/http's forgives what the
// client's own reader refuses: of some 280 behaviours of docs/fault-catalogue.md 190 come to
// the same cause and some 70 to another that allows no more; but a blank before the
// colon of Content-Encoding or Transfer-Encoding, a framing header in a fold, chunks in
// HTTP/1.0, controls in the status line, and TLS that is cut where a body without
// a length ends become an answer. It also writes to the log of the process. What it
// returns of its own is proxy-failed, unless its type says that it is the network's.
// ftp is not fetched then.
package fetch
