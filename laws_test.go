package robots

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// The laws hold for every input. Fuzzing searches for a counterexample; TestReference and
// TestCorpus try random and real files in every run.

func seeds(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b$\nAllow: /a\n"), "/axb", "a")
	f.Add([]byte("\xEF\xBBuser-agent: a\r\rdisallow /x\x00y\r\nallow: /d/index.html"), "/d/", "a")
	f.Add([]byte("useragent: a\nuser-agent: b\nCrawl-delay: .5\nDisallow:\nRequest-rate: 1/2m 2200-0600"), "/?%2A$", "b")
	f.Add([]byte(""), "/", "")
	rng := rand.New(rand.NewPCG(1, 1))
	for range 40 {
		f.Add(randomFile(rng), randomPath(rng), testTokens[rng.IntN(5)][0])
	}
}

// FuzzLaws: printing a parsed file returns it; engine, reference, Allowed, Match and Explain
// agree in every dialect; so do crawlers together and alone; nothing panics.
func FuzzLaws(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body []byte, path, token string) {
		if len(body) > 4096 || len(path) > 256 {
			t.Skip("larger than the reference is made for")
		}
		if !bytes.Equal(rejoin(Parse(body)), body) {
			t.Fatalf("%q does not print back", body)
		}
		if !strings.HasPrefix(path, "/") {
			path = "/" + path
		}
		checkLines(t, body)
		checkCrawlers(t, body, path, token)
		for _, d := range Dialects() {
			agree(t, d, body, path, token)
			agree(t, d, body, path, token, "b", "a")
			d.MaxFileBytes = len(body) * 2 / 3
			agree(t, d, body, path, token)
		}
	})
}

// FuzzURL: no string panics, and ParseURL reproduces what it accepts.
func FuzzURL(f *testing.F) {
	for _, s := range []string{"http://h/a#b", "//h?q", "/a", "ftp://u:p@[::1]:21/x", "http://%65x.com:080", "https://müller.eu.", "http://0x7f.1", "", "http://h;p", "a#b://h/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if p := RawPath(s).String(); p == "" || p[0] != '/' {
			t.Fatalf("RawPath(%q) = %q", s, p)
		}
		o, p, err := ParseURL(s)
		if err != nil {
			return
		}
		if p.String() == "" || p.String()[0] != '/' {
			t.Fatalf("ParseURL(%q) has path %q", s, p)
		}
		again, path, err := ParseURL(o.String() + p.String())
		if err != nil || again != o || path != p {
			t.Fatalf("ParseURL(%q) = %v, %v; again %v, %v, %v", s, o, p, again, path, err)
		}
	})
}
