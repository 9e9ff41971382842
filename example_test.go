package robots_test

import (
	"fmt"

	"github.com/robotskit/robots"
)

var body = []byte(`User-agent: *
Disallow: /search
Allow: /search/about

User-agent: Googlebot
Disallow: /*?sort=
Crawl-delay: 2

Sitemap: https://example.com/sitemap.xml
`)

// The example of README.md.
func Example() {
	body := []byte("User-agent: *\nDisallow: /search\nAllow: /search/about\n")
	rules := robots.Parse(body).Rules(robots.RFC9309, "MyBot")
	for _, url := range []string{"https://example.com/search?q=1", "https://example.com/search/about"} {
		origin, path, err := robots.ParseURL(url)
		if err != nil {
			panic(err)
		}
		fmt.Println(origin, rules.Match(path))
	}
	// Output:
	// https://example.com disallowed by line 2: Disallow: /search
	// https://example.com allowed by line 3: Allow: /search/about
}

func ExampleParse() {
	f := robots.Parse([]byte("\uFEFFUser-agent: *\r\nDisallow: /a # not for robots\r\nnonsense"))
	for l := range f.Lines(robots.RFC9309) {
		fmt.Printf("%d %q %q\n", l.Number, l.Field, f.Text(l.Value))
	}
	// Output:
	// 1 "user-agent" "*"
	// 2 "disallow" "/a"
	// 3 "" ""
}

func ExampleFile_Rules() {
	f := robots.Parse(body)
	// Googlebot-Image falls back to Googlebot, most wanted token first.
	images := f.Rules(robots.Google, "Googlebot-Image", "Googlebot")
	fmt.Println(images.Group().Token(), images.Group().Lines(), images.Len())
	others := f.Rules(robots.RFC9309, "MyBot")
	fmt.Println(others.Group().Token(), others.Group().Lines(), others.Len())
	fmt.Println(others.Sitemaps())
	// Output:
	// googlebot [5] 1
	// * [1] 2
	// [https://example.com/sitemap.xml]
}

// Crawlers are added once and find their rules in many files.
func ExampleCrawlers() {
	var crawlers robots.Crawlers
	crawlers.Add(robots.Google, "Googlebot-Image", "Googlebot")
	for _, token := range []string{"GPTBot", "CCBot", "MyBot"} {
		crawlers.Add(robots.RFC9309, token)
	}
	for _, body := range []string{
		"User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n\nUser-agent: *\nDisallow: /search\n",
		"User-agent: googlebot\nDisallow: /search?\n",
	} {
		for i, rules := range crawlers.Rules(robots.Parse([]byte(body))) {
			fmt.Println(i, rules.Match(robots.RawPath("/search?q=1")))
		}
	}
	// Output:
	// 0 disallowed by line 6: Disallow: /search
	// 1 disallowed by line 3: Disallow: /
	// 2 disallowed by line 3: Disallow: /
	// 3 disallowed by line 6: Disallow: /search
	// 0 disallowed by line 2: Disallow: /search?
	// 1 allowed: the file has rules, but none for this crawler
	// 2 allowed: the file has rules, but none for this crawler
	// 3 allowed: the file has rules, but none for this crawler
}

func ExampleRules_Match() {
	rules := robots.Parse(body).Rules(robots.Google, "Googlebot")
	path, err := robots.ParsePath("/list?sort=price")
	if err != nil {
		panic(err)
	}
	v := rules.Match(path)
	fmt.Println(v)
	fmt.Println(v.Allowed, v.Reason, v.Rule.Line(), v.Rule.Directive(), v.Rule.Path())
	// Output:
	// disallowed by line 6: Disallow: /*?sort=
	// false rule 6 disallow /*?sort=
}

func ExampleRules_Explain() {
	rules := robots.Parse(body).Rules(robots.RFC9309, "MyBot")
	path, err := robots.ParsePath("/search/about/us")
	if err != nil {
		panic(err)
	}
	e := rules.Explain(path)
	for _, s := range e.Steps {
		fmt.Println(s.Clause, s.Text)
	}
	for _, m := range e.Matches {
		fmt.Println(m.Clause, m.Rule, "-", m.Text)
	}
	// Output:
	// AGENT-09 no group names "MyBot", so the group of * applies: user-agent line 1, 2 rules
	// PREC-01 allowed by line 3: Allow: /search/about
	// PREC-01 Allow: /search/about - the longest match, 13 bytes
	// PREC-01 Disallow: /search - 7 bytes, shorter than 13
}

func ExampleRules_RequestRates() {
	f := robots.Parse([]byte("User-agent: SeznamBot\nRequest-rate: 100/15m\nRequest-rate: 1/30s 1800-1900\n"))
	for _, rate := range f.Rules(robots.Seznam, "SeznamBot").RequestRates() {
		fmt.Println(rate.Line, rate.Requests, rate.Seconds, rate)
	}
	// Output:
	// 2 100 900 100/900s
	// 3 1 30 1/30s 1800-1900
}

func ExampleParseURL() {
	origin, path, err := robots.ParseURL("HTTPS://Example.COM:443/caf%C3%A9?q=1#top")
	fmt.Println(origin, path, err)
	fmt.Println(origin.RobotsURL())
	_, _, err = robots.ParseURL("example.com/page")
	fmt.Println(err)
	// Output:
	// https://example.com /caf%C3%A9?q=1 <nil>
	// https://example.com/robots.txt
	// URL "example.com/page": not an absolute URL such as https://example.com/page
}

func ExampleAllowed() {
	path, err := robots.ParsePath("/search?q=1")
	if err != nil {
		panic(err)
	}
	fmt.Println(robots.Allowed(body, robots.RFC9309, path, "MyBot"))
	fmt.Println(robots.Allowed(body, robots.RFC9309, path, "Googlebot"))
	// Output:
	// false
	// true
}

func ExampleProductTokens() {
	for _, name := range []string{"Mozilla/5.0 (compatible; SeznamBot/4.0)", "Googlebot-Image/1.0", "MJ12bot"} {
		fmt.Printf("%q\n", robots.ProductTokens(name))
	}
	// Output:
	// ["SeznamBot" "Mozilla/5.0 (compatible; SeznamBot/4.0)"]
	// ["Googlebot-Image" "Googlebot-Image/1.0"]
	// ["MJ12bot"]
}
