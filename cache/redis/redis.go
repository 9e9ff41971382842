package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/internal/script"
)

// Options are the settings of a Store. The zero value is usual.
type Options struct {
	// Prefix begins all keys, in braces: "robots" if empty. Fleets that share a server
	// need different ones. It has at most 64 bytes and no braces, spaces or control
	// characters.
	Prefix string
}

const (
	version = 1 // of the layouts in the package comment

	// callLimit is how long a call may take, whatever its context says.
	callLimit = 3 * time.Second
	// While the server is down calls try for probeLimit. When it has been down for
	// probeAll, one call tries every probeGap, and the others fail at once.
	probeLimit = time.Second
	probeAll   = time.Second
	probeGap   = 500 * time.Millisecond
)

// Store is a cache.Leaser on a Redis server or cluster.
type Store struct {
	client rueidis.Client
	head   string // of all keys

	mu     sync.RWMutex // of closed; read-locked around calls.Add
	closed bool
	calls  sync.WaitGroup
	end    chan struct{} // closed by Close

	down     atomic.Bool // since is not zero
	downMu   sync.Mutex
	since    time.Time
	lost     bool      // the server answers nothing, or
	readOnly bool      // it refuses writes
	probe    time.Time // when the next call may try
	cause    error

	unknownMu sync.Mutex
	unknown   []request // whose leases must be given back
}

var _ cache.Leaser = (*Store)(nil)

// New returns a store that uses the caller's client, which stays the caller's to
// close, after the store. It sends nothing to the server: the error is about the
// options.
//
// The client must not send reads to replicas (rueidis.ClientOption.SendToReplicas),
// which lag behind. It needs no client-side caching (DisableCache): a cache.Cache
// has its own memory in front of the store.
func New(client rueidis.Client, o Options) (*Store, error) {
	if client == nil {
		return nil, errors.New("shared cache: the Redis client is nil: make one with rueidis.NewClient")
	}
	head, err := script.Head(o.Prefix)
	if err != nil {
		return nil, fmt.Errorf("shared cache: %w", err)
	}
	return &Store{client: client, head: head, end: make(chan struct{})}, nil
}

// Close ends the calls that wait for a lease and lets the others end. The client
// stays open.
func (s *Store) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.end)
	}
	s.mu.Unlock()
	s.calls.Wait()
	return nil
}

// DownSince returns since when Redis has not answered, by the clock of this process,
// and the zero time if it has answered the last call. An error of the whole server
// (LOADING, CLUSTERDOWN, MASTERDOWN) counts as no answer. A server that refuses writes
// (READONLY, NOREPLICAS, MISCONF) is down until it takes one, though reads go on.
func (s *Store) DownSince() time.Time {
	if !s.down.Load() {
		return time.Time{}
	}
	s.downMu.Lock()
	defer s.downMu.Unlock()
	if now := time.Now(); !s.since.IsZero() && now.After(s.probe) {
		s.probe = now.Add(probeGap)
		s.ping() // if the cache answers from its memory, nobody else calls
	}
	return s.since
}

// ping asks in the background whether Redis is back. It releases a lease that nobody
// has: a write, which shows whether the server takes writes, and changes nothing.
func (s *Store) ping() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return
	}
	s.calls.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), probeLimit)
		defer cancel()
		if _, _, err := s.run(ctx, releaseScript, []string{s.leasePrefix()}, []string{encoded(0)}); err != nil && trouble(err) {
			s.failed(err)
			return
		}
		s.answered(writes)
	})
}

// purpose says whether a call reads or writes.
type purpose bool

const (
	reads  purpose = false
	writes purpose = true
)

// do calls the server. It bounds the time of the call, notes whether Redis answered, and
// makes a sentence of the error, for which the call has a name.
func (s *Store) do(ctx context.Context, p purpose, name string, origin robots.Origin, call func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return fmt.Errorf("shared cache: %w", cache.ErrClosed)
	}
	s.calls.Add(1)
	s.mu.RUnlock()
	defer s.calls.Done()
	limit, err := s.limit(p)
	if err != nil {
		return err
	}
	until := time.Now().Add(limit)
	limited, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	err = call(limited)
	if err == nil {
		s.answered(p)
		return nil
	}
	canceled, late := errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded)
	own := ctx.Err()
	if d, ok := ctx.Deadline(); own == nil && late && ok && d.Before(until) {
		own = context.DeadlineExceeded // though the timer of ctx has not fired yet
	}
	switch {
	case own != nil && (canceled || late):
		return own
	case errors.Is(err, rueidis.ErrClosing):
		return fmt.Errorf("shared cache: %s of %s: the Redis client has been closed", name, origin)
	case canceled: // by another caller, whose connection this one waited for
	case late:
		err = errSilent
		s.failed(err)
	case trouble(err):
		s.failed(err)
	default:
		s.answered(p)
	}
	if errors.Is(err, cache.ErrAbsent) || errors.Is(err, cache.ErrFenced) {
		return err
	}
	return fmt.Errorf("shared cache: %s of %s: %w", name, origin, err)
}

// limit returns how long a call may take, or an error if it must not try.
func (s *Store) limit(p purpose) (time.Duration, error) {
	if !s.down.Load() {
		return callLimit, nil
	}
	s.downMu.Lock()
	defer s.downMu.Unlock()
	now := time.Now()
	switch {
	case s.since.IsZero(), p == reads && !s.lost:
		return callLimit, nil
	case now.Sub(s.since) < probeAll: // the client may be connecting again
	case now.Before(s.probe):
		return 0, downError{s.since, s.cause}
	default:
		s.probe = now.Add(probeGap)
	}
	return probeLimit, nil
}

var errSilent = errors.New("the server does not answer")

// trouble reports whether an error says that Redis cannot do such calls at present. Else
// the error is an answer.
func trouble(err error) bool {
	for _, answer := range []error{cache.ErrAbsent, cache.ErrFenced, errEntry, errLater, errExhausted, script.ErrReply} {
		if errors.Is(err, answer) {
			return false
		}
	}
	switch script.KindOf(err) {
	case script.Lost, script.Down, script.ReadOnly:
		return true
	}
	return false
}

// answered notes that Redis has answered a call.
func (s *Store) answered(p purpose) {
	if !s.down.Load() {
		return
	}
	s.downMu.Lock()
	defer s.downMu.Unlock()
	s.lost = false
	if p == writes {
		s.readOnly = false
	}
	if !s.readOnly && !s.since.IsZero() {
		s.since, s.cause = time.Time{}, nil
		s.down.Store(false)
		s.giveBack()
	}
}

// failed notes that Redis cannot do a call.
func (s *Store) failed(cause error) {
	if errors.Is(cause, context.DeadlineExceeded) {
		cause = errSilent // the deadline was ours, and the cause is shown to others
	}
	s.downMu.Lock()
	defer s.downMu.Unlock()
	now := time.Now()
	if s.since.IsZero() {
		s.since = now
		s.down.Store(true)
	}
	if s.lost = script.KindOf(cause) != script.ReadOnly; !s.lost {
		s.readOnly = true
	}
	s.cause, s.probe = cause, now.Add(probeGap)
}

// downError is the error of a call that was not tried.
type downError struct {
	since time.Time
	cause error
}

func (e downError) Error() string {
	return fmt.Sprintf("shared cache: Redis has been down since %s: %v", e.since.Format(time.TimeOnly), e.cause)
}

func (e downError) Unwrap() error { return e.cause }
