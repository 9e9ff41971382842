package robots

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
)

// hostileRules makes files that made engines slow: every piece of every rule
// occurs in the path, or nearly, so that no filter helps.
var hostileRules = map[string]struct {
	path func(n int) string
	rule func(i int) string
}{
	"stars": {
		func(n int) string { return "/" + strings.Repeat("a", n) },
		func(i int) string { return "/" + strings.Repeat("*a", 9) + "*b" + fmt.Sprint(i) },
	},
	"near miss": {
		func(n int) string { return "/" + strings.Repeat("a", n/2) + "b" + strings.Repeat("a", n/2) },
		func(i int) string {
			a := strings.Repeat("a", 64)
			return "/*" + a[:40] + "b" + a[:4+i%60] + "b" + a[:4+i/60%60]
		},
	},
	"period": {
		func(n int) string { return "/aaab" + strings.Repeat("aab", n/3) },
		func(i int) string {
			return "/*baab*" + strings.Repeat("aab", 1+i%20) + "*" + fmt.Sprint(i%10) + "*aaab"
		},
	},
	"random text": {
		func(n int) string { return "/" + hostileText(n) },
		func(i int) string {
			s, k := "/*", 40*(i%20)
			for range 9 {
				s += hostileWord[k:k+12] + "*"
				k += 12
			}
			return s + "abzba" + fmt.Sprint(i)
		},
	},
	"literals": {
		func(n int) string { return "/" + strings.Repeat("a", n) },
		func(i int) string { return "/" + strings.Repeat("a", 400) + fmt.Sprint(i) },
	},
}

var hostileWord = hostileText(1 << 10)

// TestHostileWork counts the bytes of rules and path that a match reads, with and without an
// index: at most twice as many if the rules or the path are twice as long.
func TestHostileWork(t *testing.T) {
	for name, h := range hostileRules {
		body := []byte("User-agent: *\n")
		half := 0
		for i := 0; len(body) < 512_000; i++ {
			if body = fmt.Appendf(body, "Disallow: %s\n", h.rule(i)); half == 0 && len(body) >= 256_000 {
				half = len(body)
			}
		}
		count := func(body []byte, pathLen int) (scanned, indexed int) {
			r := Parse(body).Rules(RFC9309, "x")
			path := h.path(pathLen)
			id, scanned := r.scan(path, FieldNone)
			other, indexed := newIndex(r).find(r, path, FieldNone)
			if id != none || other != none {
				t.Fatalf("%s: rule %d or %d matches", name, id, other)
			}
			return scanned, indexed
		}
		doubles := func(what string, before, after int) {
			if after > 2*before+before/4 {
				t.Errorf("%s: %s, work of %d instead of %d", name, what, after, before)
			}
		}
		scanned, indexed := count(body[:half], 1<<10)
		moreScanned, moreIndexed := count(body, 1<<10)
		doubles("twice the rules", scanned, moreScanned)
		doubles("twice the rules, index", indexed, moreIndexed)
		for n := 1 << 11; n <= 1<<16; n *= 2 {
			longScanned, longIndexed := count(body[:half], n)
			doubles(fmt.Sprintf("path of %d bytes", n), scanned, longScanned)
			doubles(fmt.Sprintf("path of %d bytes, index", n), indexed, longIndexed)
			scanned, indexed = longScanned, longIndexed
		}
	}
}

// TestHostileRead: no file takes quadratic time to read, in any dialect and by any method. Each
// of these was quadratic once. The limit is two orders of magnitude above the usual time, so that
// only quadratic time exceeds it.
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
			crawlers := NewCrawlers(Crawler{d, []string{"x"}}, Crawler{d, []string{"a", "b"}}, Crawler{d, []string{"b", "x"}}, Crawler{d, []string{"nobody"}})
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
				{"Unknown", func() {
					for range r.Unknown() {
					}
				}},
				{"Lines", func() { r.Group().Lines() }},
				{"Crawlers", func() { f.Crawlers(d) }},
				{"Crawlers", func() { crawlers.Rules(f) }},
			} {
				took := limit + 1
				for try := 0; try < 5 && took > limit; try++ { // a machine that others use stops for seconds
					begun := time.Now()
					call.do()
					took = time.Since(begun)
				}
				if took > limit {
					t.Errorf("%s, %s: %s takes %v", name, d.Name, call.name, took)
				}
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
		took := limit + 1
		for try := 0; try < 3 && took > limit; try++ { // a machine that others use stops for seconds
			begun := time.Now()
			if got := call(); got != names+1 {
				t.Fatalf("%s: %d tokens, want %d", name, got, names+1)
			}
			took = time.Since(begun)
		}
		if took > limit {
			t.Errorf("%s takes %v", name, took)
		}
	}
}

// hostileText is a text without order over two letters.
func hostileText(n int) string {
	rng := rand.New(rand.NewPCG(1, 3))
	b := make([]byte, n)
	for i := range b {
		b[i] = "ab"[rng.IntN(2)]
	}
	return string(b)
}
