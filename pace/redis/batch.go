package redis

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/robotskit/robots/internal/script"
)

// maxBatch is how many calls are made as one at most: to be called takes a server
// about as long as to decide, and so many block it for some 150 µs.
const maxBatch = 32

// A batcher sends decisions, or releases, to the server. A call that is alone is sent at
// once; those that come while another is on its way are sent together when it is back.
type batcher struct {
	call func(ctx context.Context, run runner, s script.Script, keys, args []string) (string, error)
	run  runner
	keys []string // that every call begins with
	head string   // the argument that every call begins with

	mu      sync.Mutex
	busy    bool // with a call on its way
	waiting []*call
}

type call struct {
	script script.Script
	keys   []string
	arg    string
	answer chan response // holds one
}

// response is what came of a call. It was not sent if sent is zero.
type response struct {
	reading
	reply string
	at    int // index of the answer in the reply
	err   error
}

// do makes a call.
func (b *batcher) do(ctx context.Context, c call) response {
	b.mu.Lock()
	if !b.busy {
		b.busy = true
		b.mu.Unlock()
		r := b.send(ctx, b.run, &c)
		failed := r.err
		if failed != nil && ended(ctx) {
			failed = nil // which says nothing of the server
		}
		if next := b.next(failed); next != nil {
			go b.serve(next)
		}
		return r
	}
	c.answer = make(chan response, 1)
	b.waiting = append(b.waiting, &c)
	b.mu.Unlock()
	select {
	case r := <-c.answer:
		return r
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, &c); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
		return response{err: ctx.Err()}
	}
	return response{reading: reading{sent: clock()}, err: ctx.Err()}
}

// serve makes calls for those who wait, until nobody does.
func (b *batcher) serve(calls []*call) {
	for calls != nil {
		r := b.send(context.Background(), b.run, calls...)
		for i, c := range calls {
			r.at = i
			c.answer <- r
		}
		runtime.Gosched() // who was answered may come again
		calls = b.next(r.err)
	}
}

// send makes calls of one script as one.
func (b *batcher) send(ctx context.Context, run runner, calls ...*call) (r response) {
	n := len(calls)
	keys := append(make([]string, 0, 1+2*n), b.keys...)
	args := append(make([]string, 0, 1+n), b.head)
	for _, c := range calls {
		keys = append(keys, c.keys...)
		args = append(args, c.arg)
	}
	r.sent = clock()
	r.reply, r.err = b.call(ctx, run, calls[0].script, keys, args)
	r.received = clock()
	return r
}

// next returns calls to be made by who has made others. If those had no answer,
// those who wait get none either.
func (b *batcher) next(failed error) []*call {
	b.mu.Lock()
	defer b.mu.Unlock()
	if failed != nil && script.KindOf(failed) == script.Lost {
		for _, c := range b.waiting {
			c.answer <- response{err: failed}
		}
		b.waiting = nil
	}
	if len(b.waiting) == 0 {
		b.busy = false
		return nil
	}
	n := 1
	for n < min(len(b.waiting), maxBatch) && b.waiting[n].script.SHA1() == b.waiting[0].script.SHA1() {
		n++
	}
	calls := slices.Clone(b.waiting[:n])
	b.waiting = slices.Delete(b.waiting, 0, n)
	return calls
}
