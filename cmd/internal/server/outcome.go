package server

import (
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/batch"
)

// An Outcome is the outcome of a question, for logs and metrics.
type Outcome uint8

// The outcomes.
const (
	OutcomeAllowed    Outcome = iota
	OutcomeDisallowed         // by a rule or by the dialect's policy
	OutcomeUndecided          // the site is unreachable
	OutcomePending            // the fetch is in progress
	OutcomeBad                // invalid
	outcomes
)

var outcomeNames = [outcomes]string{"allowed", "disallowed", "undecided", "pending", "bad"}

// String returns the name in logs and metrics.
func (o Outcome) String() string { return outcomeNames[o] }

// answered counts the outcome of a question. The origin is logged if it is the only question of
// the request; it is in no metric.
func (v *exchange) answered(origin string, o Outcome) {
	v.questions++
	v.origin = origin
	v.outcome = o
	if v.gate != nil {
		v.gate.metrics.questions.of(o.String()).Inc()
	}
}

// outcomeOf returns the outcome of an answer for logs and metrics.
func outcomeOf(l batch.Last) Outcome {
	switch {
	case !l.Answered:
		return OutcomeBad
	case l.Allowed:
		return OutcomeAllowed
	case l.Undecided:
		return OutcomeUndecided
	}
	return OutcomeDisallowed
}

// outcome returns the outcome of a problem for logs and metrics.
func (p *Problem) outcome() Outcome {
	if p.code() == batch.Code(Pending) {
		return OutcomePending
	}
	return OutcomeBad
}

// judged counts the outcome of a question about a live site: a verdict or a problem.
func (v *exchange) judged(origin robots.Origin, verdict robots.Verdict, p *Problem) {
	outcome := outcomeOf(batch.Last{Answered: true, Allowed: verdict.Allowed, Undecided: verdict.Undecided()})
	if p != nil {
		outcome = p.outcome()
	}
	v.answered(origin.String(), outcome)
}
