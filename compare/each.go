package compare

import (
	"strconv"

	"github.com/robotskit/robots"
)

// Each compares the rules of many crawlers: before[i] with after[i], such as
// [robots.Crawlers] returns them for two files. Crawlers whose rules are equal on both sides
// share one Result, whose verdicts name the lines of the first of them.
//
// Options.Total limits all comparisons together. Each also counts half a step for every rule
// that is read. When the total is used up only equal rules, which need no proof, are decided,
// and after twice the total nothing is.
func Each(before, after []*robots.Rules, o Options) []*Result {
	results := make([]*Result, len(before))
	byRules := map[[2]*robots.Rules]*Result{}
	byText := map[[2]string]*Result{}
	used := 0
	for i := range before {
		pair := [2]*robots.Rules{before[i], after[i]}
		result := byRules[pair]
		if result == nil {
			used += (before[i].Len() + after[i].Len()) / 2
			if o.Total > 0 && used > 2*o.Total {
				result = &Result{}
			} else {
				result = compareOnce(pair, byText, o, &used)
			}
			byRules[pair] = result
		}
		results[i] = result
	}
	return results
}

// compareOnce compares a pair of rules unless a pair with the same text is known.
func compareOnce(pair [2]*robots.Rules, known map[[2]string]*Result, o Options, used *int) *Result {
	texts := [2]string{textOf(pair[0]), textOf(pair[1])}
	if result := known[texts]; result != nil {
		return result
	}
	if o.Total > 0 {
		o.Steps = max(1, min(o.steps(), o.Total-*used)) // 0 is the default
	}
	result := Rules(pair[0], pair[1], o)
	*used += result.NewlyBlocked.Steps + result.NewlyAllowed.Steps
	known[texts] = &result
	return &result
}

// textOf returns the dialect and the text of rules, which are the same only for rules that
// decide alike.
func textOf(r *robots.Rules) string {
	text := []byte(r.Dialect().Name)
	root := r.Match(robots.RawPath("/"))
	if _, noFile := r.FallbackReason(); noFile || root.Reason == robots.ReasonUserInitiated {
		text = append(text, "\n"+root.Reason.String()...)
		text = strconv.AppendBool(text, root.Allowed)
	}
	for rule := range r.All() {
		text = append(text, "\n"+rule.Directive()+":"+rule.Path()...)
	}
	return string(text)
}
