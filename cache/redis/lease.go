package redis

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/internal/script"
)

func (s *Store) leaseKey(origin robots.Origin) string {
	return s.leasePrefix() + origin.String()
}

func (s *Store) leasePrefix() string { return s.head + "lease:" }

// encoded returns a number as scripts take it.
func encoded(n uint64) string {
	return string(binary.BigEndian.AppendUint64(nil, n))
}

// longestLease is as good as for ever and within what a Duration holds.
const longestLease = 100 * 365 * 24 * time.Hour

// Lease asks for the right to fetch an origin for d, a millisecond at least.
func (s *Store) Lease(ctx context.Context, origin robots.Origin, d time.Duration) (cache.Lease, error) {
	var got cache.Lease
	err := s.do(ctx, writes, "lease", origin, func(ctx context.Context) (err error) {
		nonce := encoded(rand.Uint64())
		got, err = s.lease(ctx, origin, min(d, longestLease), nonce)
		if err != nil && trouble(err) && script.KindOf(err) == script.Lost {
			s.unheard.add(granted{s.leaseKey(origin), nonce})
			s.giveBack()
		}
		return err
	})
	return got, err
}

// lease asks under a nonce, by which a call that is sent again finds that it has
// the lease, and one whose answer was lost gives it back.
func (s *Store) lease(ctx context.Context, origin robots.Origin, d time.Duration, nonce string) (cache.Lease, error) {
	keys := []string{s.leaseKey(origin), s.recordKey(origin), s.head + "token"}
	code, rest, err := s.run(ctx, leaseScript, keys, []string{millis(d), nonce})
	if err != nil {
		return cache.Lease{}, err
	}
	if len(rest) == 0 {
		return cache.Lease{}, script.ErrReply
	}
	left, err := rest[0].AsInt64()
	if err != nil {
		return cache.Lease{}, script.ErrReply
	}
	got := cache.Lease{Left: max(1, time.Duration(left)) * time.Millisecond}
	if code == refused {
		return got, nil
	}
	if len(rest) < 2 {
		return cache.Lease{}, script.ErrReply
	}
	token, err := rest[1].ToString()
	if err != nil || len(token) != 8 {
		return cache.Lease{}, script.ErrReply
	}
	got.Granted, got.Token = true, binary.BigEndian.Uint64([]byte(token))
	return got, nil
}

// Release ends a lease early.
func (s *Store) Release(ctx context.Context, origin robots.Origin, token uint64) error {
	return s.do(ctx, writes, "release", origin, func(ctx context.Context) error {
		_, _, err := s.run(ctx, releaseScript, []string{s.leaseKey(origin)}, []string{encoded(token)})
		return err
	})
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
			_, _, err := s.run(ctx, releaseScript, []string{g.key}, []string{"", g.nonce})
			cancel()
			if err != nil && trouble(err) {
				u.mu.Lock()
				u.list, u.giving = append(u.list, g), false
				u.mu.Unlock()
				s.failed(err)
				return
			}
		}
	})
}

// A waiter asks again after firstLook, ever later up to longestLook. It is not told by
// a message: a client that reads messages for many waiters on its one connection
// stops reading answers while one of them does not take its own.
const (
	firstLook   = 50 * time.Millisecond
	longestLook = 500 * time.Millisecond
)

// Await waits until no lease is in force on an origin. It notices the end of a lease that runs out at once,
// and of one that is released within some 600 ms. Until the server has said how long
// the lease runs it waits no longer than any call, and after that no longer than the
// lease, whatever the server does.
func (s *Store) Await(ctx context.Context, origin robots.Origin) error {
	var end time.Time // of the lease, zero until it is known
	for look := firstLook; ; look = min(2*look, longestLook) {
		left, err := s.left(ctx, origin, end)
		switch {
		case err == nil && left <= 0:
			return nil
		case err == nil:
			end = time.Now().Add(left + time.Millisecond) // it is there in its last one
		case end.IsZero() || ctx.Err() != nil || errors.Is(err, cache.ErrClosed):
			return err
		}
		pause := time.NewTimer(min(look*3/4+rand.N(look/2), time.Until(end)))
		select {
		case <-pause.C:
		case <-ctx.Done():
		case <-s.end:
		}
		pause.Stop()
		if ctx.Err() == nil && !time.Now().Before(end) {
			return nil
		}
	}
}

// left returns how long the lease on an origin runs, nothing or less if there is none.
// It does not ask for longer than to the end that is known, if one is.
func (s *Store) left(ctx context.Context, origin robots.Origin, end time.Time) (time.Duration, error) {
	if !end.IsZero() {
		bounded, cancel := context.WithDeadline(ctx, end)
		defer cancel()
		ctx = bounded
	}
	var n int64
	err := s.do(ctx, reads, "wait for the lease", origin, func(ctx context.Context) (err error) {
		n, err = s.client.Do(ctx, s.client.B().Pttl().Key(s.leaseKey(origin)).Build().Pin()).AsInt64()
		return err
	})
	return time.Duration(n) * time.Millisecond, err
}
