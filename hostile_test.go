package robots

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/hostile"
)

// TestHostileWork counts the bytes of rules and path that a match reads, with and without an
// index: at most twice as many if the rules or the path are twice as long.
func TestHostileWork(t *testing.T) {
	longest, size := campaign.Size(1<<13, 1<<14, 1<<16), campaign.Size(64_000, 128_000, 512_000)
	for _, file := range hostile.Files {
		half, whole := file.Body(size/2, file.Path(longest)), file.Body(size, file.Path(longest))
		count := func(body []byte, pathLen int) (scanned, indexed int) {
			r := Parse(body).Rules(RFC9309, "x")
			p, _ := ParsePath(file.Path(pathLen))
			path := r.dialect.normal(p, nil)
			id, scanned := r.scan(path, FieldNone)
			other, indexed := newIndex(r).find(r, path, FieldNone)
			if id != none || other != none {
				t.Fatalf("%s: rule %d or %d matches", file.Name, id, other)
			}
			return scanned, indexed
		}
		doubles := func(what string, before, after int) {
			if after > 2*before+before/4 {
				t.Errorf("%s: %s, work of %d instead of %d", file.Name, what, after, before)
			}
		}
		scanned, indexed := count(half, 1<<10)
		moreScanned, moreIndexed := count(whole, 1<<10)
		doubles("twice the rules", scanned, moreScanned)
		doubles("twice the rules, index", indexed, moreIndexed)
		for n := 1 << 11; n <= longest; n *= 2 {
			longScanned, longIndexed := count(half, n)
			doubles(fmt.Sprintf("path of %d bytes", n), scanned, longScanned)
			doubles(fmt.Sprintf("path of %d bytes, index", n), indexed, longIndexed)
			scanned, indexed = longScanned, longIndexed
		}
	}
}

// TestMatchWork: the work of a match counts each rule without an index, and the path with one.
func TestMatchWork(t *testing.T) {
	for _, n := range []int{1, scanMost, 10 * scanMost} {
		r := Parse([]byte("User-agent: *\n" + strings.Repeat("Disallow: /b\n", n))).Rules(RFC9309)
		path := RawPath("/a/long/path")
		v, first := r.MatchWork(path)
		if v.String() != r.Match(path).String() || first < n {
			t.Errorf("%d rules: work of %d, %v instead of %v", n, first, v, r.Match(path))
		}
		if _, again := Parse(r.File().Bytes()).Rules(RFC9309).MatchWork(path); again != first {
			t.Errorf("%d rules: work of %d, then of %d", n, first, again)
		}
		if n <= scanMost {
			continue
		}
		for range 2 * indexAfter {
			r.Match(path)
		}
		if _, indexed := r.MatchWork(path); indexed >= n || indexed < len(path.String()) {
			t.Errorf("%d rules with an index: work of %d", n, indexed)
		}
	}
	if v, work := (*Rules)(nil).MatchWork(RawPath("/")); v.Allowed || work > 1 {
		t.Errorf("without rules: %v, work of %d", v, work)
	}
}

// within fails if a call takes longer than a limit five times: a machine that others use stops for
// seconds.
func within(t *testing.T, limit time.Duration, name string, call func()) {
	t.Helper()
	for range 5 {
		begun := time.Now()
		if call(); time.Since(begun) <= limit {
			return
		}
	}
	t.Errorf("%s takes over %v", name, limit)
}

// TestHostileRead: no file takes quadratic time to read, in any dialect and by any method. Each
// of these once did. The limit is two orders of magnitude above the usual time, so that only
// quadratic time exceeds it.
func TestHostileRead(t *testing.T) {
	const size, limit = 250_000, 100 * 40 * time.Millisecond
	group := "User-agent: x\n"
	fill := func(head, line string) []byte {
		return []byte(head + strings.Repeat(line, size/len(line)))
	}
	products := ""
	for i := 0; len(products) < size; i++ {
		products += strings.Repeat(fmt.Sprintf("b%d/1,", i), 20)
	}
	names := group + "Content-Usage: "
	for i := 0; len(names) < size; i++ {
		names += strings.Repeat(fmt.Sprintf("a%d=y,", i), 20)
	}
	files := map[string][]byte{
		"misspelt, CR":            fill("", "disalow: /a\r"),
		"user-agents":             fill("", "user-agent:x\n"),
		"user-agents, blank":      fill("", "user-agent:x\n\n"),
		"no colon, CR":            fill("", "allow /\r"),
		"comment, then rules":     append(fill("#", "x"), fill("\n"+group, "allow:/\n")[:size/2]...),
		"one line":                fill(group+"allow:/", "a"),
		"long lines":              fill(group, "allow:/"+strings.Repeat("a", 70_000)+"\n"),
		"records":                 fill(group, "crawl-delay:1\nsitemap:/\rrequest-rate:1/1\n"),
		"names of usage":          []byte(strings.TrimSuffix(names, ",")),
		"paths of signals":        fill(group, "content-signal:/*a*b*c ai-train=no\n"),
		"other products":          []byte("User-agent: a/1 " + products),
		"NUL and vertical blanks": fill(group, "allow:\v/\x00\n"),
	}
	for name, body := range files {
		// The three ways to read a line, and the end of a run at a blank line.
		for _, d := range campaign.Size([]Dialect{Yandex}, []Dialect{GoogleCPP, Yandex}, Dialects()) {
			d.MaxFileBytes = 0
			var f *File
			var r *Rules
			p := Path{"/some/path"}
			crawlers := crawlersOf(caller{d, []string{"x"}}, caller{d, []string{"a", "b"}}, caller{d, []string{"b", "x"}}, caller{d, []string{"nobody"}})
			for _, call := range []struct {
				name string
				do   func()
			}{
				{"Parse", func() { f = Parse(body) }},
				{"Rules", func() { r = f.Rules(d, "x") }},
				{"Match", func() { r.Match(p) }},
				{"Allowed", func() { Allowed(body, d, p, "x") }},
				{"Explain", func() { r.Explain(p) }},
				{"AppendJSON", func() { r.AppendJSON(nil, p) }},
				{"Sitemaps", func() { r.Sitemaps() }},
				{"RequestRates", func() { r.RequestRates() }},
				{"CrawlDelay", func() { r.CrawlDelay() }},
				{"ContentUsage", func() { r.ContentUsage(p) }},
				{"ContentSignals", func() { r.ContentSignals(p) }},
				{"Unknown", func() { _ = slices.Collect(r.Unknown()) }},
				{"Lines", func() { r.Group().Lines() }},
				{"Crawlers", func() { f.Crawlers(d) }},
				{"Crawlers", func() { crawlers.Rules(f) }},
			} {
				within(t, limit, name+", "+d.Name+": "+call.name, call.do)
			}
		}
	}
}

// TestManyTokens: reading a long User-Agent header takes linear time. The limit is two orders of
// magnitude above the usual time.
func TestManyTokens(t *testing.T) {
	const names, limit = 120_000, 100 * 80 * time.Millisecond
	var header strings.Builder
	for i := range names {
		fmt.Fprintf(&header, "b%d/1 ", i)
	}
	f := Parse([]byte("User-agent: b77\nDisallow: /"))
	for name, call := range map[string]func() int{
		"ProductTokens": func() int { return len(ProductTokens(header.String())) },
		"Rules":         func() int { return len(f.Rules(RFC9309, header.String()).Tokens()) },
		"Rules, twice":  func() int { return len(f.Rules(RFC9309, header.String(), header.String()).Tokens()) },
	} {
		within(t, limit, name, func() {
			if got := call(); got != names+1 {
				t.Fatalf("%s: %d tokens, want %d", name, got, names+1)
			}
		})
	}
}
