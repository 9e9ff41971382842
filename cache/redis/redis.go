package redis

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/internal/packed"
	"github.com/robotskit/robots/internal/script"
)

// Options configure a Store. All processes of a fleet must use the same. The zero value is
// usual.
type Options struct {
	// Prefix begins all keys: "robots" if empty. Fleets that share a server need different
	// prefixes, of at most 64 bytes without braces, spaces and control characters.
	Prefix string
}

const (
	// callLimit is the timeout of a call, whatever its context.
	callLimit = 3 * time.Second
	// A server that has not answered is down after probeLimit. When it has been down for
	// probeAll, one call tries every probeGap, and the others fail at once.
	probeLimit = time.Second
	probeAll   = time.Second
	probeGap   = 500 * time.Millisecond
)

// Store is a cache.Locker on a Redis server or cluster.
type Store struct {
	client rueidis.Client
	prefix string

	mu     sync.RWMutex // guards closed; read-locked around calls.Add
	closed bool
	calls  sync.WaitGroup

	parts []part
	down  atomic.Int64 // number of parts that are down
}

// A part is a set of keys that fail together: all keys of a server, or the keys of 64 slots of
// a cluster.
type part struct {
	mu     sync.Mutex
	isDown atomic.Bool // since is not zero
	since  time.Time
	probe  time.Time // when the next call can try
	key    string    // of the call that failed
	cause  error
}

const slotsOfPart = 64

var _ cache.Locker = (*Store)(nil)

// New returns a store on the caller's client, which is closed by the caller after the store.
// It sends nothing to the server: the error is about the options.
//
// The client must not send reads to replicas (rueidis.ClientOption.SendToReplicas), which lag
// behind. It needs no client-side caching (DisableCache), as cache.Cache has its own memory.
func New(client rueidis.Client, o Options) (*Store, error) {
	if client == nil {
		return nil, errors.New("shared cache: the Redis client is nil: make one with rueidis.NewClient")
	}
	s := &Store{client: client, parts: make([]part, 1)}
	if client.Mode() == rueidis.ClientModeCluster {
		s.parts = make([]part, 16384/slotsOfPart)
	}
	var err error
	if s.prefix, err = script.Prefix(o.Prefix); err != nil {
		return nil, fmt.Errorf("shared cache: %w", err)
	}
	return s, nil
}

// key returns the key of an origin, which is its own hash tag.
func (s *Store) key(origin robots.Origin) string { return s.prefix + ":{" + origin.String() + "}" }

// part returns the part of a key.
func (s *Store) part(key string) *part {
	if len(s.parts) == 1 {
		return &s.parts[0]
	}
	cmd := s.client.B().Get().Key(key).Build()
	return &s.parts[int(cmd.Slot()&16383)/slotsOfPart]
}

// Close waits for calls in progress. The client stays open.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.calls.Wait()
	return nil
}

// DownSince returns the time since which Redis has been unreachable, by the clock of this
// process, or the zero time if it answered the last call. In a cluster it is the earliest time
// of all parts.
// An error of the whole server (LOADING, CLUSTERDOWN, MASTERDOWN) counts as no answer.
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

// Down reports whether Redis, or the part of a cluster with the origin, is down.
func (s *Store) Down(origin robots.Origin) bool {
	return s.down.Load() > 0 && !s.downSince(s.part(s.key(origin))).IsZero()
}

// downSince also probes Redis in the background, as no other call is made if the cache answers
// from its memory.
func (s *Store) downSince(p *part) time.Time {
	if !p.isDown.Load() {
		return time.Time{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); !p.since.IsZero() && now.After(p.probe) {
		p.probe = now.Add(probeGap)
		if key := p.key; s.enter() == nil {
			go func() {
				defer s.calls.Done()
				ctx, cancel := context.WithTimeout(context.Background(), probeLimit)
				defer cancel()
				_, err := s.bytes(ctx, key)
				s.note(p, key, err)
			}()
		}
	}
	return p.since
}

// enter counts a call, which ends with calls.Done.
func (s *Store) enter() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return fmt.Errorf("shared cache: %w", cache.ErrClosed)
	}
	s.calls.Add(1)
	return nil
}

// do calls the server with a timeout, notes whether Redis answered, and adds the name of the
// call to an error.
func (s *Store) do(ctx context.Context, name string, origin robots.Origin, call func(ctx context.Context, key string) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.calls.Done()
	key := s.key(origin)
	p := s.part(key)
	limit, err := p.limit()
	if err != nil {
		return err
	}
	until := time.Now().Add(limit)
	limited, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	err = call(limited, key)
	if err == nil || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		s.note(p, key, err)
	} else if d, ok := ctx.Deadline(); ctx.Err() != nil || ok && d.Before(until) { // its timer might not have fired yet
		if err := ctx.Err(); err != nil {
			return err
		}
		return err
	} else if errors.Is(err, context.DeadlineExceeded) { // of another caller, whose connection this call waited for
		err = errSilent
		s.note(p, key, err)
	}
	if err == nil || errors.Is(err, cache.ErrAbsent) || errors.Is(err, cache.ErrFenced) || errors.Is(err, cache.ErrLocked) {
		return err
	}
	return fmt.Errorf("shared cache: %s of %s: %w", name, origin, err)
}

// limit returns the timeout of a call, or an error if it must not try.
func (p *part) limit() (time.Duration, error) {
	if !p.isDown.Load() {
		return callLimit, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	switch {
	case p.since.IsZero():
		return callLimit, nil
	case now.Sub(p.since) < probeAll: // the client may be connecting again
	case now.Before(p.probe):
		return 0, fmt.Errorf("shared cache: Redis has been down since %s: %w", p.since.Format(time.TimeOnly), p.cause)
	default:
		p.probe = now.Add(probeGap)
	}
	return probeLimit, nil
}

var errSilent = errors.New("the server does not answer")

// note notes whether Redis has answered a call about a key of a part. A refused write
// (READONLY) is an answer.
func (s *Store) note(p *part, key string, err error) {
	down := false
	if err != nil && !isAnswer(err) {
		kind := script.KindOf(err)
		down = kind == script.Lost || kind == script.Down
	}
	if !down && !p.isDown.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if down == p.since.IsZero() { // changed
		p.isDown.Store(down)
		p.since = (time.Time{})
		if down {
			p.since = now
			s.down.Add(1)
		} else {
			s.down.Add(-1)
		}
	}
	p.key = key
	p.cause = err
	p.probe = now.Add(probeGap)
	if errors.Is(err, context.DeadlineExceeded) {
		p.cause = errSilent // our own deadline
	}
}

// isAnswer reports whether an error that the server has not sent is about its answer.
func isAnswer(err error) bool {
	for _, answer := range []error{cache.ErrAbsent, cache.ErrFenced, cache.ErrLocked, errDamaged, errLater, errExhausted, script.ErrReply} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return false
}

var (
	//go:embed common.lua
	commonLua string
	//go:embed put.lua
	putLua string
	//go:embed delete.lua
	deleteLua string
	//go:embed lock.lua
	lockLua string
	//go:embed left.lua
	leftLua string
	//go:embed unlock.lua
	unlockLua string
)

// The flags in the first lines let a server without free memory run scripts that need none.
// Other scripts are not repeated: they might have taken effect, and another process might have
// written since.
var (
	putScript    = &script.Script{Text: func() string { return "#!lua\n" + commonLua + putLua }}
	deleteScript = &script.Script{Text: func() string { return "#!lua flags=allow-oom\n" + commonLua + deleteLua }}
	lockScript   = &script.Script{Text: func() string { return "#!lua\n" + commonLua + lockLua }}
	leftScript   = &script.Script{Text: func() string { return "#!lua flags=no-writes\n" + commonLua + leftLua }, Retry: true}
	unlockScript = &script.Script{Text: func() string { return "#!lua flags=allow-oom\n" + commonLua + unlockLua }, Retry: true}
)

// Codes in the replies of scripts, as in common.lua.
const (
	done = iota
	refused
	later
	exhausted
)

// First bytes of a value, and sizes of the following fields.
const (
	atRest, locked = 2, 3

	lockSize  = 8 + 8
	fenceSize = 8
)

var (
	errDamaged   = errors.New("it is damaged")
	errLater     = fmt.Errorf("a later release has written it, this one reads versions up to %d", locked)
	errExhausted = errors.New("the highest possible token has been used: begin again with another prefix")
)

// run runs a script on the key of an origin. It returns the reply after its code, and the
// error no if the script refused.
func (s *Store) run(ctx context.Context, sc *script.Script, no error, key string, args ...string) ([]rueidis.RedisMessage, error) {
	reply, err := sc.Run(ctx, s.client, []string{key}, args).ToArray()
	if err != nil {
		return nil, err
	}
	code := int64(-1)
	if len(reply) > 0 {
		code, err = reply[0].AsInt64()
	}
	switch {
	case err != nil || code < done || code > exhausted || code == refused && no == nil:
		return nil, script.ErrReply
	case code == refused:
		return nil, no
	case code == later:
		return nil, errLater
	case code == exhausted:
		return nil, errExhausted
	}
	return reply[1:], nil
}

// bytes returns the value of a key.
func (s *Store) bytes(ctx context.Context, key string) ([]byte, error) {
	raw, err := s.client.Do(ctx, s.client.B().Get().Key(key).Build().Pin()).AsBytes()
	switch {
	case rueidis.IsRedisNil(err):
		return nil, cache.ErrAbsent
	case script.Says(err, "WRONGTYPE"):
		return nil, errDamaged
	}
	return raw, err
}

// Get returns the entry of an origin.
func (s *Store) Get(ctx context.Context, origin robots.Origin) (e cache.Entry, err error) {
	err = s.do(ctx, "entry", origin, func(ctx context.Context, key string) error {
		raw, err := s.bytes(ctx, key)
		if err != nil {
			return err
		}
		switch {
		case len(raw) > 0 && raw[0] > locked && raw[0] < ' ':
			return errLater
		case len(raw) > 0 && raw[0] == atRest:
			raw = raw[1:]
		case len(raw) > lockSize && raw[0] == locked:
			raw = raw[1+lockSize:]
			if len(raw) == 0 {
				return cache.ErrAbsent
			}
		default:
			return errDamaged
		}
		if len(raw) < fenceSize {
			return errDamaged
		}
		e.Fence = binary.BigEndian.Uint64(raw)
		if e.Record, err = packed.Unpack(origin, e.Fence, raw[fenceSize:]); err != nil {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
		return nil
	})
	return e, err
}

// Put stores an entry for keep, at least for two days.
func (s *Store) Put(ctx context.Context, e cache.Entry, keep time.Duration) error {
	if e.Record == nil || e.Record.Origin.IsZero() {
		return errors.New("shared cache: the entry has no record, or the record no origin")
	}
	data := packed.Pack(e.Fence, e.Record)
	return s.do(ctx, "put", e.Record.Origin, func(ctx context.Context, key string) error {
		_, err := s.run(ctx, putScript, cache.ErrFenced, key, encoded(e.Fence), rueidis.BinaryString(data), millis(keep))
		return err
	})
}

// Delete deletes the entry of an origin.
func (s *Store) Delete(ctx context.Context, origin robots.Origin) error {
	return s.do(ctx, "delete", origin, func(ctx context.Context, key string) error {
		_, err := s.run(ctx, deleteScript, nil, key)
		return err
	})
}

// longestLock is KEEP in common.lua. A cache requests 26.4 hours at most.
const longestLock = 48 * time.Hour

// Lock takes the lock on an origin for ttl, which is from a millisecond to two days.
func (s *Store) Lock(ctx context.Context, origin robots.Origin, ttl time.Duration) (token uint64, err error) {
	err = s.do(ctx, "lock", origin, func(ctx context.Context, key string) error {
		rest, err := s.run(ctx, lockScript, cache.ErrLocked, key, millis(min(ttl, longestLock)))
		if err != nil {
			return err
		}
		if len(rest) > 0 {
			if text, err := rest[0].ToString(); err == nil && len(text) == 8 {
				token = binary.BigEndian.Uint64([]byte(text))
				return nil
			}
		}
		return script.ErrReply
	})
	return token, err
}

// Unlock releases a lock.
func (s *Store) Unlock(ctx context.Context, origin robots.Origin, token uint64) error {
	return s.do(ctx, "unlock", origin, func(ctx context.Context, key string) error {
		_, err := s.run(ctx, unlockScript, nil, key, encoded(token))
		return err
	})
}

// LockLeft returns how long the lock on an origin still lasts, 0 if there is none, for
// operators.
func (s *Store) LockLeft(ctx context.Context, origin robots.Origin) (time.Duration, error) {
	var ms int64
	err := s.do(ctx, "lock", origin, func(ctx context.Context, key string) (err error) {
		ms, err = leftScript.Run(ctx, s.client, []string{key}, nil).AsInt64()
		return err
	})
	return time.Duration(ms) * time.Millisecond, err
}

// encoded returns a number in eight bytes, as scripts expect.
func encoded(n uint64) string {
	return string(binary.BigEndian.AppendUint64(nil, n))
}

// millis returns a duration in milliseconds for Redis, rounded up and at least 1.
func millis(d time.Duration) string {
	return strconv.FormatInt(max(1, d.Milliseconds()+min(1, int64(d%time.Millisecond))), 10)
}
