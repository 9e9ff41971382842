package redis

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/internal/script"
)

// encoded returns a number in eight bytes, as scripts take it.
func encoded(n uint64) string {
	return string(binary.BigEndian.AppendUint64(nil, n))
}

// longestLease is KEEP in common.lua. A cache asks for 26.4 hours at most.
const longestLease = 48 * time.Hour

// Lease asks for the right to fetch an origin for d, a millisecond at least and two days
// at most.
func (s *Store) Lease(ctx context.Context, origin robots.Origin, d time.Duration) (cache.Lease, error) {
	var got cache.Lease
	err := s.do(ctx, writes, "lease", origin, func(ctx context.Context, key string) (err error) {
		nonce := encoded(rand.Uint64())
		got, err = s.lease(ctx, key, min(d, longestLease), nonce)
		if err != nil && trouble(err) && script.KindOf(err) == script.Lost {
			p := s.part(key)
			s.addUnknown(p, request{key, nonce})
			s.giveBack(p)
		}
		return err
	})
	return got, err
}

// lease asks with a nonce. By that the server knows a request that is sent again, and the
// store gives back a lease when the answer was lost.
func (s *Store) lease(ctx context.Context, key string, d time.Duration, nonce string) (cache.Lease, error) {
	code, rest, err := s.run(ctx, leaseScript, key, millis(d), nonce)
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
	return s.do(ctx, writes, "release", origin, func(ctx context.Context, key string) error {
		_, _, err := s.run(ctx, releaseScript, key, encoded(token), "")
		return err
	})
}

// A request for a lease whose answer was lost: the lease may be in force, or may come
// into force when a server that hangs goes on.
type request struct{ key, nonce string }

// maxUnknown bounds the requests that are kept, some 200 KiB, and leastUnknown those of a
// part of many. Leases beyond that run out by themselves.
const maxUnknown, leastUnknown = 1024, 32

func (s *Store) addUnknown(p *part, lost ...request) {
	most := max(maxUnknown/len(s.parts), leastUnknown)
	p.unknownMu.Lock()
	defer p.unknownMu.Unlock()
	p.unknown = append(p.unknown, lost[:min(len(lost), most-len(p.unknown))]...)
}

// giveBack releases unknown leases in the background. What it cannot release it leaves
// for the next answer of the server, after which it is called again. A call must be
// under way.
func (s *Store) giveBack(p *part) {
	p.unknownMu.Lock()
	defer p.unknownMu.Unlock()
	list := p.unknown
	if p.unknown = nil; len(list) == 0 {
		return
	}
	s.calls.Go(func() {
		for i, r := range list {
			ctx, cancel := context.WithTimeout(context.Background(), callLimit)
			_, _, err := s.run(ctx, releaseScript, r.key, "", r.nonce)
			cancel()
			if err != nil && trouble(err) {
				s.addUnknown(p, list[i:]...)
				s.failed(p, r.key, err)
				return
			}
		}
	})
}

// A waiter asks again after firstPause, then less and less often, up to longestPause. The
// server does not send it a message instead: a client that reads messages for many
// waiters on one connection reads no answers while one of them is slow to take its own.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// Await waits until no lease is in force on an origin. It returns at once when a lease
// runs out, and within some 600 ms when one is released. It waits no longer than any
// call until the server has said how long the lease runs, and after that no longer than
// the lease, even if the server fails.
func (s *Store) Await(ctx context.Context, origin robots.Origin) error {
	var end time.Time // of the lease, zero until it is known
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		left, err := s.left(ctx, origin, end)
		switch {
		case err == nil && left <= 0:
			return nil
		case err == nil:
			end = time.Now().Add(left + time.Millisecond) // the server counts whole ones
		case end.IsZero() || ctx.Err() != nil || errors.Is(err, cache.ErrClosed):
			return err
		}
		timer := time.NewTimer(min(pause*3/4+rand.N(pause/2), time.Until(end)))
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-s.end:
		}
		timer.Stop()
		if ctx.Err() == nil && !time.Now().Before(end) {
			return nil
		}
	}
}

// LeaseLeft returns how long the lease on an origin runs, 0 or less if there is none: an
// operator sees so whether somebody fetches it.
func (s *Store) LeaseLeft(ctx context.Context, origin robots.Origin) (time.Duration, error) {
	return s.left(ctx, origin, time.Time{})
}

// left returns how long the lease on an origin runs, 0 or less if there is none. If the
// end of the lease is known, it waits for the answer until then.
func (s *Store) left(ctx context.Context, origin robots.Origin, end time.Time) (time.Duration, error) {
	if !end.IsZero() {
		bounded, cancel := context.WithDeadline(ctx, end)
		defer cancel()
		ctx = bounded
	}
	var n int64
	err := s.do(ctx, reads, "wait for the lease", origin, func(ctx context.Context, key string) (err error) {
		n, err = leftScript.Run(ctx, s.client, []string{key}, nil).AsInt64()
		return err
	})
	return time.Duration(n) * time.Millisecond, err
}
