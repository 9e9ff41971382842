package answer

import (
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/internal/quote"
)

// SizeLimit returns a size limit of n bytes, as Obey takes it: for 0 bytes it is 1, as no rule is
// that short.
func SizeLimit(n int) int { return max(n, 1) }

// A RuleSet is rules with the part of their JSON answers that is the same for all URLs.
type RuleSet struct {
	*robots.Rules
	Limits robots.JSONLimits
	Budget *budget.Budget
	common []byte // kept from the first answer on
	cost   MatchCost
}

// Judge returns the verdict for a path. The error is that of the budget, also if a match of that path
// could take more than is left.
func (r *RuleSet) Judge(p robots.Path) (robots.Verdict, error) {
	if r.Budget != nil {
		if r.cost == (MatchCost{}) {
			r.cost = NewMatchCost(r.Rules)
		}
		if most := r.cost.Steps(p); r.Budget.Left(most) < most {
			return robots.Verdict{}, r.Budget.Work(most)
		}
	}
	v, work := r.MatchWork(p)
	return v, r.Budget.Work(budget.Matching(work))
}

// usualCommon is more than the bytes of Common of most files.
const usualCommon = 256

// Common returns the members that are the same for all paths, or the error of the budget.
func (r *RuleSet) Common() ([]byte, error) {
	if r.common == nil {
		if err := r.Budget.Work(budget.Reading(r.File().Bytes())); err != nil {
			return nil, err
		}
		r.common = r.AppendJSON(make([]byte, 0, usualCommon), r.Limits)
	}
	return r.common, nil
}

// AppendVerdict appends the members of the answer with a verdict of these rules.
func (r *RuleSet) AppendVerdict(dst []byte, v robots.Verdict) []byte {
	common, _ := r.Common() // no error: only AppendWithin is used with a budget
	return append(append(v.AppendJSON(dst), ','), common...)
}

// AppendWithin is AppendVerdict within a budget, whose error it returns instead of an answer. More is
// the largest number of bytes that the caller appends.
func (r *RuleSet) AppendWithin(dst []byte, v robots.Verdict, more int) ([]byte, error) {
	common, err := r.Common()
	if err != nil {
		return dst, err
	}
	if err := r.Budget.Hold(LongestDecision(v) + len(common) + more); err != nil {
		return dst, err
	}
	before := len(dst)
	dst = r.AppendVerdict(dst, v)
	r.Budget.Free(LongestDecision(v) + len(common) - (len(dst) - before))
	return dst, r.Budget.Work(budget.Writing(len(common)))
}

// LongestDecision returns the largest size of a verdict's decision in JSON: a byte of the pattern takes
// at most eight, as an escape and in base64.
func LongestDecision(v robots.Verdict) int { return 1<<8 + 8*len(v.Rule.Path()) }

// AppendStrings appends a list of strings in JSON.
func AppendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = quote.Append(dst, s)
	}
	return append(dst, ']')
}
