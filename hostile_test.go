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
	"wrong order": {
		func(n int) string { return "/bbbb" + strings.Repeat("a", n) },
		func(i int) string {
			s := "/"
			for _, c := range fmt.Sprintf("%05o", i) {
				s += "*" + strings.Repeat("a", 4+int(c-'0'))
			}
			return s + "*bbbb"
		},
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
	"single bytes": {
		func(n int) string { return "/" + strings.Repeat("abcdefgh", n/8) },
		func(i int) string { return "/*" + strings.Repeat("h*g*f*e*d*c*b*a*", 1+i%8) + "abcdefghh" },
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
	"first and last": { // every piece occurs at both ends of the path
		func(n int) string { return "/abcdefghg" + strings.Repeat("x", n) + "hgfedcbabcdefgha" },
		func(i int) string {
			s := "/*"
			for range 6 {
				s += "abcdefghg"[i%8:i%8+2] + "*"
				i /= 8
			}
			return s + "xhgx*a"
		},
	},
	"literals": {
		func(n int) string { return "/" + strings.Repeat("a", n) },
		func(i int) string { return "/" + strings.Repeat("a", 400) + fmt.Sprint(i) },
	},
	"stars in a row": {
		func(n int) string { return "/" + strings.Repeat("a", n) },
		func(i int) string { return "/" + strings.Repeat("*", 200) + "aaaab" + fmt.Sprint(i) },
	},
}

var hostileWord = hostileText(1 << 10)

// TestHostileWork counts the work of one match, not seconds: the bytes of rules and path that are
// looked at, with and without an index. A rule is tried once at most, so the work may double
// when the rules or the path double, not more, up to paths of 64 KiB.
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

// TestHostileRead: no file is slow to read, in any dialect and for any question.
// Each of these 500,000 bytes was quadratic once, or is what would be if
// something looked beyond its line. Nothing counts the bytes that are read, so this
// is a clock with two orders of magnitude of room, for a busy machine: a call takes
// 40 ms at most, most of them 10 ms, and what looks at each byte once for each takes minutes.
func TestHostileRead(t *testing.T) {
	if campaign.Race {
		t.Skip("the race detector takes ten times as long")
	}
	const size, limit = 500_000, 100 * 40 * time.Millisecond
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
		"misspelt":                fill(group, "disalow: /a\n"),
		"user-agents":             fill("", "user-agent:x\n"),
		"user-agents, CR":         fill("", "user-agent:x\r"),
		"user-agents, blank":      fill("", "user-agent:x\n\n"),
		"no colon":                fill("", "a\n"),
		"no colon, CR":            fill("", "allow /\r"),
		"comment, then rules":     append(fill("#", "x"), fill("\n"+group, "allow:/\n")[:size/2]...),
		"one line":                fill(group+"allow:/", "a"),
		"long lines":              fill(group, "allow:/"+strings.Repeat("a", 70_000)+"\n"),
		"records":                 fill(group, "crawl-delay:1\nsitemap:/\rrequest-rate:1/1\n"),
		"names of usage":          []byte(strings.TrimSuffix(names, ",")),
		"names of signals":        []byte(strings.Replace(names, "Usage", "Signal", 1)),
		"paths of signals":        fill(group, "content-signal:/*a*b*c ai-train=no\n"),
		"products":                fill("User-agent: a/1 ", "b/1,"),
		"other products":          []byte("User-agent: a/1 " + products),
		"blanks":                  fill("", " \r"),
		"NUL and vertical blanks": fill(group, "allow:\v/\x00\n"),
	}
	for name, body := range files {
		// The three ways to read a line, and the end of a run at a blank line.
		for _, d := range campaign.Size([]Dialect{Yandex}, []Dialect{RFC9309, GoogleCPP, Yandex, Seznam}, Dialects()) {
			d.MaxFileBytes = 0
			var f *File
			var r *Rules
			p := Path{"/some/path"}
			callers := NewCrawlers(Crawler{d, []string{"x"}}, Crawler{d, []string{"a", "b"}}, Crawler{d, []string{"b", "x"}}, Crawler{d, []string{"nobody"}})
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
				{"Crawlers", func() { callers.Rules(f) }},
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

// TestManyTokens: a crawler's name may be a header that somebody sent, so that taking it
// apart is linear too. A million bytes take 80 ms at most, and took half a minute. The limit
// is two orders of magnitude above, as in TestHostileRead, for a busy machine.
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
