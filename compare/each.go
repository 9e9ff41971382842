package compare

import (
	"crypto/sha256"
	"strconv"

	"github.com/robotskit/robots"
)

// Each compares the rules of many crawlers: before[i] with after[i], such as
// [robots.Crawlers] returns them for two files. Crawlers whose rules are equal on both sides
// share one Result, whose verdicts name the lines of the first of them. It returns the steps of
// all comparisons, of reading the rules too.
//
// Options.Total limits these steps: half a step for every rule that is read and for every
// sixteen bytes of patterns, besides the steps of the proofs. When the total is used up only equal rules,
// which need no proof, are decided, and after twice the total nothing is.
func Each(before, after []*robots.Rules, o Options) (results []*Result, steps int) {
	results = make([]*Result, len(before))
	byRules := map[[2]*robots.Rules]*Result{}
	byText := map[[2]textHash]*Result{}
	for i := range before {
		pair := [2]*robots.Rules{before[i], after[i]}
		result := byRules[pair]
		if result == nil {
			if o.Total > 0 && steps >= 2*o.Total {
				result = &Result{}
			} else {
				result = compareOnce(pair, byText, o, &steps)
			}
			byRules[pair] = result
		}
		results[i] = result
	}
	return results, steps
}

// compareOnce compares a pair of rules unless a pair with the same text is known.
func compareOnce(pair [2]*robots.Rules, known map[[2]textHash]*Result, o Options, used *int) *Result {
	hashes := [2]textHash{hashOf(pair[0], used), hashOf(pair[1], used)}
	if result := known[hashes]; result != nil {
		return result
	}
	if o.Total > 0 && *used >= o.Total {
		same := Direction{Complete: hashes[0] == hashes[1]}
		return &Result{NewlyBlocked: same, NewlyAllowed: same}
	}
	if o.Total > 0 {
		o.Steps = min(o.steps(), o.Total-*used)
	}
	result := Rules(pair[0], pair[1], o)
	*used += result.NewlyBlocked.Steps + result.NewlyAllowed.Steps
	known[hashes] = &result
	return &result
}

// A textHash is the hash of the dialect and the text of rules, which are the same only for rules
// that decide alike.
type textHash [sha256.Size]byte

// hashOf returns the hash of rules, and counts the steps of reading them.
func hashOf(r *robots.Rules, used *int) (sum textHash) {
	h := sha256.New()
	text := append(make([]byte, 0, 1<<10), r.Dialect().Name...)
	root := r.Match(robots.RawPath("/"))
	if _, noFile := r.FallbackReason(); noFile || root.Reason == robots.ReasonUserInitiated {
		text = append(text, "\n"+root.Reason.String()...)
		text = strconv.AppendBool(text, root.Allowed)
	}
	bytes := 0
	for rule := range r.All() {
		text = append(append(append(append(text, '\n'), rule.Directive()...), ':'), rule.Path()...)
		bytes += len(rule.Path())
		if len(text) > 1<<9 {
			h.Write(text)
			text = text[:0]
		}
	}
	h.Write(text)
	h.Sum(sum[:0])
	*used += r.Len()/2 + bytes/16
	return sum
}
