package lint

import (
	"cmp"
	"slices"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
)

// Checks of the effect of each rule, which package compare proves.

// ruleUses are the uses of rules in a dialect.
type ruleUses struct {
	best      map[int]compare.Use // by line, the best use for any crawler
	undecided bool                // the steps did not suffice for all rules
}

// uses returns the uses of rules in each dialect. They are computed once.
func (p *pass) uses() []ruleUses {
	if p.usesOf != nil {
		return p.usesOf
	}
	p.usesOf = make([]ruleUses, len(p.views))
	// Of two equal rules neither has an effect. Another check reports the second, so it is
	// made a comment here.
	body := append([]byte(nil), p.body...)
	same, _ := p.duplicates()
	for l := range p.lines() {
		if _, again := same[l.Number]; again {
			body[l.Span.Start] = '#'
		}
	}
	once := p
	if len(same) > 0 {
		once = newPass(robots.Parse(body), Options{Dialects: p.options.Dialects})
		once.steps = p.steps
		defer func() {
			p.steps = once.steps
			p.undecided = p.undecided || once.undecided
		}()
	}
	known := map[rulesText][]compare.Use{}
	shared := map[*choices]ruleUses{}
	for i, v := range once.views {
		uses, ok := shared[v.choices]
		if !ok {
			uses = once.usesIn(v, known)
			shared[v.choices] = uses
		}
		p.usesOf[i] = uses
	}
	return p.usesOf
}

// usesIn returns the uses in one dialect.
func (p *pass) usesIn(v *view, known map[rulesText][]compare.Use) ruleUses {
	var best map[int]compare.Use
	done := map[*robots.Rules]bool{}
	for _, name := range v.crawlers() {
		r := p.rules(v, name)
		if r == nil {
			return ruleUses{undecided: true}
		}
		if done[r] {
			continue
		}
		done[r] = true
		uses, ok := p.effects(r, known)
		if !ok {
			return ruleUses{undecided: true}
		}
		if best == nil {
			best = make(map[int]compare.Use, r.Len())
		}
		for rule := range r.All() {
			line := p.lineOf(rule.Span().Start)
			if was, ok := best[line]; !ok || isBetter(uses[0], was) {
				best[line] = uses[0]
			}
			uses = uses[1:]
		}
	}
	return ruleUses{best: best}
}

// anyEscapes stands for every dialect in a rulesText.
const anyEscapes robots.Escapes = 255

// effects calls compare.Effects with the steps that remain for the file, once for equal rules, and
// returns the use of each rule in the order of All. It returns false if the steps do not suffice.
func (p *pass) effects(r *robots.Rules, known map[rulesText][]compare.Use) ([]compare.Use, bool) {
	if !p.spend(r.Len()) {
		return nil, false
	}
	key := p.key(r)
	inAny := rulesText{hash: key.hash, exempt: true, escapes: anyEscapes}
	if uses, ok := known[key]; ok {
		return uses, true
	}
	shared, ok := known[inAny]
	if ok && !slices.Contains(shared, compare.Undecided) {
		return shared, true
	}
	var uses, inEvery []compare.Use
	effects := compare.Effects(r, compare.Options{Steps: max(1, min(p.steps/16, compare.DefaultSteps)), Known: shared})
	for _, e := range effects {
		p.steps -= e.Steps
	}
	for i := range effects {
		e := &effects[i]
		if p.steps <= 0 {
			p.undecided = true
			return nil, false
		}
		if e.Use == compare.NeverDecides && (e.Unopposed || !p.isDenied(r, e.Rule)) {
			e.Use = compare.NoEffect // heavier rules say the same
		}
		p.undecided = p.undecided || e.Use == compare.Undecided
	}
	for rule := range r.All() {
		i, _ := slices.BinarySearchFunc(effects, rule.Span().Start, func(e compare.Effect, start int) int {
			return cmp.Compare(e.Rule.Span().Start, start)
		})
		uses = append(uses, effects[i].Use)
		use := compare.Undecided
		if effects[i].AnyDialect {
			use = effects[i].Use
		}
		inEvery = append(inEvery, use)
	}
	known[key] = uses
	known[inAny] = inEvery
	return uses, true
}

// isDenied reports whether it is proved that a URL that one of the rules matches has the opposite
// verdict.
func (p *pass) isDenied(r *robots.Rules, rule robots.Rule) bool {
	if !p.spend(16 * r.Len()) { // the rules are read again
		return false
	}
	path := cmp.Or(rule.Path(), "/") // an empty Disallow is a rule where it allows everything (D-41)
	c, err := compare.Every(r, path, rule.Allows(), compare.Options{Steps: max(1, p.budget().Steps/16)})
	p.steps -= c.Steps
	p.undecided = p.undecided || !c.Complete && c.Path == ""
	return err == nil && c.Path != ""
}

// isBetter reports whether a use is a stronger reason to keep a rule than another one.
func isBetter(a, b compare.Use) bool {
	return b != compare.Needed && (a == compare.Needed || a < b)
}

// unused calls do for each rule with a path, with the names of the dialects in which "is" reports
// true for its use, and of those that apply the rule. Rules that another check reports are
// skipped.
func (p *pass) unused(is func(compare.Use) bool, do func(l robots.Line, so, counts []string)) {
	uses := p.uses()
	if !slices.ContainsFunc(uses, func(u ruleUses) bool { return !u.undecided }) {
		return
	}
	reported := map[int]bool{}
	same, opposite := p.duplicates()
	for line := range same {
		reported[line] = true
	}
	for line, other := range opposite {
		reported[line] = true
		reported[other] = true
	}
	p.paths(func(l robots.Line, _ string) {
		if reported[l.Number] || p.isReported(l) {
			return
		}
		isSo := func(u ruleUses) bool {
			use, ok := u.best[l.Number]
			return (ok || u.undecided) && is(use)
		}
		if !slices.ContainsFunc(uses, isSo) {
			return
		}
		var so, counts []string
		for i, v := range p.views {
			use, ok := uses[i].best[l.Number]
			if !ok && !uses[i].undecided {
				continue
			}
			counts = append(counts, v.dialect.Name)
			if is(use) {
				so = append(so, v.dialect.Name)
			}
		}
		if len(so) > 0 {
			do(l, so, counts)
		}
	})
}

// isReported reports whether a check of lines, fields or paths already reports that a line does not
// have its apparent meaning.
func (p *pass) isReported(l robots.Line) bool {
	dropped := p.reported != nil && p.reported[l.Number/64]>>(l.Number%64)&1 != 0
	return dropped || slices.ContainsFunc(p.byLine[l.Number], func(d *Diagnostic) bool {
		return isReport(d.Check) && d.Span.Start < d.Span.End && len(d.Dialects) > 0
	})
}

func isReport(c *Check) bool { return c.ID < "RT5" && c.Severity >= Warning }

func neverMatches(p *pass) {
	p.unused(func(u compare.Use) bool { return u == compare.NeverMatches }, func(l robots.Line, so, _ []string) {
		d := p.add(l.Value, "no URL can match this path")
		d.Dialects = so
		d.Advice = "delete the rule, or write the path as clients send it"
		p.deletes(d, l)
	})
}

func neverDecides(p *pass) {
	p.unused(func(u compare.Use) bool { return u == compare.NeverDecides }, func(l robots.Line, so, counts []string) {
		if len(so) < len(counts) {
			return
		}
		d := p.add(l.Span, "wherever this rule matches, longer rules decide the opposite")
		d.Dialects = so
		d.Advice = "delete it, or make it longer than those"
		if path, by, longer := p.deciding(l, so); path != "" {
			rank := "a longer rule"
			if !longer {
				rank = "an Allow of the same length"
			}
			d.Message = "wherever this rule matches, others decide: line " + itoa(by) + ", " + rank + ", decides the opposite for " + path
			d.Advice = "delete it, or make it longer than line " + itoa(by)
		}
		p.deletes(d, l)
	})
}

// deciding returns a URL that the rule of a line matches and that another rule decides the opposite,
// the line of that rule, and whether it is longer.
func (p *pass) deciding(l robots.Line, dialects []string) (path string, line int, longer bool) {
	for _, v := range p.views {
		if !slices.Contains(dialects, v.dialect.Name) {
			continue
		}
		for _, name := range v.crawlers() {
			r := p.rules(v, name)
			if r == nil {
				return "", 0, false
			}
			for rule := range r.All() {
				if rule.Span().Start != l.Value.Start || !p.spend(16*r.Len()) {
					continue
				}
				c, err := compare.Every(r, cmp.Or(rule.Path(), "/"), rule.Allows(), p.budget())
				p.steps -= c.Steps
				if by := c.Verdict.Rule; err == nil && c.Path != "" && !by.IsZero() {
					return c.Path, by.Line(), by.Weight() > rule.Weight()
				}
			}
		}
	}
	return "", 0, false
}

func noEffect(p *pass) {
	none := func(u compare.Use) bool { return u > compare.Needed }
	p.unused(none, func(l robots.Line, so, counts []string) {
		other := func(d *Diagnostic) bool { return slices.Contains([]string{"RT501", "RT502", "RT503"}, d.Check.ID) }
		if len(so) < len(counts) || slices.ContainsFunc(p.byLine[l.Number], other) {
			return
		}
		d := p.add(l.Span, "this rule has no effect: without it no verdict changes")
		d.Dialects = so
		d.Advice = "delete it"
		p.deletes(d, l)
	})
}
