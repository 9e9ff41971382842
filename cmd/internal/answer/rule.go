package answer

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/robotskit/robots"
)

// A Rule is a deciding rule.
type Rule struct {
	Line       int    `json:"line"`
	Directive  string `json:"directive"`
	Pattern    string `json:"pattern"`
	PatternB64 string `json:"pattern_b64,omitempty"`
}

// NewRule returns nil, in JSON null, for no rule.
func NewRule(r robots.Rule) *Rule {
	if r.IsZero() {
		return nil
	}
	rule := &Rule{Line: r.Line(), Directive: r.Directive(), Pattern: r.Path()}
	if !utf8.ValidString(rule.Pattern) {
		rule.PatternB64 = base64.StdEncoding.EncodeToString([]byte(rule.Pattern))
	}
	return rule
}

// Reason returns the rule of a verdict with its line, or the reason without a rule.
func Reason(v robots.Verdict) string {
	if v.Reason == robots.ReasonUndefined {
		return "robots.txt is unreachable, for which " + v.Dialect + " defines no verdict"
	}
	reason := v.Reason.Sentence()
	if !v.Rule.IsZero() {
		reason = "line " + strconv.Itoa(v.Rule.Line()) + ": " + v.Rule.String()
	}
	if v.Undefined {
		return v.Dialect + " defines no verdict; by length " + v.Rule.Directive() + ", " + reason
	}
	return reason
}
