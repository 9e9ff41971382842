package robots

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestPrintable puts every byte at every position of texts of many lengths: the result has no
// byte that controls a terminal, and a text without one is unchanged.
func TestPrintable(t *testing.T) {
	for length := range 25 {
		for at := range length {
			for c := range 256 {
				s := strings.Repeat("~", at) + string([]byte{byte(c)}) + strings.Repeat(" ", length-at-1)
				want := s
				if c < ' ' || c > '~' {
					want = s[:at] + `\x` + upperHex[c>>4:][:1] + upperHex[c&15:][:1] + s[at+1:]
				}
				if got := Printable(s); got != want {
					t.Fatalf("%q: got %q, want %q", s, got, want)
				}
			}
		}
	}
}

// TestControls: no character that controls a terminal, ends a line, or hides or reorders the text
// around it is printed. All other characters are unchanged.
func TestControls(t *testing.T) {
	for u := range rune(unicode.MaxRune + 1) {
		if 0xD800 <= u && u < 0xE000 {
			continue
		}
		s := "/" + string(u) + "a"
		controls := unicode.In(u, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
		if got := Printable(s); (got != s) != controls || !utf8.ValidString(got) || strings.Contains(got, string(u)) == controls {
			t.Errorf("%U: printed as %q", u, got)
		}
	}
}

// TestLimitedJSON: a limited list ends at its limit and counts the rest; nothing else differs from
// the answer without limits.
func TestLimitedJSON(t *testing.T) {
	body := "User-agent: a\nUser-agent: A\nUser-agent: a\nRequest-rate: 1/1\nRequest-rate: 1/2\nRequest-rate: x\nSitemap: s\nDisallow: /\nSitemap: t\nSitemap: u\n"
	r := Parse([]byte(body)).Rules(RFC9309, "a")
	whole := string(r.AppendJSON(nil, JSONLimits{}))
	for _, c := range []struct {
		limits   JSONLimits
		old, new string
	}{
		{JSONLimits{}, "", ""},
		{JSONLimits{3, 2, 3}, "", ""},
		{JSONLimits{Lines: 1}, "[1,2,3]", `[1],"lines_dropped":2`},
		{JSONLimits{Rates: 1}, `,{"requests":1,"seconds":2,"from":null,"to":null}]`, `],"request_rates_dropped":1`},
		{JSONLimits{Sitemaps: 2}, `,"u"]`, `],"sitemaps_dropped":1`},
	} {
		got, want := string(r.AppendJSON(nil, c.limits)), strings.Replace(whole, c.old, c.new, 1)
		if got != want || c.old != c.new && want == whole {
			t.Errorf("%+v:\ngot  %s\nwant %s", c.limits, got, want)
		}
	}
}
