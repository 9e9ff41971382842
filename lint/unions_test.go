package lint

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/internal/campaign"
)

// TestUnionCases: a fix is not safe if it changes a verdict for some crawler of google-cpp, which
// obeys the groups of all its tokens. The finding remains.
func TestUnionCases(t *testing.T) {
	for _, c := range []struct{ name, body, safe, change string }{
		{
			"two tokens", "User-agent: foo\nDisallow: /a\nDisallow: /a/bc\n\nUser-agent: bar\nAllow: /a/b\n",
			"", "allows /a/bc for a crawler with the tokens foo and bar in google-cpp",
		},
		{
			"the empty token", "User-agent: foo\nDisallow: /a\nDisallow: /a/bc\n\nUser-agent: 1\nAllow: /a/b\n",
			"", `allows /a/bc for a crawler with the tokens foo and "" in google-cpp`,
		},
		{"the group of others", "User-agent: foo\nDisallow: /a\nDisallow: /a/bc\n\nUser-agent: *\nAllow: /a/b\n", "RT504", ""},
		{"another path", "User-agent: foo\nDisallow: /a\nDisallow: /a/bc\n\nUser-agent: bar\nAllow: /c\nDisallow: /\n", "RT504", ""},
		{"the same verdict", "User-agent: foo\nDisallow: /a\nDisallow: /a/bc\n\nUser-agent: bar\nDisallow: /a/b\n", "RT504", ""},
		{"a shorter rule", "User-agent: foo\nDisallow: /ab\nDisallow: /ab/c\n\nUser-agent: bar\nAllow: /a\n", "RT504", ""},
		{"a longer rule", "User-agent: foo\nDisallow: /a\nDisallow: /a/b\n\nUser-agent: bar\nAllow: /a/b\n", "RT504", ""},
		{
			"a lower weight", "User-agent: foo\nDisallow: /a**b\n\nUser-agent: bar\nAllow: /a*b\n",
			"", "allows /ab for a crawler with the tokens foo and bar in google-cpp",
		},
		{"a duplicate", "User-agent: foo\nDisallow: /a/bc\nDisallow: /a/bc\n\nUser-agent: bar\nAllow: /a/b\n", "RT505", ""},
		{
			"one of two", "User-agent: foo\nDisallow: /a\nDisallow: /a/bc\nDisallow: /a/x\n\nUser-agent: bar\nAllow: /a/b\n",
			"RT504", "allows /a/bc for a crawler with the tokens foo and bar in google-cpp",
		},
	} {
		var safe, change []string
		for _, d := range File(robots.Parse([]byte(c.body)), Options{}).Diagnostics {
			switch {
			case d.Fix == nil:
			case d.Fix.Safe:
				safe = append(safe, d.Check.ID)
			default:
				change = append(change, d.Fix.Change)
			}
		}
		if strings.Join(safe, " ") != c.safe || strings.Join(change, " ") != c.change {
			t.Errorf("%s: safe fixes %q, want %q; changes %q, want %q", c.name, safe, c.safe, change, c.change)
		}
	}
}

// TestUnionsDrawn: safe fixes of drawn files are decided and keep the verdicts of every union of tokens.
func TestUnionsDrawn(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 3))
	paths := []string{"", "/_next", "/", "/a", "/a/", "/ab", "/a*b", "/a**b", "/*b", "/a$", "/ab$", "/abc", "/b", "/*c$"}
	fixed := 0
	for range campaign.Size(200, 2_000, 50_000) {
		var body strings.Builder
		for range 1 + rng.IntN(4) {
			for range 1 + rng.IntN(2) {
				body.WriteString([]string{"User-agent: ", "User-agent "}[rng.IntN(8)/7] + []string{"a", "b", "c", "1", "*"}[rng.IntN(5)] + "\n")
			}
			for range 1 + rng.IntN(4) {
				body.WriteString([]string{"Allow: ", "Disallow: ", "Disalow: "}[rng.IntN(13)/6] + paths[rng.IntN(len(paths))] + "\n")
			}
		}
		before := []byte(body.String())
		after, _, left := ApplyFixes(before, Options{}, false)
		if left.Undecided {
			t.Fatalf("%q is undecided", before)
		}
		if bytes.Equal(before, after) {
			continue
		}
		fixed++
		f, g := robots.Parse(before), robots.Parse(after)
		for set := range 1 << 4 {
			var tokens []string
			for i, token := range []string{"a", "b", "c", ""} {
				if set>>i&1 != 0 {
					tokens = append(tokens, token)
				}
			}
			a, b := f.Rules(robots.GoogleCPP, tokens...), g.Rules(robots.GoogleCPP, tokens...)
			if r := compare.Rules(a, b, compare.Options{}); !r.Same() {
				t.Fatalf("%q and, fixed, %q: %q %+v", before, after, tokens, r)
			}
		}
	}
	t.Logf("%d files fixed", fixed)
}

// sameUnions compares drawn unions of tokens in google-cpp: for the URL of each rule of the union
// by a match, and some by a proof.
func (c *counts) sameUnions(t *testing.T, name string, before, after []byte) {
	f, g := robots.Parse(before), robots.Parse(after)
	tokens := append(f.Crawlers(robots.GoogleCPP), "")
	rng := rand.New(rand.NewPCG(uint64(len(before)), 16))
	for draw := range 40 {
		rng.Shuffle(len(tokens), func(i, j int) { tokens[i], tokens[j] = tokens[j], tokens[i] })
		union := tokens[:min(len(tokens), 2+rng.IntN(4))]
		a, b := f.Rules(robots.GoogleCPP, union...), g.Rules(robots.GoogleCPP, union...)
		if textOf(a) == textOf(b) {
			continue
		}
		c.unions++
		for rule := range a.All() {
			text := strings.TrimSuffix(rule.Pattern().String(), "$")
			for _, star := range []string{"", "x", "/"} {
				path := robots.RawPath(strings.ReplaceAll(text, "*", star))
				if a.Allowed(path) != b.Allowed(path) {
					t.Fatalf("%s: %q in google-cpp on %s: %v, fixed %v", name, union, path, a.Match(path), b.Match(path))
				}
			}
		}
		if draw < 4 && compare.Rules(a, b, compare.Options{}).Differs() {
			t.Fatalf("%s: %q in google-cpp", name, slices.Clone(union))
		}
	}
}
