package compare

import (
	"errors"
	"strconv"

	"github.com/robotskit/robots"
)

// A Claim is the answer to whether rules say one thing of every URL of a pattern.
type Claim struct {
	// Holds says that it is proved, Complete that it is decided at all.
	Holds, Complete bool
	// Path is a URL for which it does not hold, "" if none is known, Verdict what
	// the rules say of it, and Shortest that there is no shorter one.
	Path     string
	Verdict  robots.Verdict
	Shortest bool
	// Steps is how many steps it took.
	Steps int
}

// Every asks whether all URLs that a pattern such as "/products/*" matches are
// allowed, or all disallowed. The pattern is read as the path of a rule in the
// dialect of the rules. /robots.txt itself is left out. A claim about a pattern
// that no URL matches holds.
func Every(r *robots.Rules, pattern string, allowed bool, o Options) (Claim, error) {
	d := r.Dialect()
	d.IndexHTML, d.MaxFileBytes = false, 0
	rules := robots.Parse([]byte("User-agent: *\nAllow: " + pattern)).Rules(d)
	f := finder{m: meter{limit: o.steps()}}
	own, other := newList(rules, true, &f.m), newList(r, true, &f.m)
	for rule := range rules.All() {
		if rule.Path() != pattern {
			return Claim{}, errors.New("compare: " + strconv.Quote(pattern) + " cannot be the path of one rule: write it as after Allow, without comment and blanks around it")
		}
	}
	if rules.Len() != 1 {
		return Claim{}, errors.New("compare: " + strconv.Quote(pattern) + " is no pattern: write a path such as /products/*")
	}
	// A side that says so of the pattern and nothing of the rest: where is it wrong?
	f.prepare(&own, &other, o.URLs)
	var q []question
	for i := range own.rules {
		if own.rules[i].line >= 0 {
			own.rules[i].allow, own.rules[i].twin = allowed, noRule
			q = append(q, question{own: &own, other: &other, rule: i, without: noRule})
		}
	}
	for i := range other.rules {
		if other.rules[i].line >= 0 {
			other.rules[i].twin = noRule
		}
	}
	c := Claim{Complete: f.answer(q)}
	c.Steps = f.m.used
	for i := range q {
		if q[i].path == "" {
			continue
		}
		c.Path, c.Shortest = q[i].path, !q[i].open()
		c.Verdict = r.Match(site(c.Path))
	}
	c.Holds = c.Complete && c.Path == ""
	return c, nil
}
