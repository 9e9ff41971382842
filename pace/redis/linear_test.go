package redis_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/rueidis"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// call is one call of a limiter in a history.
type call struct {
	done   bool // else Reserve
	origin int
	id     uint64 // of Done
	unused bool
	at     time.Time // before
	lossy  bool      // there may be grants of which nobody knows, as their replies were lost
}

// reply is what came back.
type reply struct {
	id    uint64 // 0 for refused
	start time.Time
	at    time.Time // after
}

// model is a limiter of two origins as the contract has it. It knows of times what a
// caller can: a start exactly, an end between the call of Done and its return.
type model struct {
	sites [2]modelSite
}

type modelSite struct {
	id        uint64 // of the grant under way, 0 for none
	start     time.Time
	low, high time.Time // the last end lies between
	touched   bool      // somebody told of an end since the start
	before    [2]time.Time
	spent     map[uint64]bool
}

const modelInterval = 400 * time.Microsecond

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// fine is by how much two readings of one clock may seem to be out of order:
// the server counts in microseconds.
const fine = 2 * time.Microsecond

func (m model) step(c call, r reply) (bool, model) {
	s := &m.sites[c.origin]
	switch {
	case c.done:
		if c.id == s.id && c.id != 0 {
			s.id = 0
			if c.unused {
				if !s.touched {
					s.low, s.high = s.before[0], s.before[1]
				}
				return true, m
			}
		}
		if !c.unused {
			s.low, s.high, s.touched = later(s.low, c.at), later(s.high, r.at), true
		}
		return true, m
	case r.id == 0 && c.lossy:
		return true, m
	case r.id == 0: // refused: there must have been something against it
		return s.id != 0 || c.at.Before(s.high.Add(modelInterval+fine)), m
	}
	if s.id != 0 || s.spent[r.id] || r.start.Before(s.low.Add(modelInterval-fine)) ||
		r.start.Before(c.at.Add(-fine)) || r.start.After(r.at) {
		return false, m
	}
	s.spent = maps.Clone(s.spent)
	if s.spent == nil {
		s.spent = map[uint64]bool{}
	}
	s.spent[r.id] = true
	s.before = [2]time.Time{s.low, s.high}
	s.id, s.start, s.low, s.high, s.touched = r.id, r.start, r.start, r.start, false
	return true, m
}

var limiterModel = porcupine.Model{
	Init: func() any { return model{} },
	Step: func(state, input, output any) (bool, any) { return state.(model).step(input.(call), output.(reply)) },
	Equal: func(a, b any) bool {
		x, y := a.(model), b.(model)
		for i := range x.sites {
			p, q := x.sites[i], y.sites[i]
			if p.id != q.id || p.low != q.low || p.high != q.high || p.before != q.before || p.touched != q.touched || len(p.spent) != len(q.spent) {
				return false
			}
		}
		return true
	},
}

// record lets callers work at two origins, each with a limiter of its own, and returns the
// history.
//
// With lossy, calls may fail: what was granted then comes back later, unused, and makes
// others wait, but lets nobody start. On a machine that stalls the same is true: an answer
// that took a second is not used.
func record(t *testing.T, limiters []pace.Limiter, each int, lossy bool) []porcupine.Operation {
	s := steady(t, modelInterval)
	keys := [2]pace.Key{}
	for i := range keys {
		keys[i] = pace.Key{Origin: originOf(t, fmt.Sprintf("linear%d.example", i))}
	}
	var mu sync.Mutex
	var history []porcupine.Operation
	var all sync.WaitGroup
	var stalled atomic.Bool
	began := time.Now()
	for n, l := range limiters {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 9))
			note := func(c call, o reply) {
				mu.Lock()
				defer mu.Unlock()
				history = append(history, porcupine.Operation{
					ClientId: n, Input: c, Output: o, Call: int64(c.at.Sub(began)), Return: int64(o.at.Sub(began)),
				})
			}
			for n := 0; n < each; n++ {
				origin := r.IntN(2)
				c := call{origin: origin, at: time.Now()}
				g, err := l.Reserve(context.Background(), keys[origin], s, 0)
				if time.Since(c.at) >= time.Second {
					stalled.Store(true)
				}
				if (lossy || stalled.Load()) && errors.Is(err, redis.ErrDown) {
					time.Sleep(time.Millisecond)
					n-- // it was no call
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				note(c, reply{id: g.ID, start: g.Start, at: time.Now()})
				for times := r.IntN(8); g.OK() && times >= 0; times -= 7 { // now and then twice
					result := pace.Result{Status: 200, Unused: r.IntN(3) == 0}
					c = call{done: true, origin: origin, id: g.ID, unused: result.Unused, at: time.Now()}
					if err := l.Done(context.Background(), g, result); err != nil {
						t.Error(err)
						return
					}
					note(c, reply{at: time.Now()})
				}
			}
		})
	}
	all.Wait()
	if lossy || stalled.Load() {
		for i := range history {
			c := history[i].Input.(call)
			c.lossy = true
			history[i].Input = c
		}
	}
	return history
}

// TestLinearizable: what many limiters did at the same time is what one would
// have done, one call after another.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	callers, each, histories := 8, 150, campaign.Size(2, 4, 20)
	server := redistest.Start(t, redistest.Options{})
	operations, granted := 0, 0
	for h := range histories {
		prefix := fresh()
		var limiters []pace.Limiter
		for range callers {
			if h%2 == 1 && len(limiters) > 0 { // all in one process, whose requests go together
				limiters = append(limiters, limiters[0])
				continue
			}
			limiters = append(limiters, newLimiter(t, server.Client(), redis.Options{Prefix: prefix, WhenDown: redis.Stop}))
		}
		history := record(t, limiters, each, false)
		for _, o := range history {
			if o.Output.(reply).id != 0 {
				granted++
			}
		}
		operations += len(history)
		if got := porcupine.CheckOperationsTimeout(limiterModel, history, time.Minute); got != porcupine.Ok {
			t.Fatalf("the history of %d calls is linearizable: %s", len(history), got)
		}
	}
	t.Logf("%d histories of %d callers, %d calls, %d grants", histories, callers, operations, granted)
	// What is no shared limiter does not pass for one.
	var apart []pace.Limiter
	for range callers {
		apart = append(apart, newLimiter(t, server.Client(), redis.Options{}))
	}
	if got := porcupine.CheckOperationsTimeout(limiterModel, record(t, apart, 10, false), time.Minute); got != porcupine.Illegal {
		t.Errorf("limiters that share nothing pass for one: %s", got)
	}
}

// TestLinearizableCut: the same where connections end in the middle of calls, again and
// again: no start is given beside another, or too early.
func TestLinearizableCut(t *testing.T) {
	t.Parallel()
	callers, each := 8, campaign.Size(60, 150, 2000)
	server := redistest.Start(t, redistest.Options{})
	proxy := redistest.NewProxy(t, server.Addr)
	prefix := fresh()
	var limiters []pace.Limiter
	for range callers {
		c := redistest.NewClient(t, rueidis.ClientOption{InitAddress: []string{proxy.Addr}, DisableCache: true, PipelineMultiplex: -1})
		limiters = append(limiters, newLimiter(t, c, redis.Options{Prefix: prefix, WhenDown: redis.Stop}))
	}
	ended := make(chan []porcupine.Operation)
	go func() { ended <- record(t, limiters, each, true) }()
	cuts := 0
	for {
		select {
		case history := <-ended:
			granted := 0
			for _, o := range history {
				if o.Output.(reply).id != 0 {
					granted++
				}
			}
			t.Logf("%d calls, %d grants, %d cuts", len(history), granted, cuts)
			if granted == 0 {
				t.Error("nothing was granted")
			}
			if got := porcupine.CheckOperationsTimeout(limiterModel, history, time.Minute); got != porcupine.Ok {
				t.Fatalf("the history of %d calls is linearizable: %s", len(history), got)
			}
			return
		case <-time.After(10*time.Millisecond + time.Duration(cuts)*time.Millisecond/4): // a slow machine needs longer for a call
			proxy.Switch(server.Addr)
			cuts++
		}
	}
}
