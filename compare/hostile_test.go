package compare

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots"
)

// repeat returns n lines.
func repeat(n int, line func(i int) string) (lines []string) {
	for i := range n {
		lines = append(lines, line(i))
	}
	return lines
}

// hostile are sets of rules whose comparison takes long.
var hostile = map[string]func() (old, new []string){
	"5,000 rules with stars": func() (old, new []string) {
		old = repeat(5000, func(i int) string { return fmt.Sprint("Disallow: /*p", i) })
		return old, append(old[:2500:2500], old[2501:]...)
	},
	"5,000 others": func() (old, new []string) {
		return repeat(5000, func(i int) string { return fmt.Sprint("Disallow: /*p", i) }),
			repeat(5000, func(i int) string { return fmt.Sprint("Disallow: /*q", i) })
	},
	"one rule of 8,000 pieces": func() (old, new []string) {
		piece := strings.Repeat("*ab", 8000)
		return []string{"Disallow: /" + piece}, []string{"Disallow: /" + piece + "*c", "Disallow: /" + piece + "a"}
	},
	"literals of 200,000 bytes": func() (old, new []string) {
		s := strings.Repeat("a", 200_000)
		return []string{"Disallow: /" + s + "b", "Allow: /*" + s}, []string{"Disallow: /" + s, "Allow: /*" + s + "c"}
	},
	"400 of two pieces, all needed": func() (old, new []string) {
		old = repeat(400, func(i int) string {
			return fmt.Sprintf("Disallow: /*%c%c*%c%c", 'a'+i%20, 'a'+i/20, 'a'+i/20, 'a'+i%20)
		})
		return append([]string{"Allow: /*" + strings.Repeat("ab*cd*ef*", 20) + "x"}, old...), append(old, "Disallow: /*"+strings.Repeat("*qr*s*", 20))
	},
	"one letter each": func() (old, new []string) {
		old = repeat(len(unreserved+reserved), func(i int) string { return "Disallow: /*" + string((unreserved + reserved)[i]) })
		return old, append(old[:len(old):len(old)], "Allow: /*a*b*c*d*e*f*g*h*i*j*k*l*m*n*o*p*q")
	},
	"suffixes": func() (old, new []string) {
		old = repeat(300, func(i int) string { return fmt.Sprintf("Disallow: /*%s$", strings.Repeat("a", i)+"b") })
		return old, append(old[:len(old):len(old)], "Allow: /*"+strings.Repeat("a*", 150)+"b$")
	},
	"random": func() (old, new []string) {
		rng := rand.New(rand.NewPCG(4, 4))
		draw := func(int) string {
			return []string{"Allow: /", "Disallow: /"}[rng.IntN(2)] + words("ab*", 7)[rng.IntN(3280)]
		}
		return repeat(600, draw), repeat(600, draw)
	},
	"counters": func() (old, new []string) {
		for _, pair := range []string{"ab", "aa", "bb", "ba", "aab", "abb", "bab"} {
			old = append(old, "Disallow: /"+strings.Repeat("*"+pair, 5)+strings.Repeat("*", 100))
		}
		old = slices.Clip(old)
		return append(old, "Allow: /"+strings.Repeat("*a", 40)), append(old, "Disallow: /"+strings.Repeat("*b", 40))
	},
	"deep": func() (old, new []string) {
		old = repeat(2000, func(i int) string { return "Disallow: " + strings.Repeat("/a", i) })
		return old, repeat(2000, func(i int) string { return "Allow: " + strings.Repeat("/a", i) + "*b" })
	},
}

// TestHostile: the steps are bounded for any rules, and the memory is bounded by the steps.
func TestHostile(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(hostile)) {
		a, b := hostile[name]()
		for _, d := range []robots.Dialect{robots.RFC9309, robots.Yandex} {
			other := d
			if d.Name == robots.Yandex.Name {
				other = robots.GoogleCPP
			}
			old, new := parse(d, a...), parse(other, b...)
			for _, s := range [][2]*robots.Rules{{old, new}, {new, old}} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				r := Blocked(s[0], s[1], Options{})
				runtime.ReadMemStats(&after)
				mem := after.TotalAlloc - before.TotalAlloc
				if err := r.sound(s[0], s[1]); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				// The pass over the rules at the end of the steps is completed.
				if r.Steps > DefaultSteps+DefaultSteps/4 {
					t.Errorf("%s: %d steps", name, r.Steps)
				}
				if mem > 256<<20 {
					t.Errorf("%s: %d MiB", name, mem>>20)
				}
			}
		}
	}
}
