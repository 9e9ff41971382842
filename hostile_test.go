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
			path := r.dialect.target(p, nil)
			id, scanned := r.scan(path, FieldNone)
			other, indexed := newIndex(r).find(r, path, FieldNone)
			if id != noRule || other != noRule {
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

// linear fails if a call takes quadratic time: sixteen times as long as sixteen calls with a sixteenth
// of the input. On a busy machine one measurement can be wrong, so the shortest of some count.
func linear(t *testing.T, name string, small, large func()) {
	t.Helper()
	took := func(times int, call func()) time.Duration {
		begun := time.Now()
		for range times {
			call()
		}
		return time.Since(begun)
	}
	const tries, most = 25, 4
	sixteen, one := time.Hour, time.Hour
	for range tries {
		sixteen = min(sixteen, took(16, small))
		one = min(one, took(1, large))
		if one <= most*max(sixteen, 16*time.Microsecond) {
			return
		}
	}
	t.Errorf("%s: sixteen calls with a sixteenth take %v, one takes %v", name, sixteen, one)
}

// TestHostileRead: no file takes quadratic time to read, in any dialect and by any method. Each
// of these once did.
func TestHostileRead(t *testing.T) {
	const size = 16_000
	whole := hostileFiles(16 * size)
	for name, body := range hostileFiles(size) {
		// Lines as C strings and with misspellings, with a line limit, and the end of a run at a blank line.
		for _, d := range campaign.Size([]Dialect{Yandex}, []Dialect{GoogleCPP, Yandex}, Dialects()) {
			large := readings(whole[name], d)
			for i, small := range readings(body, d) {
				linear(t, name+", "+d.Name+": "+small.name, small.do, large[i].do)
			}
		}
	}
}

// hostileFiles returns files of about a size that are slow to read.
func hostileFiles(size int) map[string][]byte {
	group := "User-agent: x\n"
	fill := func(head, line string) []byte {
		return []byte(head + strings.Repeat(line, max(1, size/len(line))))
	}
	products := ""
	for i := 0; len(products) < size; i++ {
		products += strings.Repeat(fmt.Sprintf("b%d/1,", i), 20)
	}
	names := group + "Content-Usage: "
	for i := 0; len(names) < size; i++ {
		names += strings.Repeat(fmt.Sprintf("a%d=y,", i), 20)
	}
	return map[string][]byte{
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
}

// A reading is a method that reads a file.
type reading struct {
	name string
	do   func()
}

// readings returns all readings of a file, each of which needs those before it.
func readings(body []byte, d Dialect) []reading {
	d.MaxFileBytes = 0
	var f *File
	var r *Rules
	p := Path{"/some/path"}
	crawlers := crawlersOf(caller{d, []string{"x"}}, caller{d, []string{"a", "b"}}, caller{d, []string{"b", "x"}}, caller{d, []string{"nobody"}})
	return []reading{
		{"Parse", func() { f = Parse(body) }},
		{"Rules", func() { r = f.Rules(d, "x") }},
		{"Match", func() { r.Match(p) }},
		{"Allowed", func() { Allowed(body, d, p, "x") }},
		{"Explain", func() { r.Explain(p) }},
		{"AppendJSON", func() { r.AppendJSON(r.Match(p).AppendJSON(nil), JSONLimits{}) }},
		{"Sitemaps", func() { r.Sitemaps() }},
		{"RequestRates", func() { r.RequestRates() }},
		{"CrawlDelay", func() { r.CrawlDelay() }},
		{"ContentUsage", func() { r.ContentUsage(p) }},
		{"ContentSignals", func() { r.ContentSignals(p) }},
		{"Unknown", func() { _ = slices.Collect(r.Unknown()) }},
		{"Lines", func() { r.Group().Lines() }},
		{"Crawlers", func() { f.Crawlers(d) }},
		{"Crawlers", func() { crawlers.Rules(f) }},
	}
}

// TestManyTokens: reading a long User-Agent header takes linear time.
func TestManyTokens(t *testing.T) {
	const names = 120_000
	f := Parse([]byte("User-agent: b77\nDisallow: /"))
	reader := func(names int, read func(header string) int) func() {
		var header strings.Builder
		for i := range names {
			fmt.Fprintf(&header, "b%d/1 ", i)
		}
		return func() {
			if got := read(header.String()); got != names+1 {
				t.Fatalf("%d tokens, want %d", got, names+1)
			}
		}
	}
	for name, read := range map[string]func(header string) int{
		"ProductTokens": func(header string) int { return len(ProductTokens(header)) },
		"Rules":         func(header string) int { return len(f.Rules(RFC9309, header).Tokens()) },
		"Rules, twice":  func(header string) int { return len(f.Rules(RFC9309, header, header).Tokens()) },
	} {
		linear(t, name, reader(names/16, read), reader(names, read))
	}
}
