package pace

import (
	"testing"
	"time"
)

// TestAddressStarts compares the next start of a fetch and of a page, in every small state of an
// address, with the first instant that keeps all distances.
func TestAddressStarts(t *testing.T) {
	const longest = 7
	now := time.Unix(1000, 0)
	at := func(n int) time.Time { return now.Add(time.Duration(n)) }
	check := func(what string, got time.Time, want, gap, fetchGap, pages, fetches int) {
		t.Helper()
		if !got.Equal(at(want)) {
			t.Errorf("intervals of %d and %d, the last page at %d and fetch at %d: %s at %d, want %d", gap, fetchGap, pages, fetches, what, got.Sub(now), want)
		}
	}
	compare := func(gap, fetchGap, pages, fetches int) {
		a := address{lastPage: at(pages), lastFetch: at(fetches)}
		// near reports whether n is less than fetchGap from a page: those reserved are gap apart.
		near := func(n int) bool {
			for page := pages; page > -fetchGap; page -= gap {
				if max(n-page, page-n) < fetchGap {
					return true
				}
			}
			return false
		}
		want := max(0, fetches+fetchGap)
		for near(want) {
			want++
		}
		check("a fetch", a.fetch(now, time.Duration(gap), time.Duration(fetchGap)), want, gap, fetchGap, pages, fetches)
		for notBefore := range 2 * longest {
			want := max(notBefore, fetches+fetchGap, pages+gap)
			for pages > 0 && (want-pages)%gap != 0 {
				want++
			}
			check("a page", a.page(now, at(notBefore), time.Duration(gap), time.Duration(fetchGap)), want, gap, fetchGap, pages, fetches)
		}
	}
	for gap := 1; gap <= longest; gap++ {
		for fetchGap := 1; fetchGap <= longest; fetchGap++ {
			for pages := -longest; pages <= 3*longest; pages++ {
				for fetches := -longest; fetches <= longest; fetches++ {
					compare(gap, fetchGap, pages, fetches)
				}
			}
		}
	}
}
