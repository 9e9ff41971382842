package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// In google-cpp a crawler obeys the groups of all its tokens together (C-11). A file with n tokens
// has 2^n such unions. They need not all be compared.
//
// Law: two files that name the same tokens have the same verdicts for every union if they have
// them for every union of one or two tokens.
//
// Proof: for a URL u, let x(t) be the precedence of the rule that decides u for token t alone in
// the first file, and y(t) in the second; it is weight and then allow, and below all others if no
// rule matches. Rules of equal precedence have the same verdict, so a precedence v has a verdict
// V(v). In a union of tokens S the rule of the highest precedence decides: x(s) for some s in S
// in the first file, y(t) for some t in S in the second. In the union of s and t these are still
// the highest, so if the verdicts of that union are the same, V(x(s)) = V(y(t)).
//
// Of the pairs, only those are compared for which mayInteract finds rules.

// A tokenRules is the rules of a token in two files.
type tokenRules struct {
	token   string
	rules   []int // in either file, as indexes in pass.tokenRules
	changed []ruleChange
}

// A tokenRule is what decides of a rule.
type tokenRule struct {
	text       string
	precedence int // weight, then allow
	oneFile    bool
}

// A ruleChange is a rule that a token has in only one of two files. For each URL that it matches, a
// rule of at least the precedence floor, which the token has in both files, matches too.
type ruleChange struct {
	tokenRule
	floor int
}

// unions calls do with the rules of pairs of tokens in two files whose single tokens have the same
// verdicts, and with changes of the first token that can make a difference, until it returns
// false. It reports whether it always returned true. It leaves out pairs that have the same
// verdicts for certain. It returns false, too, if the steps do not suffice.
func (p *pass) unions(v *view, other *pass, w *view, do func(tokens []string, a, b *robots.Rules, changes []ruleChange) bool) bool {
	var all []tokenRules
	known := map[[2]*robots.Rules]bool{}
	changes := false
	for _, token := range v.tokens() {
		a, b, ok := p.rulesOfBoth(v, other, w, token)
		if !ok {
			return false
		}
		pair := [2]*robots.Rules{a, b}
		if known[pair] {
			continue
		}
		known[pair] = true
		if !p.spend(1 + a.Len() + b.Len()) {
			return false
		}
		t := p.rulesOfToken(other, token, a, b)
		changes = changes || len(t.changed) > 0
		all = append(all, t)
	}
	if !changes {
		return true
	}
	occurs := make([]bool, len(p.tokenRules))
	rules := 0
	for _, t := range all {
		for _, i := range t.rules {
			if !occurs[i] {
				occurs[i] = true
				rules++
			}
		}
	}
	partners := map[ruleChange][]int{}
	compared := map[[2]int]bool{}
	for i, s := range all {
		conflicts := map[int][]ruleChange{} // by partner
		var order []int
		for _, c := range s.changed {
			if _, ok := partners[c]; !ok {
				if !p.spend(rules/4 + 1) {
					return false
				}
				partners[c] = p.partners(c, all)
			}
			for _, k := range partners[c] {
				if k == i || compared[[2]int{min(i, k), max(i, k)}] {
					continue
				}
				if conflicts[k] == nil {
					order = append(order, k)
				}
				conflicts[k] = append(conflicts[k], c)
			}
		}
		for _, k := range order {
			compared[[2]int{min(i, k), max(i, k)}] = true
			a, b, ok := p.rulesOfBoth(v, other, w, s.token, all[k].token)
			if !ok || !do([]string{s.token, all[k].token}, a, b, conflicts[k]) {
				return false
			}
		}
	}
	return true
}

// partners returns the indexes in all of the tokens with a rule that might interact with a change, by the precedence of
// this rule. A token occurs for each of these rules.
func (p *pass) partners(c ruleChange, all []tokenRules) []int {
	type partner struct{ rule, token int }
	var found []partner
	interacts := make([]bool, len(p.tokenRules))
	for i, r := range p.tokenRules {
		interacts[i] = c.mayInteract(r)
	}
	for i, t := range all {
		for _, rule := range t.rules {
			if interacts[rule] {
				found = append(found, partner{rule, i})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b partner) int {
		r := p.tokenRules[a.rule]
		q := p.tokenRules[b.rule]
		return cmp.Or(cmp.Compare(r.precedence, q.precedence), strings.Compare(r.text, q.text))
	})
	tokens := make([]int, len(found))
	for i := range found {
		tokens[i] = found[i].token
	}
	return tokens
}

// rulesOfToken is newTokenRules, whose result is kept for a token that has the same rules in both files.
func (p *pass) rulesOfToken(other *pass, token string, a, b *robots.Rules) tokenRules {
	if a != b && p.key(a) != other.key(b) {
		return p.newTokenRules(token, a, b)
	}
	rules, ok := p.unchanged[a]
	if !ok {
		rules = p.newTokenRules(token, a, a).rules
		p.unchanged[a] = rules
	}
	return tokenRules{token: token, rules: rules}
}

func (p *pass) newTokenRules(token string, a, b *robots.Rules) tokenRules {
	t := tokenRules{token: token}
	in := map[tokenRule]int{} // 1: in a, 2: in b
	var rules []tokenRule
	for i, r := range []*robots.Rules{a, b} {
		for rule := range r.All() {
			one := tokenRuleOf(rule)
			if in[one] == 0 {
				rules = append(rules, one)
			}
			in[one] |= 1 << i
		}
	}
	for _, r := range rules {
		if in[r] != 3 {
			c := ruleChange{tokenRule: r, floor: -1}
			for rule, files := range in {
				if files == 3 && rule.covers(&r) {
					c.floor = max(c.floor, rule.precedence)
				}
			}
			c.oneFile = true
			t.changed = append(t.changed, c)
			r.oneFile = true
		}
		t.rules = append(t.rules, p.indexOf(r))
	}
	return t
}

// indexOf returns the index of a rule in tokenRules, to which it adds a new one.
func (p *pass) indexOf(r tokenRule) int {
	i, ok := p.ruleIndexes[r]
	if !ok {
		i = len(p.tokenRules)
		p.ruleIndexes[r] = i
		p.tokenRules = append(p.tokenRules, r)
	}
	return i
}

func tokenRuleOf(rule robots.Rule) tokenRule {
	t := tokenRule{text: rule.Pattern().String(), precedence: 2 * rule.Weight()}
	if rule.Allows() {
		t.precedence++
	}
	return t
}

// covers reports whether a rule certainly matches every URL that another one matches.
func (r *tokenRule) covers(other *tokenRule) bool {
	return !strings.ContainsAny(r.text, "*$") && strings.HasPrefix(other.text, r.text)
}

// mayInteract reports whether the change can give a union another verdict because another token
// has a rule.
//
// In the terms of the law: where the union of s and t has different verdicts although each has
// the same, x(s) > x(t) and y(t) > y(s), or the same with s and t exchanged, and these two have
// opposite verdicts. If s has the rule of x(s) in both files, y(s) >= x(s), so y(t) > x(t), and t
// has the rule of y(t) only in the second. So one of the two is a change; let it be x(s), as
// otherwise the files are exchanged. Then y(t) > y(s), which is at least floor. And if t has the
// rule of y(t) in both files, y(t) <= x(t) < x(s).
func (c ruleChange) mayInteract(r tokenRule) bool {
	return (r.precedence^c.precedence)&1 != 0 && r.precedence > c.floor && (r.oneFile || r.precedence < c.precedence) && c.meets(r)
}

// meets reports whether both patterns might match a URL: whether they begin alike.
func (r tokenRule) meets(q tokenRule) bool {
	a, _, _ := strings.Cut(strings.TrimSuffix(r.text, "$"), "*")
	b, _, _ := strings.Cut(strings.TrimSuffix(q.text, "$"), "*")
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}
