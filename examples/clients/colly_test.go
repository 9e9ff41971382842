package clients

import (
	"errors"
	"fmt"

	"github.com/gocolly/colly/v2"

	"github.com/robotskit/robots/polite"
)

// A colly collector over a polite transport. Both have the same name: colly sends its own
// User-Agent, and the site's rules for MyBot decide. Colly's own check of robots.txt stays off, as
// it is by default.
func Example_colly() {
	site := newSite()
	defer site.Close()
	transport := newTransport(polite.Options{})
	defer transport.Close()

	c := colly.NewCollector(colly.UserAgent("MyBot/1.0 (+https://bot.example)"))
	c.WithTransport(transport)
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		_ = e.Request.Visit(e.Attr("href")) // a page that was visited before, or an error that OnError gets
	})
	c.OnResponse(func(r *colly.Response) { fmt.Println(r.Request.URL.Path, r.StatusCode) })
	c.OnError(func(r *colly.Response, err error) {
		if no, is := errors.AsType[*polite.DisallowedError](err); is {
			fmt.Println(r.Request.URL.Path, no.Verdict)
		}
	})
	if err := c.Visit(site.URL + "/"); err != nil {
		panic(err)
	}
	// Output:
	// / 200
	// /news 200
	// /private/diary disallowed by line 2: Disallow: /private
}
