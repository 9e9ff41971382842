package robots

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

// TestParsePlain holds the short way of ParseURL to the long one, on URLs made
// of what decides between them.
func TestParsePlain(t *testing.T) {
	rng := rand.New(rand.NewPCG(3986, 46))
	parts := strings.Fields("a b c example com www xn-- xn--bcher-kva bücher - -- _ . .. 0 1 7 127 0x 0x7f 09 %61 %2e A EXAMPLE : :80 :443 :x @ u@ / / / /a // ? # ?q #f [ ] [::1] \\ ~ é \u00ad \x00 \x7f ! * ß \u3002 \u200d aa--bb a-b ab-")
	plain := strings.Fields("a b-c example com www x1 9z a_b . . . /")
	short := 0
	rounds := campaign.Size(20_000, 300_000, 10_000_000)
	for range rounds {
		url := []string{"http://", "https://", "https://", "https://", "HTTP://", "ftp://", "http:/"}[rng.IntN(7)]
		odd := rng.IntN(10) // of ten parts
		for range rng.IntN(9) {
			part := plain[rng.IntN(len(plain))]
			if rng.IntN(10) < odd {
				part = parts[rng.IntN(len(parts))]
			}
			url += part
		}
		if rng.IntN(50) == 0 {
			url += strings.Repeat("a.", rng.IntN(200)) + "b"
		}
		o, p, ok := parsePlain(url)
		if !ok {
			continue
		}
		short++
		if want, path, err := parseURL(url); err != nil || o != want || p != path {
			t.Fatalf("%q: the short way gives %#v %q, the long one %#v %q, %v", url, o, p, want, path, err)
		}
	}
	t.Logf("%d of %d URLs went the short way", short, rounds)
	for _, url := range []string{"https://www.example.com/a/b?c=d#e", "http://example.com", "https://a-b.example/"} {
		if _, _, ok := parsePlain(url); !ok {
			t.Errorf("%q does not go the short way", url)
		}
		if n := testing.AllocsPerRun(20, func() { ParseURL(url) }); n != 0 {
			t.Errorf("ParseURL(%q) allocates %v times", url, n)
		}
	}
	for _, url := range []string{"https://127.1/", "https://a.0x7f/", "https://xn--a/", "https://a..b/", "https://a./", "https://.a/", "https://", "https://a:80/", "https://u@a/"} {
		if _, _, ok := parsePlain(url); ok {
			t.Errorf("%q goes the short way", url)
		}
	}
}

// TestParseBackslash: browsers take a backslash for the end of the host, so nobody may take what
// follows for the host.
func TestParseBackslash(t *testing.T) {
	for _, url := range []string{`http://good.example\@evil.example/`, `https://good.example\a@evil.example`, `https://good.example\a/`, `https://good.example\`} {
		if o, _, err := ParseURL(url); err == nil {
			t.Errorf("%s: its origin is %s", url, o)
		}
	}
	if o, p, err := ParseURL(`https://good.example/\@a`); err != nil || o.Host() != "good.example" || p.String() != `/\@a` {
		t.Errorf("in a path: %s %s %v", o, p, err)
	}
}

// TestParseHostNotUTF8: bytes that are no UTF-8 are no host, as U+FFFD is none; else all of them
// would be one origin (D-36).
func TestParseHostNotUTF8(t *testing.T) {
	for _, url := range []string{"https://%e4.example/", "https://%FF.example/", "https://a\xe4b.example/", "https://\xc3.example/", "https://\ufffd.example/"} {
		if o, _, err := ParseURL(url); err == nil {
			t.Errorf("ParseURL(%q) = %v, want an error", url, o)
		}
	}
	if _, _, err := ParseURL("https://%c3%a4.example/"); err != nil {
		t.Error(err)
	}
}
