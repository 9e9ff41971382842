// Package clients has examples of polite clients beside other libraries, which run as tests:
// colly, go-retryablehttp and Prometheus. They are in a module of their own, so that the library
// does not depend on these. The examples of package polite need no other library.
package clients
