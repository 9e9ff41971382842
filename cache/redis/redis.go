package redis

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
)

// Options are the settings of a Store. The zero value is usual.
type Options struct {
	// Prefix begins all keys, in braces: "robots". It is what keeps fleets that
	// share a server apart. It has no braces, blanks or control characters.
	Prefix string
	// ClientTTL is how long a record read is answered from the client-side cache
	// at most without asking again, if the server says nothing: one minute.
	ClientTTL time.Duration
	// Memory bounds the decoded entries that are held beside the client-side
	// cache, in octets: 16 MiB. It is about what their bodies and twice their
	// records take.
	Memory int64
}

const (
	version = 1 // of the layouts in the package comment

	// callLimit is how long a call may take whatever its context says: a server
	// that hangs holds nobody for longer.
	callLimit = 3 * time.Second
	// While the server is away calls try for probeLimit. When it has been for
	// probeAll, one does every probeGap, and the others fail at once.
	probeLimit = time.Second
	probeAll   = time.Second
	probeGap   = 500 * time.Millisecond
)

// Store is a cache.Leaser on a Redis server or cluster.
type Store struct {
	client  rueidis.Client
	prefix  string // "{robots}:"
	ttl     time.Duration
	decoded local
	turns   [1 << 12]atomic.Uint32 // see turn

	mu     sync.RWMutex // of closed, held for reading while calls.Add
	closed bool
	calls  sync.WaitGroup
	end    chan struct{} // closed by Close

	away    atomic.Bool // since is not zero
	awayMu  sync.Mutex
	since   time.Time
	silent  bool      // nothing is answered, or
	refuses bool      // no write is taken, whatever else is answered
	probe   time.Time // when the next call may try
	cause   error

	unheard unheard
}

var _ cache.Leaser = (*Store)(nil)

// New returns a store that uses the caller's client, which stays the caller's to
// close, after the store. It does not ask the server anything: the error is about
// the options.
//
// The client must not send reads to replicas (rueidis.ClientOption.SendToReplicas),
// which lag behind. Without client-side caching (DisableCache) each Get is a
// round trip.
func New(client rueidis.Client, o Options) (*Store, error) {
	if o.Prefix == "" {
		o.Prefix = "robots"
	}
	if o.ClientTTL == 0 {
		o.ClientTTL = time.Minute
	}
	if o.Memory == 0 {
		o.Memory = 16 << 20
	}
	switch {
	case client == nil:
		return nil, errors.New("shared cache: there is no Redis client")
	case strings.ContainsFunc(o.Prefix, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '{' || r == '}' }):
		return nil, fmt.Errorf("shared cache: prefix %.60q: it must not hold braces, blanks or control characters", o.Prefix)
	case o.ClientTTL < time.Millisecond:
		return nil, fmt.Errorf("shared cache: client TTL of %v: it must be at least a millisecond", o.ClientTTL)
	case o.Memory < 0:
		return nil, fmt.Errorf("shared cache: memory of %d octets: it must not be negative", o.Memory)
	}
	return &Store{
		client:  client,
		prefix:  "{" + o.Prefix + "}:",
		ttl:     o.ClientTTL,
		decoded: local{limit: o.Memory},
		end:     make(chan struct{}),
	}, nil
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
	s.decoded.clear()
	return nil
}

// Away returns since when Redis has not answered, by the clock of this process,
// and the zero time if the last call was answered. While it is away most calls
// fail at once, and one now and then tries. An answer that a server gives about
// all it has (LOADING, CLUSTERDOWN, MASTERDOWN) counts as none. A server that
// takes no writes (READONLY, NOREPLICAS, MISCONF) is away until it takes one,
// though reads go on.
func (s *Store) Away() (since time.Time) {
	if !s.away.Load() {
		return time.Time{}
	}
	s.awayMu.Lock()
	defer s.awayMu.Unlock()
	if now := time.Now(); !s.since.IsZero() && now.After(s.probe) {
		s.probe = now.Add(probeGap)
		s.ping() // while all is answered from memory nobody else calls
	}
	return s.since
}

// ping asks in the background whether Redis is back, by the end of no lease: that
// is a write, which a server may refuse that answers all else, and changes nothing.
func (s *Store) ping() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return
	}
	s.calls.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), probeLimit)
		defer cancel()
		if _, _, err := s.call(ctx, releaseScript, []string{s.leasePrefix()}, []string{octets(0)}); err != nil && unable(err) {
			s.lost(err)
			return
		}
		s.answered(writes)
	})
}

// purpose is what a call wants of the server.
type purpose bool

const (
	reads  purpose = false
	writes purpose = true
)

// begin starts a call. The context is for what it asks of the server; ended, which
// must be called with what came of it, makes the error to return.
func (s *Store) begin(ctx context.Context, p purpose) (*limited, error) {
	limit := callLimit
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return nil, fmt.Errorf("shared cache: %w", cache.ErrClosed)
	}
	s.calls.Add(1)
	s.mu.RUnlock()
	if s.away.Load() {
		var err error
		if limit, err = s.tries(limit, p); err != nil {
			s.calls.Done()
			return nil, err
		}
	}
	return &limited{Context: ctx, until: time.Now().Add(limit), purpose: p}, nil
}

// tries returns how long a call may try while Redis is away, or why it may not.
func (s *Store) tries(limit time.Duration, p purpose) (time.Duration, error) {
	s.awayMu.Lock()
	defer s.awayMu.Unlock()
	now := time.Now()
	switch {
	case s.since.IsZero(), p == reads && !s.silent:
		return limit, nil
	case now.Sub(s.since) < probeAll: // a connection that broke is soon replaced
		return min(limit, probeLimit), nil
	case now.Before(s.probe):
		return 0, awayError{s.since, s.cause}
	}
	s.probe = now.Add(probeGap)
	return min(limit, probeLimit), nil
}

// ended ends a call that begin has begun. It notes whether Redis answered and puts
// the error of the answer into a sentence.
func (s *Store) ended(ctx *limited, what string, origin robots.Origin, err error) error {
	defer s.calls.Done()
	own := ctx.Context.Err()
	ctx.stop()
	if err == nil {
		if !ctx.unasked {
			s.answered(ctx.purpose)
		}
		return nil
	}
	canceled, late := errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded)
	if d, ok := ctx.Context.Deadline(); own == nil && late && ok && d.Before(ctx.until) {
		own = context.DeadlineExceeded // its timer is a little behind the connection's
	}
	switch {
	case own != nil && (canceled || late):
		return own
	case errors.Is(err, cache.ErrClosed):
		return fmt.Errorf("shared cache: %w", cache.ErrClosed)
	case errors.Is(err, rueidis.ErrClosing):
		return fmt.Errorf("shared cache: %s of %s: the Redis client has been closed", what, origin)
	case canceled: // another caller, who was connecting for this one too
	case late:
		err = errSilent
		fallthrough
	case unable(err):
		s.lost(err)
	default:
		if !ctx.unasked {
			s.answered(ctx.purpose)
		}
	}
	if errors.Is(err, cache.ErrAbsent) || errors.Is(err, cache.ErrFenced) {
		return err
	}
	return fmt.Errorf("shared cache: %s of %s: %w", what, origin, err)
}

var errSilent = errors.New("the server does not answer")

// unable reports whether an error says that Redis cannot be asked at present, and
// not that it has answered.
func unable(err error) bool {
	if e, ok := rueidis.IsRedisErr(err); ok {
		kind, _, _ := strings.Cut(e.Error(), " ")
		switch kind {
		case "LOADING", "CLUSTERDOWN", "READONLY", "MASTERDOWN", "NOREPLICAS", "MISCONF", "NOAUTH", "WRONGPASS":
			return true
		}
		return false
	}
	for _, answer := range []error{cache.ErrAbsent, cache.ErrFenced, errEntry, errLater, errExhausted, errReply} {
		if errors.Is(err, answer) {
			return false
		}
	}
	return true
}

// refusing reports whether an error is of a server that takes no writes and goes
// on to answer reads.
func refusing(err error) bool {
	e, ok := rueidis.IsRedisErr(err)
	if !ok {
		return false
	}
	kind, _, _ := strings.Cut(e.Error(), " ")
	return kind == "READONLY" || kind == "NOREPLICAS" || kind == "MISCONF"
}

// answered notes that Redis has answered a call.
func (s *Store) answered(p purpose) {
	if !s.away.Load() {
		return
	}
	s.awayMu.Lock()
	defer s.awayMu.Unlock()
	s.silent = false
	if p == writes {
		s.refuses = false
	}
	if !s.refuses && !s.since.IsZero() {
		s.since, s.cause = time.Time{}, nil
		s.away.Store(false)
		s.giveBack()
	}
}

// lost notes that Redis cannot do a call.
func (s *Store) lost(cause error) {
	if errors.Is(cause, context.DeadlineExceeded) {
		cause = errSilent // the deadline was ours: who is told later has another
	}
	s.awayMu.Lock()
	defer s.awayMu.Unlock()
	now := time.Now()
	if s.since.IsZero() {
		s.since = now
		s.away.Store(true)
	}
	if s.silent = !refusing(cause); !s.silent {
		s.refuses = true
	}
	s.cause, s.probe = cause, now.Add(probeGap)
}

// awayError is the error of a call that has not been tried.
type awayError struct {
	since time.Time
	cause error
}

func (e awayError) Error() string {
	return fmt.Sprintf("shared cache: Redis has been away since %s: %v", e.since.Format(time.TimeOnly), e.cause)
}

func (e awayError) Unwrap() error { return e.cause }

// seed spreads origins over turns.
var seed = maphash.MakeSeed()

// turn returns the counter of an origin, which it shares with a few others. What
// the client-side cache holds was read under the counter of its time and is found
// under that only, so whoever raises it sees to it that every Get that begins
// later asks the server. An invalidation alone would come too late: it is on its
// way when another connection, a lease or a message already shows that there is
// something new.
func (s *Store) turn(origin robots.Origin) *atomic.Uint32 {
	return &s.turns[maphash.String(seed, origin.Host())%uint64(len(s.turns))]
}

// limited is a context that ends with its parent or at a time. A call that finds
// what it wants in memory does not pay for a timer.
type limited struct {
	context.Context
	until   time.Time
	purpose purpose
	// unasked is set if the answer says nothing about the server.
	unasked bool

	mu     sync.Mutex
	timed  context.Context
	cancel context.CancelFunc
}

func (l *limited) Deadline() (time.Time, bool) {
	if d, ok := l.Context.Deadline(); ok && d.Before(l.until) {
		return d, true
	}
	return l.until, true
}

func (l *limited) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timed == nil {
		l.timed, l.cancel = context.WithDeadline(l.Context, l.until)
	}
	return l.timed.Done()
}

func (l *limited) Err() error {
	if err := l.Context.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	timed := l.timed
	l.mu.Unlock()
	if timed != nil {
		return timed.Err()
	}
	if !time.Now().Before(l.until) {
		return context.DeadlineExceeded
	}
	return nil
}

// stop lets go of the timer.
func (l *limited) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel != nil {
		l.cancel()
	}
}
