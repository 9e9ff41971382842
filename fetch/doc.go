// Package fetch gets the robots.txt of an origin over http, https or ftp.
//
//	client, err := fetch.New(fetch.Options{UserAgent: "MyBot (+https://example.com/bot)"})
//	record, err := client.Fetch(ctx, origin)
//	rules := record.Rules(robots.RFC9309, time.Now(), "MyBot")
//	fmt.Println(record.Outcome, rules.Match(path))
//
// Fetch returns a Record: the facts of a fetch, the same for all crawlers and dialects. It is
// meant to be kept and shared, as package cache does. Record.Rules decides what it permits.
//
// # Outcomes
//
// RFC 9309 section 2.3.1 distinguishes these outcomes:
//
//   - Success: there is a file, and its rules decide.
//   - Unavailable: the site has none (4xx), so everything is allowed.
//   - Unreachable: the server or the network failed, so nothing is allowed until the outage
//     has lasted long enough to mean something else.
//   - Refused: the Guard refused the address, so nothing was sent there. An earlier file stays in
//     use; without one everything is disallowed.
//
// A failure is a value with a Cause, and only Policy decides what it permits. Up to five
// redirects are followed, to any host; the rules found there apply to the requested origin.
// A response is used for a day, or for the lifetime in its headers, within bounds. Verdicts
// contain the state of the fetch and mention it if it mattered:
//
//	disallowed by line 3: Disallow: /a (status 503 since 2026-05-01T10:00:00Z, copy of 2026-04-30T22:00:00Z used)
//
// # Outages
//
// Record.After joins a Record to the one kept before: the last good response is kept as
// LastGood, the time of the first failure as FailingSince. While the last good response is
// fresh, a failure changes nothing. After that the dialect decides by the age of the outage
// (robots.Dialect.Outage).
//
// Time alone never opens a site: two failures a month apart say nothing about the weeks
// between them. A step that allows everything needs at least five failures, which must cover
// its age (D-54); Record.Covered is the sum of the gaps between them, each counted as one day
// at most. Steps that disallow, or that use the last good copy, follow the clock.
//
// A failure on our own side is not the site's: no network, no name server, an unsupported TLS
// version or encoding, a size limit, a refusal by the Guard (Cause.OwnSide). It neither begins
// an outage nor counts in one (D-55).
//
// # Limits
//
// Every fetch is bounded in time and bytes (Limits); docs/fault-catalogue.md lists the outcome
// of 800 kinds of server behavior. The Guard checks the address of each connection after
// DNS, on every hop and for FTP data connections, and permits only public addresses by
// default. Connections are limited per IP address and in all (Options). Options.Start adds a
// rate limit per address; a fetch that waits for one address delays no other.
//
// The addresses of a site are tried one after another, since each connection counts at its
// address whether or not a request follows. A dead address costs a second.
//
// No cookies, Referer or conditional headers are sent, and no credentials but those of Options.
//
// # Connections
//
// The client uses HTTP/1.1, and HTTP/2 on a second connection to https servers that support
// nothing else. Options.Proxy, Dial and TLS change how it connects and keep its promises; a
// Transport replaces it:
//
//	                            direct HTTP/1  HTTP/2       Proxy                      Transport
//	response headers checked    all            what counts  as without                 what is left of them
//	Guard checks                address        address      literal addresses, ports;  literal addresses,
//	                                                        with socks5 hosts too      ports
//	timeouts                    per phase      per phase    per phase; Connect         all phases together,
//	                                                        includes the tunnel        and the total
//	byte limits count           transferred    transferred  transferred                what it returns
//	connections per request     1              2            2                          unknown
//	goroutines left             none           none         none                       while it ignores ctx
//	causes                      exact          coarser      exact in a tunnel          coarse
//
// A proxy that fails, refuses or requires other credentials is the cause proxy-failed, on our
// own side, even if it could not reach the site, as that cannot be verified. Sites of http are
// requested through CONNECT. Where a proxy refuses that, the request is forwarded, and only
// 2xx, 404 and 410 count as responses of the site (D-60), because the proxy itself can send
// any other status. A page that a filter returns with 200 instead of a file cannot be
// recognized.
//
// With Dial, the limits hold if its connections support deadlines. The Guard checks the
// requested address, and the remote address of TCP connections. Unknown errors are
// proxy-failed.
//
// With a Transport, its RoundTripper reads the responses. Go's accepts some that the client
// refuses: of the fault catalogue about 280 behaviors have the same cause and about 150 another
// that permits no more, but a folded framing header, chunks in HTTP/1.0, control characters in
// the status line, and TLS that ends early in a body without a length become valid responses. Go's also writes to the
// standard logger. Its errors are proxy-failed, unless their type shows a network failure.
// Sites of ftp are not fetched.
package fetch
