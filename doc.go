// Package robots parses robots.txt and decides which URLs a crawler may fetch.
//
// [Parse] reads the bytes of a robots.txt into a [File], [File.Rules] selects the rules
// for one crawler, and [Rules.Match] returns the [Verdict] for a path: whether it is
// allowed, and the line that decides.
//
//	file := robots.Parse([]byte("User-agent: *\nDisallow: /search\n"))
//	rules := file.Rules(robots.RFC9309, "MyBot") // the crawler's product token
//	origin, path, err := robots.ParseURL("https://example.com/search?q=1")
//	if err != nil {
//		return err // not a valid URL
//	}
//	fmt.Println(rules.Match(path))  // disallowed by line 2: Disallow: /search
//	fmt.Println(origin.RobotsURL()) // https://example.com/robots.txt
//
// Parse never fails: a line that cannot be read is ignored. Files and rules are immutable
// and safe for concurrent use, so parse a file once and keep its Rules. [Rules.Allowed]
// returns only a boolean, [Rules.Explain] every rule that matches and why it won or lost.
// [Allowed] answers a single question about a body in one pass, and [Crawlers] finds the
// rules of many crawlers in one file.
//
// The package does no I/O and reads no clock. Package fetch gets a robots.txt and applies
// the policy for failures, cache keeps it, pace schedules requests, and polite combines
// them in an http.Client.
//
// # Protocol
//
// A robots.txt applies to one origin: a scheme, host and port (RFC 9309). Its lines have
// the form "field: value" and are in groups:
//
//	User-agent: Googlebot      # a group starts with the crawlers that it applies to,
//	User-agent: SeznamBot
//	Disallow: /search          # followed by their rules
//	Allow: /search/about
//
//	User-agent: *              # all other crawlers
//	Disallow: /*.pdf$
//
//	Sitemap: https://example.com/sitemap.xml   # belongs to no group
//
// A crawler obeys the group that names its product token, or else the group of '*'.
// Without either, everything is allowed. Groups with the same name are combined.
//
// A rule is a prefix of the URL's path and query, in which '*' matches any characters and
// a final '$' the end of the URL. The longest rule that matches decides, and the allow if
// two are equally long. If none matches, the URL is allowed. The order of rules does not
// matter.
//
// # Dialects
//
// A [Dialect] is the way one engine reads robots.txt. [RFC9309] is the standard and the
// default. [Google], [Seznam], [Bing] and [Yandex] follow the documented behavior of
// those engines; [GoogleCPP] follows Google's C++ library bit for bit, [Google2019] and
// [GoogleLegacy] follow two older specifications. Ids such as D-14 refer to the clauses
// in docs/clauses.md, which "robots clause D-14" prints.
//
// # Limits
//
// A file is read up to the size limit of the dialect, usually 512,000 bytes; a partial
// line at the limit is discarded. The cost of a match is at most proportional to the
// length of the rules times the length of the path.
package robots
