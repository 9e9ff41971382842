package lint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/hostile"
)

// TestHostile: the proofs of a file take a limited number of steps.
func TestHostile(t *testing.T) {
	o := Options{MaxSteps: campaign.Size(30_000, 300_000, DefaultMaxSteps)}
	sizes := campaign.Size([]int{32_000}, []int{128_000}, []int{128_000, 256_000, 512_000})
	of := func(format string) func(int) string {
		return func(size int) string {
			var b strings.Builder
			for i := 0; b.Len() < size; i++ {
				b.WriteString(strings.ReplaceAll(format, "N", fmt.Sprint(i)))
			}
			return b.String()[:size]
		}
	}
	files := map[string]func(size int) string{
		"crawlers":        of("User-agent: aN\nDisallow: /\n"),
		"one crawler":     of("User-agent: a\nDisallow: /N\n"),
		"fused groups":    of("User-agent: aN\nCrawl-delay: 1\n"),
		"no slash":        of("User-agent: *\nDisallow: aN\n"),
		"no effect":       of("User-agent: *\nDisallow: /\nDisallow: /aN\n"),
		"duplicates":      of("User-agent: *\nDisallow: /a\nAllow: /b\nDisallow: /b\n"),
		"colons":          func(size int) string { return "User-agent: *\nDisallow: /" + of("a:")(size-25) },
		"sitemaps":        of("Sitemap: https://example.com/N\nDisallow: /*N$\n"),
		"ignores":         of("Disallow: a # lint:ignore RT401 x\n"),
		"one list":        func(size int) string { return "User-agent: " + of("aN,")(size-12) },
		"one header":      func(size int) string { return "User-agent: Mozilla/5.0 (" + of("aN/1; ")(size-25) },
		"one path":        func(size int) string { return "User-agent: *\nDisallow: /" + of("*a")(size-25) },
		"carriage return": of("User-agent: aN\rDisallow: /b N\r"),
	}
	for _, f := range hostile.Files[:campaign.Size(1, 2, len(hostile.Files))] {
		files[f.Name] = func(size int) string { return string(f.Body(size, f.Path(1000))) }
	}
	for name, file := range files {
		for _, size := range sizes {
			r := File(robots.Parse([]byte(file(size))), o)
			if r.Steps > o.MaxSteps*3/2 {
				t.Errorf("%s of %d bytes took %d steps, the limit is %d", name, size, r.Steps, o.MaxSteps)
			}
			for _, c := range Checks {
				n := 0
				for _, d := range r.Diagnostics {
					if d.Check.ID == c.ID {
						n++
					}
				}
				if n > MaxFindings {
					t.Errorf("%s: %d findings of %s", name, n, c.ID)
				}
			}
		}
	}
}

// TestSecondField: a value with many colons is read once. A search from the beginning of the value
// for each colon took ten minutes.
func TestSecondField(t *testing.T) {
	for _, c := range []struct {
		value, name string
		at          int
	}{
		{"/a Disallow: /b", "Disallow", 3},
		{"/a\tAllow : /b", "Allow ", 3},
		{"Allow: /b", "Allow", 0},
		{"x: Allow: /b", "Allow", 3},
		{"http://a/ Sitemap: x", "Sitemap", 10},
		{"x:Allow: /b", "", 0},
		{"x:: /b", "", 0},
		{"Allow", "", 0},
		{"", "", 0},
	} {
		if at, name := secondField(c.value); at != c.at || name != c.name {
			t.Errorf("%q: %q at %d, want %q at %d", c.value, name, at, c.name, c.at)
		}
	}
	if _, name := secondField(strings.Repeat("a:", 1<<20) + " Allow: /"); name != "Allow" {
		t.Errorf("behind many colons %q is found", name)
	}
}
