package robots

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

// TestProductTokens: the product tokens in a header, the value itself last (D-03).
func TestProductTokens(t *testing.T) {
	for _, c := range []struct {
		header string
		want   []string // before the header itself
	}{
		{"LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)", []string{"LinkedInBot", "Apache-HttpClient"}},
		{"LinkedInBot/1.0 (compatible; Mozilla/5.0; Jakarta Commons-HttpClient/3.1 +http://www.linkedin.com)", []string{"LinkedInBot", "Jakarta Commons-HttpClient", "Jakarta", "Commons-HttpClient"}},
		{"Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)", []string{"Yahoo! Slurp", "Slurp"}},
		{"Mozilla/5.0 (compatible; Yahoo! Slurp/3.0; http://help.yahoo.com/help/us/ysearch/slurp)", []string{"Yahoo! Slurp", "Slurp"}},
		{"Mozilla/5.0 (compatible; Mozilla/5.0; GooseBot; +http://x/)", []string{"GooseBot"}},
		{"Mozilla/5.0 (compatible; Chrome/1; Safari/2; Mobile GooseBot/3; SwanBot/4)", []string{"GooseBot", "SwanBot"}},
		{"Mozilla/5.0 (compatible; GooseBot/2.1; SwanBot/1) DuckBot/3", []string{"GooseBot"}},
		{"Mozilla/5.0 (compatible; Linux x86_64; Mail.RU_Bot/2.0; +http://go.mail.ru/help/robots)", []string{"Linux x86_64", "Linux", "x86_64", "Mail.RU_Bot"}},
		{"Mozilla/5.0 (compatible; GooseBot; mail@goose.example)", []string{"GooseBot"}},
		{"Mozilla/2.0 (compatible; Ask Jeeves/Teoma; +http://sp.ask.com/)", []string{"Ask Jeeves/Teoma", "Ask", "Jeeves", "Teoma"}},
		{"Mozilla/5.0 (Windows NT 6.1) AppleWebKit/537.1 (KHTML, like Gecko) Chrome/21.0 Safari/537.1; 360Spider", []string{"360Spider"}},
		{"Mozilla/4.0 compatible ZyBorg/1.0 (wn-14.zyborg@looksmart.net)", []string{"ZyBorg"}},
		{"Mozilla/5.0 (X11) AppleWebKit/5 (KHTML, like Gecko) Chrome/1 Mobile Safari/5", []string{"Mozilla", "AppleWebKit", "Chrome", "Mobile", "Safari"}},
		{"Mozilla/5.0 (compatible; Mozilla; Chrome/1)", []string{"Mozilla", "Chrome"}},
		{"Sogou web spider/4.0(+http://www.sogou.com/docs)", []string{"Sogou web spider", "Sogou", "web", "spider"}},
		{"Download Ninja", []string{"Download", "Ninja"}},
		{"WebCopier v4.6", []string{"WebCopier"}},
		{"b (x, y) abot/1", []string{"abot", "b"}},
		{"a/1, b c/2", []string{"a", "b c", "b", "c"}},
		{"compatible;", nil},
		{"+http://x/ @ !", nil},
	} {
		if got := ProductTokens(" " + c.header + "\t"); !slices.Equal(got, append(c.want, c.header)) {
			t.Errorf("%s\n got %q\nwant %q", c.header, got, append(c.want, c.header))
		}
	}
}

// TestHeaders compares the product tokens in headers with the reference, without duplicates.
func TestHeaders(t *testing.T) {
	pieces := []string{
		"Mozilla/5.0", "Mozilla", "AppleWebKit/537.36", "(KHTML, like Gecko)", "Chrome/1.2", "Mobile", "Safari/5", "compatible;", "(compatible;", "(compatible)", "COMPATIBLE;",
		"GooseBot", "GooseBot/2.1", "Swan!", "Duck/mobile", "Teal/", "/x", "/", "-", "+http://x/", "http://x/y", "a@b.c", "MSIE", "6.0", "v4.6", "3.0x", "360Spider", "98", "x.y",
		"é", "\xff", "(", ")", ";", ",", ", ", " ", "\t", "like", "V", "v.", "*",
	}
	rng := rand.New(rand.NewPCG(3, 41))
	for range campaign.Size(2000, 40_000, 2_000_000) {
		var b strings.Builder
		for range 1 + rng.IntN(9) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
			if rng.IntN(4) > 0 {
				b.WriteByte(' ')
			}
		}
		value := b.String()
		got, want := ProductTokens(value), []string(nil)
		for _, token := range refTokens(RFC9309, []string{value}) {
			if !slices.Contains(want, token) {
				want = append(want, token)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q\n got %q\nwant %q", value, got, want)
		}
	}
}
