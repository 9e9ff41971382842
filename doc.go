// Package robots reads robots.txt and says what a crawler may fetch, and why.
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
// A crawler goes by one group alone: the one that names its product token, or
// else that of '*', or else none, and then everything is allowed. Several
// groups of one name are one group, wherever they stand.
//
// A rule is matched from the start of the URL's path, query included; '*'
// stands for any characters and '$' at the end for the end of the URL. Of all
// rules that match the longest decides, and of equally long ones the allow. If
// none matches the URL is allowed. The order of lines means nothing.
//
// A line that cannot be read is skipped; no file is an error.
//
// # Asking
//
//	origin, path, err := robots.ParseURL(raw)                   // err: raw is no URL
//	f := robots.Parse(body)                                     // any bytes
//	r := f.Rules(robots.Google, "Googlebot-Image", "Googlebot") // most wanted token first
//	v := r.Match(path)
//	fmt.Println(origin.RobotsURL(), v) // disallowed by line 14: Disallow: /*?sort=
//
// [Parse] keeps every byte and knows no dialect. [File.Rules] applies a
// [Dialect] and chooses the group. The rules answer at three depths, which
// always agree: [Rules.Allowed] says yes or no, [Rules.Match] gives a [Verdict]
// with the deciding [Rule] and its line, [Rules.Explain] the whole way to it.
// For a single question about a body that is not kept there is [Allowed], one
// pass over the bytes. Neither Allowed allocates.
//
// # Dialects
//
// Engines differ, and where they do the difference is a field of [Dialect] with
// the document behind it. [RFC9309] is the standard and the default. [Google],
// [Seznam], [Bing] and [Yandex] are what those engines do; [GoogleCPP] is
// Google's public C++ library bit for bit, [Google2019] and [GoogleLegacy] two
// older specifications. Comments cite statements by ids such as D-14;
// docs/clauses.md lists them all.
//
// # Limits
//
// A file counts up to the dialect's size limit, 512,000 bytes in most; a line
// that the limit cuts is dropped. The work of one match is bounded by the
// bytes of the rules times those of the path, whatever the site publishes.
// Nothing here reads a network, a file or a clock, and everything is safe for
// concurrent use.
package robots
