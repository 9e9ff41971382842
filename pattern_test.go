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

// TestPatterns: the text and the pieces of patterns, also where parts form an escape.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		dialect     Dialect
		value, want string
		pieces      []string
	}{
		{RFC9309, "/", "/", []string{"/"}},
		{RFC9309, "/%2A", "/%2A", []string{"/*"}},
		{RFC9309, "/%2a", "/%2A", []string{"/*"}},
		{RFC9309, "/%2%41", "/%2%41", []string{"/%2A"}},
		{RFC9309, "/%2%34", "/%2%34", []string{"/%24"}},
		{RFC9309, "/%7E", "/~", []string{"/~"}},
		{RFC9309, "/%7%45", "/%7%45", []string{"/%7E"}},
		{RFC9309, "/%C%33", "/%C3", []string{"/%C3"}},
		{RFC9309, "/%c%33", "/%c%33", []string{"/%c3"}},
		{RFC9309, "/%2%4%31", "/%2%4%31", []string{"/%2%41"}},
		{RFC9309, "/a$b$", "/a%24b$", []string{"/a$b"}},
		{RFC9309, "/%2*", "/%2*", []string{"/%2", ""}},
		{RFC9309, "*a**", "*a**", []string{"", "a", "", ""}},
		{RFC9309, "/%2A*$b%24", "/%2A*%24b%24", []string{"/*", "$b$"}},
		{Google, "/%2A$b$", "/%2A$b$", []string{"/%2A$b"}},
		{Google, "/\x01\x02", "/\x01\x02", []string{"/\x01\x02"}},
		{Google, "/%7e", "/%7E", []string{"/%7E"}},
		{GoogleLegacy, "a", "/a", []string{"/a"}},
		{Google, "/{a b}*é$", "/%7Ba b%7D*%C3%A9$", []string{"/%7Ba b%7D", "%C3%A9"}},
		{GoogleCPP, "/{a b}*é$", "/{a b}*%C3%A9$", []string{"/{a b}", "%C3%A9"}},
	} {
		p := patternOf(t, c.dialect, c.value)
		if pieces, end := p.Pieces(); p.String() != c.want || !slices.Equal(pieces, c.pieces) || end != strings.HasSuffix(c.value, "$") {
			t.Errorf("%s: %q is printed as %q, pieces %q %v, want %q, %q", c.dialect.Name, c.value, p, pieces, end, c.want, c.pieces)
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
				"RFC, path":    {changesPathRFC, true, func(s string) []byte { b, _ := appendRFC(nil, s, false); return b }},
				"Google, rule": {changesPatternGoogle, false, func(s string) []byte { return appendPatternGoogle(nil, s, changesPatternGoogle) }},
				"C++, rule":    {changesPatternCPP, false, func(s string) []byte { return appendPatternGoogle(nil, s, changesPatternCPP) }},
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
	for before := range 140 {
		for _, n := range []int{62, 63, 64, 70} {
			begins := strings.Repeat("a", n)
			for _, piece := range []string{begins, begins + "b", begins[1:] + "c"} {
				for _, path := range []string{strings.Repeat("a", before), strings.Repeat("a", before) + "b", strings.Repeat(begins+"d", before/10) + piece + "x"} {
					if got, want := indexOf(path, piece), strings.Index(path, piece); got != want {
						t.Fatalf("%q in %q: %d, want %d", piece, path, got, want)
					}
				}
			}
		}
	}
}
