package robots

import (
	"strconv"
	"time"
)

// AllowAll returns rules that allow everything for a reason outside any file:
// there is none (ReasonUnavailable), or an outage has lasted long enough.
func AllowAll(d Dialect, reason Reason, tokens ...string) *Rules {
	return wholeRules(d, outcome{allowed: true, reason: reason}, tokens)
}

// DisallowAll returns rules that disallow everything for a reason outside any
// file, except /robots.txt where the dialect exempts it (D-38). With
// ReasonUndefined the verdict is undefined and not allowed (FAIL-01).
func DisallowAll(d Dialect, reason Reason, tokens ...string) *Rules {
	return wholeRules(d, outcome{undefined: reason == ReasonUndefined, reason: reason}, tokens)
}

// wholeRules makes the rules of an answer that no file gives. A call without a
// reason is a disallow: a crawler's slip must not open a site (D-56).
func wholeRules(d Dialect, o outcome, tokens []string) *Rules {
	if o.reason == ReasonInvalid {
		o = outcome{}
	}
	r := newRules(Parse(nil), &d, tokens)
	r.whole, r.noFile, r.counts = o, true, true
	return r
}

// clause is the statement of docs/clauses.md behind an answer that no file gives.
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
	Status       int       // of the last answer: an HTTP status or an FTP reply, 0 if there was none
	Fetched      time.Time // when the answer in use was fetched, or last tried for without one
	Expires      time.Time // until when it is fresh
	StaleSince   time.Time // since when it is not, though still in use
	FailingSince time.Time // first failure after the last success (D-42)
	NextTry      time.Time // when robots.txt is asked for again
	// CutAt is how many bytes the fetch kept of a longer file where the dialect
	// would have read on: the rest is unknown, and the last line kept may be cut
	// and does not count (D-17).
	CutAt int
	// Degraded says that a store shared with other processes was out of reach, so
	// that one of them may know better.
	Degraded bool
	Clause   string // the statement of docs/clauses.md that the failure policy followed, for Explain
	// Fact and Note are clauses for people, set where the state mattered: what came
	// of the fetch, which is the same in every dialect ("status 503 since
	// 2026-05-01T10:00:00Z"), and what the dialect makes of it ("copy of
	// 2026-04-30T22:00:00Z used"). Text joins them.
	Fact, Note string
}

// Text returns Fact and Note as one line, "" if there is neither.
func (s *State) Text() string {
	switch {
	case s == nil:
		return ""
	case s.Fact == "" || s.Note == "":
		return s.Fact + s.Note
	}
	return s.Fact + ", " + s.Note
}

// WithState returns the same rules with the state of the fetch behind them,
// which every verdict then carries.
func (r *Rules) WithState(s State) *Rules {
	w := r.made().copy()
	w.state = &s
	return w
}

// State returns the state of the fetch behind the rules, nil if there was no
// fetch. It must not be changed.
func (r *Rules) State() *State { return r.made().state }

// FallbackReason returns the reason of an answer that no file gives, and false if
// the rules are those of a file.
func (r *Rules) FallbackReason() (reason Reason, ok bool) {
	r = r.made()
	return r.whole.reason, r.noFile
}

// unmade stands for zero Rules: nothing is allowed (D-56).
var unmade = DisallowAll(RFC9309, ReasonInvalid)

// made returns r, or unmade if no parser has made r.
func (r *Rules) made() *Rules {
	if r == nil || r.file == nil {
		return unmade
	}
	return r
}

func (r *Rules) explainState(e *Explanation) {
	if s := r.state; s.Text() != "" {
		clause := s.Clause
		if clause == "" {
			clause = "FETCH-01"
		}
		e.step(clause, printable(s.Text()))
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
		dst = appendString(dst, text)
	}
	return dst
}
