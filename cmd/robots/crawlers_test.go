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
			s := (&prover{steps: proofSteps, known: map[*robots.Rules]standing{}}).stand(r)
			if s.access != c.want || s.verdict.Rule.Path() != c.path || s.others != c.more {
				t.Errorf("%s %q: got %s by %q and %d more, want %s by %q and %d more", d.Name, c.rules, s.access, s.verdict.Rule.Path(), s.others, c.want, c.path, c.more)
			}
			if c.want == accessPart {
				if s := (&prover{steps: 1, known: map[*robots.Rules]standing{}}).stand(r); s.access != accessUndecided {
					t.Errorf("%s %q: %s after one step", d.Name, c.rules, s.access)
				}
			}
		}
	}
}

// TestProofsEnd: a file that is made to be slow takes the steps of one table and no
// more, and says so.
func TestProofsEnd(t *testing.T) {
	p := &prover{steps: 1000, known: map[*robots.Rules]standing{}}
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
