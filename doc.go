// Package robots reads robots.txt and says what a crawler may fetch, and why.
//
// From bytes to an answer there are five names. [Parse] reads the bytes of a
// robots.txt into a [File]. [File.Rules] gives the [Rules] in it for one crawler,
// as one engine reads them. [ParseURL] takes the path out of a URL, and
// [Rules.Match] gives the [Verdict] on it: allowed or not, by which rule of which
// line.
//
//	body := []byte("User-agent: *\nDisallow: /search\n")
//	file := robots.Parse(body)                   // any bytes, never an error
//	rules := file.Rules(robots.RFC9309, "MyBot") // the crawler's product token
//	origin, path, err := robots.ParseURL("https://example.com/search?q=1")
//	if err != nil {
//		return err // it is no URL
//	}
//	verdict := rules.Match(path)
//	fmt.Println(verdict.Allowed, verdict) // false disallowed by line 2: Disallow: /search
//	fmt.Println(origin.RobotsURL())       // https://example.com/robots.txt, from where the body has to come
//
// A File and Rules do not change and are safe for concurrent use: parse once, keep
// the Rules, ask for every URL of the site. Where a yes or no is enough there is
// [Rules.Allowed], where people ask why, [Rules.Explain]; the three always agree.
// Many crawlers are asked about one file as [Callers].
// For one question about a body that is not kept there is [Allowed], which takes
// one pass over the bytes. A crawler with several names gives them all, the most
// wanted first: "Googlebot-Image", "Googlebot".
//
// This package reads no network, file or clock. Package fetch gets a robots.txt
// and says what a failure means, cache keeps it, pace says when the next request
// may start, and polite is an http.Client over all of them.
//
// # The protocol
//
// A site says in one file what automatic visitors may ask for. The file is
// /robots.txt, and it governs one origin: one scheme, host and port (RFC 9309).
// It is a list of lines, "field: value", in groups:
//
//	User-agent: Googlebot      # a group begins with whom it is for,
//	User-agent: SeznamBot      # here two crawlers,
//	Disallow: /search          # and holds their rules
//	Allow: /search/about
//
//	User-agent: *              # everybody whom no other group names
//	Disallow: /*.pdf$
//
//	Sitemap: https://example.com/sitemap.xml   # belongs to no group
//
// A crawler obeys one group alone: the one that names its product token, or else
// that of '*'. Without either everything is allowed. Several groups of one name
// are one group, wherever they stand.
//
// A rule is matched from the start of the URL's path, query included; '*'
// stands for any characters and '$' at the end for the end of the URL. Of all
// rules that match the longest decides, and of equally long ones the allow. If
// none matches the URL is allowed. The order of lines means nothing.
//
// A line that cannot be read is skipped. Whatever a file holds, it is no error.
//
// # Dialects
//
// Engines differ. Each difference is a field of [Dialect], with the document
// behind it. [RFC9309] is the standard and the default. [Google],
// [Seznam], [Bing] and [Yandex] are what those engines do; [GoogleCPP] is
// Google's public C++ library bit for bit, [Google2019] and [GoogleLegacy] two
// older specifications. Comments cite statements by ids such as D-14;
// docs/clauses.md lists them all, and the program prints them: robots clause D-14.
//
// # Limits
//
// A file counts up to the dialect's size limit, 512,000 bytes in most; a line
// that the limit cuts is dropped. The work of one match is bounded by the
// bytes of the rules times those of the path, whatever the site publishes.
// [Rules.Allowed], [Rules.Match] and [Allowed] allocate nothing on usual input;
// their comments name the exceptions.
package robots
