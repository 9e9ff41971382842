package robots

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMemoryBytes compares MemoryBytes with the memory that the runtime counts, after enough
// matches that every index is built.
func TestMemoryBytes(t *testing.T) {
	lines := func(n int, line string) []byte {
		b := []byte("User-agent: *\n")
		for i := range n {
			b = fmt.Appendf(b, line+"\n", i)
		}
		return b
	}
	for _, tt := range []struct {
		name string
		n    int
		body []byte
	}{
		{"13 rules", 2000, lines(13, "Disallow: /private/%d/")},
		{"13 rules in another form", 2000, lines(13, "Disallow: /private/%%7E%d/")},
		{"2,000 literal rules", 20, lines(2000, "Disallow: /private/%d/")},
		{"2,000 rules with stars", 20, lines(2000, "Disallow: /*/private/%d/")},
		{"100 rules with stars", 200, lines(100, "Disallow: /*/private/%d/")},
		{"one rule for others", 2000, []byte(strings.Repeat("User-agent: other\n", 50) + "Disallow: /\nUser-agent: *\nDisallow: /x")},
		{"no rules", 2000, nil},
	} {
		path := RawPath("/public/page")
		kept := make([]*Rules, tt.n)
		before, said := heapBytes(), 0
		for i := range kept {
			kept[i] = Parse(tt.body).Rules(RFC9309, "MyBot").WithState(State{Fetched: time.Now()})
			for range 2 * indexAfter {
				kept[i].Allowed(path)
			}
			said += kept[i].MemoryBytes()
		}
		got := heapBytes() - before
		t.Logf("%-25s %6d bytes, %6d by estimate", tt.name, got/tt.n, said/tt.n)
		if got > said*13/10 || got < said*6/10 {
			t.Errorf("%s: %d bytes, the estimate says %d", tt.name, got, said)
		}
		runtime.KeepAlive(kept)
	}
}

func heapBytes() int {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int(s.HeapAlloc)
}
