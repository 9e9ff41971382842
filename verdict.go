package robots

import (
	"errors"
	"strconv"
)

// A Verdict reports whether a crawler may fetch a path, and why. The zero value
// disallows with ReasonInvalid (D-56).
type Verdict struct {
	Allowed bool
	// Undefined is set where the dialect's document does not define the case
	// (historic dialects only). Allowed then follows the longer rule (D-01), and is
	// false if no file could be fetched (FAIL-01).
	Undefined bool
	Reason    Reason
	Rule      Rule   // the rule that decided, or the zero value
	Group     Group  // the crawler's group, or the zero value
	Dialect   string // name of the dialect
	State     *State // state of the fetch, read-only; nil if there was no fetch
}

// Word returns allow, disallow or undefined.
func (v Verdict) Word() string {
	switch {
	case v.Undefined:
		return "undefined"
	case v.Allowed:
		return "allow"
	default:
		return "disallow"
	}
}

// Undecided reports whether the path is disallowed only because robots.txt is
// unavailable for now. State.NextTry is the time of the next attempt.
func (v Verdict) Undecided() bool {
	return !v.Allowed && (v.Reason == ReasonUnreachable || v.Reason == ReasonRefused || v.Reason == ReasonUndefined)
}

// String returns the verdict as one line:
//
//	disallowed by line 14: Disallow: /*?sort=
//	allowed: no rule for googlebot matches
//
// followed by the state of the fetch if it mattered:
//
//	disallowed: robots.txt cannot be reached (503 since 2026-05-01T10:00:00Z, no earlier copy)
func (v Verdict) String() string {
	s := v.sentence()
	if text := v.State.Text(); text != "" {
		s += " (" + Printable(text) + ")"
	}
	return s
}

func (v Verdict) sentence() string {
	s := "disallowed"
	switch {
	case v.Reason == ReasonUndefined:
		s = "undefined (not allowed)"
	case v.Undefined && v.Allowed:
		s = "undefined (allowed by weight)"
	case v.Undefined:
		s = "undefined (disallowed by weight)"
	case v.Allowed:
		s = "allowed"
	}
	if !v.Rule.IsZero() {
		return s + " by line " + strconv.Itoa(v.Rule.Line()) + ": " + v.Rule.String()
	}
	s += ": "
	if v.Reason == ReasonNoRule {
		return s + "no rule for " + nameOf(v.Group.Token()) + " matches"
	}
	return s + v.Reason.Sentence()
}

// Reason is the reason for a verdict, one of a closed set.
type Reason uint8

const (
	// ReasonInvalid is set if the path or the rules are zero values (D-56).
	ReasonInvalid       Reason = iota
	ReasonRule                 // a rule decided
	ReasonNoRule               // the crawler has a group, but none of its rules matches (PREC-05)
	ReasonNoGroup              // the file has rules, but none for this crawler (AGENT-09)
	ReasonEmptyFile            // the file has no rule for anyone (FORM-10)
	ReasonRobotsTxt            // the path is /robots.txt itself (RULE-08)
	ReasonUnavailable          // no file: 4xx (HTTP-02)
	ReasonUnreachable          // server or network failure (HTTP-04, FAIL-01)
	ReasonRedirectLimit        // too many redirects (REDIR-01)
	ReasonRefused              // the address guard refused the address (D-25)
	ReasonUndefined            // failure that the dialect leaves undefined (FAIL-01)
	ReasonUserInitiated        // a user requested the fetch (WHO-02)
)

var reasons = [...]struct{ name, sentence string }{
	ReasonInvalid:       {"invalid", "the path or the rules are zero values"},
	ReasonRule:          {"rule", "a rule decides"},
	ReasonNoRule:        {"no-rule", "no rule matches"},
	ReasonNoGroup:       {"no-group", "the file has rules, but none for this crawler"},
	ReasonEmptyFile:     {"empty-file", "the file has no rules"},
	ReasonRobotsTxt:     {"robots-txt", "robots.txt itself may always be fetched"},
	ReasonUnavailable:   {"unavailable", "the site has no robots.txt"},
	ReasonUnreachable:   {"unreachable", "robots.txt cannot be reached"},
	ReasonRedirectLimit: {"redirect-limit", "robots.txt redirects too often"},
	ReasonRefused:       {"refused", "the address guard refused to fetch robots.txt"},
	ReasonUndefined:     {"undefined", "the dialect leaves this failure undefined"},
	ReasonUserInitiated: {"user-initiated", "a user asked for this fetch, so robots.txt does not apply"},
}

// String returns the reason's name in JSON and flags, such as "no-group".
func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r].name
	}
	return reasons[ReasonInvalid].name
}

// Sentence returns the reason as a phrase, such as "no rule matches".
func (r Reason) Sentence() string {
	if int(r) < len(reasons) {
		return reasons[r].sentence
	}
	return reasons[ReasonInvalid].sentence
}

// MarshalText returns the reason's name.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText accepts the names of String.
func (r *Reason) UnmarshalText(text []byte) error {
	for i := range reasons {
		if reasons[i].name == string(text) {
			*r = Reason(i)
			return nil
		}
	}
	return errors.New("unknown reason " + strconv.Quote(string(text)))
}

// A Rule is an Allow or Disallow line with a path. The zero value is not a rule:
// its line is 0 and its texts are empty.
type Rule struct {
	rule
	rules *Rules
}

// IsZero reports whether r is the zero value.
func (r Rule) IsZero() bool { return r.rules == nil }

// Allows reports whether the rule allows, as an empty Disallow does that counts
// (D-41).
func (r Rule) Allows() bool { return r.rules != nil && r.allows() }

// Directive returns "allow" or "disallow", even if the line is misspelled (D-52).
func (r Rule) Directive() string { return r.field.String() }

// Path returns the path as written, without surrounding spaces and comment.
func (r Rule) Path() string {
	if r.rules == nil {
		return ""
	}
	return r.rules.file.Text(r.Span())
}

// Pattern returns the path in the dialect's normal form; its weight is the
// rule's precedence.
func (r Rule) Pattern() Pattern {
	if r.rules == nil {
		return Pattern{}
	}
	p := r.rules.pattern(&r.rule)
	p.rewritten = r.rewritten && r.rules.dialect.Escapes == EscapesRFC
	return p
}

// Weight returns the rule's precedence: the bytes of its normal form, counted as
// the dialect does (D-12).
func (r Rule) Weight() int { return int(r.weight) }

// Line returns the number of the rule's line, from 1, 0 for the zero value.
func (r Rule) Line() int {
	if r.rules == nil {
		return 0
	}
	return r.rules.file.lineNumber(r.Span().Start)
}

// Span returns the position of the path in the file.
func (r Rule) Span() Span {
	if r.rules == nil {
		return Span{}
	}
	return r.rules.sourceSpan(&r.rule)
}

// String returns the rule as a file would write it: "Disallow: /a".
func (r Rule) String() string {
	var buf [128]byte
	return string(r.AppendTo(buf[:0]))
}

// AppendTo appends what String returns.
func (r Rule) AppendTo(dst []byte) []byte {
	if r.rules == nil {
		return dst
	}
	dst = append(append(dst, r.field.title()...), ':')
	if r.empty {
		return dst
	}
	return append(append(dst, ' '), Printable(r.Path())...)
}

// A Group is the group of a crawler, which combines all groups of the file that name
// it (GROUP-08). The zero value has no token and no lines.
type Group struct {
	token string
	file  *File
	lines []uint32
}

// IsZero reports whether g is the zero value.
func (g Group) IsZero() bool { return g.file == nil }

// Token returns the crawler's token that was found, in lower case, or "*".
func (g Group) Token() string { return lowerString(g.token) }

// nameOf returns a token for a message; in google-cpp a token can be empty (D-47).
func nameOf(token string) string {
	if token == "" {
		return `""`
	}
	return Printable(token)
}

// Lines returns the numbers of all user-agent lines that name the crawler.
func (g Group) Lines() []int {
	lines := make([]int, len(g.lines))
	for i, off := range g.lines {
		lines[i] = g.file.lineNumber(int(off))
	}
	return lines
}
