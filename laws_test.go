package robots

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

// The laws hold for every input. Fuzzing searches for a counterexample; the tests below try
// random files in every run.

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

// FuzzReaders: the fast scanner reads each line as readLine does.
func FuzzReaders(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body []byte, _, _ string) { readersAgree(t, body) })
}

func TestScannerAgreesWithReadLine(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	for range campaign.Size(2000, 20_000, 200_000) {
		readersAgree(t, randomFile(rng))
	}
}

func readersAgree(t *testing.T, body []byte) {
	t.Helper()
	dialects := Dialects()
	f := Parse(body)
	for s := f.scan(); s.next(); {
		for i := range dialects {
			d := &dialects[i]
			if s.ambiguous && d.lenient() {
				continue
			}
			field, val, end := readLine(d, body, s.start, s.end)
			if field <= FieldUnknown && s.field <= FieldUnknown {
				continue // neither says anything
			}
			if field != s.field || string(body[val:end]) != string(body[s.val:s.valEnd]) {
				t.Fatalf("%s reads %q as %v %q, the scanner as %v %q", d.Name, body[s.start:s.end], field, body[val:end], s.field, body[s.val:s.valEnd])
			}
		}
	}
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

// TestNothingElseMatters: line ends, letter case of fields, the order of rules and a group for
// another crawler change no verdict.
func TestNothingElseMatters(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	for range campaign.Size(300, 3000, 30_000) {
		// A regular file, so that each change has only its own effect.
		agents := []string{"a", "abot", "*"}
		var blocks [][]string
		for range 1 + rng.IntN(3) {
			block := []string{"User-agent: " + agents[rng.IntN(3)]}
			for range 1 + rng.IntN(5) {
				value := "/"
				for range rng.IntN(4) {
					value += []string{"a", "b", "*", "/", "%2f", "é", "$"}[rng.IntN(7)]
				}
				block = append(block, []string{"Allow: ", "Disallow: "}[rng.IntN(2)]+value)
			}
			blocks = append(blocks, block)
		}
		join := func(blocks [][]string, end string) string {
			var b strings.Builder
			for _, block := range blocks {
				b.WriteString(strings.Join(block, end) + end + end)
			}
			return b.String()
		}
		plain := join(blocks, "\n")
		shuffled := make([][]string, len(blocks))
		for i, block := range blocks {
			shuffled[i] = slices.Clone(block)
			rest := shuffled[i][1:]
			rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		}
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		changed := map[string]string{
			"CRLF":     join(blocks, "\r\n"),
			"CR":       join(blocks, "\r"),
			"case":     strings.NewReplacer("User-agent", "uSER-aGENT", "Allow", "ALLOW", "Disallow", "dISALLOW").Replace(plain),
			"order":    join(shuffled, "\n"),
			"stranger": "User-agent: zzz\nDisallow: /\n\n" + plain + "User-agent: yyy\nAllow: /\n",
			"comments": "# first\n" + strings.ReplaceAll(plain, "\n", " # x\n"),
		}
		path := randomPath(rng)
		for _, d := range Dialects() {
			for _, token := range []string{"a", "abot", "nobody"} {
				want := Parse([]byte(plain)).Rules(d, token).Match(Path{path})
				for name, body := range changed {
					got := Parse([]byte(body)).Rules(d, token).Match(Path{path})
					if name == "stranger" && want.Reason == ReasonEmptyFile {
						continue
					}
					// In undefined verdicts the order can select other rules of the same weight.
					if got.Allowed != want.Allowed || got.Reason != want.Reason || got.Undefined != want.Undefined && name != "order" {
						t.Fatalf("%s, %s, token %q, path %q\n%q\n%q\n got %v\nwant %v", name, d.Name, token, path, body, plain, got, want)
					}
				}
			}
		}
	}
}
