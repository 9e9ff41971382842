package compare

import (
	"math"
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// A list is the rules of one side by precedence: the first rule that matches decides, and a URL
// that none matches is allowed.
type list struct {
	rules []rule
	form  robots.Escapes
	side  int // index of the normal form, if the two lists have different ones
	heads headIndex
}

// rule is a rule of a list.
type rule struct {
	list       *list
	pieces     []string // the text before the first star, then the nonempty texts after stars
	end        bool
	allow      bool
	weight     int
	pieceBytes int    // bytes of the pieces
	minLen     int    // minimum length of a URL that matches
	otherIndex int    // index of the same rule in the other list, -1 if there is none
	line       int    // offset of the rule's path in the file, -1 for a rule that is not in a file
	text       string // the pattern as written, "" for a rule that is not in a file
	// free is set if the pattern matches the same URLs in the normal forms of both lists.
	// head is the beginning of all paths that match, as far as both forms have the same.
	free   bool
	head   string
	glob   *glob  // made on demand
	sample string // a path that a rule matches only if it matches all paths of this one; made on demand
}

// The weights of rules that are not in a file: above and below all others.
const (
	weightExempt  = math.MaxInt
	weightDefault = -1
)

// robotsTxt is the path that most dialects exempt (D-38).
const robotsTxt = "/robots.txt"

// newList returns the list of rules, without those that match no path that begins with one of Options.within.
func newList(r *robots.Rules, o Options, m *meter) list {
	d := r.Dialect()
	l := list{form: d.Escapes}
	allow, whole, exempt := answer(r)
	if exempt || o.SkipRobotsTxt {
		l.rules = append(
			l.rules,
			rule{
				pieces: []string{robotsTxt}, end: true, allow: true, weight: weightExempt, line: -1,
				pieceBytes: len(robotsTxt), minLen: len(robotsTxt),
			},
		)
	}
	switch {
	case whole && !allow:
		l.rules = append(l.rules, rule{pieces: []string{"/"}, weight: weightDefault, line: -1, pieceBytes: 1, minLen: 1})
	case !whole:
		if o.within == nil {
			l.rules = slices.Grow(l.rules, r.Len())
		}
		for v := range r.All() {
			p := v.Pattern()
			if o.within != nil && !slices.ContainsFunc(o.within, beginsLike(literalHead(p.String()))) {
				m.spend(1)
				continue
			}
			n := rule{allow: v.Allows(), weight: v.Weight(), text: p.String(), line: v.Span().Start}
			n.pieces, n.end = p.Pieces()
			m.spend(max(1, len(n.pieces)-usualPieces) + len(n.text)/bytesPerStep)
			if n.tidy(d.Escapes) {
				l.rules = append(l.rules, n)
			}
		}
	}
	return l
}

// answer returns the verdict for all paths if the rules have only one, and whether /robots.txt
// is exempt.
func answer(r *robots.Rules) (allow, whole, exempt bool) {
	_, whole = r.FallbackReason()
	path := robotsTxt // most dialects need not look at any rule for it
	if whole {
		path = "/"
	}
	v := r.Match(site(path))
	switch v.Reason {
	case robots.ReasonInvalid, robots.ReasonUserInitiated:
		return v.Allowed, true, false
	}
	return v.Allowed, whole, !r.Dialect().MatchRobotsTxt
}

// tidy removes empty pieces and reports whether any path can match.
func (r *rule) tidy(form robots.Escapes) bool {
	last := len(r.pieces) - 1
	if last > 0 {
		r.end = r.end && r.pieces[last] != ""
		rest := slices.DeleteFunc(r.pieces[1:], func(p string) bool { return p == "" })
		r.pieces = r.pieces[:1+len(rest)]
	}
	for i, p := range r.pieces {
		r.pieceBytes += len(p)
		if form == robots.EscapesRaw {
			continue
		}
		// A byte that is invalid in URIs has three bytes in the normal form, some of which a star
		// can match.
		r.minLen -= 2 * strings.Count(p, "%")
		if i > 0 && strings.IndexByte("23567", p[0]) >= 0 {
			r.minLen--
		}
	}
	first := r.pieces[0]
	if first == "" && r.pieceBytes == 0 && r.end || first != "" && first[0] != '/' {
		return false
	}
	r.minLen = max(r.pieceBytes+r.minLen, 1)
	return true
}

// isFree reports whether a pattern matches the same URLs in two normal forms: one that contains
// only '?', or for NormalURLs one without '*' and '$', the only bytes that differ. Their escape
// has three bytes in one form and one in the other, so no piece may match a part of it.
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

// prepare finds what two lists have in common: their normal form, and rules that are in both.
func (f *finder) prepare(a, b *list, urls URLs) {
	f.alphabet = alphabetOf(a.form, b.form, urls)
	m := &f.meter
	cross := f.alphabet.cross
	a.side = 0
	b.side = 0
	if cross {
		b.side = 1
	}
	for _, l := range []*list{a, b} {
		for i := range l.rules {
			r := &l.rules[i]
			r.list = l
			r.otherIndex = noRule
			r.head = r.pieces[0]
			r.free = true
			if !cross {
				continue
			}
			m.spend(1 + len(r.text)/bytesPerStep)
			r.free = r.isFree(urls)
			if urls != NormalURLs {
				r.head = ""
			} else if i := strings.IndexAny(r.head, "%*$"); !r.free && i >= 0 {
				r.head = r.head[:i]
			}
		}
	}
	if a == b {
		for i := range a.rules {
			a.rules[i].otherIndex = i
		}
		return
	}
	ids := make(map[ruleKey]int, max(len(a.rules), len(b.rules)))
	var lastIndexes [][2]int // by id, in each list; of several rules with one key the last counts
	for side, l := range []*list{a, b} {
		m.spend(len(l.rules))
		for i := range l.rules {
			r := &l.rules[i]
			if !r.free {
				continue
			}
			id, ok := ids[ruleKey{r.text, r.allow, r.weight}]
			if !ok {
				id = len(lastIndexes)
				ids[ruleKey{r.text, r.allow, r.weight}] = id
				lastIndexes = append(lastIndexes, [2]int{noRule, noRule})
			}
			lastIndexes[id][side] = i
			r.otherIndex = id // until all are known
		}
	}
	for side, l := range []*list{a, b} {
		for i := range l.rules {
			if r := &l.rules[i]; r.free {
				r.otherIndex = lastIndexes[r.otherIndex][1-side]
			}
		}
	}
}

// automaton returns the automaton of a rule and makes it on demand.
func (r *rule) automaton(m *meter) *glob {
	if r.glob == nil {
		r.glob = newGlob(r.pieces, r.end, r.list.form != robots.EscapesRaw)
		m.spend(1 + len(r.glob.text))
	}
	return r.glob
}

// covers reports whether r matches every path that other matches. It matches a sample of other
// in which a byte that is in no pattern stands for each star, which is exact if both have the
// same normal form. cross means that they have different ones.
func (r *rule) covers(other *rule, cross bool, m *meter) bool {
	if r.pieceBytes > max(other.pieceBytes, 1) || cross && !r.free && !other.free {
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

// anything is a byte that is in no pattern.
const anything = "\xFF"

// matches reports whether the pattern matches a path in normal form, in which '*' and '$' are
// literals.
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

// usualPieces is the number of pieces of a pattern that take no step of their own when it is read.
const usualPieces = 8

// bytesPerStep is the number of bytes that are only compared or copied in one step.
const bytesPerStep = 64

func (m *meter) spend(n int) { m.used += n }

func (m *meter) empty() bool { return m.used >= m.limit }
