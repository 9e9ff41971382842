package pace

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots"
)

// TestManyRates: the entries of each part are those of a search through all of them, also where there
// are more than a part keeps.
func TestManyRates(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var b strings.Builder
		b.WriteString("User-agent: *\n")
		window := func() string {
			return fmt.Sprintf("%02d%02d-%02d%02d", rng.IntN(24), rng.IntN(60), rng.IntN(24), rng.IntN(60))
		}
		for range rng.IntN(60) {
			switch rng.IntN(5) {
			case 0:
				fmt.Fprintf(&b, "Crawl-delay: %d\n", rng.IntN(20))
			case 1:
				fmt.Fprintf(&b, "Request-rate: 1/%d\n", 1+rng.IntN(20))
			case 2:
				fmt.Fprintf(&b, "Visit-time: %s\n", window())
			default:
				fmt.Fprintf(&b, "Request-rate: 1/%d %s\n", 1+rng.IntN(20), window())
			}
		}
		s, err := NewSchedule(robots.Parse([]byte(b.String())).Rules(robots.RFC9309, "x"), Policy{Obey: ObeyDeclared})
		if err != nil {
			t.Fatal(err)
		}
		whole := &Schedule{policy: s.policy}
		d := robots.RFC9309
		for record := range robots.Parse([]byte(b.String())).Rules(d, "x").Records() {
			whole.add(record, &d)
		}
		for _, p := range s.parts {
			var by []int32
			inWindow, visits, open := false, false, false
			for i := range whole.entries {
				e := &whole.entries[i]
				contains := e.Window.Contains(60 * int(p.from))
				switch {
				case !e.honored():
				case e.Field == robots.FieldVisitTime:
					visits, open = true, open || contains
				default:
					inWindow = inWindow || e.Window.Set && contains
					by = append(by, int32(i))
				}
			}
			by = slices.DeleteFunc(by, func(i int32) bool {
				e := &whole.entries[i]
				return !e.Window.Contains(60*int(p.from)) || e.Field != robots.FieldCrawlDelay && e.Window.Set != inWindow
			})
			slices.SortStableFunc(by, func(x, y int32) int { return cmp.Compare(whole.entries[y].Interval, whole.entries[x].Interval) })
			var want, got []int
			for _, i := range by[:min(len(by), maxReasons)] {
				want = append(want, whole.entries[i].Line)
			}
			for _, i := range p.entryIndexes {
				got = append(got, s.entries[i].Line)
			}
			if !slices.Equal(got, want) || p.closed != (visits && !open) {
				t.Fatalf("from minute %d lines %v, want %v, closed is %v:\n%s", p.from, got, want, p.closed, b.String())
			}
		}
	}
}
