package redis

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// together is how many calls are made as one at most: to be called takes a server
// about as long as to decide, and so many block it for some 150 µs.
const together = 32

// line brings questions, or ends of grants, to the server. One who is alone waits
// for nobody; those who come while a call is on its way go together when it is
// back.
type line struct {
	run  func(ctx context.Context, s script, byText bool, keys, args []string) (string, error)
	keys []string // that every call begins with
	head string   // the argument that every call begins with

	mu      sync.Mutex
	busy    bool // with a call on its way
	waiting []*call
}

type call struct {
	script script
	keys   []string
	arg    string
	answer chan response // holds one
}

// response is what came of a call. It was not sent if sent is zero.
type response struct {
	reading
	reply string
	at    int // place of the answer in the reply
	err   error
}

// do makes a call.
func (q *line) do(ctx context.Context, c call) response {
	q.mu.Lock()
	if !q.busy {
		q.busy = true
		q.mu.Unlock()
		r := q.send(ctx, false, &c)
		failed := r.err
		if failed != nil && over(ctx) {
			failed = nil // which says nothing of the server
		}
		if next := q.next(failed); next != nil {
			go q.serve(next)
		}
		return r
	}
	c.answer = make(chan response, 1)
	q.waiting = append(q.waiting, &c)
	q.mu.Unlock()
	select {
	case r := <-c.answer:
		return r
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, &c); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
		return response{err: ctx.Err()}
	}
	return response{reading: reading{sent: clock()}, err: ctx.Err()}
}

// serve makes calls for those who wait, until nobody does.
func (q *line) serve(calls []*call) {
	for calls != nil {
		r := q.send(context.Background(), false, calls...)
		for i, c := range calls {
			r.at = i
			c.answer <- r
		}
		runtime.Gosched() // who was answered may come again
		calls = q.next(r.err)
	}
}

// send makes calls of one script as one.
func (q *line) send(ctx context.Context, byText bool, calls ...*call) (r response) {
	n := len(calls)
	keys := append(make([]string, 0, 1+2*n), q.keys...)
	args := append(make([]string, 0, 1+n), q.head)
	for _, c := range calls {
		keys = append(keys, c.keys...)
		args = append(args, c.arg)
	}
	r.sent = clock()
	r.reply, r.err = q.run(ctx, calls[0].script, byText, keys, args)
	r.received = clock()
	return r
}

// teach makes a call whose script the server does not know.
func (q *line) teach(ctx context.Context, c call) response { return q.send(ctx, true, &c) }

// next returns calls to be made by who has made others. If those had no answer,
// those who wait get none either.
func (q *line) next(failed error) []*call {
	q.mu.Lock()
	defer q.mu.Unlock()
	if failed != nil && unknown(failed) {
		for _, c := range q.waiting {
			c.answer <- response{err: failed}
		}
		q.waiting = nil
	}
	if len(q.waiting) == 0 {
		q.busy = false
		return nil
	}
	n := 1
	for n < min(len(q.waiting), together) && q.waiting[n].script.sha == q.waiting[0].script.sha {
		n++
	}
	calls := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return calls
}
