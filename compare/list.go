package compare

import (
	"math"
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// A list is what one side obeys, in the order of precedence: the first rule that
// matches decides, and where none does all is allowed.
type list struct {
	rules []rule
	form  robots.Escapes
	side  int // of the two that have different normal forms
}

// rule is a rule of a list.
type rule struct {
	pieces []string // the first, then all others that are not empty
	end    bool
	allow  bool
	weight int
	size   int    // bytes of the pieces
	least  int    // no shorter URL matches
	twin   int    // where the common rule of the other list stands, -1 if there is none
	line   int    // where the rule's path begins in the file, -1 if it is in none
	text   string // the pattern as written, "" if it is in no file
	// free says that the pattern matches the same URLs in the forms of both lists, and
	// head is what all paths begin with that match, as far as both forms agree on it.
	free   bool
	head   string
	glob   *glob  // once it is needed
	sample string // a path that stands for all that match, once it is needed
}

// The weights of what is in no file: above and below all rules.
const (
	weightExempt  = math.MaxInt
	weightDefault = -1
)

// robotsTxt is what most dialects exempt (D-38).
const robotsTxt = "/robots.txt"

// newList returns what rules say. Rules that match no path are left out.
func newList(r *robots.Rules, skipRobotsTxt bool, m *meter) list {
	d := r.Dialect()
	l := list{form: d.Escapes}
	allow, whole, exempt := answer(r)
	if exempt || skipRobotsTxt {
		l.rules = append(l.rules, rule{pieces: []string{robotsTxt}, end: true, allow: true, weight: weightExempt, line: -1, size: len(robotsTxt), least: len(robotsTxt)})
	}
	switch {
	case whole && !allow:
		l.rules = append(l.rules, rule{pieces: []string{"/"}, weight: weightDefault, line: -1, size: 1, least: 1})
	case !whole:
		l.rules = slices.Grow(l.rules, r.Len())
		for v := range r.All() {
			p := v.Pattern()
			n := rule{allow: v.Allows(), weight: v.Weight(), text: p.String(), line: v.Span().Start}
			n.pieces, n.end = p.Pieces()
			m.spend(1 + len(n.text)/bytesPerStep)
			if n.tidy(d.Escapes) {
				l.rules = append(l.rules, n)
			}
		}
	}
	return l
}

// answer reports whether rules answer every path alike, and how; and whether
// /robots.txt is exempt from what they say.
func answer(r *robots.Rules) (allow, whole, exempt bool) {
	v := r.Match(site("/"))
	switch v.Reason {
	case robots.ReasonInvalid, robots.ReasonUserInitiated:
		return v.Allowed, true, false
	}
	_, whole = r.FallbackReason()
	return v.Allowed, whole, !r.Dialect().MatchRobotsTxt
}

// tidy drops the pieces that say nothing and reports whether a path can match.
func (r *rule) tidy(form robots.Escapes) bool {
	last := len(r.pieces) - 1
	if last > 0 {
		r.end = r.end && r.pieces[last] != ""
		rest := slices.DeleteFunc(r.pieces[1:], func(p string) bool { return p == "" })
		r.pieces = r.pieces[:1+len(rest)]
	}
	for i, p := range r.pieces {
		r.size += len(p)
		if form == robots.EscapesRaw {
			continue
		}
		// A byte that no URI may hold is three in the normal form, some of which a star may take.
		if r.least -= 2 * strings.Count(p, "%"); i > 0 && strings.IndexByte("23567", p[0]) >= 0 {
			r.least--
		}
	}
	first := r.pieces[0]
	if first == "" && r.size == 0 && r.end || first != "" && first[0] != '/' {
		return false
	}
	r.least = max(r.size+r.least, 1)
	return true
}

// isFree reports whether a pattern matches the same URLs in two normal forms: one that only
// asks for '?', or of NormalURLs one without '*' and '$', which alone differ. An escape of
// theirs is three bytes in one form and one in the other, so no piece may be found in a part.
func (r *rule) isFree(urls URLs) bool {
	if urls != NormalURLs {
		text := strings.Join(r.pieces, "")
		asks := strings.Trim(text, "?") == "" || strings.Trim(text[1:], "?") == "" && r.pieces[0] == "/"
		return asks && (!r.end || len(r.pieces) > 1)
	}
	for i, p := range r.pieces {
		if strings.ContainsAny(p, "*$") || strings.Contains(p, "%2A") || strings.Contains(p, "%24") ||
			strings.HasSuffix(p, "%") || strings.HasSuffix(p, "%2") ||
			i > 0 && strings.IndexByte("24A", p[0]) >= 0 {
			return false
		}
	}
	return true
}

// prepare relates two lists to each other: their normal forms and their common rules.
func (f *finder) prepare(a, b *list, urls URLs) {
	f.abc = alphabetOf(a.form, b.form, urls)
	m, cross := &f.m, f.abc.cross
	a.side, b.side = 0, 0
	if cross {
		b.side = 1
	}
	for _, l := range []*list{a, b} {
		for i := range l.rules {
			r := &l.rules[i]
			r.twin, r.head, r.free = -1, r.pieces[0], true
			if !cross {
				continue
			}
			m.spend(1 + len(r.text)/bytesPerStep)
			if r.free = r.isFree(urls); urls != NormalURLs {
				r.head = ""
			} else if i := strings.IndexAny(r.head, "%*$"); !r.free && i >= 0 {
				r.head = r.head[:i]
			}
		}
	}
	// Both are sorted by weight and answer, so only classes of those are compared.
	for i, j := 0, 0; i < len(a.rules) && j < len(b.rules); {
		switch c := a.rules[i].class(&b.rules[j]); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			i2, j2 := a.classEnd(i), b.classEnd(j)
			twins(a.rules[i:i2], b.rules[j:j2], i, j, m)
			i, j = i2, j2
		}
	}
}

// class compares the precedence of two rules without regard to their lines: -1 if
// r comes before other.
func (r *rule) class(other *rule) int {
	switch {
	case r.weight != other.weight:
		if r.weight > other.weight {
			return -1
		}
		return 1
	case r.allow != other.allow:
		if r.allow {
			return -1
		}
		return 1
	}
	return 0
}

func (l *list) classEnd(i int) int {
	j := i + 1
	for j < len(l.rules) && l.rules[j].class(&l.rules[i]) == 0 {
		j++
	}
	return j
}

// twins finds the common rules of two classes, which begin at places i and j.
func twins(a, b []rule, i, j int, m *meter) {
	m.spend(len(a) + len(b))
	meet := func(x, y int) {
		if a[x].free && b[y].free {
			a[x].twin, b[y].twin = j+y, i+x
		}
	}
	if len(a)*len(b) <= 64 {
		for x := range a {
			for y := range b {
				if a[x].text == b[y].text {
					meet(x, y)
				}
			}
		}
		return
	}
	at := make(map[string]int, len(b))
	for y := range b {
		at[b[y].text] = y
	}
	for x := range a {
		if y, ok := at[a[x].text]; ok {
			meet(x, y)
		}
	}
	at = make(map[string]int, len(a))
	for x := range a {
		at[a[x].text] = x
	}
	for y := range b {
		if x, ok := at[b[y].text]; ok {
			meet(x, y)
		}
	}
}

// automaton returns the automaton of a rule.
func (l *list) automaton(r *rule, m *meter) *glob {
	if r.glob == nil {
		r.glob = newGlob(r.pieces, r.end, l.form != robots.EscapesRaw)
		m.spend(1 + len(r.glob.text))
	}
	return r.glob
}

// meets reports whether some URL may begin as both rules want it.
func (r *rule) meets(other *rule, m *meter) bool {
	n := min(len(r.head), len(other.head))
	m.spend(1 + n/bytesPerStep)
	return r.head[:n] == other.head[:n]
}

// covers reports whether r matches every path that other matches. It is exact in one form: r
// reads what other holds, with a byte that no pattern holds for each star and for what may
// follow. cross says that they are of two forms.
func (r *rule) covers(other *rule, cross bool, m *meter) bool {
	if r.size > max(other.size, 1) || cross && !r.free && !other.free {
		return false
	}
	if other.sample == "" {
		other.sample = strings.Join(other.pieces, anything)
		if !other.end {
			other.sample += anything
		}
		m.spend(1 + len(other.sample)/bytesPerStep)
	}
	return r.matches(other.sample, m)
}

// anything is a byte that no pattern holds.
const anything = "\xFF"

// matches reports whether the pattern matches a path that is in its normal form,
// but for a '*' and a '$', which are literals.
func (r *rule) matches(path string, m *meter) bool {
	m.spend(len(r.pieces) + len(path)/bytesPerStep)
	if !strings.HasPrefix(path, r.pieces[0]) {
		return false
	}
	path = path[len(r.pieces[0]):]
	last := len(r.pieces) - 1
	for i, p := range r.pieces[1:] {
		if r.end && i+1 == last {
			return strings.HasSuffix(path, p)
		}
		at := strings.Index(path, p)
		if at < 0 {
			return false
		}
		path = path[at+len(p):]
	}
	return !r.end || path == ""
}

// A meter counts steps: an automaton reads a byte, or two rules are compared.
type meter struct{ used, limit int }

// bytesPerStep is how many bytes that are only compared with others, or copied,
// count as one step.
const bytesPerStep = 64

func (m *meter) spend(n int) { m.used += n }

func (m *meter) empty() bool { return m.used >= m.limit }
