package server

import (
	"context"
	"sync"
	"time"

	"github.com/robotskit/robots"
)

// A Scope is a right of a token. A client without a token has all of them if the service is
// open to anonymous clients.
type Scope uint8

// The scopes.
const (
	ScopeCheck  Scope = 1 << iota // records in memory, and text in the request
	ScopeFetch                    // requests that can cause a fetch
	ScopePermit                   // permits
)

type namedScope struct {
	scope Scope
	name  string
}

// scopes are the scopes with their names in a file of tokens.
var scopes = []namedScope{{ScopeCheck, "check"}, {ScopeFetch, "fetch"}, {ScopePermit, "permit"}}

// A Caller is the client of a request.
type Caller struct {
	Name      string // name of its token, or its address as /32 or /64; never empty
	Anonymous bool   // without a token: schemes, ports and new origins are limited
	Scopes    Scope

	// NewOrigin reports whether the client may cause another robots.txt fetch now, or after
	// how many seconds. Nil means always.
	NewOrigin func() (ok bool, retryAfter int)
}

// May reports whether the caller has the scope.
func (c Caller) May(s Scope) bool { return c.Scopes&s == s }

// needs returns a problem if the caller lacks one of the scopes.
func (c Caller) needs(s Scope) *Problem {
	for _, one := range scopes {
		if one.scope&s&^c.Scopes != 0 {
			return NewProblem(Unauthorized, "a token with the scope "+one.name+" is needed")
		}
	}
	return nil
}

type callerKey struct{}

// WithCaller returns a context with the client of a request.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the client of a request, or one with all rights if there is no gate.
func CallerOf(ctx context.Context) Caller {
	if c, ok := ctx.Value(callerKey{}).(Caller); ok {
		return c
	}
	return Caller{Name: "local", Scopes: ScopeCheck | ScopeFetch | ScopePermit}
}

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

type exchangeKey struct{}

// Answered reports the outcome of a question to the gate. The origin is logged if it is the
// only question of the request; it is in no metric.
func Answered(ctx context.Context, origin string, o Outcome) {
	if v, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		v.answered(origin, o)
	}
}

// Charge counts n more questions, besides the one of each request, against the client's rate
// limit, and returns false and a number of seconds if that is exceeded. A batch of n questions
// charges n-1 before it answers any.
func Charge(ctx context.Context, n int) (ok bool, retryAfter int) {
	if v, is := ctx.Value(exchangeKey{}).(*exchange); is {
		return v.charge(CallerOf(ctx), n)
	}
	return true, 0
}

// Overworked returns a problem if a request has exceeded its work limit. Handlers call it
// between questions.
func Overworked(ctx context.Context) *Problem {
	if v, is := ctx.Value(exchangeKey{}).(*exchange); is && v.worked() > mostWork {
		return NewProblem(TooLarge, "the request takes more than "+mostWork.String()+" of work, the limit; send fewer or smaller files and URLs at a time")
	}
	return nil
}

// Wait calls f, which waits for a site or a permit, and releases the request's place
// meanwhile.
func Wait(ctx context.Context, f func()) {
	v, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok || !v.outside.CompareAndSwap(false, true) { // within another Wait of the request
		f()
		return
	}
	defer v.outside.Store(false)
	began := time.Now()
	defer func() { v.idle.Add(int64(time.Since(began))) }()
	v.gate.places.outside(f)
}

// inParallel calls get for all missing sites concurrently, within one Wait.
func inParallel[T any](ctx context.Context, missing map[robots.Origin]T, get func(robots.Origin, T)) {
	if len(missing) == 0 {
		return
	}
	Wait(ctx, func() {
		var gets sync.WaitGroup
		for origin, site := range missing {
			gets.Go(func() { get(origin, site) })
		}
		gets.Wait()
	})
}
