package compare

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/robotskit/robots"
)

// TestFullSegments: with the option, the example of a rule is a shortest of the URLs without empty segments and
// without a slash in the query. If there are none, it is a shortest of all.
func TestFullSegments(t *testing.T) {
	type candidate struct {
		text string
		path robots.Path
		full bool
	}
	var all []candidate
	for _, w := range words("/ab?", 6) {
		text := "/" + w
		path, query, _ := strings.Cut(text, "?")
		all = append(all, candidate{text, site(text), !strings.Contains(path, "//") && !strings.Contains(query, "/")})
	}
	r := rand.New(rand.NewPCG(3, 4))
	pattern := func() string {
		text := "/"
		for range 1 + r.IntN(5) {
			text += string("/ab?*/*"[r.IntN(7)])
		}
		return text + strings.Repeat("$", r.IntN(2))
	}
	open := parse(robots.RFC9309, "Disallow:")
	filled := 0
	for range 300 {
		lines := []string{"Disallow: " + pattern(), "Allow: " + pattern(), "Disallow: " + pattern()}
		closed := parse(robots.RFC9309, lines...)
		d := Blocked(open, closed, Options{FullSegments: true})
		plain := Blocked(open, closed, Options{})
		if len(d.Changes) != len(plain.Changes) || d.Complete != plain.Complete {
			t.Fatalf("%q: %v, without the option %v", lines, d.Changes, plain.Changes)
		}
		for _, c := range d.Changes {
			if !c.Shortest {
				t.Errorf("%q: %s is not proved", lines, c.Path)
			}
			best, bestFull := 0, 0 // lengths, 0 for none
			for _, one := range all {
				if v := closed.Match(one.path); v.Allowed || v.Rule.Line() != c.New.Rule.Line() {
					continue
				}
				if best == 0 {
					best = len(one.text)
				}
				if bestFull == 0 && one.full {
					bestFull = len(one.text)
				}
			}
			want := bestFull
			if want == 0 {
				want = best
			}
			isFull := isOf(fullURLs, c.Path)
			if want > 0 && len(c.Path) != want && (bestFull > 0 || !isFull) || bestFull > 0 && !isFull {
				t.Errorf("%q: %s for line %d, want %d bytes", lines, c.Path, c.New.Rule.Line(), want)
			}
			if best < bestFull {
				filled++
			}
		}
	}
	if filled < 20 {
		t.Errorf("only %d examples differ: the test shows little", filled)
	}
}
