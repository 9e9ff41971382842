package main

import (
	"bytes"
	"context"
	"encoding/json"
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
	const urls, most = chunkLines, 1.5 // the text of a rule, and a part of what belongs to the chunk
	var in strings.Builder
	for i := range urls {
		fmt.Fprintf(&in, "https://shop.example/%s/page?of=%d\n", []string{"a", "b", "tmp"}[i%3], i)
	}
	for _, format := range []string{formatText, formatJSON} {
		c := newCall(&streams{in: strings.NewReader(in.String()), now: time.Now})
		c.format, c.dialects = format, []robots.Dialect{robots.RFC9309}
		c.file, c.tokens = robots.Parse([]byte(thirteen)), []string{"*"}
		c.compileAll(source{file: c.file})
		dst := make([]byte, 0, 512)
		got := testing.AllocsPerRun(10, func() {
			list := urlList{call: c, pieces: make(chan piece, 8)}
			c.std.in, c.args = strings.NewReader(in.String()), []string{"-"}
			list.read(t.Context())
			answers := 0
			for last := false; !last; {
				p := <-list.pieces
				last, c.width = p.last, p.width
				for i := range p.pages {
					page := &p.pages[i]
					c.verdict = c.rules[0].Match(page.paths[0])
					if format == formatJSON {
						dst = appendCheck(dst[:0], c.rules[0], page.url, c.verdict)
					} else {
						dst = c.appendLine(dst[:0], page)
					}
					answers++
				}
			}
			if answers != urls {
				t.Fatalf("%d answers to %d URLs", answers, urls)
			}
		}) / urls
		if t.Logf("%s: %.2f allocations per URL", format, got); got > most {
			t.Errorf("%s: %.2f allocations per URL, want at most %v", format, got, most)
		}
	}
}

// TestBatchAllocations: a line of a batch with a file of its own takes the URL and the
// rules, and what Parse and Rules allocate.
func TestBatchAllocations(t *testing.T) {
	const lines, most = 64, 6
	var texts [lines][]byte
	for i := range texts {
		texts[i], _ = json.Marshal(map[string]any{"id": i, "url": fmt.Sprintf("/a/%d?sort=", i), "robots": fmt.Sprint(thirteen, "Disallow: /", i), "agent": fmt.Sprint("Bot", 'A'+i%3)})
	}
	c := newCall(&streams{now: time.Now})
	c.dialects = []robots.Dialect{robots.RFC9309}
	a := answerer{batch: &batch{call: c}}
	dst := make([]byte, 0, 1024)
	answer := func() {
		for i := range texts {
			var q request
			q.read(texts[i])
			var err error
			if dst, err = a.append(context.Background(), dst[:0], &q); err != nil || !bytes.Contains(dst, []byte(`"allowed":false`)) {
				t.Fatalf("%s: %s, %v", texts[i], dst, err)
			}
		}
	}
	got := testing.AllocsPerRun(10, answer) / lines
	if t.Logf("%.2f allocations per line", got); got > most {
		t.Errorf("%.2f allocations per line, want at most %v", got, most)
	}
}
