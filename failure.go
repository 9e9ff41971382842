package robots

import (
	"strconv"
	"time"

	"github.com/robotskit/robots/internal/quote"
)

// AllowAll returns rules that allow everything without a file, such as for a missing
// robots.txt (ReasonUnavailable). The reason is one of those without a rule, and says why.
func AllowAll(d Dialect, reason Reason, tokens ...string) *Rules {
	return fallbackRules(d, outcome{allowed: true, reason: reason}, tokens)
}

// DisallowAll returns rules that disallow everything without a file, except /robots.txt
// where the dialect exempts it (D-38). With ReasonUndefined the verdict is undefined and
// not allowed (FAIL-01).
func DisallowAll(d Dialect, reason Reason, tokens ...string) *Rules {
	return fallbackRules(d, outcome{undefined: reason == ReasonUndefined, reason: reason}, tokens)
}

// fallbackRules returns rules without a file. A call without a reason disallows: a mistake
// in Go code must not allow a site (D-56).
func fallbackRules(d Dialect, o outcome, tokens []string) *Rules {
	r := newRules(Parse(nil), &d, tokens)
	r.fallback = o
	r.isFallback = true
	r.fileApplies = true
	return r
}

// clause is the clause of docs/clauses.md behind an outcome without a file.
func (o outcome) clause() string {
	switch o.reason {
	case ReasonInvalid:
		return "D-56"
	case ReasonUnavailable:
		return "HTTP-02"
	case ReasonRedirectLimit:
		return "REDIR-01"
	case ReasonRefused:
		return "D-25"
	case ReasonUndefined:
		return "FAIL-01"
	}
	return "HTTP-04"
}

// State is the state of the fetch behind a verdict. A zero field does not apply.
type State struct {
	Status       int       // HTTP status or FTP reply code of the last response, 0 if there was none
	Fetched      time.Time // when the response in use was fetched, or without one the last attempt made
	Expires      time.Time // end of its freshness
	StaleSince   time.Time // set if it is stale but still in use
	FailingSince time.Time // first failure after the last success (D-42)
	NextTry      time.Time // time of the next attempt
	// CutAt is the number of bytes at which the fetch truncated a file that the
	// dialect would have read further. The partial last line is discarded (D-17).
	CutAt int
	// Degraded is set if a store shared with other processes was unreachable, so
	// that the state might be outdated.
	Degraded bool
	Clause   string // the clause of docs/clauses.md that the failure policy followed, for Explain
	// Fact and Note are phrases, set if the state mattered: the outcome of the fetch
	// ("status 503 since 2026-05-01T10:00:00Z"), and the dialect's response to it
	// ("copy of 2026-04-30T22:00:00Z used"). Text joins them.
	Fact, Note string
}

// Text returns Fact and Note, joined by a comma.
func (s *State) Text() string {
	switch {
	case s == nil:
		return ""
	case s.Fact == "" || s.Note == "":
		return s.Fact + s.Note
	}
	return s.Fact + ", " + s.Note
}

// WithState returns the same rules with the state of a fetch, which every verdict
// then contains.
func (r *Rules) WithState(s State) *Rules {
	w := r.orInvalid().clone()
	w.state = &s
	return w
}

// State returns the state of the fetch, nil if there was no fetch. It is read-only.
func (r *Rules) State() *State { return r.orInvalid().state }

// FallbackReason returns the reason of AllowAll or DisallowAll, and false if the
// rules come from a file.
func (r *Rules) FallbackReason() (reason Reason, ok bool) {
	r = r.orInvalid()
	return r.fallback.reason, r.isFallback
}

// invalidRules stands for nil and zero Rules: nothing is allowed (D-56).
var invalidRules = DisallowAll(RFC9309, ReasonInvalid)

// orInvalid returns r, or invalidRules if r is nil or the zero value.
func (r *Rules) orInvalid() *Rules {
	if r == nil || r.file == nil {
		return invalidRules
	}
	return r
}

func (r *Rules) explainState(e *Explanation) {
	if s := r.state; s.Text() != "" {
		clause := s.Clause
		if clause == "" {
			clause = "FETCH-01"
		}
		e.step(clause, s.Text())
	}
}

// appendJSON appends the members that apply, each with a comma before it.
func (s *State) appendJSON(dst []byte) []byte {
	if s == nil {
		return dst
	}
	if s.Status != 0 {
		dst = append(dst, `,"status":`...)
		dst = strconv.AppendInt(dst, int64(s.Status), 10)
	}
	for _, t := range [...]struct {
		name string
		at   time.Time
	}{
		{"fetched", s.Fetched},
		{"expires", s.Expires},
		{"stale_since", s.StaleSince},
		{"failing_since", s.FailingSince},
		{"next_try", s.NextTry},
	} {
		if !t.at.IsZero() {
			dst = append(dst, `,"`...)
			dst = append(dst, t.name...)
			dst = append(dst, `":"`...)
			dst = t.at.UTC().AppendFormat(dst, time.RFC3339)
			dst = append(dst, '"')
		}
	}
	if s.CutAt != 0 {
		dst = append(dst, `,"cut_at":`...)
		dst = strconv.AppendInt(dst, int64(s.CutAt), 10)
	}
	if s.Degraded {
		dst = append(dst, `,"degraded":true`...)
	}
	if text := s.Text(); text != "" {
		dst = append(dst, `,"note":`...)
		dst = quote.Append(dst, text)
	}
	return dst
}
