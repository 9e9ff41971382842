package compare

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
)

// parse returns the rules that lines such as "Disallow: /a" are for everyone.
func parse(d robots.Dialect, lines ...string) *robots.Rules {
	return robots.Parse([]byte("User-agent: *\n" + strings.Join(lines, "\n"))).Rules(d)
}

// words returns all words of at most n letters, the empty one first, the shorter
// before the longer.
func words(letters string, n int) []string {
	all := []string{""}
	for from := 0; n > 0; n-- {
		to := len(all)
		for _, w := range all[from:to] {
			for _, c := range letters {
				all = append(all, w+string(c))
			}
		}
		from = to
	}
	return all
}

// set is a set of the paths of an enumeration.
type set []uint64

func (s set) add(i int) { s[i/64] |= 1 << (i % 64) }

// enumerated is what some rules say of every path of an enumeration.
type enumerated struct {
	rules  *robots.Rules
	lines  []string
	allows set
	lineAt []int // of the deciding rule, 0 for none
}

func enumerate(d robots.Dialect, lines []string, paths []robots.Path) enumerated {
	e := enumerated{parse(d, lines...), lines, make(set, (len(paths)+63)/64), make([]int, len(paths))}
	for i, p := range paths {
		v := e.rules.Match(p)
		if v.Allowed {
			e.allows.add(i)
		}
		e.lineAt[i] = v.Rule.Line()
	}
	return e
}

// agrees holds a direction to an enumeration whose paths come in order of length
// and hold every shortest URL there can be.
func (d Direction) agrees(old, new enumerated, paths []robots.Path) error {
	first := -1
	for w := range old.allows {
		if diff := old.allows[w] &^ new.allows[w]; diff != 0 {
			first = 64*w + bits.TrailingZeros64(diff)
			break
		}
	}
	switch {
	case !d.Complete:
		return fmt.Errorf("undecided after %d steps", d.Steps)
	case first < 0 && len(d.Changes) == 0:
		return nil
	case first < 0:
		return fmt.Errorf("%v, but all paths are the same", d.Changes)
	case len(d.Changes) == 0:
		return fmt.Errorf("same, but not for %s", paths[first])
	case len(d.Changes[0].Path) != len(paths[first].String()):
		return fmt.Errorf("a shortest is %s, but %s is shorter", d.Changes[0].Path, paths[first])
	}
	return d.sound(old.rules, new.rules)
}

// sound checks what can be checked without an enumeration.
func (d Direction) sound(old, new *robots.Rules) error {
	for i, c := range d.Changes {
		p := site(c.Path)
		if !old.Allowed(p) || new.Allowed(p) {
			return fmt.Errorf("%s is no change", c.Path)
		}
		if !canonical(c.Path) {
			return fmt.Errorf("no client sends %s", c.Path)
		}
		if i > 0 && len(c.Path) < len(d.Changes[i-1].Path) {
			return fmt.Errorf("%s comes late", c.Path)
		}
		if d.Complete && !c.Shortest {
			return fmt.Errorf("all is decided, but %s may not be a shortest", c.Path)
		}
	}
	return nil
}

// canonical reports whether a path is one of those that are compared, in the words
// of the package comment.
func canonical(path string) bool {
	const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	for i := 0; i < len(path); i++ {
		if path[i] == '%' {
			var v byte
			if n, err := fmt.Sscanf(path[i:min(i+3, len(path))], "%%%02X", &v); n != 1 || err != nil ||
				path[i:i+3] != fmt.Sprintf("%%%02X", v) || strings.IndexByte(unreserved, v) >= 0 {
				return false
			}
			i += 2
		} else if strings.IndexByte(unreserved+"!$&'()*+,;=:@/?[]", path[i]) < 0 {
			return false
		}
	}
	path, _, _ = strings.Cut(path, "?")
	for i, s := range strings.Split(path, "/") {
		if i == 0 && s != "" || s == "." || s == ".." {
			return false
		}
	}
	return true
}

// TestExhaustive compares every pair of sets of at most two rules, each '/' and at
// most two of a, '*' and '$', with the answers to every path of up to five bytes.
func TestExhaustive(t *testing.T) {
	var paths []robots.Path
	for _, w := range words("ab*$", 4) {
		paths = append(paths, site("/"+w))
	}
	var rules []string
	for _, w := range words("a*$", 2) {
		rules = append(rules, "Allow: /"+w, "Disallow: /"+w)
	}
	var sets [][]string
	sets = append(sets, nil)
	for i := range rules {
		sets = append(sets, rules[i:i+1])
		for j := range i {
			sets = append(sets, []string{rules[j], rules[i]})
		}
	}
	all := map[string][]enumerated{}
	for _, d := range robots.Dialects() {
		for _, lines := range sets {
			all[d.Name] = append(all[d.Name], enumerate(d, lines, paths))
		}
	}
	check := func(a, b string, part int) {
		pairs, same, steps := 0, 0, 0
		for i, old := range all[a] {
			for j, new := range all[b] {
				if (i*len(sets)+j)%part != 0 {
					continue
				}
				r := Rules(old.rules, new.rules, Options{SkipRobotsTxt: true})
				if err := r.NewlyBlocked.agrees(old, new, paths); err != nil {
					t.Fatalf("%s %q, %s %q: newly blocked: %v", a, old.lines, b, new.lines, err)
				}
				for k := range r.NewlyOpen.Changes {
					c := &r.NewlyOpen.Changes[k]
					c.Old, c.New = c.New, c.Old
				}
				if err := r.NewlyOpen.agrees(new, old, paths); err != nil {
					t.Fatalf("%s %q, %s %q: newly open: %v", a, old.lines, b, new.lines, err)
				}
				pairs++
				steps += r.NewlyBlocked.Steps + r.NewlyOpen.Steps
				if r.Same() {
					same++
				}
			}
		}
		t.Logf("%-12s %-12s %6d pairs, %5d the same, %.0f steps each", a, b, pairs, same, float64(steps)/float64(pairs))
	}
	for _, a := range robots.Dialects() {
		for _, b := range robots.Dialects() {
			part := campaign.Size(9973, 997, 7)
			if a.Name == b.Name && a.Name == robots.RFC9309.Name {
				part = campaign.Size(97, 1, 1)
			} else if a.Name == b.Name {
				part = campaign.Size(997, 23, 1)
			}
			check(a.Name, b.Name, part)
		}
	}
}

var _ = rand.New
