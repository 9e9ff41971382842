package redis

import (
	"context"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
)

// Sizes of the layouts, as in common.lua.
const (
	recordHead    = 1 + 8 + 8 + 1
	referenceSize = len(fetch.Hash{}) + 8
)

// sentAlong is the size up to which a body goes with the first attempt of a put.
// Larger ones go when the server says that it does not have them.
const sentAlong = 16 << 10

// endOfAll is beyond the end of the largest string of Redis.
const endOfAll = 1 << 30

// errEntry is in errors about what is kept for one origin.
var errEntry = errors.New("it is damaged")

func (s *Store) recordKey(origin robots.Origin) string {
	return s.prefix + "record:" + origin.String()
}

func (s *Store) bodyKeys() string { return s.prefix + "body:" }

// Get returns the entry of an origin. It may come from the client-side cache, and
// then misses what another process has put since, for as long as the server's
// notice of that takes to come. It never misses what this store has put or
// deleted, nor what was there when a Lease or an Await of this store returned.
func (s *Store) Get(ctx context.Context, origin robots.Origin) (cache.Entry, error) {
	l, err := s.begin(ctx, reads)
	if err != nil {
		return cache.Entry{}, err
	}
	e, err := s.get(l, origin)
	return e, s.ended(l, "entry", origin, err)
}

func (s *Store) get(ctx *limited, origin robots.Origin) (cache.Entry, error) {
	held, turn := s.decoded.find(origin), s.turn(origin).Load()
	var q question
	if held != nil && held.turn == turn {
		q = held.question
	} else {
		q = s.question(origin, turn)
	}
	reply := s.client.DoCache(ctx, q.cached, s.ttl)
	if err := reply.Error(); err != nil && ctx.Err() == nil && othersFailure(err) {
		reply = s.client.Do(ctx, s.client.B().Get().Key(q.key).Build().Pin())
	}
	raw, err := reply.ToString()
	if err != nil && !rueidis.IsRedisNil(err) {
		return cache.Entry{}, err
	}
	ctx.unasked = reply.IsCacheHit()
	if raw == "" {
		return cache.Entry{}, cache.ErrAbsent
	}
	if held != nil && held.raw == raw {
		if held.turn != turn {
			again := *held
			again.question = q
			s.decoded.keep(origin, &again)
		}
		return held.entry, nil
	}
	d, err := decode(origin, raw, func(h fetch.Hash) ([]byte, error) {
		if b := s.decoded.body(h); b != nil {
			return b, nil
		}
		return nil, errElsewhere
	})
	if errors.Is(err, errElsewhere) {
		d, err = s.read(ctx, origin, q.key)
		ctx.unasked = false
	}
	if err != nil {
		return cache.Entry{}, err
	}
	d.question = q
	s.decoded.keep(origin, d)
	return d.entry, nil
}

// A question asks for the record of an origin in a turn of its counter.
type question struct {
	key    string
	turn   uint32
	cached rueidis.Cacheable // to be used any number of times
}

// question makes one. GETRANGE to an end that differs with the turn is GET under
// another name. With a static TTL it goes without MULTI, which a server out of
// memory refuses; that the cached copy may outlive the record does no harm.
func (s *Store) question(origin robots.Origin, turn uint32) question {
	key := s.recordKey(origin)
	ask := s.client.B().Getrange().Key(key).Start(0).End(endOfAll + int64(turn))
	return question{key, turn, ask.Cache().ToStaticTTL().Pin()}
}

// othersFailure reports whether an error may be that of the caller who asked the
// same first, and for all who joined.
func othersFailure(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, rueidis.ErrDoCacheAborted)
}

// errElsewhere stands for a body that is still to be fetched.
var errElsewhere = errors.New("body not here")

// read returns an entry with its bodies as of one moment: between two questions
// another Put may come.
func (s *Store) read(ctx context.Context, origin robots.Origin, key string) (*decoded, error) {
	reply, err := readScript.run(ctx, s.client, []string{key}, []string{s.bodyKeys()}).AsStrSlice()
	if err != nil {
		return nil, err
	}
	if len(reply)%2 != 1 {
		return nil, errReply
	}
	if reply[0] == "" {
		return nil, cache.ErrAbsent
	}
	return decode(origin, reply[0], func(h fetch.Hash) ([]byte, error) {
		for i := 1; i < len(reply); i += 2 {
			if reply[i] == string(h[:]) && reply[i+1] != "" {
				if b := s.decoded.body(h); b != nil {
					return b, nil
				}
				return []byte(reply[i+1]), nil
			}
		}
		return nil, errors.New("it is missing")
	})
}

// decode takes a stored record apart.
func decode(origin robots.Origin, raw string, octets func(fetch.Hash) ([]byte, error)) (*decoded, error) {
	if raw[0] > version && raw[0] < 32 {
		return nil, errLater
	}
	if raw[0] != version || len(raw) < recordHead {
		return nil, errEntry
	}
	references := int(raw[recordHead-1]) * referenceSize
	if len(raw) < recordHead+references {
		return nil, errEntry
	}
	var bodies []body
	r, err := fetch.Decode([]byte(raw[recordHead+references:]), func(h fetch.Hash) ([]byte, error) {
		b, err := octets(h)
		bodies = append(bodies, body{h, b})
		return b, err
	})
	if err == nil && r.Origin != origin {
		err = fmt.Errorf("record is damaged: it is of %s", r.Origin)
	}
	if errors.Is(err, errElsewhere) {
		return nil, err
	}
	if err != nil {
		return nil, entryError{err}
	}
	number := func(at int) uint64 { return binary.BigEndian.Uint64([]byte(raw[at : at+8])) }
	return &decoded{raw: raw, entry: cache.Entry{Record: r, Fence: number(1), Epoch: number(9)}, bodies: bodies}, nil
}

// entryError says what is wrong with the entry of one origin.
type entryError struct{ error }

func (e entryError) Is(target error) bool { return target == errEntry }
func (e entryError) Unwrap() error        { return e.error }

// Put keeps an entry for the time given, a millisecond at least.
func (s *Store) Put(ctx context.Context, e cache.Entry, keep time.Duration) error {
	if e.Record == nil || e.Record.Origin.IsZero() {
		return errors.New("shared cache: put of an entry without a record and its origin")
	}
	origin := e.Record.Origin
	l, err := s.begin(ctx, writes)
	if err != nil {
		return err
	}
	err = s.put(l, e, keep)
	s.turn(origin).Add(1)
	return s.ended(l, "put", origin, err)
}

func (s *Store) put(ctx context.Context, e cache.Entry, keep time.Duration) error {
	var fence, epoch [8]byte
	binary.BigEndian.PutUint64(fence[:], e.Fence)
	binary.BigEndian.PutUint64(epoch[:], e.Epoch)
	keys := []string{s.recordKey(e.Record.Origin)}
	args := []string{s.bodyKeys(), string(fence[:]), string(epoch[:]), millis(keep), rueidis.BinaryString(e.Record.Encode())}
	var bodies [][]byte
	for h, b := range e.Record.Bodies() {
		octets, sum := rueidis.BinaryString(b), ""
		if len(b) > sentAlong {
			hash := sha1.Sum(b)
			octets, sum = "", hex.EncodeToString(hash[:])
		}
		keys = append(keys, s.bodyKeys()+hex.EncodeToString(h[:]))
		args = append(args, string(h[:]), octets, sum)
		bodies = append(bodies, b)
	}
	// The second time nothing can be missing but what vanished since, and the
	// third sends all.
	for attempt := range 3 {
		code, rest, err := s.call(ctx, putScript, keys, args)
		switch {
		case err != nil:
			return err
		case code == refused:
			return cache.ErrFenced
		case code == done:
			return nil
		}
		args = append([]string(nil), args...) // the client may still be sending the others
		for i, b := range bodies {
			for _, m := range rest {
				if n, err := m.AsInt64(); err == nil && int(n) == i || attempt > 0 {
					args[5+3*i+1] = rueidis.BinaryString(b)
				}
			}
		}
	}
	return errReply
}

// Delete forgets an origin.
func (s *Store) Delete(ctx context.Context, origin robots.Origin) error {
	l, err := s.begin(ctx, writes)
	if err != nil {
		return err
	}
	_, _, err = s.call(l, deleteScript, []string{s.recordKey(origin)}, []string{s.bodyKeys()})
	s.turn(origin).Add(1)
	return s.ended(l, "delete", origin, err)
}

// millis returns a duration as Redis takes lifetimes, rounded up and never nothing.
func millis(d time.Duration) string {
	ms := d.Milliseconds()
	if d > time.Duration(ms)*time.Millisecond {
		ms++
	}
	return strconv.FormatInt(max(1, ms), 10)
}
