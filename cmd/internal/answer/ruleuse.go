package answer

import (
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// A RuleUse is how many requests of access logs a rule decided.
type RuleUse struct {
	Line     int      `json:"line"`     // from 1
	Rule     string   `json:"rule"`     // with its directive
	Agents   []string `json:"agents"`   // of the group
	Crawlers int      `json:"crawlers"` // requests of crawlers and other programs that it decided
	Others   int      `json:"others"`   // other requests that it decides for crawlers without a group of their own
}

// Requests is the number of all requests that the rule decided.
func (u *RuleUse) Requests() int { return u.Crawlers + u.Others }

// decide returns the decision of the file on a target for a program that is not in the directory; nil is any other client.
func (t *Traffic) decide(by *visitor, target string) LogDecision {
	if strings.HasPrefix(target, "//") {
		target = "http://host.invalid" + target // otherwise what follows is a host
	}
	path, err := robots.ParsePath(target)
	if err != nil || target == "" {
		return LogDecision{}
	}
	v := t.rulesOf(by).Match(path)
	return LogDecision{v.Rule, !v.Allowed, true}
}

func (t *Traffic) rulesOf(by *visitor) *robots.Rules {
	if by != nil && by.Name != otherPrograms {
		if by.rules == nil {
			by.rules = t.File.Rules(robots.RFC9309, by.Name)
		}
		return by.rules
	}
	if t.anyone == nil {
		t.anyone = t.File.Rules(robots.RFC9309)
	}
	return t.anyone
}

// addUse counts a request that a rule decided, if one did.
func (t *Traffic) addUse(by *visitor, rule robots.Rule) {
	if rule.IsZero() {
		return
	}
	u := t.uses[rule.Line()]
	if u == nil {
		u = &RuleUse{Line: rule.Line(), Rule: rule.String()}
		t.uses[u.Line] = u
	}
	if by == nil {
		u.Others++
	} else {
		u.Crawlers++
	}
}

// ruleUses returns the use of each rule in the file, in its order. A rule without a value decides nothing, and is not
// listed.
func (t *Traffic) ruleUses() []RuleUse {
	list := []RuleUse{}
	agents := map[int][]string{} // by group
	for line := range t.File.Lines(robots.Dialect{}) {
		if line.Field == robots.FieldUserAgent {
			agents[line.Group] = append(agents[line.Group], line.Names...)
		}
	}
	for line := range t.File.Lines(robots.Dialect{}) {
		directive := map[robots.Field]string{robots.FieldAllow: "Allow", robots.FieldDisallow: "Disallow"}[line.Field]
		u := t.uses[line.Number]
		if u == nil && directive != "" && line.Group >= 0 && t.File.Text(line.Value) != "" {
			u = &RuleUse{Line: line.Number, Rule: directive + ": " + t.File.Text(line.Value)}
		}
		if u != nil {
			u.Agents = append([]string{}, agents[line.Group]...)
			list = append(list, *u)
		}
	}
	return list
}

// UnusedRules returns the rules that decided no request, in the order of the file.
func (r *LogReport) UnusedRules() []RuleUse {
	return slices.DeleteFunc(slices.Clone(r.Rules), func(u RuleUse) bool { return u.Requests() > 0 })
}

// UsedRules returns the rules that decided requests, those with most first.
func (r *LogReport) UsedRules() []RuleUse {
	list := slices.DeleteFunc(slices.Clone(r.Rules), func(u RuleUse) bool { return u.Requests() == 0 })
	slices.SortStableFunc(list, func(a, b RuleUse) int { return b.Requests() - a.Requests() })
	return list
}

// isRobotsTXT reports whether a request target is that of robots.txt, with any query.
func isRobotsTXT(target string) bool {
	const name = "/robots.txt"
	if !strings.Contains(target, name) {
		return false
	}
	target, _, _ = strings.Cut(target, "?")
	if _, behind, ok := strings.Cut(target, "://"); ok {
		_, behind, _ = strings.Cut(behind, "/")
		target = "/" + behind
	}
	return target == name
}
