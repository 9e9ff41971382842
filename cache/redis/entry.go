package redis

import (
	"context"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/script"
)

// Sizes of the layouts, as in common.lua.
const (
	recordHead    = 1 + 8 + 8 + 1
	referenceSize = len(fetch.Hash{}) + 8
)

// sentAlong is the size up to which a body is sent with the first attempt of a put. A
// larger one is sent if the server answers that it does not have it.
const sentAlong = 16 << 10

// errEntry is in errors about the entry of one origin.
var errEntry = errors.New("it is damaged")

func (s *Store) recordKey(origin robots.Origin) string {
	return s.head + "record:" + origin.String()
}

func (s *Store) bodyKeys() string { return s.head + "body:" }

// Get returns the entry of an origin, with its bodies as of one moment.
func (s *Store) Get(ctx context.Context, origin robots.Origin) (e cache.Entry, err error) {
	err = s.do(ctx, reads, "entry", origin, func(ctx context.Context) (err error) {
		e, err = s.get(ctx, origin)
		return err
	})
	return e, err
}

func (s *Store) get(ctx context.Context, origin robots.Origin) (cache.Entry, error) {
	reply, err := readScript.Run(ctx, s.client, []string{s.recordKey(origin)}, []string{s.bodyKeys()}).AsStrSlice()
	switch {
	case err != nil:
		return cache.Entry{}, err
	case len(reply)%2 != 1:
		return cache.Entry{}, script.ErrReply
	case reply[0] == "":
		return cache.Entry{}, cache.ErrAbsent
	}
	bodies := map[string]string{}
	for i := 1; i < len(reply); i += 2 {
		bodies[reply[i]] = reply[i+1]
	}
	return decode(origin, reply[0], bodies)
}

// decode reads a stored record, given its bodies by their hashes.
func decode(origin robots.Origin, raw string, bodies map[string]string) (cache.Entry, error) {
	if raw[0] > version && raw[0] < 32 {
		return cache.Entry{}, errLater
	}
	if raw[0] != version || len(raw) < recordHead {
		return cache.Entry{}, errEntry
	}
	references := int(raw[recordHead-1]) * referenceSize
	if len(raw) < recordHead+references {
		return cache.Entry{}, errEntry
	}
	r, err := fetch.Decode([]byte(raw[recordHead+references:]), func(h fetch.Hash) ([]byte, error) {
		b := bodies[string(h[:])]
		if b == "" {
			return nil, errors.New("it is missing")
		}
		return []byte(b), nil
	})
	if err == nil && r.Origin != origin {
		err = fmt.Errorf("record is damaged: it is of %s", r.Origin)
	}
	if err != nil {
		return cache.Entry{}, entryError{err}
	}
	number := func(at int) uint64 { return binary.BigEndian.Uint64([]byte(raw[at : at+8])) }
	return cache.Entry{Record: r, Fence: number(1), Epoch: number(9)}, nil
}

// entryError says what is wrong with the entry of one origin.
type entryError struct{ error }

func (e entryError) Is(target error) bool { return target == errEntry }
func (e entryError) Unwrap() error        { return e.error }

// Put keeps an entry for keep, at least a millisecond.
func (s *Store) Put(ctx context.Context, e cache.Entry, keep time.Duration) error {
	if e.Record == nil || e.Record.Origin.IsZero() {
		return errors.New("shared cache: the entry has no record, or the record no origin")
	}
	return s.do(ctx, writes, "put", e.Record.Origin, func(ctx context.Context) error { return s.put(ctx, e, keep) })
}

func (s *Store) put(ctx context.Context, e cache.Entry, keep time.Duration) error {
	keys := []string{s.recordKey(e.Record.Origin)}
	args := []string{s.bodyKeys(), encoded(e.Fence), encoded(e.Epoch), millis(keep), rueidis.BinaryString(e.Record.Encode())}
	var bodies [][]byte
	for h, b := range e.Record.Bodies() {
		content, sum := rueidis.BinaryString(b), ""
		if len(b) > sentAlong {
			hash := sha1.Sum(b)
			content, sum = "", hex.EncodeToString(hash[:])
		}
		keys = append(keys, s.bodyKeys()+hex.EncodeToString(h[:]))
		args = append(args, string(h[:]), content, sum)
		bodies = append(bodies, b)
	}
	// The second attempt sends what is missing, and the third all, in case a body
	// vanished in between.
	for attempt := range 3 {
		code, rest, err := s.run(ctx, putScript, keys, args)
		switch {
		case err != nil:
			return err
		case code == refused:
			return cache.ErrFenced
		case code == done:
			return nil
		}
		args = slices.Clone(args) // the client may still be sending the others
		for i, b := range bodies {
			for _, m := range rest {
				if n, err := m.AsInt64(); err == nil && int(n) == i || attempt > 0 {
					args[5+3*i+1] = rueidis.BinaryString(b)
				}
			}
		}
	}
	return script.ErrReply
}

// Delete forgets an origin.
func (s *Store) Delete(ctx context.Context, origin robots.Origin) error {
	return s.do(ctx, writes, "delete", origin, func(ctx context.Context) error {
		_, _, err := s.run(ctx, deleteScript, []string{s.recordKey(origin)}, []string{s.bodyKeys()})
		return err
	})
}

// millis returns a duration as Redis takes lifetimes, rounded up and at least 1.
func millis(d time.Duration) string {
	ms := d.Milliseconds()
	if d > time.Duration(ms)*time.Millisecond {
		ms++
	}
	return strconv.FormatInt(max(1, ms), 10)
}
