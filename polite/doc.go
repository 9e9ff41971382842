// Package polite is an HTTP client that obeys robots.txt and its pace:
//
//	client := polite.Client("MyBot")
//	resp, err := client.Get("https://example.com/page")
//
// Every request, each hop of a redirect included, is checked against the robots.txt of
// its origin before it is sent. A disallowed request is not sent but fails with a
// *DisallowedError that holds the verdict; an allowed one waits as the site requires:
// Crawl-delay, Request-rate and Visit-time, 429 and Retry-After, four seconds between
// requests where nothing is declared, one request to a site at a time. A request that
// net/http sends again, since the site closed a kept connection, waits too.
//
// A request counts until its response is read to the end or closed, so close
// the body of every response, as net/http asks anyway: the next request to the
// site waits for it.
//
// How long a request may wait is the business of its context: one whose deadline
// comes before its start fails at once with a *pace.LateError. So may
// http.Client.Timeout be, but it counts the waiting too. A request that ends with
// its own context is not held against the site; a time limit of the Base, such as
// http.Transport.ResponseHeaderTimeout, is.
//
// The site that is judged is the one that is dialled. A request whose URL has an
// Opaque part, or whose Host names another site than its URL, is an error: set the
// URL to the site that is meant. Requests of UserInitiated, which are not judged,
// may have both.
//
// Pages and robots.txt go the same way: proxies, a dialer, certificates are given once,
// in Options.Fetch, or by a Base, which then is asked for robots.txt too. A Base that
// answers from memory is a test without network: see the example of Client.
//
// A Transport only combines the parts: package fetch gets robots.txt, cache keeps it,
// robots judges, pace waits. The rules of a site are made once for each crawler and kept
// with its robots.txt (cache.Cache.Rules). A crawler with its own queue uses the parts
// directly: pace.Limiter.Try returns which sites are ready.
package polite
