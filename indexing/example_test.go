package indexing_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/indexing"
)

// A page with noindex that may not be fetched: nobody reads the noindex, so the URL can be
// indexed anyway.
func Example() {
	header := http.Header{"X-Robots-Tag": {"bingbot: nosnippet"}}
	html := []byte("<head>\n<meta name=\"robots\" content=\"noindex, noai\">\n</head>")
	page := indexing.Parse(header, html)
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

	for _, body := range []string{"", "User-agent: *\nDisallow: /private/\n"} {
		verdict := robots.Parse([]byte(body)).Rules(robots.Google, "Googlebot").Match(robots.RawPath("/private/x"))
		o := page.Outlook(&verdict, at, indexing.Google, "Googlebot")
		fmt.Println("crawl", o.Crawl.Is, "- index", o.Index.Is, "-", o.Index.Reason.Sentence())
		for _, r := range o.Directives.Readings {
			fmt.Println(" ", r, "-", r.Effect)
		}
		if !o.Hidden.IsZero() {
			fmt.Println("robots.txt hides", o.Hidden, "in line", o.Hidden.Place.Line)
		}
	}
	// Output:
	// crawl yes - index no - a rule of the page forbids it
	//   bingbot: nosnippet - other-crawler
	//   noindex - counts
	//   noai - meaningless
	// crawl no - index address - robots.txt disallows the page
	//   bingbot: nosnippet - other-crawler
	//   noindex - hidden
	//   noai - meaningless
	// robots.txt hides noindex in line 2
}

// Directives alone, without robots.txt.
func ExamplePage_For() {
	page := indexing.Parse(http.Header{"X-Robots-Tag": {"max-snippet:50", "googlebot: max-snippet:20, noindex"}}, nil)
	for _, token := range []string{"Googlebot", "bingbot"} {
		d := page.For(indexing.AnyEngine, token)
		fmt.Println(token, d.By(indexing.MaxSnippet).Number, d.By(indexing.NoIndex).Name)
	}
	// Output:
	// Googlebot 20 noindex
	// bingbot 50
}
