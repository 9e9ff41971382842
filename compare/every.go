package compare

import (
	"errors"
	"strconv"

	"github.com/robotskit/robots"
)

// A Claim is the result of Every.
type Claim struct {
	// Holds is set if the claim is proved, Complete if it is decided.
	Holds, Complete bool
	// Path is a counterexample, or "", Verdict its verdict, and Shortest is set if there
	// is no shorter one.
	Path     string
	Verdict  robots.Verdict
	Shortest bool
	Steps    int // number of steps used
}

// Every proves or refutes that all URLs that a pattern such as "/products/*" matches, except
// /robots.txt, are allowed, or disallowed. The pattern is read as the path of a rule in the
// dialect of r. If no URL matches it, the claim holds.
func Every(r *robots.Rules, pattern string, allowed bool, o Options) (Claim, error) {
	d := r.Dialect()
	d.IndexHTML = false
	d.MaxFileBytes = 0
	rules := robots.Parse([]byte("User-agent: *\nAllow: " + pattern)).Rules(d)
	for rule := range rules.All() {
		o.within = []string{literalHead(rule.Pattern().String())}
		if rule.Path() != pattern {
			return Claim{}, errors.New(
				"compare: " + strconv.Quote(pattern) +
					" is not the path of a single rule: write it as after Allow:, without a comment or surrounding spaces",
			)
		}
	}
	if rules.Len() != 1 {
		return Claim{}, errors.New("compare: " + strconv.Quote(pattern) + " is not a valid pattern: write a path such as /products/*")
	}
	// The claim is a list of its own with the pattern as the only rule. A URL for which the
	// rules have the opposite verdict refutes it.
	o.SkipRobotsTxt = true
	f := newComparison(rules, r, o)
	side := &f.lists[0]
	otherSide := &f.lists[1]
	var q []example
	for i := range side.rules {
		if side.rules[i].line >= 0 {
			side.rules[i].allow = allowed
			side.rules[i].otherIndex = noRule
			q = append(q, example{side: side, otherSide: otherSide, rule: i, without: noRule})
		}
	}
	for i := range otherSide.rules {
		if otherSide.rules[i].line >= 0 {
			otherSide.rules[i].otherIndex = noRule
		}
	}
	c := Claim{Complete: f.find(q)}
	c.Steps = f.meter.used
	for i := range q {
		if q[i].path != "" {
			c.Path = q[i].path
			c.Shortest = !q[i].open()
			c.Verdict = r.Match(site(c.Path))
		}
	}
	c.Holds = c.Complete && c.Path == ""
	return c, nil
}
