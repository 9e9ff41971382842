package lint

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/hostile"
)

// TestHostile: a file takes a limited number of steps besides those for reading it once.
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
			f := robots.Parse([]byte(file(size)))
			r := File(f, o)
			read := o.MaxSteps - newPass(f, o).steps
			if limit := o.MaxSteps*3/2 + read; r.Steps > limit {
				t.Errorf("%s of %d bytes took %d steps, the limit is %d", name, size, r.Steps, limit)
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

// TestMemory: a file takes memory in proportion to its bytes, and its steps count all lines, also
// those with findings that are not kept.
func TestMemory(t *testing.T) {
	const size = 1 << 18
	for line, most := range map[string]uint64{"\n": 10, "\r": 10, "#\n": 10, "a\n": 10, "a:\n": 50, "host:\n": 40, "allow:/\n": 40, "Disalow: /a\n": 25, "\u200B\n": 70, "\xFF\n": 10} {
		body := bytes.Repeat([]byte(line), size/len(line))
		f := robots.Parse(body)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := File(f, Options{MaxSteps: 1})
		runtime.ReadMemStats(&after)
		if times := (after.TotalAlloc - before.TotalAlloc) / size; times > most {
			t.Errorf("%q: allocates %d times its size, want at most %d", line, times, most)
		}
		if lines := size / len(line); r.Steps < lines {
			t.Errorf("%q: %d steps for %d lines", line, r.Steps, lines)
		}
	}
}

// TestSteps: steps count the views of a file and of each of its fixes, and the crawlers in them. What is allocated stands
// for the work, which takes about as long on every machine.
func TestSteps(t *testing.T) {
	const size = 1 << 16
	for _, format := range []string{
		"User-agent: aN\nDisallow: /N\n", "User-agent: aN, bN\nDisallow: /N\n", "User-agent: a, bN\n", "User-agent: aN, bN, cN, dN, eN\nDisallow: /N\n",
		"User-agent: aN\nCrawl-delay: 1\n", "User-agent: aN\n", "Useragent: aN\nDisallow: /N\n", "User-agent: aN: b\nDisallow: /N\n",
	} {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(strings.ReplaceAll(format, "N", fmt.Sprint(i)))
		}
		f := robots.Parse([]byte(b.String()))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := File(f, Options{MaxSteps: 3_000_000})
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 40*uint64(r.Steps) {
			t.Errorf("%q: %d steps, %d bytes allocated", format, r.Steps, allocated)
		}
	}
}

// TestRepeatedRules: the fixes of many groups that drop many rules do not each have a copy of these.
func TestRepeatedRules(t *testing.T) {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range 4000 {
		fmt.Fprintf(&b, "Disallow: /a%d\n", i)
	}
	for i := range 2000 {
		fmt.Fprintf(&b, "User-agent: b%d\nAllow: /\n", i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := File(robots.Parse([]byte(b.String())), Options{MaxSteps: 4_000_000})
	runtime.ReadMemStats(&after)
	if times := (after.TotalAlloc - before.TotalAlloc) / uint64(b.Len()); times > 1500 {
		t.Errorf("allocates %d times its size", times)
	}
	repeated := 0
	fixes := 0
	for _, d := range r.Diagnostics {
		if d.Check.ID == "RT312" && d.Fix != nil {
			fixes++
			repeated += len(d.Fix.Edits[0].Text)
		}
	}
	if fixes == 0 || repeated > maxRepeated {
		t.Errorf("%d fixes repeat %d bytes", fixes, repeated)
	}
}

// TestKeptExamples: an example, for which the file is read again, takes as many steps as a reading.
func TestKeptExamples(t *testing.T) {
	f := robots.Parse(bytes.Repeat([]byte("User-agent: *\nDisallow: /a\n"), 100))
	r := f.Rules(robots.RFC9309)
	p := newPass(f, Options{})
	p.steps = 2*p.readingSteps() + 1
	for range 3 {
		p.keepExample(r, compare.Change{Path: "/a", Old: r.Match(robots.RawPath("/a"))})
	}
	if len(p.examples) != 2 || p.steps != 1 || !p.undecided {
		t.Errorf("%d examples, %d steps left", len(p.examples), p.steps)
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
