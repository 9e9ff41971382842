package compare

import (
	"math/rand/v2"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

// TestGlob compares the automaton with a plain search for pieces, byte by byte, and waits with
// the states that follow.
func TestGlob(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 77))
	draw := func(alphabet string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[rng.IntN(len(alphabet))]
		}
		return string(b)
	}
	for range campaign.Size(3_000, 30_000, 1_000_000) {
		alphabet := []string{"a", "ab", "ab", "abc"}[rng.IntN(4)]
		r := rule{list: new(list), pieces: []string{"/" + draw(alphabet, rng.IntN(3))}, end: rng.IntN(2) == 0}
		if rng.IntN(3) == 0 {
			r.pieces[0] = ""
		}
		for range rng.IntN(4) {
			r.pieces = append(r.pieces, draw(alphabet, 1+rng.IntN(10)))
		}
		var m meter
		g, q := r.automaton(&m), int32(0)
		path := ""
		for range 40 {
			got := q != dead && g.done(q)
			if want := r.matches(path, &m); got != want {
				t.Fatalf("%q %v on %q: %v, want %v", r.pieces, r.end, path, got, want)
			}
			if q == dead {
				break
			}
			var waited letters
			g.waits(q, &waited)
			for _, c := range []byte("abc/") {
				if !waited.has(c) && g.step(q, c) != g.step(q, 'z') {
					t.Fatalf("%q %v after %q does not wait for %q", r.pieces, r.end, path, c)
				}
			}
			c := (alphabet + alphabet + "/z")[rng.IntN(2*len(alphabet)+2)]
			switch {
			case path == "":
				c = '/'
			case int(q) < len(g.text) && rng.IntN(2) == 0:
				c = g.text[q]
			}
			path += string(c)
			q = g.step(q, c)
		}
	}
}
