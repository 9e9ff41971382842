// Package compare proves whether two sets of rules give the same verdict for all URLs: two
// versions of a robots.txt, two crawlers or two dialects. If they do not, it returns a
// shortest URL that shows the difference.
//
//	old := robots.Parse(before).Rules(robots.Google, "Googlebot")
//	new := robots.Parse(after).Rules(robots.Google, "Googlebot")
//	switch r := compare.Rules(old, new, compare.Options{}); {
//	case r.Same():
//		fmt.Println("proved to be the same")
//	case r.NewlyBlocked.None():
//		fmt.Println("blocks nothing that was allowed")
//	default:
//		fmt.Println(r.NewlyBlocked.Changes)
//	}
//
// [Rules] compares both directions and [Blocked] one. [Every] proves that all URLs of a
// pattern are allowed, or that all are disallowed. [Effects] reports what each rule of a
// set is needed for. [Each] compares the rules of many crawlers.
//
// Only [robots.Verdict.Allowed] is compared, not the reason or other records. Ids such as
// D-61 refer to docs/clauses.md.
//
// # URLs
//
// By default a comparison covers every request target that a URL can contain (D-61): it
// starts with "/" and consists of the bytes 0x21 to 0x7E without "#". This includes
// escapes in either case, escapes of letters, invalid escapes, dot segments and characters
// that are invalid in URIs, because clients send such URLs and engines read them
// differently. Two sets of google-cpp rules are compared over all byte strings without "#"
// and NUL. Of several shortest URLs one in normal form (RFC 3986 section 6.2.2) is
// preferred. [Options.URLs] selects a smaller set.
//
// # Rules
//
// A comparison includes everything that decides in [robots.Rules.Match], such as the
// pattern that an Allow of an index page adds (C-06), an empty Disallow in yandex (D-41)
// and the exemption of /robots.txt (D-38).
//
// Each pattern is compared in the normal form of its dialect (D-14, PCT-05). Google's
// dialects resolve dot segments and the others do not. Between the two kinds, URLs with dot
// segments are only sampled, so a comparison is complete only if no rule depends on them.
//
// # Cost
//
// Most comparisons of real files take microseconds, but patterns exist whose comparison
// takes practically forever. Steps are therefore limited, and what is not decided within
// the limit is undecided. The number of steps depends only on the rules, so the result is
// the same on every machine. Every returned URL is verified with Rules.Match.
package compare

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// Options configure a comparison. The zero value compares all URLs with DefaultSteps.
type Options struct {
	// Steps is the limit per direction, 0 for DefaultSteps. A step reads one byte of a
	// candidate URL or compares two rules.
	Steps int
	// URLs is the set of URLs to compare.
	URLs URLs
	// SkipRobotsTxt excludes /robots.txt itself, which only google-cpp does not exempt.
	SkipRobotsTxt bool
	// FullSegments prefers examples in normal form whose segments are not empty and whose query has no
	// slash, as people recognize /a/x rather than //x or /?/x. Change.Shortest is then set if there is no
	// shorter example of this kind.
	FullSegments bool
	// Total limits the steps of all comparisons by Each together, 0 for no limit.
	Total int
	// Known are the uses that Effects need not find out, in the order of All: Undecided for the others, nil for none.
	Known []Use

	within []string // texts with one of which every URL begins, as far as rules are concerned; nil if it is not known
}

// URLs is a set of URLs.
type URLs uint8

const (
	AllURLs     URLs = iota // every request target: see the package comment
	BrowserURLs             // URLs that browsers send unchanged (WHATWG URL Standard)
	NormalURLs              // URLs in normal form (RFC 3986 section 6.2.2)

	fullURLs // NormalURLs without empty segments and without a slash in the query
)

// DefaultSteps is the default of Options.Steps.
const DefaultSteps = 1_000_000

func (o Options) steps() int {
	if o.Steps <= 0 {
		return DefaultSteps
	}
	return min(o.Steps, math.MaxInt/16) // Effects multiplies it by 16
}

// Rules compares two sets of rules in both directions.
func Rules(old, new *robots.Rules, o Options) Result {
	c := newDifference(old, new, o)
	open := c.blocked(1)
	for i := range open.Changes {
		v := &open.Changes[i]
		v.Old, v.New = v.New, v.Old
	}
	return Result{NewlyBlocked: c.blocked(0), NewlyAllowed: open}
}

// A Result is the result of Rules.
type Result struct {
	NewlyBlocked Direction // allowed by the old rules and disallowed by the new ones
	NewlyAllowed Direction // disallowed by the old rules and allowed by the new ones
}

// Same reports whether it is proved that the verdicts are the same for all URLs.
func (r Result) Same() bool { return r.NewlyBlocked.None() && r.NewlyAllowed.None() }

// Differs reports whether a URL with different verdicts was found.
func (r Result) Differs() bool {
	return len(r.NewlyBlocked.Changes)+len(r.NewlyAllowed.Changes) > 0
}

// String returns "same", "differs" or "undecided".
func (r Result) String() string {
	switch {
	case r.Differs():
		return "differs"
	case r.Same():
		return "same"
	}
	return "undecided"
}

// A Direction is the changes in one direction.
type Direction struct {
	// Changes has an example for each rule that is only on one side and decides a URL
	// for which the other side has the opposite verdict, shortest first. A rule that
	// decides an earlier example has none of its own.
	Changes []Change
	// Complete is set if everything was decided: without Changes there are none, and the
	// first change is a shortest one.
	Complete bool
	Steps    int // number of steps used
}

// None reports whether it is proved that nothing changes in this direction.
func (d Direction) None() bool { return d.Complete && len(d.Changes) == 0 }

// A Change is a URL with different verdicts.
type Change struct {
	Path     string // path and query of the URL; to parse it, put a scheme and host before it
	Old, New robots.Verdict
	Shortest bool // there is no shorter example for the deciding rule, see Options.FullSegments
	Normal   bool // the URL is one of NormalURLs
}

// Blocked compares one direction: what old allows and new disallows.
func Blocked(old, new *robots.Rules, o Options) Direction {
	return newDifference(old, new, o).blocked(0)
}

// newDifference returns a comparison of what differs: rules of a dialect that begin like no rule that is in only
// one set are left out, as they have the same effect in both.
func newDifference(old, new *robots.Rules, o Options) *comparison {
	_, oldWhole, _ := answer(old)
	_, newWhole, _ := answer(new)
	if old.Dialect() == new.Dialect() && !oldWhole && !newWhole {
		o.within = changedHeads(old, new)
	}
	return newComparison(old, new, o)
}

// A comparison is two sets of rules to compare in either direction.
type comparison struct {
	finder
	options  Options
	rules    [2]*robots.Rules
	lists    [2]list
	prepared int // steps used before the first direction
}

func newComparison(old, new *robots.Rules, o Options) *comparison {
	c := &comparison{finder: finder{meter: meter{limit: o.steps()}}, options: o, rules: [2]*robots.Rules{old, new}}
	c.lists[0] = newList(old, o, &c.meter)
	if old == new {
		c.prepare(&c.lists[0], &c.lists[0], o.URLs)
		c.lists[1] = c.lists[0]
	} else {
		c.lists[1] = newList(new, o, &c.meter)
		c.prepare(&c.lists[0], &c.lists[1], o.URLs)
	}
	c.prepared = c.meter.used
	return c
}

// blocked compares what one side allows and the other disallows.
func (c *comparison) blocked(from int) Direction {
	c.meter.used = c.prepared
	old := c.rules[from]
	new := c.rules[1-from]
	examples := c.examples(from)
	d := Direction{Complete: c.find(examples)}
	for i := range examples {
		q := &examples[i]
		if q.path == "" && c.alphabet.dots {
			q.path = c.withDots(q, old, new)
		}
		if q.path != "" && c.options.URLs == AllURLs && !isOf(NormalURLs, q.path) {
			c.normalize(q)
		}
		if q.path != "" && c.options.FullSegments && !isFull(q.path) {
			c.fill(q)
		}
	}
	d.Steps = c.meter.used
	examples = slices.DeleteFunc(examples, func(q example) bool { return q.path == "" })
	slices.SortStableFunc(examples, func(p, q example) int {
		if len(p.path) != len(q.path) {
			return cmp.Compare(len(p.path), len(q.path))
		}
		return cmp.Or(cmp.Compare(notNormal(p.path), notNormal(q.path)), cmp.Compare(p.path, q.path))
	})
	shown := map[*list]map[int]bool{} // the lines of each side that have an example
	for side := range c.lists {
		shown[&c.lists[side]] = map[int]bool{}
	}
	for i := range examples {
		q := &examples[i]
		if shown[q.side][q.side.rules[q.rule].line] {
			continue
		}
		v := Change{
			Path: q.path, Old: old.Match(site(q.path)), New: new.Match(site(q.path)), Shortest: !q.open(),
			Normal: isOf(NormalURLs, q.path),
		}
		if !v.Old.Allowed || v.New.Allowed {
			d.Complete = false // undecided rather than wrong
			continue
		}
		for i, verdict := range []robots.Verdict{v.Old, v.New} {
			shown[&c.lists[(from+i)%2]][lineOf(verdict)] = true
		}
		d.Changes = append(d.Changes, v)
	}
	return d
}

// examples returns an example to find for each rule that is in only one list and might decide a URL
// that one side allows and the other disallows.
func (c *comparison) examples(from int) []example {
	var examples []example
	for i, allow := range []bool{true, false} {
		side := &c.lists[(from+i)%2]
		otherSide := &c.lists[(from+i+1)%2]
		for k := range side.rules {
			if r := &side.rules[k]; r.allow == allow && r.otherIndex == noRule {
				examples = append(examples, example{side: side, otherSide: otherSide, rule: k, without: noRule})
			}
		}
	}
	return examples
}

// lineOf returns rule.line of the deciding rule.
func lineOf(v robots.Verdict) int {
	if v.Rule.IsZero() {
		return -1
	}
	return v.Rule.Span().Start
}

// find searches for examples: first to all, with an eighth of the steps per
// pair, then to those that remain. It reports whether all are answered.
func (f *finder) find(examples []example) (complete bool) {
	complete = true
	for i := range examples {
		q := &examples[i]
		if f.meter.empty() {
			return false
		}
		f.findPairs(q)
		f.run(q, f.meter.limit/8)
	}
	for i := range examples {
		q := &examples[i]
		if q.open() {
			f.run(q, f.meter.limit)
		}
		complete = complete && !q.open()
	}
	return complete
}

// notNormal is 0 for a URL in normal form and 1 for any other.
func notNormal(path string) int {
	if isOf(NormalURLs, path) {
		return 0
	}
	return 1
}

// normalize searches for a URL in normal form that is no longer than the one found.
func (f *finder) normalize(q *example) {
	n := example{side: q.side, otherSide: q.otherSide, rule: q.rule, aim: q.aim, without: q.without, longest: len(q.path)}
	defer func(was *alphabet) { f.alphabet = was }(f.alphabet)
	f.alphabet = alphabetOf(f.alphabet.forms[0], f.alphabet.forms[1], NormalURLs)
	f.findPairs(&n)
	f.run(&n, f.meter.limit/8)
	if n.path != "" {
		q.path = n.path
	}
}

// isFull reports whether a path and query has no empty segments but the last, and no slash in the query.
func isFull(target string) bool {
	path, query, _ := strings.Cut(target, "?")
	return !strings.Contains(path, "//") && !strings.Contains(query, "/")
}

// fill searches for one of fullURLs. If it finds one, whether a shorter one of these might have been missed
// replaces what is open about the example.
func (f *finder) fill(q *example) {
	n := example{side: q.side, otherSide: q.otherSide, rule: q.rule, aim: q.aim, without: q.without}
	defer func(was *alphabet) { f.alphabet = was }(f.alphabet)
	f.alphabet = alphabetOf(f.alphabet.forms[0], f.alphabet.forms[1], fullURLs)
	f.findPairs(&n)
	f.run(&n, f.meter.limit/8)
	if n.path != "" {
		q.path = n.path
		q.exhausted = n.exhausted
		q.partners = n.partners
	}
}

// withDots tries URLs with dot segments for an example between a dialect that resolves them
// and one that does not. It returns one that the rule decides, or "".
func (f *finder) withDots(q *example, old, new *robots.Rules) string {
	rule := &q.side.rules[q.rule]
	text := strings.Join(rule.pieces, "")
	raw, n, _, ok := alphabetOf(q.side.form, q.side.form, AllURLs).spell(nil, text)
	if !ok || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "" // google-cpp matches strings that cannot be URLs
	}
	path := string(raw) + text[n:]
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	bare := strings.TrimSuffix(path, "/")
	root := bare + strings.Repeat("/..", strings.Count(bare, "/"))
	inPieces := strings.Join(rule.pieces, "x/..")
	for _, p := range []string{bare + "/..", root, root + "/x", "/." + path, path + "x/..", "/x/.." + path, inPieces} {
		f.meter.spend(len(p))
		was := old.Match(site(p))
		is := new.Match(site(p))
		changed := is
		if rule.allow {
			changed = was
		}
		if was.Allowed && !is.Allowed && lineOf(changed) == rule.line {
			return p
		}
	}
	return ""
}

// site returns a path and query as an argument of Rules.Match.
func site(path string) robots.Path { return robots.RawPath("http://example.com" + path) }
