// Package compare decides, over all URLs at once, whether two sets of rules answer
// alike: two versions of a robots.txt, two crawlers, two dialects. A list of URLs
// can only show a difference; this proves that there is none, or gives a shortest
// URL that shows it.
//
//	old := robots.Parse(before).Rules(robots.Google, "Googlebot")
//	new := robots.Parse(after).Rules(robots.Google, "Googlebot")
//	switch r := compare.Rules(old, new, compare.Options{}); {
//	case r.Same():
//		fmt.Println("same, proved")
//	case r.NewlyBlocked.None():
//		fmt.Println("blocks nothing that was allowed")
//	default:
//		fmt.Println(r.NewlyBlocked.Changes)
//	}
//
// [Rules] asks both directions, [Blocked] one, [Every] whether one thing is said of
// all URLs of a pattern, [Effects] what each rule of one set is there for.
//
// # What is compared
//
// The boolean: may the crawler fetch the URL? A case that a historic dialect leaves
// undefined counts by its boolean (D-01); statements such as D-01 stand in
// docs/clauses.md. Neither is the reason compared nor what else a file declares:
// Crawl-delay, Sitemap and the like.
//
// # Which URLs
//
// Every request target that a URL can carry (D-61): it begins with "/", and its bytes
// are 0x21 to 0x7E without "#". Escapes in either case, escapes of letters, a "%" that
// begins no escape, dot segments and bytes that no URI may hold are among them: clients
// send such URLs, and engines do not all read them alike. Two sets of rules of google-cpp,
// which takes any string, are compared over all strings of bytes but "#" and NUL. Of
// several shortest URLs one in normal form (RFC 3986 section 6.2.2) is returned. With
// [Options.URLs] a comparison ranges over less.
//
// # What counts as a rule
//
// All that decides in [robots.Rules.Match]: rules by weight, the pattern that an
// Allow of an index page adds in google and google-cpp (C-06), an empty Disallow of
// yandex, which is an Allow of weight 1 (D-41). /robots.txt is allowed where the
// dialect exempts it (D-38), also by rules that disallow everything; with
// [Options.SkipRobotsTxt], and in Every, it is left out. Rules that hold for no file
// or no longer (robots.AllowAll, robots.DisallowAll, UserInitiated, nil) are one
// rule for all. A file over the size limit of yandex, an empty one and one without a
// group for the crawler have no rules, and allow everything.
//
// The normal forms of two dialects may differ (D-14, PCT-05), and every pattern reads a
// URL in the form of its own dialect. The dialects of Google resolve dot segments, and the
// others do not: of two such sets, URLs with dot segments are tried and not searched, so
// the comparison is complete only if no rule tells dot segments apart.
//
// # What it costs
//
// Most comparisons of real files take microseconds. But patterns can be made whose
// comparison takes for ever, so the steps are counted, and what is not decided when
// they end is undecided: neither same nor different. The count depends on the rules
// alone, so the same question has the same answer on every machine. Every URL that
// is returned has been asked of Rules.Match.
package compare

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// Options bound a comparison. The zero value is what most callers want.
type Options struct {
	// Steps is the work after which a direction is left undecided, DefaultSteps if
	// it is 0. A step is a byte read by an automaton, or two rules compared: some
	// ten to fifty nanoseconds. The same question takes the same steps everywhere.
	Steps int
	// URLs are those that are compared, all if it is 0.
	URLs URLs
	// SkipRobotsTxt leaves /robots.txt itself out, which google-cpp alone does not
	// exempt from the rules.
	SkipRobotsTxt bool
}

// URLs is a set of URLs, as paths and queries.
type URLs uint8

const (
	AllURLs     URLs = iota // every request target: see the package comment
	BrowserURLs             // those that browsers send as they are written (WHATWG URL Standard)
	NormalURLs              // those in normal form (RFC 3986 section 6.2.2)
)

// DefaultSteps is what Options allow for each direction.
const DefaultSteps = 1_000_000

func (o Options) steps() int {
	if o.Steps <= 0 {
		return DefaultSteps
	}
	return min(o.Steps, math.MaxInt/16) // Effects takes it 16 times
}

// Rules compares what two sets of rules say, of one dialect or of two.
func Rules(old, new *robots.Rules, o Options) Result {
	open := Blocked(new, old, o)
	for i := range open.Changes {
		c := &open.Changes[i]
		c.Old, c.New = c.New, c.Old
	}
	return Result{NewlyBlocked: Blocked(old, new, o), NewlyOpen: open}
}

// A Result says how the answers of two sets of rules differ.
type Result struct {
	NewlyBlocked Direction // what the old rules allow and the new ones disallow
	NewlyOpen    Direction // what the old rules disallow and the new ones allow
}

// Same reports whether the two are proved to answer alike.
func (r Result) Same() bool { return r.NewlyBlocked.None() && r.NewlyOpen.None() }

// Differs reports whether there is a URL on which they differ.
func (r Result) Differs() bool {
	return len(r.NewlyBlocked.Changes)+len(r.NewlyOpen.Changes) > 0
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

// A Direction holds the changes in one direction.
type Direction struct {
	// Changes has one example for each rule that stands on one side alone and
	// decides there what the other side decides otherwise, the shortest first.
	// A rule that an earlier example shows has none of its own.
	Changes []Change
	// Complete says that all was decided: without changes there are none, and the
	// first change is a shortest of all.
	Complete bool
	// Steps is how many steps it took.
	Steps int
}

// None reports whether it is proved that nothing changes in this direction.
func (d Direction) None() bool { return d.Complete && len(d.Changes) == 0 }

// A Change is a URL on which two sets of rules differ.
type Change struct {
	// Path is the path and query of the URL.
	Path string
	// Old and New are what Rules.Match says of it.
	Old, New robots.Verdict
	// Shortest says that there is no shorter URL for the rule that is shown.
	Shortest bool
	// Normal says that the URL is one of NormalURLs.
	Normal bool
}

// Blocked asks one direction alone: what old allows and new disallows.
func Blocked(old, new *robots.Rules, o Options) Direction {
	f := finder{m: meter{limit: o.steps()}}
	a, b := newList(old, o.SkipRobotsTxt, &f.m), newList(new, o.SkipRobotsTxt, &f.m)
	f.prepare(&a, &b, o.URLs)
	questions := questionsOf(&a, &b)
	d := Direction{Complete: f.answer(questions)}
	for i := range questions {
		q := &questions[i]
		if q.path == "" && f.abc.dots {
			q.path = f.withDots(q, old, new)
		}
		if q.path != "" && o.URLs == AllURLs && !isNormal(q.path) {
			f.normalize(q)
		}
	}
	d.Steps = f.m.used
	slices.SortStableFunc(questions, func(p, q question) int {
		return cmp.Or(cmp.Compare(len(p.path), len(q.path)), cmp.Compare(notNormal(p.path), notNormal(q.path)), cmp.Compare(p.path, q.path))
	})
	var shown [2][]int // the lines of the old and the new rules that have an example
	for i := range questions {
		q := &questions[i]
		side, line := 0, q.own.rules[q.rule].line
		if q.own == &b {
			side = 1
		}
		if q.path == "" || slices.Contains(shown[side], line) {
			continue
		}
		c := Change{Path: q.path, Shortest: !q.open(), Normal: isNormal(q.path)}
		c.Old, c.New = old.Match(site(c.Path)), new.Match(site(c.Path))
		if !c.Old.Allowed || c.New.Allowed {
			d.Complete = false // no answer rather than a wrong one
			continue
		}
		shown[0] = append(shown[0], lineOf(c.Old))
		shown[1] = append(shown[1], lineOf(c.New))
		d.Changes = append(d.Changes, c)
	}
	return d
}

// questionsOf returns a question for each rule that stands in one of two lists
// alone and may decide what a allows and b disallows.
func questionsOf(a, b *list) []question {
	var questions []question
	for _, side := range []struct {
		own, other *list
		allow      bool
	}{{a, b, true}, {b, a, false}} {
		for i := range side.own.rules {
			if r := &side.own.rules[i]; r.allow == side.allow && r.twin == noRule {
				questions = append(questions, question{own: side.own, other: side.other, rule: i, without: noRule})
			}
		}
	}
	return questions
}

// lineOf is rule.line of the rule that decided.
func lineOf(v robots.Verdict) int {
	if v.Rule.IsZero() {
		return -1
	}
	return v.Rule.Span().Start
}

// answer runs questions: first all, each pair for an eighth of the steps, then
// those that are left. It reports whether all are answered.
func (f *finder) answer(questions []question) (complete bool) {
	complete = true
	for i := range questions {
		q := &questions[i]
		if f.m.empty() {
			return false
		}
		f.ask(q)
		f.run(q, f.m.limit/8)
	}
	for i := range questions {
		q := &questions[i]
		if q.open() {
			f.run(q, f.m.limit)
		}
		complete = complete && !q.open()
	}
	return complete
}

// notNormal is 0 for a URL in normal form and 1 for others.
func notNormal(path string) int {
	if isNormal(path) {
		return 0
	}
	return 1
}

// normalize looks for a URL in normal form that is as short as the one found.
func (f *finder) normalize(q *question) {
	n := question{own: q.own, other: q.other, rule: q.rule, aim: q.aim, without: q.without, longest: len(q.path)}
	defer func(was *alphabet) { f.abc = was }(f.abc)
	f.abc = alphabetOf(f.abc.forms[0], f.abc.forms[1], NormalURLs)
	f.ask(&n)
	f.run(&n, f.m.limit/8)
	if n.path != "" {
		q.path = n.path
	}
}

// withDots tries URLs with dot segments for a question between a dialect that resolves them
// and one that does not. It returns one that the rule decides, or "".
func (f *finder) withDots(q *question, old, new *robots.Rules) string {
	rule := &q.own.rules[q.rule]
	text := strings.Join(rule.pieces, "")
	path, n, _, ok := alphabetOf(q.own.form, q.own.form, AllURLs).spell(text)
	if !ok || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "" // google-cpp takes strings that no URL carries
	}
	if path += text[n:]; !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	bare := strings.TrimSuffix(path, "/")
	root := bare + strings.Repeat("/..", strings.Count(bare, "/"))
	for _, p := range []string{bare + "/..", root, root + "/x", "/." + path, path + "x/..", "/x/.." + path, strings.Join(rule.pieces, "x/..")} {
		f.m.spend(len(p))
		was, is := old.Match(site(p)), new.Match(site(p))
		own := was
		if q.own.side == 1 {
			own = is
		}
		if was.Allowed && !is.Allowed && lineOf(own) == rule.line {
			return p
		}
	}
	return ""
}

// site returns the path that Rules.Match takes for a path and query.
func site(path string) robots.Path { return robots.RawPath("http://example.com" + path) }
