package lint

import (
	"errors"
	"maps"
	"slices"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
)

// prove determines which fixes are safe, and drops findings of rules without effect (RT504) that
// cannot be removed together with the others: of equivalent rules all but one are reported.
func (p *pass) prove() {
	var fixes, more []*Diagnostic
	for _, d := range p.found {
		switch {
		case d.Fix == nil || d.Check.Fix != SafeIfProved || d.Severity == Off || len(d.Dialects) == 0:
		case d.Check.ID == "RT504":
			more = append(more, d)
		default:
			fixes = append(fixes, d)
		}
	}
	slices.Reverse(more) // so that the first one stays
	fixes = p.leaveOne(append(fixes, more...))
	inAll := func(o *pass) bool { return p.sameVerdicts(o, p.allViews) }
	proved := p.together(nil, fixes, inAll)
	p.proveUnions(fixes, proved)
	if len(p.views) < len(p.allViews) {
		safe := slices.DeleteFunc(slices.Clone(fixes), func(d *Diagnostic) bool { return !proved[d] })
		left := slices.DeleteFunc(fixes, func(d *Diagnostic) bool { return proved[d] || d.Check.ID != "RT504" })
		maps.Copy(proved, p.together(safe, left, func(o *pass) bool { return p.sameVerdicts(o, p.views) }))
	}
	p.found = slices.DeleteFunc(p.found, func(d *Diagnostic) bool {
		return d.Check.ID == "RT504" && d.Severity != Off && !proved[d]
	})
}

// leaveOne removes fixes that would delete the last rule of a group, which would then be merged
// with the next group, or look truncated.
func (p *pass) leaveOne(found []*Diagnostic) (left []*Diagnostic) {
	if len(p.removes) == 0 {
		return found
	}
	rules := map[*reading][]int{} // of each group
	for _, v := range p.allViews {
		if rules[v.reading] != nil {
			continue
		}
		inGroup := []int{}
		for _, s := range v.reading.lines {
			if isRule(s.field) && s.group >= 0 {
				for int(s.group) >= len(inGroup) {
					inGroup = append(inGroup, 0)
				}
				inGroup[s.group]++
			}
		}
		rules[v.reading] = inGroup
	}
	for _, d := range found {
		l, ok := p.removes[d.Fix]
		last := false
		for r, inGroup := range rules {
			s, _ := r.at(l.Number)
			last = last || ok && s.group >= 0 && inGroup[s.group] == 1
		}
		if last {
			d.Fix = nil
			continue
		}
		left = append(left, d)
		for r, inGroup := range rules {
			if s, _ := r.at(l.Number); ok && s.group >= 0 {
				inGroup[s.group]--
			}
		}
	}
	return left
}

// proveUnions determines which of the fixes that change no verdict for a single token are safe,
// in that they change none for several tokens in google-cpp either. While a union differs, it
// leaves out the fixes of the rules that can be the cause.
func (p *pass) proveUnions(fixes []*Diagnostic, proved map[*Diagnostic]bool) {
	left := slices.DeleteFunc(slices.Clone(fixes), func(d *Diagnostic) bool { return !proved[d] })
	p.inUnions = maps.Clone(proved)
	for first := true; len(left) > 0; first = false {
		if !p.spend(p.readingSteps()) {
			return
		}
		other := p.edited(editsOf(left))
		causes, decided := p.causes(other)
		if !decided {
			return
		}
		if len(causes) == 0 {
			if first || p.sameVerdicts(other, p.allViews) {
				break
			}
			return
		}
		before := len(left)
		left = slices.DeleteFunc(left, func(d *Diagnostic) bool {
			_, deletes := p.removes[d.Fix]
			return causes[p.lineOf(d.Fix.Edits[0].Start)] || causes[0] && !deletes
		})
		if len(left) == before {
			return
		}
	}
	for _, d := range left {
		d.Fix.Safe = true
		delete(p.inUnions, d)
	}
}

// causes returns the lines of the rules because of which another file, which has the same verdicts
// for each token, does not have the same for several tokens in google-cpp, none if it has, and
// false if that is not decided. Line 0 stands for those of fixes that do not delete a rule.
func (p *pass) causes(other *pass) (lines map[int]bool, decided bool) {
	proved := p.sameRules(other, func(*robots.Rules, compare.Change) {})
	lines = map[int]bool{}
	for _, v := range p.allViews {
		if !v.dialect.MergeTokens {
			continue
		}
		w, ok := p.viewOf(other, v)
		if !ok || !p.unions(v, other, w, func(u tokenUnion) bool {
			if proved(nil, u.a, u.b) {
				return true
			}
			for side := range u.tokens {
				u.blame(side, lines)
			}
			return true
		}) {
			return nil, false
		}
	}
	return lines, true
}

// blame adds the lines of the rules of both tokens that are changes of one of them, or 0 if there are none: then the change is a rule of
// the other file. If there are changes of both, those of the token that comes first in the file's order count.
func (u *tokenUnion) blame(side int, lines map[int]bool) {
	changes := u.changes(side)
	from := u.tokens[side]
	to := u.tokens[1-side]
	ordered := len(u.changes(1-side)) > 0
	if len(changes) == 0 || ordered && from.numbers[0] > to.numbers[len(to.numbers)-1] {
		return
	}
	found := false
	add := func(r *robots.Rules) {
		for rule := range r.All() {
			t := tokenRuleOf(rule)
			if slices.ContainsFunc(changes, func(c ruleChange) bool { return c.text == t.text && c.precedence == t.precedence }) {
				found = true
				lines[rule.Line()] = true
			}
		}
	}
	for i, r := range from.before {
		if !ordered || from.numbers[i] < to.numbers[len(to.numbers)-1] {
			add(r)
		}
	}
	for i, r := range to.before {
		if !ordered || to.numbers[i] > from.numbers[0] {
			add(r)
		}
	}
	if !found {
		lines[0] = true
	}
}

// together returns the fixes that change no verdict, as same reports, when they are applied
// together with fixes that change none. It chooses them by the examples of changed verdicts that
// are known, and proves the result, which otherwise yields more examples. Only if it yields none
// because the steps did not suffice, each choice is proved.
func (p *pass) together(safe []*Diagnostic, found []*Diagnostic, same func(other *pass) bool) map[*Diagnostic]bool {
	p.examples = nil
	proved := func(fixes []*Diagnostic) bool {
		return p.spend(p.readingSteps()) && same(p.edited(editsOf(fixes)))
	}
	for {
		examples := len(p.examples)
		fixes := choose(safe, found, func(fixes []*Diagnostic) bool { return !p.isRefuted(fixes) })
		if len(fixes) == len(safe) || proved(fixes) {
			return setOf(fixes[len(safe):])
		}
		if len(p.examples) == examples || !p.isRefuted(fixes) {
			break
		}
	}
	fixes := choose(safe, found, func(fixes []*Diagnostic) bool { return !p.isRefuted(fixes) && proved(fixes) })
	return setOf(fixes[len(safe):])
}

// choose adds fixes that hold together, all of them if possible. Otherwise it tries each half, so
// that one fix remains of two rules that replace each other.
func choose(safe []*Diagnostic, found []*Diagnostic, hold func(fixes []*Diagnostic) bool) []*Diagnostic {
	if len(found) == 0 {
		return safe
	}
	if fixes := slices.Concat(safe, found); hold(fixes) {
		return fixes
	}
	if half := len(found) / 2; half > 0 {
		return choose(choose(safe, found[:half], hold), found[half:], hold)
	}
	return safe
}

func setOf(fixes []*Diagnostic) map[*Diagnostic]bool {
	set := map[*Diagnostic]bool{}
	for _, d := range fixes {
		set[d] = true
	}
	return set
}

func editsOf(fixes []*Diagnostic) (edits []Edit) {
	for _, d := range fixes {
		edits = append(edits, d.Fix.Edits...)
	}
	return edits
}

// maxExamples is the number of examples after which no more are looked for in one edited file.
const maxExamples = 64

// An example is a URL for which deleting rules changed the verdict of a crawler.
type example struct {
	allowed bool          // the verdict of the file
	matches []robots.Note // the rules of the crawler that match, by precedence
}

// keepExample keeps an example, for which the file is read again, if the steps suffice.
func (p *pass) keepExample(r *robots.Rules, c compare.Change) {
	if !p.spend(p.readingSteps()) {
		return
	}
	matches := r.Explain(hostPath(c.Path)).Matches
	p.examples = append(p.examples, example{c.Old.Allowed, matches})
}

// hostPath returns a path and query as that of a URL of some host.
func hostPath(path string) robots.Path { return robots.RawPath("http://host.example" + path) }

// isRefuted reports whether the verdict of an example changes because of the rules that fixes
// delete, so that no proof is needed.
func (p *pass) isRefuted(fixes []*Diagnostic) bool {
	deleted := map[int]bool{}
	for _, d := range fixes {
		if l, ok := p.removes[d.Fix]; ok {
			deleted[l.Number] = true
		}
	}
	return slices.ContainsFunc(p.examples, func(e example) bool {
		p.steps--
		i := slices.IndexFunc(e.matches, func(m robots.Note) bool { return !deleted[m.Line] })
		return e.allowed != (i < 0 || e.matches[i].Rule.Allows())
	})
}

// sameVerdicts reports whether it is proved that another file names the same crawlers and has the
// same verdicts for each of them in some dialects. One token selects the rules of a crawler,
// except in google-cpp, and as both files name the same tokens, it selects them in both. If a crawler
// has other verdicts, it looks for examples at the other crawlers of the dialect too, as a proof costs more.
func (p *pass) sameVerdicts(other *pass, views []*view) bool {
	proved := p.sameRules(other, p.keepExample)
	done := map[[2]*choices]bool{}
	before := len(p.examples)
	sameOrExamples := func(tokens []string, a, b *robots.Rules) bool {
		same := proved(tokens, a, b)
		found := len(p.examples) - before
		return same || found > 0 && found < maxExamples
	}
	for _, v := range views {
		w, ok := p.viewOf(other, v)
		if !ok {
			return false
		}
		if done[[2]*choices{v.choices, w.choices}] {
			continue
		}
		done[[2]*choices{v.choices, w.choices}] = true
		if !slices.Equal(v.tokens(), w.tokens()) || !p.both(v, other, w, sameOrExamples) || len(p.examples) > before {
			return false
		}
	}
	return true
}

// A comparison tells whether two sets of rules have the same verdicts, and examples of the changes if not.
type comparison struct {
	same    bool
	changes []compare.Change
}

// sameRules returns a function that reports whether it is proved that rules of this file and of
// another one have the same verdicts, and calls example with the examples if they have not.
func (p *pass) sameRules(other *pass, example func(r *robots.Rules, c compare.Change)) func(tokens []string, a, b *robots.Rules) bool {
	done := map[[2]*robots.Rules]bool{}
	return func(_ []string, a, b *robots.Rules) bool {
		if done[[2]*robots.Rules{a, b}] {
			return true
		}
		done[[2]*robots.Rules{a, b}] = true
		if !p.spend(a.Len() + b.Len()) {
			return false
		}
		if a == b {
			return true
		}
		keys := [2]rulesText{p.key(a), other.key(b)}
		if keys[0] == keys[1] {
			return true
		}
		known, ok := p.comparisons[keys]
		if !ok {
			options := p.budget()
			options.SkipRobotsTxt = false
			r := p.compared(a, b, options)
			p.undecided = p.undecided || r.String() == "undecided"
			known = comparison{r.Same(), slices.Concat(r.NewlyBlocked.Changes, r.NewlyAllowed.Changes)}
			p.comparisons[keys] = known
		}
		for _, c := range known.changes {
			example(a, c)
		}
		return known.same
	}
}

// both calls do with the rules of every crawler in two files, until it returns false, and reports
// whether it always returned true. It returns false, too, if the steps do not suffice.
func (p *pass) both(v *view, other *pass, w *view, do func(tokens []string, a, b *robots.Rules) bool) bool {
	if !p.spend(stepsOfName * (len(v.names) + len(w.names))) {
		return false
	}
	tokens := v.tokens()
	if !slices.Equal(tokens, w.tokens()) {
		tokens = slices.Concat(tokens, w.tokens())
		slices.Sort(tokens)
		tokens = slices.Compact(tokens)
	}
	doOne := func(token string) bool {
		a, b, ok := p.rulesOfBoth(v, other, w, token)
		return ok && do([]string{token}, a, b)
	}
	return doOne("*") && !slices.ContainsFunc(tokens, func(token string) bool { return !doOne(token) })
}

// rulesOfBoth returns the rules of some tokens in two files, and false if the steps do not
// suffice.
func (p *pass) rulesOfBoth(v *view, other *pass, w *view, tokens ...string) (a, b *robots.Rules, ok bool) {
	other.steps = p.steps
	a = p.rules(v, tokens...)
	b = other.rules(w, tokens...)
	p.steps = min(p.steps, other.steps)
	ok = a != nil && b != nil
	p.undecided = p.undecided || !ok
	return a, b, ok
}

// compared compares two sets of rules.
func (p *pass) compared(a, b *robots.Rules, o compare.Options) compare.Result {
	r := compare.Rules(a, b, o)
	p.steps -= 64 + r.NewlyBlocked.Steps + r.NewlyAllowed.Steps
	return r
}

// sameForAll returns an error unless two files have the same rules, delays, rates, sitemaps and
// signals for every crawler in all dialects: the same effective lines in the same order and the
// same groups.
func sameForAll(a, b *robots.File) error {
	for _, d := range robots.Dialects() {
		after := effective(b, d)
		for _, l := range effective(a, d) {
			if len(after) == 0 || after[0].Field != l.Field || after[0].Group != l.Group || b.Text(after[0].Value) != a.Text(l.Value) {
				return errors.New("in " + d.Name + " line " + itoa(l.Number) + " would be read differently; the file or the line is near a size limit")
			}
			after = after[1:]
		}
		if len(after) > 0 {
			return errors.New("in " + d.Name + " more lines would count, from line " + itoa(after[0].Number) + " of the result on")
		}
	}
	return nil
}

// effective returns the lines of a file with a field that the dialect reads.
func effective(f *robots.File, d robots.Dialect) (lines []robots.Line) {
	for l := range f.Lines(d) {
		if l.Field > robots.FieldUnknown {
			lines = append(lines, l)
		}
	}
	return lines
}

// findChanges sets Change of each fix that is not safe. It uses only steps that remain after all
// other proofs.
func (p *pass) findChanges() {
	defer func(was bool) { p.undecided = was }(p.undecided)
	for _, d := range p.found {
		if d.Fix == nil || d.Fix.Safe || d.Severity == Off || len(d.Dialects) == 0 || !p.spend(p.readingSteps()) {
			continue
		}
		d.Fix.Change = p.change(d)
	}
}

// change returns what a fix changes for the first crawler that it affects: in a dialect in which
// the finding matters, or otherwise in another one, which it names.
func (p *pass) change(d *Diagnostic) string {
	other := p.edited(d.Fix.Edits)
	if p.inUnions[d] {
		i := slices.IndexFunc(p.allViews, func(v *view) bool { return v.dialect.MergeTokens })
		return p.changeIn(p.allViews[i], other, true, true)
	}
	unchanged := map[[2]*choices]bool{}
	for _, named := range []bool{false, true} {
		for _, v := range p.allViews {
			if slices.Contains(d.Dialects, v.dialect.Name) == named {
				continue
			}
			w, ok := p.viewOf(other, v)
			if !ok {
				return ""
			}
			choices := [2]*choices{v.choices, w.choices}
			if unchanged[choices] {
				continue
			}
			if c := p.changeIn(v, other, named, false); c != "" {
				return c
			}
			unchanged[choices] = true
		}
	}
	return ""
}

// changeIn returns what another file changes in a dialect, and names the dialect if named is set. With
// inUnions it changes nothing for crawlers of one token.
func (p *pass) changeIn(v *view, other *pass, named, inUnions bool) (change string) {
	known := map[[2]*robots.Rules]bool{}
	find := func(tokens []string, a, b *robots.Rules) bool {
		if known[[2]*robots.Rules{a, b}] || a == b || p.key(a) == other.key(b) {
			return true
		}
		known[[2]*robots.Rules{a, b}] = true
		change = p.firstChange(a, b, [2]rulesText{p.key(a), other.key(b)})
		switch {
		case change == "" || tokens[0] == "*":
		case len(tokens) == 1:
			change += " for " + tokenName(tokens[0])
		default:
			named = true
			change += " for a crawler with the tokens " + tokenName(tokens[0]) + " and " + tokenName(tokens[1])
		}
		if change != "" && named {
			change += " in " + v.dialect.Name
		}
		return change == ""
	}
	w, ok := p.viewOf(other, v)
	if !ok {
		return ""
	}
	if inUnions || p.both(v, other, w, find) && v.dialect.MergeTokens && slices.Equal(v.tokens(), w.tokens()) {
		p.unions(v, other, w, func(u tokenUnion) bool { return find([]string{u.tokens[0].token, u.tokens[1].token}, u.a, u.b) })
	}
	return change
}

// A firstChange is the first change between rules, "" if there is none, and the steps to find it.
type firstChange struct {
	text  string
	steps int
}

// firstChange compares rules once for equal keys. It takes the steps each time, so that they limit the fixes with an example.
func (p *pass) firstChange(a, b *robots.Rules, keys [2]rulesText) string {
	known, ok := p.changes[keys]
	if ok {
		p.steps -= known.steps
		return known.text
	}
	before := p.steps
	switch r := p.compared(a, b, p.budget()); {
	case len(r.NewlyBlocked.Changes) > 0:
		known.text = "blocks " + r.NewlyBlocked.Changes[0].Path
	case len(r.NewlyAllowed.Changes) > 0:
		known.text = "allows " + r.NewlyAllowed.Changes[0].Path
	}
	known.steps = before - p.steps
	p.changes[keys] = known
	return known.text
}

// tokenName returns a token for a message.
func tokenName(token string) string {
	if token == "" {
		return quote(token)
	}
	return robots.Printable(token)
}
