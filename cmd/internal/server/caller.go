package server

import (
	"context"
	"time"
)

// A Scope is something that a token allows. An anonymous caller of a service
// that is open to all has all of them.
type Scope uint8

// The scopes.
const (
	ScopeCheck  Scope = 1 << iota // questions about what is held, and about text that is sent
	ScopeFetch                    // questions that may cost a site a request
	ScopePermit                   // turns of the limiter
)

// A Caller is who sent a request, as the gates found out.
type Caller struct {
	Name      string // of its token, or its address as /32 or /64; never empty
	Anonymous bool   // without a token: schemes, ports and new origins are bounded
	Scopes    Scope

	// NewOrigin reports whether the caller may cause one more robots.txt to
	// be fetched now, and if not, after how many seconds. Nil is always.
	NewOrigin func() (ok bool, retryAfter int)
}

// May reports whether the caller has the scope.
func (c Caller) May(s Scope) bool { return c.Scopes&s == s }

type callerKey struct{}

// WithCaller returns a context for a request of the caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the caller, or one with every right where no gate stands
// before the service.
func CallerOf(ctx context.Context) Caller {
	if c, ok := ctx.Value(callerKey{}).(Caller); ok {
		return c
	}
	return Caller{Name: "local", Scopes: ScopeCheck | ScopeFetch | ScopePermit}
}

// An Outcome is what became of a question, for logs and metrics: a closed set.
type Outcome uint8

// The outcomes.
const (
	OutcomeAllowed    Outcome = iota
	OutcomeDisallowed         // by a rule, or by what the dialect makes of an answer
	OutcomeUndecided          // the site cannot be reached: not now
	OutcomePending            // the fetch goes on, the answer is not known yet
	OutcomeBad                // it is no question
	outcomes
)

var outcomeNames = [outcomes]string{"allowed", "disallowed", "undecided", "pending", "bad"}

// String returns the outcome's name in logs and metrics.
func (o Outcome) String() string { return outcomeNames[o] }

type exchangeKey struct{}

// Answered tells the gates what became of one question of a request. The origin
// goes to the log, if it was the request's only question, and to no metric.
func Answered(ctx context.Context, origin string, o Outcome) {
	if v, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		v.answered(origin, o)
	}
}

// Charge takes n more questions of the caller's rate, beside the one that each request costs, and reports whether they are left;
// if not, after how many seconds. A batch of n questions charges n-1, before it answers any.
func Charge(ctx context.Context, n int) (ok bool, retryAfter int) {
	if v, is := ctx.Value(exchangeKey{}).(*exchange); is {
		return v.charge(CallerOf(ctx), n)
	}
	return true, 0
}

// Overworked returns a problem once a request has worked for longer than the limit. Handlers check it between questions.
func Overworked(ctx context.Context) *Problem {
	if v, is := ctx.Value(exchangeKey{}).(*exchange); is && v.worked() > mostWork {
		return NewProblem(TooLarge, "the request takes more than "+mostWork.String()+" of work, the limit; send fewer or smaller files and URLs at a time")
	}
	return nil
}

// Wait calls f, which waits for a site or a permit, and lets another request work meanwhile.
func Wait(ctx context.Context, f func()) {
	v, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok || !v.outside.CompareAndSwap(false, true) { // inside another Wait of the request
		f()
		return
	}
	defer v.outside.Store(false)
	began := time.Now()
	defer func() { v.idle.Add(int64(time.Since(began))) }()
	v.gate.places.outside(f)
}

// Fault tells the log of a panic, from the deferred function that has recovered it.
func Fault(ctx context.Context, fault any) {
	if v, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		v.gate.fault(v.id, fault)
	}
}
