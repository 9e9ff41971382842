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

// TestListAllocations limits the allocations per URL of a list: its string,
// and a share of the run's.
func TestListAllocations(t *testing.T) {
	const urls = 20_000
	var in strings.Builder
	for i := range urls {
		fmt.Fprintf(&in, "https://shop.example/%s/page?of=%d\n", []string{"a", "b", "tmp"}[i%3], i)
	}
	file := writeFile(t, thirteen)
	for format, most := range map[string]float64{formatJSON: 1.5, formatText: 1.5} {
		var out bytes.Buffer
		out.Grow(16 << 20)
		got := testing.AllocsPerRun(1, func() {
			out.Reset()
			args := []string{"check", "-f", file, "--format", format, "-"}
			run(context.Background(), args, strings.NewReader(in.String()), &out, io.Discard)
			if n := bytes.Count(out.Bytes(), []byte("\n")); n != urls {
				t.Fatalf("%d answers to %d URLs", n, urls)
			}
		}) / urls
		if t.Logf("%s: %.2f allocations per URL", format, got); got > most {
			t.Errorf("%s: %.2f allocations per URL, want at most %v", format, got, most)
		}
	}
}
