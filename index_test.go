package robots

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

// scanAll is the specification of find: the first rule by precedence whose pattern matches.
func scanAll(r *Rules, path string, only Field) *rule {
	for i := range r.rules {
		if v := &r.rules[i]; (only == FieldNone || v.field == only) && r.pattern(v).match(path) {
			return v
		}
	}
	return nil
}

// TestIndex compares the index with a scan on files of many rules with much in common: prefixes,
// n-grams, whole texts.
func TestIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 4096))
	parts := []string{"/", "a", "b", "ab", "shop", "/shop/", "item", ".html", "?x=", "*", "*", "$", "%2A", "%24", "%61", "é", "\xC3", "9", "aaaa", "abab", "category", "\x00"}
	text := func(n int) string {
		s := ""
		for range rng.IntN(n) {
			s += parts[rng.IntN(len(parts))]
		}
		return s
	}
	checks := 0
	for i := range campaign.Size(10, 60, 600) {
		var b strings.Builder
		b.WriteString("User-agent: *\n")
		prefix := []string{"", "", "shared/prefix/", "a"}[rng.IntN(4)]
		n := 20 + rng.IntN(400)
		if i%10 == 9 {
			n *= 8 // some with hundreds of rules with a star
		}
		for range n {
			fmt.Fprintf(&b, "%s: /%s%s\n", []string{"Allow", "Disallow"}[rng.IntN(2)], prefix, text(7))
		}
		f := Parse([]byte(b.String()))
		for _, d := range Dialects() {
			r := f.Rules(d, "x")
			if len(r.rules) == 0 {
				continue
			}
			x := newIndex(r)
			for range 60 {
				raw := "/" + prefix[:rng.IntN(len(prefix)+1)] + text(9)
				if rng.IntN(2) == 0 { // near a rule
					v := &r.rules[rng.IntN(len(r.rules))]
					raw = "/" + strings.TrimPrefix(replaceLiterals(r.text(v)[:rng.IntN(int(v.size))], "*", "$")+text(3), "/")
				}
				path := d.target(Path{raw}, nil)
				for _, only := range []Field{FieldNone, FieldAllow, FieldDisallow} {
					checks++
					id, _ := x.find(r, path, only)
					if got, want := r.ruleAt(id), scanAll(r, path.path, only); got != want {
						t.Fatalf("%s %q only %v: got %v, want %v", d.Name, path, only, got, want)
					}
				}
			}
			// The results before and after the index is built are the same.
			for i := range 4 * indexAfter {
				path := d.target(Path{"/" + text(6)}, nil)
				got, _ := r.find(path, FieldNone)
				if want := scanAll(r, path.path, FieldNone); got != want {
					t.Fatalf("%s question %d, %q: another rule than by scan", d.Name, i, path)
				}
			}
		}
	}
	t.Logf("%d answers of the index are those of the scan", checks)
}

// TestChance: of thousands of rules with a star hardly any is a candidate by chance: a match
// reads the path and less than as much again.
func TestChance(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 64))
	word := func() string {
		b := make([]byte, 5+rng.IntN(6))
		for i := range b {
			b[i] = byte('a' + rng.IntN(26))
		}
		return string(b)
	}
	for _, n := range []int{100, 2000} {
		var b strings.Builder
		b.WriteString("User-agent: *\n")
		for range n {
			fmt.Fprintf(&b, "Disallow: /*/%s/\n", word())
		}
		r := Parse([]byte(b.String())).Rules(RFC9309, "x")
		x := newIndex(r)
		const paths = 1000
		looked, least := 0, 0
		for range paths {
			path := "/" + word() + "-" + word() + "-" + word()
			_, work := x.find(r, target{path: path}, FieldNone)
			looked, least = looked+work, least+len(path)
		}
		t.Logf("%d rules: %.1f bytes looked at, for a path of %.1f", n, float64(looked)/paths, float64(least)/paths)
		if looked > 3*least {
			t.Errorf("%d rules: %d bytes looked at, for %d of paths", n, looked, least)
		}
	}
}

// TestShared: rules are matched concurrently while their index is built.
func TestShared(t *testing.T) {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range 3 * scanMost {
		fmt.Fprintf(&b, "Disallow: /%d/\nAllow: /*x%d$\n", i, i)
	}
	r := Parse([]byte(b.String())).Rules(RFC9309, "a")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 4 * indexAfter {
				if path := fmt.Sprintf("/%d/y", i%(3*scanMost)); r.Allowed(Path{path}) {
					t.Errorf("%s is allowed", path)
				}
			}
		})
	}
	all.Wait()
	if r.index.built.Load() == nil {
		t.Error("there is no index")
	}
}

// TestNoAllocations: Allowed and Rules.Allowed allocate as little as documented.
func TestNoAllocations(t *testing.T) {
	var b strings.Builder
	b.WriteString("User-agent: *\nUser-agent: Mozilla/5.0 (compatible; bbot/1.0)\nUser-agent: abot\n")
	for i := range 500 {
		fmt.Fprintf(&b, "Disallow: /%d/*x%d\nAllow: /caf%%C3%%A9/%d\n", i, i, i)
	}
	body := []byte(b.String())
	f := Parse(body)
	for _, d := range Dialects() {
		r := f.Rules(d, "abot")
		for range 2 * indexAfter {
			r.Allowed(Path{"/nothing"})
		}
		for _, path := range []string{"/7/ax7", "/café/3", "/a%7Eb/../c?d=$*", "/robots.txt"} {
			p := Path{path}
			if n := testing.AllocsPerRun(20, func() { r.Allowed(p) }); n != 0 {
				t.Errorf("%s: Rules.Allowed(%q) allocates %v times", d.Name, path, n)
			}
			if n := testing.AllocsPerRun(20, func() { Allowed(body, d, p, "abot") }); n != 0 {
				t.Errorf("%s: Allowed(%q) allocates %v times", d.Name, path, n)
			}
		}
	}
}

// TestAllocations: Parse makes one allocation. Parse and Rules together make at most six, and
// four on average, however many lines and rules there are.
func TestAllocations(t *testing.T) {
	if campaign.Race {
		t.Skip("the race detector empties pools")
	}
	var sum float64
	files := 0
	take := func(name string, body []byte) {
		if n := testing.AllocsPerRun(5, func() { Parse(body) }); n > 1 {
			t.Errorf("%s: Parse allocates %v times", name, n)
		}
		n := testing.AllocsPerRun(5, func() { Parse(body).Rules(RFC9309, "Googlebot") })
		sum += n
		if files++; n > 6 {
			t.Errorf("%s: Parse and Rules allocate %v times", name, n)
		}
	}
	rules := func(n int, rule string) []byte {
		return []byte("User-agent: *\nUser-agent: b\n" + strings.Repeat(rule, n))
	}
	for _, n := range []int{0, 1, 13, 100, 3000} {
		take(fmt.Sprint(n, " rules"), rules(n, "Disallow: /a\n"))
		take(fmt.Sprint(n, " rules that change"), rules(n, "Disallow: /%7Eé*\nUser-agent: *\n"))
		take(fmt.Sprint(n, " rules of unusual weight"), rules(n, "Allow: /"+strings.Repeat("a", 2*countedWeights)+"\n"))
	}
	if os.Getenv("ROBOTS_CORPUS") != "" {
		sum, files = 0, 0
		corpus(t, func(name string, body []byte) { take(name, body[:min(len(body), sizeLimit)]) })
	}
	t.Logf("%.2f allocations for Parse and Rules in the mean of %d files", sum/float64(files), files)
	if sum > 4*float64(files) {
		t.Errorf("Parse and Rules allocate %.2f times in the mean", sum/float64(files))
	}
}

// TestRank compares the counting sort of rules with an ordinary one.
func TestRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 2))
	for range 300 {
		var b strings.Builder
		b.WriteString("User-agent: *\n")
		for range rng.IntN(200) {
			n := rng.IntN(30)
			if rng.IntN(2000) == 0 {
				n = countedWeights - 2 + rng.IntN(4)
			}
			fmt.Fprintf(&b, "%s: /%s%s\n", []string{"Allow", "Disallow"}[rng.IntN(2)], strings.Repeat("a", n), []string{"", "*", "$", "%2A", "é"}[rng.IntN(5)])
		}
		for _, d := range Dialects() {
			r := Parse([]byte(b.String())).Rules(d, "x")
			inOrder := slices.IsSortedFunc(r.rules, func(a, b rule) int {
				return cmp.Or(cmp.Compare(b.precedence(), a.precedence()), cmp.Compare(r.sourceSpan(&a).Start, r.sourceSpan(&b).Start))
			})
			if !inOrder {
				t.Fatalf("%s: rules of %q are out of order", d.Name, b.String())
			}
		}
	}
}
