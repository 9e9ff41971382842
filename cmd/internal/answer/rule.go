package answer

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/robotskit/robots"
)

// A Rule is a deciding rule.
type Rule struct {
	Line       int    `json:"line"`                  // from 1
	Directive  string `json:"directive"`             // allow or disallow
	Pattern    string `json:"pattern"`               // as written
	PatternB64 string `json:"pattern_b64,omitempty"` // of a pattern that is not valid UTF-8

	text string // as robots.Rule.String returns it
}

// NewRule returns nil, in JSON null, for no rule.
func NewRule(r robots.Rule) *Rule {
	if r.IsZero() {
		return nil
	}
	rule := &Rule{Line: r.Line(), Directive: r.Directive(), Pattern: validText(r.Path()), text: r.String()}
	if path := r.Path(); rule.Pattern != path {
		rule.PatternB64 = base64.StdEncoding.EncodeToString([]byte(path))
	}
	return rule
}

// String returns the rule as a line of a file, printable on a terminal.
func (r *Rule) String() string { return r.text }

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

// validText returns s with U+FFFD for each byte that is not UTF-8, where encoding/json would write
// the escape of that character.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// clip limits how much of a value from a file a sentence repeats.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
