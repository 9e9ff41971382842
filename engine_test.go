package robots

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

// agree fails if the engine and the reference differ, or two ways to the same answer.
func agree(t *testing.T, d Dialect, body []byte, path string, tokens ...string) {
	t.Helper()
	same := func(what string, got, want any) {
		t.Helper()
		if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
			t.Fatalf("%s %q %q\n%s\n%s\n got %s\nwant %s", d.Name, tokens, path, excerpt(body), what, g, w)
		}
	}
	r, p := Parse(body).Rules(d, tokens...), Path{path}
	v := r.Match(p)
	want := reference(d, string(body), path, tokens...)
	got := refAnswer{
		allowed: v.Allowed, undefined: v.Undefined, reason: v.Reason.String(),
		line: v.Rule.Line(), directive: v.Rule.Directive(), written: v.Rule.Path(),
		token: v.Group.Token(), lines: v.Group.Lines(),
	}
	same("Match", got, want)
	same("Rules.Allowed", r.Allowed(p), v.Allowed)
	same("Allowed", Allowed(body, d, p, tokens...), v.Allowed)
	e := r.Explain(p)
	same("Explain", e.Verdict, v)
	if v.Reason == ReasonRule {
		same("the first match", e.Matches[0].Rule.Line(), v.Rule.Line())
	}
	same("Sitemaps", fmt.Sprintf("%q", r.Sitemaps()), fmt.Sprintf("%q", want.sitemaps))
	var rates []RequestRate
	for _, s := range want.rates {
		if rate, ok, _ := parseRequestRate(s); ok {
			rates = append(rates, rate)
		}
	}
	same("RequestRates", r.RequestRates(), rates)
	if d.CrawlDelay != HonorInherited {
		delay, has := 0.0, false
		for _, s := range want.delays {
			if v, ok, _ := parseDelay(s); ok {
				delay, has = max(delay, v), true
			}
		}
		got, ok := r.CrawlDelay()
		same("CrawlDelay", []any{got, ok}, []any{delay, has})
	}
}

// TestPieceInEscape: text after a star can begin with the digits of an escape in the normal form of the path.
func TestPieceInEscape(t *testing.T) {
	for _, rule := range []string{"/*E\xFF", "/*E\xFF$", "/*E*\xFF", "/*FE\xFF", "/**E\xFF", "/\xFF*E\xFF", "/*8\xFF", "/*e\xFF", "/*%FE\xFF", "/*E|"} {
		body := []byte("User-agent: *\nDisallow: " + rule + "\n")
		for _, path := range []string{"/\xFE\xFF", "/a\xFE\xFFb", "/\xFF\xFE\xFF", "/\x88\xFF", "/%FE\xFF", "/\xFE|", "/\xFEE\xFF"} {
			for _, d := range Dialects() {
				agree(t, d, body, path, "abot")
			}
		}
	}
}

// TestLineLimit: what is after the line limit of a dialect does not matter, however low the limit is.
func TestLineLimit(t *testing.T) {
	body := []byte("User-agent:x\nDisallow: /shop/a\nAllow:/shop/b\n")
	for limit := range 30 {
		for _, d := range Dialects() {
			d.MaxLineBytes = limit
			for _, path := range []string{"/shop/a", "/shop/b", "/shop/c", "/sho", "/", "/a/a/a/a/a"} {
				agree(t, d, body, path, "x")
			}
		}
	}
}

// TestMatches: Explain has every rule that matches, and why it won or lost.
func TestMatches(t *testing.T) {
	r := Parse([]byte("User-agent: *\nDisallow: /\nDisallow: /a\nDisallow: /a\nAllow: /a\nDisallow: /c\nDisallow: /c")).Rules(RFC9309)
	for path, want := range map[string]string{
		"/a": "5 PREC-02 an equally long allow wins, 2 bytes; 3 PREC-02 as long, but an equally long allow wins; 4 PREC-02 as long, but an equally long allow wins; 2 PREC-01 1 byte, shorter than 2; ",
		"/c": "6 PREC-01 the longest match, 2 bytes; 7 PREC-04 as long, but line 6 comes first; 2 PREC-01 1 byte, shorter than 2; ",
		"/d": "2 PREC-01 the only match, 1 byte; ",
	} {
		got := ""
		for _, m := range r.Explain(Path{path}).Matches {
			got += fmt.Sprintf("%d %s %s; ", m.Line, m.Clause, m.Text)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

// TestNotes: Explain has a note on each line that does not have the effect that it seems to have.
func TestNotes(t *testing.T) {
	for _, c := range []struct {
		dialect           Dialect
		token, body, want string // line and clause of each
	}{
		{RFC9309, "a", "Disallow: /\nAllow: /\nUser-agent: *\nDisallow: /", "1 GROUP-03"},
		{RFC9309, "a", "User-agent: a\nCrawl-delay: 1\nUser-agent: b\nUser-agent: c\nDisallow: /", "2 D-08, 3 D-07"},
		{Yandex, "a", "User-agent: a\nCrawl-delay: 1\nUser-agent: b\nDisallow: /", "2 D-08"},
		{Seznam, "a", "User-agent: a\nContent-Signal: search=no\nUser-agent: b\nDisallow: /", ""},
		{RFC9309, "a", "User-agent: a\nCrawl-delay: 1\nDisallow: /\nUser-agent: b\nDisallow: /", "2 D-08"},
		{Seznam, "a", "User-agent: a\nCrawl-delay: 1e3\nRequest-rate: 1/1 x\nVisit-time: x\nUser-agent: b\nDisallow: /", "2 D-44, 3 D-35, 4 D-35"},
		{Yandex, "a", "User-agent: a\nDisalow: /\nDisallow: /" + strings.Repeat("x", 1024), "2 D-39, 3 C-05"},
		{Google2019, "abc", "User-agent: ABC\nDisallow: /", "1 AGENT-03"},
		{Google, "ab2", "User-agent: ab2\nDisallow: /", "1 C-10"},
		{RFC9309, "abc", "User-agent: abcd\nDisallow: /", "1 AGENT-06"},
		{RFC9309, "abcd", "User-agent: abc\nDisallow:", "1 AGENT-04"},
		{Google, "APIs-Google", "User-agent: *\nDisallow: /", "1 D-53"},
		{RFC9309, "a", "User-agent: a\nDisallow:\nAllow:", "2 RULE-01, 3 RULE-01"},
		{Bing, "a", "User-agent: *\nCrawl-delay: 1\nDisallow: /\nUser-agent: a\nDisallow: /", "2 SPEC 3.6"},
		{RFC9309, "a", "<html>", "0 D-27"},
		{RFC9309, "a", "<", "0 D-27"},
	} {
		var got []string
		for _, n := range Parse([]byte(c.body)).Rules(c.dialect, c.token).Explain(Path{"/"}).Notes {
			got = append(got, fmt.Sprint(n.Line, " ", n.Clause))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s, %s, %q: notes %s, want %s", c.dialect.Name, c.token, c.body, s, c.want)
		}
	}
}

func excerpt(body []byte) string {
	if len(body) > 2000 {
		return fmt.Sprintf("%q... (%d bytes)", body[:2000], len(body))
	}
	return fmt.Sprintf("%q", body)
}

// randomFile returns a random file of effective lines: usual ones, misspelled ones and hostile
// ones.
func randomFile(rng *rand.Rand) []byte {
	pick := func(s ...string) string { return s[rng.IntN(len(s))] }
	var b bytes.Buffer
	if rng.IntN(8) == 0 {
		b.WriteString(pick("\xEF\xBB\xBF", "\xEF\xBB", "\xEF", "\xFE\xFF", "\xEF\xEF", "<html>"))
	}
	if rng.IntN(4) > 0 {
		b.WriteString(pick("User-agent: a\n", "User-agent: *\n", "user-agent:abot\r\n", "User-agent: b2\rUser-agent: A\n"))
	}
	for range rng.IntN(14) {
		b.WriteString(pick("", "", "", "", "", "", "", "", " ", "\t", "\v", "\x00", "\f "))
		switch rng.IntN(10) {
		case 0, 1, 2:
			b.WriteString(pick("User-agent", "user-agent", "User-Agent ", "useragent", "user agent", "user-agents", "User_agent"))
			b.WriteString(pick(":", ": ", " : ", " ", ":\t", ":\v", ""))
			b.WriteString(pick("*", "a", "A", "abot", "abot/1.2", "abot*", "* x", "*x", "b", "b2", "a b", "", "+a", "a-b", "Mozilla/5.0 (compatible; abot/2)", "b/1 a/2", "adsbot-google", "008", "a\x00b", "é"))
		case 3, 4, 5, 6:
			b.WriteString(pick("Disallow", "disallow", "Allow", "ALLOW", "disalow", "Disallowed", "allowed", "dis allow", "diſallow"))
			b.WriteString(pick(":", ": ", ": ", " : ", " ", ":\f", ":  \t", ""))
			b.WriteString(pick("/", "/", "/", "/", "*", ""))
			for range rng.IntN(4) {
				b.WriteString(pick("/", "/", "/", "a", "a", "b", "b", "*", "*", "/a", "/b", "*", "*", "$", "a", "b", "%61", "%2f", "%2F", "%2a", "%24", "%zz", "%", "é", "\xff", "F", "F\xff", "?x=1", "index.html", "/index.htm", " ", "<", "~", "%7e", ".", "/./", "/../", "//", ";", "|", "{", "%7B", "\x7f", "%7c"))
			}
		case 7:
			b.WriteString(pick("Sitemap: http://h/s", "sitemap:", "SITEMAP http://y/", "site-map: /x", "Sitemap : é"))
		case 8:
			b.WriteString(pick("Crawl-delay: 5", "Crawl-delay: 30", "crawl-delay:.5", "Crawl-delay: 1e3", "Crawl-delay 7", "crawl-delay: -1"))
		case 9:
			b.WriteString(pick("Request-rate: 1/30s 1800-1900", "request-rate: 0/1", "Visit-time: 0100-0200", "Foo: bar", "junk", "Host: x", ":x", "License: https://l", "Clean-param: a /", "Content-Signal: search=yes"))
		}
		b.WriteString(pick("", "", "", " ", "\t ", " # c", "#", "\v", "\x00", "# \x00 :"))
		b.WriteString(pick("\n", "\n", "\n", "\r\n", "\r", "\n\n", "\n#x\n", "\r\r\n"))
	}
	if rng.IntN(3) == 0 {
		return bytes.TrimRight(b.Bytes(), "\r\n")
	}
	return b.Bytes()
}

func randomPath(rng *rand.Rand) string {
	pick := func(s ...string) string { return s[rng.IntN(len(s))] }
	p := "/"
	for range rng.IntN(5) {
		p += pick("/", "/", "/", "a", "b", "a", "b", "a", "b", "a", "b", "*", "$", "%61", "%2f", "%2F", "%2A", "%24", "%", "é", "%C3%A9", "%c3%a9", "\xff", "\xff\xff", "?x=1", "index.html", " ", "<", "~", "%7E", ".", "/./", "/../", "/..", ";", "%3c", "|", "{", "%7b", "%7C", "^", "\x7f", "robots.txt", "\x00")
	}
	return pick(p, p, p, p, p, p, "/robots.txt", "/robots.txt?")
}

var testTokens = [][]string{{"abot"}, {"a"}, {"a", "abot"}, {"abot", "b"}, {"b2"}, {"*"}, {""}, {}, {"A"}, {"a b", "nobody"}, {"nobody"}, {"a-b", "", "b"},
	{"abot/1.0"}, {"Mozilla/5.0 (compatible; abot/2; +http://x/)"}, {" a "}, {"a,b"}, {"b (x, y) abot/1"}, {"a b"}, {"AdsBot-Google"}, {"APIs-Google/1.0", "a"}}

// TestReference compares the engine with the reference on random files, for which the laws hold.
func TestReference(t *testing.T) {
	rounds := campaign.Size(300, 600, 60_000)
	rng := rand.New(rand.NewPCG(9309, 2022))
	for round := range rounds {
		body := randomFile(rng)
		for range 4 {
			checkLines(t, randomFile(rng))
		}
		if round%campaign.Size(12, 12, 2) == 0 {
			checkCrawlers(t, body, randomPath(rng), testTokens[rng.IntN(5)][0])
		}
		for range 3 {
			path, tokens := randomPath(rng), testTokens[rng.IntN(len(testTokens))]
			for _, d := range Dialects() {
				if rng.IntN(4) == 0 {
					d.MaxFileBytes = rng.IntN(len(body)+2) + 1
				}
				if rng.IntN(8) == 0 && d.MaxLineBytes > 0 {
					d.MaxLineBytes = 5 + rng.IntN(20)
				}
				agree(t, d, body, path, tokens...)
			}
		}
	}
}

// corpus calls fn with files of the folder ROBOTS_CORPUS: in a campaign with all, otherwise with
// every step-th.
func corpus(t testing.TB, fn func(name string, body []byte)) {
	t.Helper()
	campaign.Files(t, campaign.Size(96, 96, 1), fn)
}

// corpusPaths returns n paths, most of them made from the rules of the file.
func corpusPaths(rng *rand.Rand, f *File, n int) []string {
	var values []string
	for l := range f.Lines(Dialect{}) {
		if l.Field == FieldAllow || l.Field == FieldDisallow {
			values = append(values, f.Text(l.Value))
		}
	}
	paths := []string{"/"}
	for len(paths) < n {
		if len(values) == 0 || rng.IntN(5) == 0 {
			paths = append(paths, []string{"/index.html", "/a/b?c=d", "/robots.txt", "/%7Euser/", "/search?q=%C3%A9"}[rng.IntN(5)])
			continue
		}
		v := values[rng.IntN(len(values))]
		v = strings.ReplaceAll(v, "*", []string{"", "x", "a/b", "*"}[rng.IntN(4)])
		if rng.IntN(2) == 0 {
			v = strings.TrimSuffix(v, "$")
		}
		v += []string{"", "", "x", "/", "?a=1"}[rng.IntN(5)]
		if !strings.HasPrefix(v, "/") {
			v = "/" + v
		}
		if len(v) > 400 {
			v = v[:400] // the reference takes pattern x path steps
		}
		paths = append(paths, v)
	}
	return paths
}

// TestCorpus: real files are printed back byte for byte, and engine and reference agree on eight
// URLs in every dialect; some hold the law of crawlers.
func TestCorpus(t *testing.T) {
	rng := rand.New(rand.NewPCG(1994, 2022))
	files := 0
	corpus(t, func(name string, body []byte) {
		f := Parse(body)
		if got := rejoin(f); !bytes.Equal(got, body) {
			t.Fatalf("%s does not print back: %d bytes of %d", name, len(got), len(body))
		}
		files++
		// The reference is slow by design, so files over 64 KiB are compared for one URL and
		// token only, and those over 1 MiB without it.
		n := 8
		switch {
		case len(body) > 1<<20:
			n = 0
		case len(body) > 1<<16:
			n = 1
		}
		paths := corpusPaths(rng, f, 8)
		if files%campaign.Size(10, 10, 8) == 0 {
			checkCrawlers(t, body, randomPath(rng), "Googlebot")
		}
		for i, d := range Dialects() {
			for j, path := range paths {
				token := []string{"Googlebot", "SeznamBot", "nobody"}[(i+j)%3]
				if j < n {
					agree(t, d, body, path, token)
				} else {
					f.Rules(d, token).Match(Path{path})
				}
			}
		}
	})
	t.Logf("%d files", files)
}

// rejoin prints a file from its lines and the bytes between them.
func rejoin(f *File) []byte {
	var out []byte
	if bytes.HasPrefix(f.body, []byte(byteOrderMark)) {
		out = append(out, byteOrderMark...)
	}
	for l := range f.Lines(Dialect{}) {
		out = append(out, f.body[l.Span.Start:l.Span.End]...)
		end := l.Span.End
		if end < len(f.body) && f.body[end] == '\r' {
			out = append(out, '\r')
			end++
			if end < len(f.body) && f.body[end] == '\n' {
				out = append(out, '\n')
			}
		} else if end < len(f.body) {
			out = append(out, f.body[end])
		}
	}
	return out
}
