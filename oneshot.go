package robots

// Allowed answers one question about one body: may the crawler with these
// product tokens fetch p under dialect d? It is Parse(body).Rules(d,
// tokens...).Allowed(p) in one pass over the octets, without keeping anything.
// To ask a file more than once, Parse it.
func Allowed(body []byte, d Dialect, p Path, tokens ...string) bool {
	return Parse(body).Rules(d, tokens...).Allowed(p)
}
