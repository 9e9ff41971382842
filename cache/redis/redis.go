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

// Options are the settings of a Store. All processes of a fleet must use the same ones.
// The zero value is usual.
type Options struct {
	// Prefix begins all keys: "robots" if empty. Fleets that share a server need
	// different ones. It has at most 64 bytes and no braces, spaces or control
	// characters.
	Prefix string
	// Bodies names a directory that all processes see, where bodies over 16 KB are kept,
	// so that they take no memory of the server: four files of a hundred are so large, and
	// take three fifths of it. If empty they are kept in the server.
	Bodies string
}

const (
	version = leased // the highest; 1 was a layout with several keys per origin

	// callLimit is how long a call may take, whatever its context says.
	callLimit = 3 * time.Second
	// While a server is down calls try for probeLimit. When it has been down for
	// probeAll, one call tries every probeGap, and the others fail at once.
	probeLimit = time.Second
	probeAll   = time.Second
	probeGap   = 500 * time.Millisecond
)

// Store is a cache.Leaser on a Redis server or cluster.
type Store struct {
	client rueidis.Client
	prefix string
	bodies *directory // nil without one

	mu     sync.RWMutex // of closed; read-locked around calls.Add
	closed bool
	calls  sync.WaitGroup
	end    chan struct{} // closed by Close

	parts []part
	down  atomic.Int64 // how many parts are
}

// A part is so much of the keys as fails together: all that a server has, or of a cluster,
// whose nodes fail apart, the keys of 64 slots.
type part struct {
	mu       sync.Mutex
	isDown   atomic.Bool // since is not zero
	since    time.Time
	lost     bool      // the server answers nothing, or
	readOnly bool      // it refuses writes
	probe    time.Time // when the next call may try
	key      string    // that the call was about which failed
	cause    error

	unknownMu sync.Mutex
	unknown   []request // whose leases must be given back
}

const slotsOfPart = 64

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
	s := &Store{client: client, end: make(chan struct{}), parts: make([]part, 1)}
	if client.Mode() == rueidis.ClientModeCluster {
		s.parts = make([]part, 16384/slotsOfPart)
	}
	var err error
	if s.prefix, err = script.Prefix(o.Prefix); err == nil && o.Bodies != "" {
		s.bodies, err = openDirectory(o.Bodies)
	}
	if err != nil {
		return nil, fmt.Errorf("shared cache: %w", err)
	}
	return s, nil
}

// ErrEarlier is in the error of CheckLayout about an earlier layout.
var ErrEarlier = errors.New("the server has records in an earlier layout")

// CheckLayout returns an error if the server has keys of the layout before this one, which
// had several per origin: whoever still uses that layout shares neither records nor leases.
func (s *Store) CheckLayout(ctx context.Context) error {
	key := "{" + s.prefix + "}:token"                  // which did not expire
	ctx, cancel := context.WithTimeout(ctx, callLimit) // else rueidis asks a cluster that is down for ever
	defer cancel()
	err := s.client.Do(ctx, s.client.B().Get().Key(key).Build().Pin()).Error()
	switch {
	case err == nil || script.Says(err, "WRONGTYPE"):
		return fmt.Errorf("shared cache: %w (key %s): stop the workers of that release and delete the keys {%s}:*, or choose another prefix", ErrEarlier, key, s.prefix)
	case rueidis.IsRedisNil(err) || script.Says(err, "NOPERM"): // who has no right to it has never used it
		return nil
	}
	return fmt.Errorf("shared cache: %w", err)
}

// part returns the part of a key.
func (s *Store) part(key string) *part {
	if len(s.parts) == 1 {
		return &s.parts[0]
	}
	cmd := s.client.B().Get().Key(key).Build()
	return &s.parts[int(cmd.Slot()&16383)/slotsOfPart]
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
// and the zero time if it has answered the last call. Of a cluster it is the time of the
// part that has not answered for the longest time. An error of the whole server
// (LOADING, CLUSTERDOWN, MASTERDOWN) counts as no answer. A server that refuses writes
// (READONLY, NOREPLICAS, MISCONF) is down until it takes one, though reads go on.
func (s *Store) DownSince() (since time.Time) {
	if s.down.Load() == 0 {
		return since
	}
	for i := range s.parts {
		if t := s.downSince(&s.parts[i]); !t.IsZero() && (since.IsZero() || t.Before(since)) {
			since = t
		}
	}
	return since
}

// Down reports whether Redis is down for an origin: of a cluster, the part that has it.
func (s *Store) Down(origin robots.Origin) bool {
	return s.down.Load() > 0 && !s.downSince(s.part(s.key(origin))).IsZero()
}

func (s *Store) downSince(p *part) time.Time {
	if !p.isDown.Load() {
		return time.Time{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); !p.since.IsZero() && now.After(p.probe) {
		p.probe = now.Add(probeGap)
		s.ping(p, p.key) // if the cache answers from its memory, nobody else calls
	}
	return p.since
}

// ping asks in the background whether Redis is back. It releases a lease that nobody
// has: a write, which shows whether the server takes writes, and changes nothing.
func (s *Store) ping(p *part, key string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return
	}
	s.calls.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), probeLimit)
		defer cancel()
		if _, _, err := s.run(ctx, releaseScript, key, "", ""); err != nil && trouble(err) {
			s.failed(p, key, err)
			return
		}
		s.answered(p, writes)
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
func (s *Store) do(ctx context.Context, why purpose, name string, origin robots.Origin, call func(ctx context.Context, key string) error) error {
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
	key := s.key(origin)
	p := s.part(key)
	limit, err := p.limit(why)
	if err != nil {
		return err
	}
	until := time.Now().Add(limit)
	limited, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	err = call(limited, key)
	if err == nil {
		s.answered(p, why)
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
		s.failed(p, key, err)
	case trouble(err):
		s.failed(p, key, err)
	default:
		s.answered(p, why)
	}
	if errors.Is(err, cache.ErrAbsent) || errors.Is(err, cache.ErrFenced) {
		return err
	}
	return fmt.Errorf("shared cache: %s of %s: %w", name, origin, err)
}

// limit returns how long a call may take, or an error if it must not try.
func (p *part) limit(why purpose) (time.Duration, error) {
	if !p.isDown.Load() {
		return callLimit, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	switch {
	case p.since.IsZero(), why == reads && !p.lost:
		return callLimit, nil
	case now.Sub(p.since) < probeAll: // the client may be connecting again
	case now.Before(p.probe):
		return 0, downError{p.since, p.cause}
	default:
		p.probe = now.Add(probeGap)
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

// answered notes that Redis has answered a call about a part.
func (s *Store) answered(p *part, why purpose) {
	if !p.isDown.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = false
	if why == writes {
		p.readOnly = false
	}
	if !p.readOnly && !p.since.IsZero() {
		p.since, p.cause = time.Time{}, nil
		p.isDown.Store(false)
		s.down.Add(-1)
		s.giveBack(p)
	}
}

// failed notes that Redis cannot do a call about a key of a part.
func (s *Store) failed(p *part, key string, cause error) {
	if errors.Is(cause, context.DeadlineExceeded) {
		cause = errSilent // the deadline was ours, and the cause is shown to others
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.since.IsZero() {
		p.since = now
		p.isDown.Store(true)
		s.down.Add(1)
	}
	if p.lost = script.KindOf(cause) != script.ReadOnly; !p.lost {
		p.readOnly = true
	}
	p.key, p.cause, p.probe = key, cause, now.Add(probeGap)
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
