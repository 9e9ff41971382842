package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
)

// thirteen is a file as shops have them.
const thirteen = "User-agent: *\nDisallow: /a/\nDisallow: /search\nDisallow: /*?sort=\nAllow: /a/public/\nDisallow: /cart\nDisallow: /checkout\n" +
	"Disallow: /private/*.html$\nDisallow: /tmp/\nAllow: /tmp/x\nDisallow: /login\nDisallow: /*.pdf$\nDisallow: /admin/\nDisallow: /api/*/internal\n" +
	"Sitemap: https://shop.example/sitemap.xml\n"

// TestListAllocations: what a URL of a list costs is bounded. What belongs to a chunk of
// lines is shared by the URLs in it.
func TestListAllocations(t *testing.T) {
	const urls, most = chunkLines, 0.2 // a part of what belongs to the chunk
	var in strings.Builder
	for i := range urls {
		fmt.Fprintf(&in, "https://shop.example/%s/page?of=%d\n", []string{"a", "b", "tmp"}[i%3], i)
	}
	for _, format := range []string{formatText, formatJSON} {
		c := newCall(&streams{in: strings.NewReader(in.String()), now: time.Now})
		c.format, c.dialects = format, []robots.Dialect{robots.RFC9309}
		c.file, c.tokens = robots.Parse([]byte(thirteen)), []string{"*"}
		c.compileAll(source{File: c.file})
		dst := make([]byte, 0, 512)
		got := testing.AllocsPerRun(10, func() {
			answers := 0
			take := func(_ context.Context, p *piece) bool {
				c.width = p.width
				for i := range p.pages {
					page := &p.pages[i]
					c.verdict = c.rules[0].Match(page.paths[0])
					if format == formatJSON {
						dst = appendCheck(dst[:0], c.rules[0], page.url, c.verdict, nil)
					} else {
						dst = c.appendLine(dst[:0], page)
					}
					answers++
				}
				return true
			}
			list := urlList{call: c, take: take, pause: func(context.Context) bool { return true }}
			c.std.in, c.args = strings.NewReader(in.String()), []string{"-"}
			list.read(t.Context())
			if answers != urls {
				t.Fatalf("%d answers to %d URLs", answers, urls)
			}
		}) / urls
		if t.Logf("%s: %.2f allocations per URL", format, got); got > most {
			t.Errorf("%s: %.2f allocations per URL, want at most %v", format, got, most)
		}
	}
}
