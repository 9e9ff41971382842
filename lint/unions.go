package lint

import (
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
// Of the pairs, only those are compared for which mayInteract is true.

// A tokenRules is the rules of a token in two files.
type tokenRules struct {
	token   string
	rules   []tokenRule // in either file
	changed []tokenRule // in only one of them
}

// A tokenRule is what decides of a rule.
type tokenRule struct {
	text   string
	weight int
	allow  bool
	// change is set if the rule is in only one of two files.
	change bool
}

// unions calls do with the rules of pairs of tokens in two files whose single tokens have the same
// verdicts, until it returns false, and reports whether it always returned true. It leaves out
// pairs that have the same verdicts for certain. It returns false, too, if the steps do not
// suffice.
func (p *pass) unions(v *view, other *pass, w *view, do func(tokens []string, a, b *robots.Rules) bool) bool {
	var all []*tokenRules
	known := map[[2]string]bool{}
	for _, token := range v.tokens() {
		a, b, ok := p.rulesOfBoth(v, other, w, token)
		if !ok || !p.spend(1+(a.Len()+b.Len())/4) {
			return false
		}
		keys := [2]string{p.key(a, false), other.key(b, false)}
		if !known[keys] {
			known[keys] = true
			all = append(all, newTokenRules(token, a, b))
		}
	}
	for i, s := range all {
		if len(s.changed) == 0 {
			continue
		}
		for k, t := range all {
			if k == i || k < i && len(t.changed) > 0 {
				continue // the pair has been compared
			}
			if !p.spend(1 + len(s.changed)*len(t.rules) + len(t.changed)*len(s.rules)) {
				return false
			}
			if !s.mayInteract(t) && !t.mayInteract(s) {
				continue
			}
			a, b, ok := p.rulesOfBoth(v, other, w, s.token, t.token)
			if !ok || !do([]string{s.token, t.token}, a, b) {
				return false
			}
		}
	}
	return true
}

func newTokenRules(token string, a, b *robots.Rules) *tokenRules {
	t := &tokenRules{token: token}
	in := map[tokenRule]int{} // bits: in a, in b
	for i, r := range []*robots.Rules{a, b} {
		for rule := range r.All() {
			one := tokenRule{text: rule.Pattern().String(), weight: rule.Weight(), allow: rule.Allows()}
			if in[one] == 0 {
				t.rules = append(t.rules, one)
			}
			in[one] |= 1 << i
		}
	}
	for i := range t.rules {
		r := &t.rules[i]
		if in[*r] != 1|1<<1 {
			r.change = true
			t.changed = append(t.changed, *r)
		}
	}
	return t
}

// mayInteract reports whether a rule that is in only one file can decide for this token while
// one of another token with the opposite verdict takes its place in the other file.
//
// In the terms of the law: where a pair of tokens has different verdicts although each token has
// the same, x(s) > x(t) and y(t) > y(s), or the same with s and t exchanged, and these two rules
// have opposite verdicts. If the rule of x(s) is in both files, y(s) >= x(s), so y(t) > x(t) and
// the rule of y(t) is in the second file only. So one of the two is in one file only. If the
// other is in both files, its own token has it in the file of the first rule too, in which it
// lost: it has a lower precedence.
func (t *tokenRules) mayInteract(other *tokenRules) bool {
	return slices.ContainsFunc(t.changed, func(r tokenRule) bool {
		return slices.ContainsFunc(other.rules, func(q tokenRule) bool {
			return q.allow != r.allow && (q.change || q.weight <= r.weight) && r.meets(q)
		})
	})
}

// meets reports whether both patterns might match a URL: whether they begin alike.
func (r tokenRule) meets(q tokenRule) bool {
	a, _, _ := strings.Cut(strings.TrimSuffix(r.text, "$"), "*")
	b, _, _ := strings.Cut(strings.TrimSuffix(q.text, "$"), "*")
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}
