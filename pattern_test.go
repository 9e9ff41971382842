package robots

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

// patternOf returns the pattern of a rule with this path.
func patternOf(t *testing.T, d Dialect, value string) Pattern {
	t.Helper()
	d.IndexHTML = false
	for rule := range Parse([]byte("User-agent: *\nDisallow: " + value)).Rules(d).All() {
		return rule.Pattern()
	}
	t.Fatalf("%s: no rule %q", d.Name, value)
	return Pattern{}
}

// TestPatternString: the texts of two patterns differ if they match different URLs, also where
// parts form an escape.
func TestPatternString(t *testing.T) {
	for _, c := range []struct {
		dialect     Dialect
		value, want string
	}{
		{RFC9309, "/%2A", "/%2A"},
		{RFC9309, "/%2a", "/%2A"},
		{RFC9309, "/%2%41", "/%2%41"},
		{RFC9309, "/%2%34", "/%2%34"},
		{RFC9309, "/%7E", "/~"},
		{RFC9309, "/bar", "/bar"},
		{RFC9309, "/%7%45", "/%7%45"},
		{RFC9309, "/%C%33", "/%C3"},
		{RFC9309, "/%c%33", "/%c%33"},
		{RFC9309, "/%2%4%31", "/%2%4%31"},
		{RFC9309, "/a$b$", "/a%24b$"},
		{RFC9309, "/%2*", "/%2*"},
		{Google, "/%2A", "/%2A"},
		{Google, "/\x01\x02", "/\x01\x02"},
		{Google, "/%7e", "/%7E"},
		{Google, "/a$b$", "/a$b$"},
	} {
		if got := patternOf(t, c.dialect, c.value).String(); got != c.want {
			t.Errorf("%s: %q is printed as %q, want %q", c.dialect.Name, c.value, got, c.want)
		}
	}
	for _, path := range []string{"/%2A", "/%2%41"} {
		p, _ := ParsePath(path)
		if e := Parse(nil).Rules(RFC9309).Explain(p); e.Normal != path {
			t.Errorf("the path %q is explained as %q", path, e.Normal)
		}
	}
}

// TestPatternRoundTrip: a pattern that is printed and parsed is the same, and its pieces are
// complete.
func TestPatternRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 41))
	parts := []string{"/", "a", "A", "2", "4", "7", "E", "e", "c", "%", "%", "%2", "%2A", "%2a", "%24", "%41", "%45", "%31", "%34", "%7E", "%C3", "%zz", "*", "$", "\x01", "\x02", "é", "<", "|", " ", "~"}
	for range campaign.Size(2_000, 20_000, 1_000_000) {
		value := "/"
		for range rng.IntN(6) {
			value += parts[rng.IntN(len(parts))]
		}
		for _, d := range Dialects() {
			p := patternOf(t, d, value)
			if again := patternOf(t, d, p.String()); again.text != p.text {
				t.Fatalf("%s: %q is printed as %q, which is another pattern: %q, not %q", d.Name, value, p, again.text, p.text)
			}
			pieces, end := p.Pieces()
			text := strings.Join(pieces, "\x00")
			if d.Escapes == EscapesRFC {
				text = strings.NewReplacer("*", "\x01", "$", "\x02").Replace(text)
			}
			text = strings.ReplaceAll(text, "\x00", "*")
			if end {
				text += "$"
			}
			if text != p.text {
				t.Fatalf("%s: the pieces of %q are %q %v", d.Name, value, pieces, end)
			}
		}
	}
}

func TestPieces(t *testing.T) {
	for _, c := range []struct {
		dialect Dialect
		value   string
		pieces  []string
		end     bool
	}{
		{RFC9309, "/", []string{"/"}, false},
		{RFC9309, "/a*b$", []string{"/a", "b"}, true},
		{RFC9309, "*a**", []string{"", "a", "", ""}, false},
		{RFC9309, "/%2A*$b%24", []string{"/*", "$b$"}, false},
		{RFC9309, "/%2%41", []string{"/%2A"}, false},
		{Google, "/%2A$b$", []string{"/%2A$b"}, true},
		{GoogleLegacy, "a", []string{"/a"}, false},
		{Google, "/{a b}*é$", []string{"/%7Ba b%7D", "%C3%A9"}, true},
		{GoogleCPP, "/{a b}*é$", []string{"/{a b}", "%C3%A9"}, true},
	} {
		if pieces, end := patternOf(t, c.dialect, c.value).Pieces(); !slices.Equal(pieces, c.pieces) || end != c.end {
			t.Errorf("%s: %q is %q %v, want %q %v", c.dialect.Name, c.value, pieces, end, c.pieces, c.end)
		}
	}
}

// TestNormalLen: normalLen is the length up to which the normal form equals the text, for any
// two bytes after a '%', at any position in eight bytes, at the end, and after another '%'.
func TestNormalLen(t *testing.T) {
	for pair := range 1 << 16 {
		text := "%" + string([]byte{byte(pair >> 8), byte(pair)})
		before, after := strings.Repeat("x", pair%9), []string{"", "y", "yyyyyyyyyyyy", "%C3%A4", "41"}[pair%5]
		for _, s := range []string{before + text + after, before + "%" + text + after, before + "%2" + text} {
			for name, form := range map[string]struct {
				class   uint8
				decodes bool
				copied  func(s string) []byte
			}{
				"RFC, path":    {careRFC, true, func(s string) []byte { b, _ := appendRFC(nil, s, false); return b }},
				"Google, rule": {careGooglePattern, false, func(s string) []byte { return appendPatternGoogle(nil, s, careGooglePattern) }},
				"C++, rule":    {careCPP, false, func(s string) []byte { return appendPatternGoogle(nil, s, careCPP) }},
			} {
				n := normalLen(s, form.class, form.decodes)
				want := form.copied(s)
				if got := s[:n] + string(form.copied(s[n:])); got != string(want) || n == len(s) != (string(want) == s) {
					t.Fatalf("%s: the first %d bytes of %q stay, which becomes %q; want %q", name, n, s, got, want)
				}
			}
		}
	}
}

// TestIndexOf: a long piece is found where strings.Index finds it, however often its prefix
// occurs.
func TestIndexOf(t *testing.T) {
	found := 0
	for before := range 140 {
		for _, n := range []int{62, 63, 64, 70} {
			begins := strings.Repeat("a", n)
			for _, piece := range []string{begins, begins + "b", begins[1:] + "c"} {
				for _, path := range []string{strings.Repeat("a", before), strings.Repeat("a", before) + "b", strings.Repeat(begins+"d", before/10) + piece + "x"} {
					got := indexOf(path, piece)
					if want := strings.Index(path, piece); got != want {
						t.Fatalf("%q in %q: %d, want %d", piece, path, got, want)
					}
					if got > 0 {
						found++
					}
				}
			}
		}
	}
	if found == 0 {
		t.Error("no piece occurs behind the start")
	}
}
