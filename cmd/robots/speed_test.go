package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
)

// thirteen is a typical file of a shop.
const thirteen = "User-agent: *\nDisallow: /a/\nDisallow: /search\nDisallow: /*?sort=\nAllow: /a/public/\nDisallow: /cart\nDisallow: /checkout\n" +
	"Disallow: /private/*.html$\nDisallow: /tmp/\nAllow: /tmp/x\nDisallow: /login\nDisallow: /*.pdf$\nDisallow: /admin/\nDisallow: /api/*/internal\n" +
	"Sitemap: https://shop.example/sitemap.xml\n"

// TestLineAllocations limits the allocations per line of a list and a batch: shares of those of the run, and of memory for many lines.
func TestLineAllocations(t *testing.T) {
	const lines = 20_000
	var urls, questions strings.Builder
	for i := range lines {
		url := fmt.Sprintf("https://shop.example/%s/page?of=%d", []string{"a", "b", "tmp"}[i%3], i)
		fmt.Fprintln(&urls, url)
		fmt.Fprintf(&questions, `{"url":%q,"agent":%q}`+"\n", url, []string{"Googlebot", "ExampleBot"}[i%2])
	}
	file := writeFile(t, thirteen)
	for _, c := range []struct {
		args, input string
		most        float64
	}{
		{"check -f FILE --format json -", urls.String(), 0.1},
		{"check -f FILE -", urls.String(), 0.1},
		{"check -f FILE --batch", questions.String(), 1.2}, // the URL as a string
	} {
		var out bytes.Buffer
		out.Grow(16 << 20)
		args := strings.Fields(strings.ReplaceAll(c.args, "FILE", file))
		got := testing.AllocsPerRun(1, func() {
			out.Reset()
			run(context.Background(), args, strings.NewReader(c.input), &out, io.Discard)
			if n := bytes.Count(out.Bytes(), []byte("\n")); n != lines {
				t.Fatalf("%d answers to %d lines", n, lines)
			}
		}) / lines
		if t.Logf("%s: %.2f allocations per line", c.args, got); got > c.most {
			t.Errorf("%s: %.2f allocations per line, want at most %v", c.args, got, c.most)
		}
	}
}
