package main

import (
	"testing"

	"github.com/robotskit/robots"
)

// TestProver: how much of a site rules leave is proved in every dialect, and left
// open when the steps end.
func TestProver(t *testing.T) {
	for _, c := range []struct {
		rules string
		want  access
		path  string // of the rule that blocks the shortest URL
		more  int
	}{
		{"", accessAll, "", 0},
		{"Disallow: /\nAllow: /", accessAll, "/", 0},
		{"Allow: /a\nAllow: /b", accessAll, "", 0},
		{"Disallow: /b\nDisallow: /private/", accessPart, "/b", 1},
		{"Disallow: /\nAllow: /$", accessPart, "/", 0},
		{"Disallow: /", accessNone, "/", 0},
		{"Disallow: /*", accessNone, "/*", 0},
		{"Disallow: /\nAllow: /robots.txt$", accessNone, "/", 0},
	} {
		for _, d := range robots.Dialects() {
			r := robots.Parse([]byte("User-agent: *\n"+c.rules)).Rules(d, "MyBot")
			s := newProver(proofSteps).stand(r)
			if s.access != c.want || s.verdict.Rule.Path() != c.path || s.others != c.more {
				t.Errorf("%s %q: got %s by %q and %d more, want %s by %q and %d more", d.Name, c.rules, s.access, s.verdict.Rule.Path(), s.others, c.want, c.path, c.more)
			}
			if c.want == accessPart {
				if s := newProver(1).stand(r); s.access != accessUndecided {
					t.Errorf("%s %q: %s after one step", d.Name, c.rules, s.access)
				}
			}
		}
	}
}

// TestProofsEnd: a file that is made to be slow takes the steps of one table and no
// more, and says so.
func TestProofsEnd(t *testing.T) {
	p := newProver(1000)
	undecided := 0
	for range 20 {
		body := "User-agent: *\n"
		for i := range 20 {
			body += "Disallow: /*" + string(rune('a'+i)) + "*b*c*d\nAllow: /*" + string(rune('a'+i)) + "*x*y\n"
		}
		if p.stand(robots.Parse([]byte(body)).Rules(robots.RFC9309, "MyBot")).access == accessUndecided {
			undecided++
		}
	}
	if p.steps < -1000 || undecided == 0 {
		t.Errorf("%d steps left, %d undecided", p.steps, undecided)
	}
}

// TestProofOnce: groups that say the same are proved once, and the answer still is
// that of the crawler's own group.
func TestProofOnce(t *testing.T) {
	f := robots.Parse([]byte("User-agent: a\nUser-agent: b\nDisallow: /x\n\nUser-agent: c\nDisallow: /x\n\nUser-agent: d\nUser-agent: e\nDisallow:\n"))
	p := newProver(proofSteps)
	for _, c := range []struct {
		token  string
		access access
		line   int
		proofs int
	}{{"a", accessPart, 3, 1}, {"b", accessPart, 3, 1}, {"c", accessPart, 6, 2}, {"d", accessAll, 0, 3}, {"e", accessAll, 0, 3}, {"f", accessAll, 0, 3}} {
		s := p.stand(f.Rules(robots.RFC9309, c.token))
		if s.access != c.access || s.verdict.Rule.Line() != c.line || len(p.known) != c.proofs || s.named() != (c.token != "f") || s.named() && s.verdict.Group.Token() != c.token {
			t.Errorf("%s: %s by line %d of group %q after %d proofs, want %s by line %d after %d", c.token, s.access, s.verdict.Rule.Line(), s.verdict.Group.Token(), len(p.known), c.access, c.line, c.proofs)
		}
	}
}
