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

// A tokenRules is the rules of a token in two files, and of all tokens that have the same rules in
// both: a union with one of these has the same verdicts as with any other.
type tokenRules struct {
	token   string          // the first
	before  []*robots.Rules // of each token, in the first file
	numbers []int           // of each token, in the order of tokens
	rules   []int           // in either file, as indexes in pass.tokenRules
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

// A tokenUnion is the rules of two tokens together in two files.
type tokenUnion struct {
	tokens  [2]tokenRules
	a, b    *robots.Rules               // in either file
	changes func(side int) []ruleChange // of one of the tokens, that can make a difference
}

// unions calls do with pairs of tokens in two files whose single tokens have the same verdicts,
// until it returns false. It reports whether it always returned true. It leaves out pairs that have the same
// verdicts for certain. It returns false, too, if the steps do not suffice.
func (p *pass) unions(v *view, other *pass, w *view, do func(u tokenUnion) bool) bool {
	var all []tokenRules
	read := map[[2]*robots.Rules]bool{}
	known := map[[2]rulesText]int{} // indexes in all
	changes := false
	for _, token := range v.tokens() {
		a, b, ok := p.rulesOfBoth(v, other, w, token)
		if !ok {
			return false
		}
		pair := [2]*robots.Rules{a, b}
		if read[pair] {
			continue
		}
		read[pair] = true
		if !p.spend(1 + a.Len() + b.Len()) {
			return false
		}
		texts := [2]rulesText{p.key(a), other.key(b)}
		i, ok := known[texts]
		if !ok {
			i = len(all)
			known[texts] = i
			t := p.rulesOfToken(token, a, b, texts)
			changes = changes || len(t.changed) > 0
			all = append(all, t)
		}
		all[i].before = append(all[i].before, a)
		all[i].numbers = append(all[i].numbers, len(read))
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
		var order []int
		for _, c := range s.changed {
			if _, ok := partners[c]; !ok {
				if !p.spend(rules/4 + 1) {
					return false
				}
				partners[c] = p.partners(c, all)
			}
			for _, k := range partners[c] {
				pair := [2]int{min(i, k), max(i, k)}
				if k != i && !compared[pair] {
					compared[pair] = true
					order = append(order, k)
				}
			}
		}
		for _, k := range order {
			a, b, ok := p.rulesOfBoth(v, other, w, s.token, all[k].token)
			pair := [2]int{i, k}
			changes := func(side int) (changes []ruleChange) {
				for _, c := range all[pair[side]].changed {
					if _, ok := partners[c]; !ok {
						p.steps -= rules/4 + 1
						partners[c] = p.partners(c, all)
					}
					if slices.Contains(partners[c], pair[1-side]) {
						changes = append(changes, c)
					}
				}
				return changes
			}
			if !ok || !do(tokenUnion{[2]tokenRules{s, all[k]}, a, b, changes}) {
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
func (p *pass) rulesOfToken(token string, a, b *robots.Rules, texts [2]rulesText) tokenRules {
	if texts[0] != texts[1] {
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
	return strings.HasPrefix(other.text, r.text) && !strings.ContainsAny(r.text, "*$")
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
