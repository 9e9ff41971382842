package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots/cmd/internal/budget"
)

// An exchange is a request and the writer of its response. Handlers find it in the context of
// the request. Once the response begins, the request has no slot, so that a client that reads
// slowly takes none. Handlers therefore write when they are done.
type exchange struct {
	http.ResponseWriter
	Caller
	token    *token       // nil without one
	gate     *Gate        // nil without a gate
	conn     *problemConn // nil in tests without a connection
	settings *settings
	request  *http.Request
	release  func() // of what the request's context holds, or nil
	id       string
	traceID  string
	arrived  time.Time

	budget  *budget.Budget
	files   *budget.Budget // bytes of records
	held    atomic.Int64   // bytes
	hasSlot bool           // it has a slot, and does not wait for a site

	questions int
	origin    string
	outcome   Outcome

	status  int
	bytes   int64 // written
	discard bool  // a problem has replaced the response
}

type exchangeKey struct{}

// newExchange returns an exchange with the budget of a request.
func newExchange() *exchange {
	return &exchange{budget: budget.New(budget.Steps, budget.Bytes), files: budget.New(0, budget.FileBytes)}
}

// exchangeOf returns the exchange in a context. Without a gate, its client has all rights.
func exchangeOf(ctx context.Context) *exchange {
	if v, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return v
	}
	v := newExchange()
	v.Caller = Caller{Name: "local", Scopes: allScopes, limits: unlimited}
	return v
}

// hold counts memory of the exchange until its end, and reports whether all exchanges are within
// the limit.
func (v *exchange) hold(n int64) bool {
	v.held.Add(n)
	return v.gate.held.Add(n) <= mostHeld
}

// keep takes the bytes of a record that the request refers to, or returns a problem.
func (v *exchange) keep(n int) *Problem {
	if err := v.files.Hold(n); err != nil {
		return OverBudget(err)
	}
	if v.gate != nil && !v.hold(int64(n)) {
		return NewProblem(Busy, "the service holds too many files; try again").After(time.Second)
	}
	return nil
}

// wait calls f, which waits for a site or a permit, and releases the request's slot
// meanwhile. Within another wait it only calls f.
func (v *exchange) wait(f func()) {
	if !v.hasSlot {
		f()
		return
	}
	v.hasSlot = false
	defer func() { v.hasSlot = true }()
	v.gate.slots.withoutSlot(f)
}

// charge counts the questions of a batch, besides the one of each request, against the rate
// limit of the client, before any is answered.
func (v *exchange) charge(n int) *Problem {
	wait := reserve(v.limits.questions, max(0, n-1))
	most := v.limits.questions.Burst()
	switch {
	case wait <= 0:
		return nil
	case n-1 > most:
		return NewProblem(RateLimited, fmt.Sprintf("%d questions exceed your limit of %d at a time", n, most)).After(wait)
	}
	detail := fmt.Sprintf("%d questions exceed your current rate limit; send fewer at a time, or later", n)
	return NewProblem(RateLimited, detail).After(wait)
}

// leave releases the slot of the request, and counts its work against the rate limit.
func (v *exchange) leave() {
	if v.hasSlot {
		v.hasSlot = false
		v.gate.slots.leave()
		v.limits.owe(v.budget.Used())
	}
}

// WriteHeader begins the response, or a problem instead if that is a plain-text error, such as
// those of http.ServeMux, if clients that do not read hold too much memory, or if the token was removed
// meanwhile.
func (v *exchange) WriteHeader(status int) {
	if v.status != 0 {
		return
	}
	size, _ := strconv.ParseInt(v.Header().Get("Content-Length"), 10, 64)
	full := v.hasSlot && !v.hold(size) && size > 64<<10
	v.leave()
	if p := v.instead(status, full); p != nil {
		p.Write(v, v.request)
		v.discard = true
		return
	}
	v.status = status
	if v.conn != nil {
		v.conn.beginResponse(v.settings.WriteTime)
	}
	v.ResponseWriter.WriteHeader(status)
}

// instead returns the problem that replaces a response with a status, nil if none does. Full means that there
// is no memory for its body.
func (v *exchange) instead(status int, full bool) *Problem {
	h := v.Header()
	switch {
	case v.token != nil && v.token.valid.Err() != nil:
		v.token = nil
		h.Set("WWW-Authenticate", invalidToken)
		return NewProblem(Unauthorized, "the token in Authorization is not valid any more")
	case status >= 400 && strings.HasPrefix(h.Get("Content-Type"), "text/plain"):
		switch status {
		case http.StatusNotFound:
			return NewProblem(NotFound, "unknown path; /docs lists the operations")
		case http.StatusMethodNotAllowed:
			return NewProblem(MethodNotAllowed, "this path accepts only "+h.Get("Allow"))
		}
		return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: "the request is not valid"}
	case full:
		return NewProblem(Busy, "the service is sending too much data; try again").After(time.Second)
	}
	return nil
}

func (v *exchange) Write(b []byte) (int, error) {
	v.WriteHeader(http.StatusOK)
	if v.discard {
		return len(b), nil
	}
	n, err := v.ResponseWriter.Write(b)
	v.bytes += int64(n)
	return n, err
}

// end completes the exchange, after a panic too. It is deferred.
func (v *exchange) end() {
	fault := recover()
	if fault != nil && fault != http.ErrAbortHandler { //nolint:errorlint // panics are compared
		v.gate.metrics.panics.Inc()
		v.gate.log.Error("panic", "id", v.id, "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
		if v.status == 0 {
			NewProblem(Internal, "internal error; please report it with the X-Request-Id").Write(v, v.request)
			fault = nil
		}
	}
	v.leave()
	if v.release != nil {
		v.release()
	}
	v.gate.held.Add(-v.held.Load())
	v.status = cmp.Or(v.status, http.StatusOK) // like net/http
	took := time.Since(v.arrived)
	v.gate.metrics.requests.of(strconv.Itoa(v.status/100) + "xx").Inc()
	v.gate.metrics.took.Update(took.Seconds())
	v.note(took)
	v.request.Body = http.NoBody // a fetch in the background can outlive the exchange
	if fault != nil {
		panic(http.ErrAbortHandler) // so that the client notices that the response is incomplete
	}
}

// Needs returns a problem if the client of a request with a context lacks one of the scopes, for handlers
// of other packages.
func Needs(ctx context.Context, s Scope) *Problem { return exchangeOf(ctx).needs(s) }

// Budget returns the budget of the request with a context, for handlers of other packages.
func Budget(ctx context.Context) *budget.Budget { return exchangeOf(ctx).budget }
