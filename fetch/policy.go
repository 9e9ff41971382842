package fetch

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"github.com/robotskit/robots"
)

// A Policy is what the caller decides or knows beyond the dialect. The zero value leaves
// everything to the dialect.
type Policy struct {
	// OnFailure overrides what the dialect does during an outage and after a failure on our
	// own side.
	OnFailure OnFailure
	// SiteAnswers says that other pages of the site respond: google then allows a site whose
	// robots.txt has failed for more than 30 days (HTTP-08).
	SiteAnswers bool
	// MissingIs5xx says that the site answers missing pages with 5xx. Only google-2019 and
	// google-legacy use it (HTTP-07, Dialect.ServerErrorsMayMiss).
	MissingIs5xx bool
}

// OnFailure is the policy while robots.txt is unreachable and no fresh copy is held.
type OnFailure uint8

const (
	// AsDialect applies the dialect's steps for the age of the outage.
	AsDialect OnFailure = iota
	// DisallowAtOnce disallows, whatever copy is held and without an end (RFC 9309 section
	// 2.3.1.4 to the letter, D-21).
	DisallowAtOnce
	// AllowOnFailure uses the last good copy, and without one allows, except after a refusal by
	// the Guard. It is for archives that would rather record too much. Crawlers
	// must not use it.
	AllowOnFailure
)

var onFailures = [...]string{"dialect", "disallow", "allow"}

// String returns the name in flags: dialect, disallow or allow.
func (o OnFailure) String() string { return nameOf(int(o), onFailures[:]) }

// MarshalText returns the name.
func (o OnFailure) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText accepts the names that String returns.
func (o *OnFailure) UnmarshalText(text []byte) error {
	return parse(o, "failure policy", text, len(onFailures))
}

// Rules returns the rules for the crawler with these tokens at the time now. It is
// Policy.Rules with the zero Policy.
func (r *Record) Rules(d robots.Dialect, now time.Time, tokens ...string) *robots.Rules {
	return Policy{}.Rules(r, d, now, tokens...)
}

// Span returns the time around now in which Rules returns the same rules under every Policy,
// from inclusive, until exclusive; zero means no bound. A caller that keeps rules needs it:
// they change when a response expires and with the age of an outage.
func (r *Record) Span(d robots.Dialect, now time.Time) (from, until time.Time) {
	edge := func(at time.Time) {
		if !now.Before(at) {
			if at.After(from) {
				from = at
			}
		} else if until.IsZero() || at.Before(until) {
			until = at
		}
	}
	if held := r.good(); held != nil {
		edge(held.Expires)
	}
	if since := r.since(); !since.IsZero() {
		plan := planOf(d.Outage)
		for _, step := range slices.Concat(plan.copied, plan.without) {
			edge(since.Add(step.from))
		}
	}
	return from, until
}

// Rules turns the outcome of a fetch into rules; it is the only place that does. A good
// response applies while it is fresh, and longer if nothing has failed since. During an outage
// the dialect decides by its age (D-42, D-54); failures on our own side leave everything as it
// was, or disallow without an earlier copy (D-55). Verdicts report the state of the fetch.
func (p Policy) Rules(r *Record, d robots.Dialect, now time.Time, tokens ...string) *robots.Rules {
	v := policyCall{Policy: p, record: r, dialect: d, now: now, tokens: tokens}
	held := r.good()
	switch {
	case r.Outcome.Good() && r.FailingSince.IsZero():
		return v.goodResponse(held, "", "", "")
	case held != nil && now.Before(held.Expires):
		clause := "D-42"
		why := "failing since " + formatTime(r.since())
		if r.since().IsZero() {
			clause = "D-55"
			why = v.unreachableFact()
		}
		return v.goodResponse(held, clause, why, "the response of "+formatTime(held.Fetched)+" is still fresh")
	}
	return v.failure(held)
}

// policyCall is one call of Policy.Rules.
type policyCall struct {
	Policy
	record  *Record
	dialect robots.Dialect
	now     time.Time
	tokens  []string
}

// goodResponse returns the rules of a good response, fresh or stale.
func (v *policyCall) goodResponse(c *Copy, clause, fact, note string) *robots.Rules {
	s := v.state(clause, fact, note)
	s.Fetched = c.Fetched
	s.Expires = c.Expires
	if !s.Expires.IsZero() && !v.now.Before(s.Expires) {
		s.StaleSince = s.Expires
		if s.Fact == "" {
			s.Clause = "CACHE-02"
			s.Fact = "stale since " + formatTime(s.StaleSince)
		}
	}
	if c.Outcome == Success {
		if n := len(c.Body); c.Truncated && (v.dialect.MaxFileBytes <= 0 || v.dialect.MaxFileBytes > n) {
			s.CutAt = n
			if s.Fact == "" {
				s.Clause = "D-17"
			}
			if s.Note != "" {
				s.Note += "; "
			}
			s.Note += "truncated by the fetch at " + strconv.Itoa(n) + " bytes"
			if c.endsInLine() {
				s.Note += ", the partial last line discarded"
			}
		}
		if s.Fact == "" && isZipped(c.Body) {
			s.Clause = "FORM-02"
			s.Fact = zippedNote
		}
		return v.rulesOfCopy(c).WithState(s)
	}
	reason := robots.ReasonUnavailable
	if c.Cause == RedirectLimit || c.Cause == RedirectLoop {
		reason = robots.ReasonRedirectLimit
		if followed := v.record.Redirects(); c.Cause == RedirectLimit && v.record.Outcome.Good() && followed < v.dialect.Redirects {
			return v.apply(
				ruling{disallowAll, robots.ReasonUnreachable, "REDIR-02", "only " + strconv.Itoa(followed) + " redirects were followed", ""},
				nil,
			)
		}
	}
	if s.Fact == "" {
		s.Fact = v.describe(c.Status, c.Cause, "")
	}
	return robots.AllowAll(v.dialect, reason, v.tokens...).WithState(s)
}

// endsInLine reports whether the body was truncated within a line.
func (c *Copy) endsInLine() bool {
	return c.Truncated && !bytes.HasSuffix(c.Body, []byte("\n")) && !bytes.HasSuffix(c.Body, []byte("\r"))
}

// Dialect returns the dialect in which to read the body: d, or for a body that was truncated within a
// line one whose size limit discards that line (D-17): a partial "Disallow: /a" would widen the rule.
func (c *Copy) Dialect(d robots.Dialect) robots.Dialect {
	if n := len(c.Body); c.endsInLine() && (d.MaxFileBytes <= 0 || n <= d.MaxFileBytes) {
		d.MaxFileBytes = max(n-1, 1)
		d.OverSizeOpens = false
	}
	return d
}

// rulesOfCopy returns the rules of a copy.
func (v *policyCall) rulesOfCopy(c *Copy) *robots.Rules {
	return robots.Parse(c.Body).Rules(c.Dialect(v.dialect), v.tokens...)
}

// A ruling is what applies without a fresh response, and why.
type ruling struct {
	action             action
	reason             robots.Reason // unless a copy is used
	clause, fact, note string
}

// failure returns the rules of a failure without a fresh response: those of the first row that
// applies, or of the outage.
func (v *policyCall) failure(held *Copy) *robots.Rules {
	r := v.record
	d := &v.dialect
	if held != nil && held.Outcome != Success {
		held = nil // without a file there is no copy
	}
	why := v.unreachableFact()
	what := v.describe(r.Status, r.Cause, r.Detail)
	used := ""
	if held != nil {
		used = "copy of " + formatTime(held.Fetched) + " used"
	}
	shut := robots.ReasonUnreachable // of a failure that disallows
	if r.Outcome == Refused {
		shut = robots.ReasonRefused
	}
	var (
		refused = r.Outcome == Refused
		begun   = !r.since().IsZero() // the site has an outage (D-42)
		missing = r.Cause == ServerError && d.ServerErrorsMayMiss
		allow   = v.OnFailure == AllowOnFailure
	)
	for _, row := range []struct {
		applies bool
		ruling
	}{
		{r.Cause == TooManyRequests && d.TooManyIsMissing, ruling{allowAll, robots.ReasonUnavailable, "HTTP-02", what, ""}},
		{missing && v.MissingIs5xx, ruling{
			allowAll, robots.ReasonUnavailable, "HTTP-07", what, "this site is known to answer 5xx for missing pages",
		}},
		{missing && r.MissingIs5xx, ruling{
			allowAll, robots.ReasonUnavailable, "HTTP-07", what, "this site was found by a probe to answer 5xx for missing pages",
		}},
		{v.OnFailure == DisallowAtOnce, ruling{disallowAll, shut, "D-21", why, "policy: disallow at once"}},
		{allow && held != nil, ruling{useCopy, 0, "D-21", why, used}},
		{allow && !refused, ruling{allowAll, robots.ReasonUnreachable, "D-21", why, "policy: allow on failure"}},
		{!begun && held != nil, ruling{useCopy, 0, "D-55", why, used}},
		{!begun && refused, ruling{disallowAll, shut, "D-25", what, ""}},
		{!begun, ruling{disallowAll, shut, "D-55", why, "no earlier copy"}},
		{r.Cause.Network() && !r.Cause.OwnSide() && d.FailureUndefined, ruling{disallowAll, robots.ReasonUndefined, "FAIL-01", why, ""}},
	} {
		if row.applies {
			return v.apply(row.ruling, held)
		}
	}
	return v.apply(v.outage(held, shut, why, used), held)
}

// outage returns what the dialect does in an outage of this age (D-54).
func (v *policyCall) outage(held *Copy, shut robots.Reason, why, used string) ruling {
	r := v.record
	o := outageState{age: max(v.now.Sub(r.since()), 0), covered: r.Covered, failures: r.Failures, responds: v.SiteAnswers}
	plan := planOf(v.dialect.Outage)
	steps := plan.without
	note := "no earlier copy"
	if held != nil {
		steps = plan.copied
		note = "copy of " + formatTime(held.Fetched) + " kept"
	}
	step, next := o.stepAt(steps)
	clause := step.clause
	switch o.action(step) {
	case useCopy:
		return ruling{useCopy, 0, clause, why, used}
	case allowAll:
		note += "; everything allowed after " + formatElapsed(step.from) + " of failures"
		if step.action == allowResponding {
			note = "but other pages of the site respond"
		}
		return ruling{allowAll, robots.ReasonUnreachable, clause, why, note}
	}
	if next != nil {
		switch o.action(*next) {
		case useCopy:
			note += "; used from " + formatTime(r.since().Add(next.from))
		case allowAll:
			note += "; everything allowed once " + strconv.Itoa(outageFailures) + " failures or more cover " + formatElapsed(next.from)
			if r.Failures > 1 {
				note += ", so far " + strconv.Itoa(r.Failures) + " cover " + formatElapsed(r.Covered)
			}
			if o.age >= next.from {
				clause = "D-54"
			}
		}
	}
	return ruling{disallowAll, shut, clause, why, note}
}

// apply returns the rules of a ruling.
func (v *policyCall) apply(r ruling, held *Copy) *robots.Rules {
	switch r.action {
	case useCopy:
		return v.goodResponse(held, r.clause, r.fact, r.note)
	case allowAll:
		return robots.AllowAll(v.dialect, r.reason, v.tokens...).WithState(v.state(r.clause, r.fact, r.note))
	}
	return robots.DisallowAll(v.dialect, r.reason, v.tokens...).WithState(v.state(r.clause, r.fact, r.note))
}

func (v *policyCall) state(clause, fact, note string) robots.State {
	r := v.record
	return robots.State{
		Status: r.Status, Fetched: r.Fetched, NextTry: r.NextTry, FailingSince: r.since(), Degraded: r.Degraded,
		Clause: clause, Fact: fact, Note: note,
	}
}

// unreachableFact returns why robots.txt is unreachable, and the start of the outage if the site is the cause.
func (v *policyCall) unreachableFact() string {
	r := v.record
	what := v.describe(r.Status, r.Cause, r.Detail)
	if r.Outcome.Good() { // a cache kept the response and noted only the failure
		what = "unreachable"
	}
	switch since := r.since(); {
	case since.IsZero():
		return "on our side: " + what
	case r.Cause.OwnSide():
		return "on our side: " + what + "; site unreachable since " + formatTime(since)
	default:
		return what + " since " + formatTime(since)
	}
}

// describe returns a few words on a response or failure: "503", "no such host".
func (v *policyCall) describe(status int, c Cause, detail string) string {
	s := c.Sentence()
	switch c {
	case ServerError, TooManyRequests, ClientError, FTPAbsent, FTPDenied, FTPTemporary, BadStatus:
		s = "status " + strconv.Itoa(status)
	}
	if detail != "" {
		s += ": " + detail
	}
	return s
}

// formatTime formats a time for people and logs.
func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// formatElapsed formats an elapsed time in one unit, rounded down.
func formatElapsed(d time.Duration) string {
	switch {
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < 72*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + " days"
}
