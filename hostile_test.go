package robots

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// hostileRules makes files that made engines slow: every piece of every rule
// occurs in the path, or nearly, so that no filter helps.
var hostileRules = map[string]struct {
	path func(n int) string
	rule func(i int) string
}{
	"stars": {
		func(n int) string { return "/" + strings.Repeat("a", n) },
		func(i int) string { return "/" + strings.Repeat("*a", 9) + "*b" + fmt.Sprint(i) },
	},
	"wrong order": {
		func(n int) string { return "/bbbb" + strings.Repeat("a", n) },
		func(i int) string {
			s := "/"
			for _, c := range fmt.Sprintf("%05o", i) {
				s += "*" + strings.Repeat("a", 4+int(c-'0'))
			}
			return s + "*bbbb"
		},
	},
	"near miss": {
		func(n int) string { return "/" + strings.Repeat("a", n/2) + "b" + strings.Repeat("a", n/2) },
		func(i int) string {
			a := strings.Repeat("a", 64)
			return "/*" + a[:40] + "b" + a[:4+i%60] + "b" + a[:4+i/60%60]
		},
	},
	"period": {
		func(n int) string { return "/aaab" + strings.Repeat("aab", n/3) },
		func(i int) string {
			return "/*baab*" + strings.Repeat("aab", 1+i%20) + "*" + fmt.Sprint(i%10) + "*aaab"
		},
	},
	"single bytes": {
		func(n int) string { return "/" + strings.Repeat("abcdefgh", n/8) },
		func(i int) string { return "/*" + strings.Repeat("h*g*f*e*d*c*b*a*", 1+i%8) + "abcdefghh" },
	},
	"literals": {
		func(n int) string { return "/" + strings.Repeat("a", n) },
		func(i int) string { return "/" + strings.Repeat("a", 400) + fmt.Sprint(i) },
	},
	"stars in a row": {
		func(n int) string { return "/" + strings.Repeat("a", n) },
		func(i int) string { return "/" + strings.Repeat("*", 200) + "aaaab" + fmt.Sprint(i) },
	},
}

// TestHostileWork counts the bytes that one match looks at, not seconds. The
// work may double when the rules or the path double, not more; and on a file of
// 512,000 bytes it stays under twice those.
func TestHostileWork(t *testing.T) {
	count := func(name string, byteCount, pathLen int) int {
		h := hostileRules[name]
		var b strings.Builder
		b.WriteString("User-agent: *\n")
		for i := 0; b.Len() < byteCount; i++ {
			b.WriteString("Disallow: " + h.rule(i) + "\n")
		}
		r := Parse([]byte(b.String())).Rules(RFC9309, "x")
		id, work := newIndex(r).findCounted(r, h.path(pathLen), FieldNone)
		if id != none {
			t.Fatalf("%s: %q matches", name, r.text(&r.rules[id]))
		}
		return work
	}
	for name := range hostileRules {
		one := count(name, 250_000, 1024)
		rules := count(name, 500_000, 1024)
		path := count(name, 250_000, 2048)
		most := count(name, 512_000, 2048)
		t.Logf("%-15s %9d bytes looked at; rules doubled %.2f times, path doubled %.2f times; largest %d", name, one, float64(rules)/float64(one), float64(path)/float64(one), most)
		const slack = workLimit + 8192 // the automaton is built after some work
		if rules > 2*one+one/4+slack {
			t.Errorf("%s: twice the rules, %d bytes instead of %d", name, rules, one)
		}
		if path > 2*one+one/4+slack {
			t.Errorf("%s: twice the path, %d bytes instead of %d", name, path, one)
		}
		if most > 2*512_000 {
			t.Errorf("%s: %d bytes looked at", name, most)
		}
	}
}

// TestOccurrences compares the automaton with strings.Index.
func TestOccurrences(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	draw := func(letters string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = letters[rng.IntN(len(letters))]
		}
		return string(b)
	}
	for range 3000 {
		letters := []string{"ab", "a", "abc", "/abcdefgh\xff\x00"}[rng.IntN(4)]
		path := draw(letters, 1+rng.IntN(200))
		o := newSuffixAutomaton(path)
		for range 30 {
			piece := draw(letters+"z", rng.IntN(6))
			if rng.IntN(2) == 0 {
				i := rng.IntN(len(path))
				piece = path[i : i+rng.IntN(len(path)-i+1)]
			}
			from := rng.IntN(len(path) + 1)
			want := strings.Index(path[from:], piece)
			if want >= 0 {
				want += from
			}
			if piece == "" {
				continue // an empty piece never comes to the automaton
			}
			if got, _ := o.index(piece, from); got != want {
				t.Fatalf("%q in %q from %d: got %d, want %d", piece, path, from, got, want)
			}
			p := Pattern{text: "/" + draw(letters, rng.IntN(3)) + "*" + piece + draw("*", rng.IntN(3)) + draw(letters, rng.IntN(4)) + draw("$x", rng.IntN(2))}
			if rng.IntN(2) == 0 {
				p.text = p.text[1:]
			}
			if got, _ := o.match(p); got != p.match(path) {
				t.Fatalf("%q on %q: got %v", p.text, path, got)
			}
		}
		o.free()
	}
}
