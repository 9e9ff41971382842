package compare

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
)

// parse returns the rules for all crawlers from lines such as "Disallow: /a".
func parse(d robots.Dialect, lines ...string) *robots.Rules {
	return robots.Parse([]byte("User-agent: *\n" + strings.Join(lines, "\n"))).Rules(d)
}

// words returns all words of at most n letters, shorter ones first, beginning with the empty
// one.
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

// enumerated is the verdict of rules for every path of an enumeration.
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

// agrees compares a direction with an enumeration whose paths are ordered by their units and
// which has every path of at most whole bytes.
func (d Direction) agrees(old, new enumerated, paths []robots.Path, whole int) error {
	if err := d.sound(old.rules, new.rules); err != nil {
		return err
	}
	if !d.Complete && resolvesDots(old.rules) == resolvesDots(new.rules) {
		return fmt.Errorf("undecided after %d steps", d.Steps)
	}
	if !d.Complete {
		return nil
	}
	// The shortest of all, and for each rule that is only on one side.
	var all robots.Path
	shorter := func(p, than robots.Path) bool {
		a, b := p.String(), than.String()
		return b == "" || len(a) < len(b) || len(a) == len(b) && canonical(a) && !canonical(b)
	}
	sides := [2]struct {
		enumerated
		other []string
		best  [8]robots.Path // by line
	}{{enumerated: old, other: new.lines}, {enumerated: new, other: old.lines}}
	for w := range old.allows {
		for diff := old.allows[w] &^ new.allows[w]; diff != 0; diff &= diff - 1 {
			i := 64*w + bits.TrailingZeros64(diff)
			if shorter(paths[i], all) {
				all = paths[i]
			}
			for k := range sides {
				if best := &sides[k].best[sides[k].lineAt[i]]; shorter(paths[i], *best) {
					*best = paths[i]
				}
			}
		}
	}
	switch {
	case len(d.Changes) == 0 && all.String() == "":
		return nil
	case len(d.Changes) == 0:
		return fmt.Errorf("same, but not for %s", all)
	}
	switch n := len(d.Changes[0].Path); {
	case all.String() == "" && n > whole:
		return nil // all of its paths are longer
	case all.String() == "" || n > len(all.String()) || n < len(all.String()) && n <= whole:
		return fmt.Errorf("a shortest is %s, but it is %q", d.Changes[0].Path, all)
	case n == len(all.String()) && canonical(all.String()) && !d.Changes[0].Normal:
		return fmt.Errorf("%s is shown, but %q is normal", d.Changes[0].Path, all)
	}
	for k := range sides {
		for line, best := range sides[k].best {
			if line == 0 || best.String() == "" || slices.Contains(sides[k].other, sides[k].lines[line-2]) {
				continue
			}
			i := slices.IndexFunc(d.Changes, func(c Change) bool {
				return []robots.Verdict{c.Old, c.New}[k].Rule.Line() == line
			})
			if i < 0 || len(d.Changes[i].Path) > len(best.String()) {
				return fmt.Errorf("of %q a shortest is %s, not in %v", sides[k].lines[line-2], best, d.Changes)
			}
		}
	}
	return nil
}

// sound checks everything that needs no enumeration.
func (d Direction) sound(old, new *robots.Rules) error {
	for i, c := range d.Changes {
		p := site(c.Path)
		if !old.Allowed(p) || new.Allowed(p) {
			return fmt.Errorf("%s is no change", c.Path)
		}
		if !isTarget(c.Path) && (old.Dialect().Escapes != robots.EscapesRaw || new.Dialect().Escapes != robots.EscapesRaw) {
			return fmt.Errorf("no URL carries %q", c.Path)
		}
		if c.Normal != canonical(c.Path) {
			return fmt.Errorf("%q is normal: %v", c.Path, c.Normal)
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

// resolvesDots reports whether rules read a URL without its dot segments.
func resolvesDots(r *robots.Rules) bool { return r.Dialect().Escapes == robots.EscapesGoogle }

// isTarget reports whether a URL can have a path and query (D-61).
func isTarget(path string) bool {
	return strings.HasPrefix(path, "/") && strings.IndexFunc(path, func(c rune) bool { return c <= ' ' || c > '~' || c == '#' }) < 0
}

// canonical reports whether a path and query is in normal form (RFC 3986 section 6.2.2).
func canonical(path string) bool {
	const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	for i := 0; i < len(path); i++ {
		if path[i] == '%' {
			v, err := strconv.ParseUint(path[i+1:min(i+3, len(path))], 16, 8)
			if err != nil || !strings.HasPrefix(path[i:], fmt.Sprintf("%%%02X", v)) || strings.IndexByte(unreserved, byte(v)) >= 0 {
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

// isSent reports whether browsers send a path and query unchanged (WHATWG URL Standard).
func isSent(path string) bool {
	path, query, _ := strings.Cut(path, "?")
	if strings.ContainsAny(path, "\"<>\\`{}") || strings.ContainsAny(query, "\"<>'") {
		return false
	}
	return !slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool {
		s = strings.NewReplacer("%2e", ".", "%2E", ".").Replace(s)
		return s == "." || s == ".."
	})
}

// compared runs Rules and compares both directions with the enumeration of the URLs.
func compared(old, new enumerated, urls URLs, paths []robots.Path, whole int) error {
	r := Rules(old.rules, new.rules, Options{URLs: urls, SkipRobotsTxt: true})
	if err := r.NewlyBlocked.agrees(old, new, paths, whole); err != nil {
		return fmt.Errorf("%q, %q: newly blocked: %w", old.lines, new.lines, err)
	}
	open := r.NewlyAllowed
	open.Changes = slices.Clone(open.Changes)
	for k := range open.Changes {
		c := &open.Changes[k]
		c.Old, c.New = c.New, c.Old
	}
	if err := open.agrees(new, old, paths, whole); err != nil {
		return fmt.Errorf("%q, %q: newly open: %w", old.lines, new.lines, err)
	}
	return nil
}

// TestExhaustive compares every pair of sets of at most two rules, each '/' and at most two of
// a, '*' and '$', with the verdicts for every path of up to five bytes of a, b, '*' and '$', raw
// or escaped.
func TestExhaustive(t *testing.T) {
	var paths []robots.Path
	for _, w := range words("ab*$", 4) {
		paths = append(paths, site("/"+w))
	}
	for _, x := range words("ab*$", 1) { // '*' and '$' have two spellings in some forms
		for _, escape := range []string{"%2A", "%24", "%2a", "%61", "%7B"} {
			paths = append(paths, site("/"+escape+x), site("/"+x+escape))
		}
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
		for i, old := range all[a] {
			for j, new := range all[b] {
				if (i*len(sets)+j)%part != 0 {
					continue
				}
				if err := compared(old, new, AllURLs, paths, 5); err != nil {
					t.Fatalf("%s, %s: %v", a, b, err)
				}
			}
		}
	}
	for _, a := range robots.Dialects() {
		for _, b := range robots.Dialects() {
			part := campaign.Size(9973, 2003, 7)
			if a.Name == b.Name && a.Name == robots.RFC9309.Name {
				part = campaign.Size(97, 11, 1)
			} else if a.Name == b.Name {
				part = campaign.Size(997, 211, 1)
			}
			check(a.Name, b.Name, part)
		}
	}
}

// TestDrawn compares random rules with the parts that normal forms and clients treat
// differently: escapes, literal stars and dollars, dots, queries.
func TestDrawn(t *testing.T) {
	single := strings.Split("ab2A~./*$?%3C"+invalid, "")
	urls := append([]string{"%2A", "%24", "%2F", "%61", "%2e"}, single...)
	var paths []robots.Path
	var extend func(path string, n int)
	extend = func(path string, n int) {
		paths = append(paths, site(path))
		if n > 0 {
			for _, u := range urls {
				extend(path+u, n-1)
			}
		}
	}
	extend("/", campaign.Size(3, 3, 4))
	for v := range 256 { // every escape in the paths of up to five bytes
		for _, u := range append(single, "") {
			extend(fmt.Sprintf("/%s%%%02X", u, v), 0)
			extend(fmt.Sprintf("/%s%%%02x", u, v), 0)
			extend(fmt.Sprintf("/%%%02X%s", v, u), 0)
			extend(fmt.Sprintf("/%%%02x%s", v, u), 0)
		}
	}
	whole := campaign.Size(4, 4, 5)
	var sent, normal []robots.Path
	for _, p := range paths {
		if isTarget(p.String()) && isSent(p.String()) {
			sent = append(sent, p)
		}
		if canonical(p.String()) {
			normal = append(normal, p)
		}
	}
	octets := slices.Clone(paths) // strings that no URL carries
	for _, w := range words(strings.Join(single, "")+" \x01\x7F", 2) {
		octets = append(octets, robots.RawPath("/"+w))
	}
	parts := []string{"a", "a", "a 2", "\x01", "b", "2", "A", ".", "..", "/", "*", "*", "$", "?", "%", "%2", "%2A", "%2a", "%24", "%2F", "%2f", "%2%41", "%61", "%7E", "/.", "*2A", "*A", "<", "%3C", "*C", "3C", "%3", "//"}
	rng := rand.New(rand.NewPCG(2, 24))
	dialects := robots.Dialects()
	for range campaign.Size(40, 80, 20_000) {
		draw := func() (lines []string) {
			for range rng.IntN(4) {
				line := []string{"Allow: ", "Disallow: "}[rng.IntN(2)] + []string{"/", "/", "/", "/", "*", ""}[rng.IntN(6)]
				for range rng.IntN(4) {
					line += parts[rng.IntN(len(parts))]
				}
				lines = append(lines, line)
			}
			return lines
		}
		a, b := dialects[rng.IntN(len(dialects))], dialects[rng.IntN(len(dialects))]
		if rng.IntN(2) == 0 {
			b = a
		}
		lines := draw()
		others := draw()
		if rng.IntN(2) == 0 {
			others = append(slices.Clone(lines), others...)
		}
		urls := URLs(rng.IntN(3))
		complete := whole
		which := [][]robots.Path{paths, sent, normal}[urls]
		if urls == AllURLs && a.Escapes == robots.EscapesRaw && b.Escapes == robots.EscapesRaw {
			which, complete = octets, 3
		}
		if err := compared(enumerate(a, lines, which), enumerate(b, others, which), urls, which, complete); err != nil {
			t.Fatalf("%s, %s, URLs %d: %v", a.Name, b.Name, urls, err)
		}
	}
}

// TestPlainPaths: paths of plain letters are URLs in normal form.
func TestPlainPaths(t *testing.T) {
	a := alphabetOf(robots.EscapesRaw, robots.EscapesRaw, NormalURLs)
	for c := range 256 {
		for _, path := range []string{"/", "//", "/" + string([]byte{byte(c)}), "/a" + string([]byte{byte(c)}) + "b/", string([]byte{byte(c)}) + "/a"} {
			_, n, at, ok := a.spell(nil, path)
			if isPlain(path) && !(ok && n == len(path) && at.ends()) {
				t.Errorf("%q is not in normal form", path)
			}
		}
	}
	if !isPlain("/a/B-1_~") || isPlain("/a//b") || isPlain("/./") {
		t.Error("isPlain")
	}
}
