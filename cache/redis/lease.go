package redis

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
)

// leaseKey is the key of a lease and the channel on which its end is published.
func (s *Store) leaseKey(origin robots.Origin) string {
	return s.leasePrefix() + origin.String()
}

func (s *Store) leasePrefix() string { return s.prefix + "lease:" }

func octets(n uint64) string {
	return string(binary.BigEndian.AppendUint64(nil, n))
}

// longestLease is as good as for ever and within what a Duration holds.
const longestLease = 100 * 365 * 24 * time.Hour

// Lease asks for the right to fetch an origin for d, a millisecond at least. A Get
// that begins after it sees what the last holder has put.
func (s *Store) Lease(ctx context.Context, origin robots.Origin, d time.Duration) (cache.Lease, error) {
	l, err := s.begin(ctx, writes)
	if err != nil {
		return cache.Lease{}, err
	}
	nonce := octets(rand.Uint64())
	got, err := s.lease(l, origin, min(d, longestLease), nonce)
	s.turn(origin).Add(1)
	if _, said := rueidis.IsRedisErr(err); err != nil && !said && unable(err) {
		s.unheard.add(granted{s.leaseKey(origin), nonce})
		s.giveBack()
	}
	return got, s.ended(l, "lease", origin, err)
}

// lease asks under a nonce, by which a call that is sent again finds that it has
// the lease, and one whose answer was lost gives it back.
func (s *Store) lease(ctx context.Context, origin robots.Origin, d time.Duration, nonce string) (cache.Lease, error) {
	keys := []string{s.leaseKey(origin), s.recordKey(origin), s.prefix + "token"}
	code, rest, err := s.call(ctx, leaseScript, keys, []string{millis(d), nonce})
	if err != nil {
		return cache.Lease{}, err
	}
	if len(rest) == 0 {
		return cache.Lease{}, errReply
	}
	left, err := rest[0].AsInt64()
	if err != nil {
		return cache.Lease{}, errReply
	}
	got := cache.Lease{Left: max(1, time.Duration(left)) * time.Millisecond}
	if code == refused {
		return got, nil
	}
	if len(rest) < 2 {
		return cache.Lease{}, errReply
	}
	token, err := rest[1].ToString()
	if err != nil || len(token) != 8 {
		return cache.Lease{}, errReply
	}
	got.Granted, got.Token = true, binary.BigEndian.Uint64([]byte(token))
	return got, nil
}

// Release ends a lease early and tells those who wait for it.
func (s *Store) Release(ctx context.Context, origin robots.Origin, token uint64) error {
	l, err := s.begin(ctx, writes)
	if err != nil {
		return err
	}
	_, _, err = s.call(l, releaseScript, []string{s.leaseKey(origin)}, []string{octets(token)})
	return s.ended(l, "release", origin, err)
}

// granted is a lease that may be in force without its holder's knowledge, or may
// come into force when a server that hangs goes on.
type granted struct{ key, nonce string }

// maxUnheard bounds the leases that are remembered to be given back, some 200 KiB.
// Those beyond run out by themselves.
const maxUnheard = 1024

// unheard holds the leases whose answers were lost.
type unheard struct {
	mu     sync.Mutex
	list   []granted
	giving bool // one goroutine does
}

func (u *unheard) add(g granted) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.list) < maxUnheard {
		u.list = append(u.list, g)
	}
}

// take returns one of them. With none it ends the giving.
func (u *unheard) take() (g granted, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := len(u.list)
	if n == 0 {
		u.giving = false
		return g, false
	}
	g, u.list = u.list[n-1], u.list[:n-1]
	return g, true
}

// giveBack releases in the background what nobody heard of, until the server does
// not answer; its next answer begins again. A call must be under way.
func (s *Store) giveBack() {
	u := &s.unheard
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.list) == 0 || u.giving {
		return
	}
	u.giving = true
	s.calls.Go(func() {
		for g, ok := u.take(); ok; g, ok = u.take() {
			ctx, cancel := context.WithTimeout(context.Background(), callLimit)
			_, _, err := s.call(ctx, releaseScript, []string{g.key}, []string{"", g.nonce})
			cancel()
			if err != nil && unable(err) {
				u.mu.Lock()
				u.list, u.giving = append(u.list, g), false
				u.mu.Unlock()
				s.lost(err)
				return
			}
		}
	})
}

// A wait is for the end of the lease on one origin. All calls of Await for the
// origin share it, and one subscription.
type wait struct {
	key    string
	before *wait // the subscription to the same channel that is being ended
	cancel context.CancelFunc

	callers int           // guarded by waitsMu
	over    bool          // guarded by waitsMu
	looked  chan struct{} // closed when it is known how long the lease runs
	ended   chan struct{} // closed when there is nothing to wait for any more
	err     error         // set before ended
	gone    chan struct{} // closed when the subscription is
}

// Await waits until no lease is in force on an origin. A Get that begins after it
// sees what the holder has put. Until the server has said how long the lease runs it
// waits no longer than any call.
func (s *Store) Await(ctx context.Context, origin robots.Origin) error {
	l, err := s.begin(ctx, reads)
	if err != nil {
		return err
	}
	w := s.join(s.leaseKey(origin))
	limit := l.Done() // of any call, until the lease's own is known
	for looked := w.looked; ; {
		select {
		case <-looked:
			looked, limit = nil, ctx.Done()
			continue
		case <-w.ended:
			err = w.err
		case <-limit:
			err = l.Err()
		case <-s.end:
			err = cache.ErrClosed
		}
		break
	}
	l.unasked = true // a lease runs out by itself
	s.leave(w)
	s.turn(origin).Add(1)
	return s.ended(l, "wait for the lease", origin, err)
}

func (s *Store) join(key string) *wait {
	s.waitsMu.Lock()
	defer s.waitsMu.Unlock()
	w := s.waits[key]
	if w != nil && !w.over {
		w.callers++
		return w
	}
	ctx, cancel := context.WithCancel(context.Background())
	w = &wait{key: key, before: w, cancel: cancel, callers: 1, looked: make(chan struct{}), ended: make(chan struct{}), gone: make(chan struct{})}
	s.waits[key] = w
	s.calls.Go(func() { s.watch(ctx, w) }) // not from zero, as the caller is counted
	return w
}

// leave ends a wait with its last caller.
func (s *Store) leave(w *wait) {
	s.waitsMu.Lock()
	defer s.waitsMu.Unlock()
	if w.callers--; w.callers == 0 {
		w.over = true
		w.cancel()
	}
}

// finish lets the callers of a wait go.
func (s *Store) finish(w *wait, err error) {
	s.waitsMu.Lock()
	w.over = true
	s.waitsMu.Unlock()
	w.err = err
	close(w.ended)
	w.cancel()
}

// watch subscribes to the end of a lease, and once that is confirmed, so that
// nothing can be missed, looks how long the lease runs.
func (s *Store) watch(ctx context.Context, w *wait) {
	defer func() {
		s.waitsMu.Lock()
		if s.waits[w.key] == w {
			delete(s.waits, w.key)
		}
		s.waitsMu.Unlock()
		close(w.gone)
	}()
	if w.before != nil {
		<-w.before.gone // it would take this subscription with it
		w.before = nil
		if ctx.Err() != nil {
			return
		}
	}
	confirmed, told, over := make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
	var failed error
	go func() {
		defer close(over)
		failed = s.receive(ctx, w.key, confirmed, told)
	}()

	var end time.Time // of the lease, zero until it is known
	timer := time.NewTimer(longestLease)
	defer timer.Stop()
	for {
		select {
		case <-confirmed: // again after each break of the connection
			left, err := s.left(ctx, w.key, end)
			switch {
			case ctx.Err() != nil:
			case err != nil && !end.IsZero() && !time.Now().Before(end):
				s.finish(w, nil) // it is over, whatever the server does
			case err != nil:
				s.finish(w, err)
			case left <= 0:
				s.finish(w, nil)
			default:
				if end.IsZero() {
					close(w.looked)
				}
				left += time.Millisecond // it is there in its last one
				end = time.Now().Add(left)
				timer.Reset(left)
				continue
			}
		case <-told:
			s.finish(w, nil)
		case <-timer.C:
			s.finish(w, nil)
		case <-over:
			if ctx.Err() == nil {
				s.finish(w, failed) // nil if a cluster has moved the channel elsewhere
			}
		case <-ctx.Done():
		}
		<-over
		return
	}
}

// left returns how long a lease runs, nothing if there is none. It does not ask for
// longer than to the end that is known, if one is.
func (s *Store) left(ctx context.Context, key string, end time.Time) (time.Duration, error) {
	limit := time.Now().Add(callLimit)
	if !end.IsZero() && end.Before(limit) {
		limit = end
	}
	ctx, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	n, err := s.client.Do(ctx, s.client.B().Pttl().Key(key).Build().Pin()).AsInt64()
	if errors.Is(err, context.DeadlineExceeded) {
		err = errSilent // it is no caller's
	}
	return time.Duration(n) * time.Millisecond, err
}

// receive subscribes to a channel until ctx ends, and then unsubscribes, which the
// client does not do by itself.
func (s *Store) receive(ctx context.Context, channel string, confirmed, told chan<- struct{}) error {
	signal := func(c chan<- struct{}) {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	hooked := rueidis.WithOnSubscriptionHook(ctx, func(sub rueidis.PubSubSubscription) {
		if sub.Kind == "ssubscribe" {
			signal(confirmed)
		}
	})
	hooked = rueidis.WithOnReceiveReturnHook(hooked, func(err error, c rueidis.CommandClient) error {
		if ctx.Err() != nil {
			bounded, cancel := context.WithTimeout(context.Background(), callLimit)
			defer cancel()
			_ = c.Do(bounded, c.B().Sunsubscribe().Channel(channel).Build()).Error()
		}
		return err
	})
	return s.client.Receive(hooked, s.client.B().Ssubscribe().Channel(channel).Build().Pin(), func(rueidis.PubSubMessage) { signal(told) })
}
