// Package polite is an HTTP client that obeys robots.txt and crawl rates:
//
//	client := polite.Client("MyBot")
//	resp, err := client.Get("https://example.com/page")
//
// The folder examples/clients has it beside colly, go-retryablehttp and Prometheus.
//
// Client serves crawls of up to about 20,000 sites a run. A crawl of more, or one that continues
// in a later run, keeps each robots.txt in a file:
//
//	store, err := bolt.Open("robots.cache", bolt.Options{}) // package cache/bolt
//	transport, err := polite.New("MyBot", polite.Options{Store: store})
//	client := &http.Client{Transport: transport}
//
// It then fetches each at most about once a day, however many sites there are; memory only makes
// it faster (Options.Memory). A visit in the last fifth of a record's lifetime, which is a day where
// the site declares none, fetches the next one in the background (package cache). Options.Observe
// reports what happens, cache.EventEvicted among it: that a crawl without a Store has more sites than
// its memory holds.
//
// Every request, including each hop of a redirect, is checked against the robots.txt of its
// origin. A disallowed request fails with a *DisallowedError that contains the verdict. An
// allowed request waits as the site requires: Crawl-delay, Request-rate and Visit-time, 429
// and Retry-After, four seconds between requests where nothing is declared, one request per
// site at a time. A request that net/http repeats, because the site closed a kept connection,
// waits too.
//
// The next request to a site waits until the response is read to the end or closed, so close
// the body of every response.
//
// The context limits the wait: a request whose deadline precedes its start fails at once with
// a *pace.LateError. http.Client.Timeout includes the wait. A request that ends with its own
// context does not count as slow; one that ends with a timeout of the Base, such as
// http.Transport.ResponseHeaderTimeout, does.
//
// The checked site is the one that net/http dials. A request whose URL has an Opaque part, or
// whose Host differs from its URL, is an error, unless it is user-initiated, as such requests
// are not checked (UserInitiated).
//
// robots.txt and pages use the same connections: set proxies, a dialer and certificates once,
// in Options.Fetch or in a Base. A Base that returns responses from memory makes a test
// without a network: see the example of New.
//
// A Transport combines the other packages: fetch gets robots.txt, cache keeps it, robots
// decides, pace schedules. A crawler with its own queue uses them directly: pace.Limiter.Try
// returns the sites that are ready, and a PermitTransport sends their requests. The example of
// PermitTransport is such a crawler.
package polite
