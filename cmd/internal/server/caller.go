package server

import "context"

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
