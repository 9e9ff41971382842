package redis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/internal/script"
)

// errEntry is in errors about the entry of one origin.
var errEntry = errors.New("it is damaged")

// entryError says what is wrong with the entry of one origin.
type entryError struct{ error }

func (e entryError) Is(target error) bool { return target == errEntry }
func (e entryError) Unwrap() error        { return e.error }

// key returns the key of an origin, which alone is its tag in a cluster.
func (s *Store) key(origin robots.Origin) string { return s.prefix + ":{" + origin.String() + "}" }

// bodyKey returns the key of the large bodies of an origin.
func bodyKey(key string) string { return key + ":body" }

// Get returns the entry of an origin, with its bodies as of one moment.
func (s *Store) Get(ctx context.Context, origin robots.Origin) (e cache.Entry, err error) {
	err = s.do(ctx, reads, "entry", origin, func(ctx context.Context, key string) error {
		var before []byte
		for {
			raw, err := s.bytes(ctx, key)
			if err != nil {
				return err
			}
			var apart bool
			if e, apart, err = s.decode(ctx, key, origin, raw); err == nil || !apart || bytes.Equal(raw, before) {
				return err
			}
			before = raw // another may have put an entry between the two reads
		}
	})
	return e, err
}

// decode reads a value, and reports whether that took a second read.
func (s *Store) decode(ctx context.Context, key string, origin robots.Origin, raw []byte) (e cache.Entry, apart bool, err error) {
	v, err := parse(raw)
	if err != nil {
		return e, false, err
	}
	var large []byte
	if v.place == inKey {
		switch raw, err := s.bytes(ctx, bodyKey(key)); {
		case errors.Is(err, cache.ErrAbsent), errors.Is(err, errEntry):
		case err != nil:
			return e, false, err
		default:
			if large, err = inflate(raw); err != nil {
				large = nil
			}
		}
	}
	e, err = v.entry(origin, func(b body) ([]byte, error) {
		switch v.place {
		case inKey:
			if b.size > len(large) {
				return nil, errMissing
			}
			content := bytes.Clone(large[:b.size])
			large = large[b.size:]
			return content, nil
		case inDirectory:
			return s.bodies.read(b.hash)
		}
		return nil, errMissing
	})
	return e, v.place == inKey, err
}

// bytes returns the value of a key.
func (s *Store) bytes(ctx context.Context, key string) ([]byte, error) {
	raw, err := s.client.Do(ctx, s.client.B().Get().Key(key).Build().Pin()).AsBytes()
	switch {
	case rueidis.IsRedisNil(err):
		return nil, cache.ErrAbsent
	case script.Says(err, "WRONGTYPE"):
		return nil, errEntry
	}
	return raw, err
}

// Put keeps an entry for keep, at least a millisecond.
func (s *Store) Put(ctx context.Context, e cache.Entry, keep time.Duration) error {
	if e.Record == nil || e.Record.Origin.IsZero() {
		return errors.New("shared cache: the entry has no record, or the record no origin")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	where := inKey
	if s.bodies != nil {
		where = inDirectory
	}
	rest, apart := encode(e, where)
	var large []byte
	if where == inDirectory {
		for _, b := range apart {
			if err := s.bodies.keep(b.hash, b.content, max(keep, longestLease)); err != nil {
				return fmt.Errorf("shared cache: put of %s: %w", e.Record.Origin, err)
			}
		}
	} else if len(apart) > 0 {
		pieces, size := make([][]byte, len(apart)), 0
		for i, b := range apart {
			pieces[i], size = b.content, size+len(b.content)
		}
		if size > maxInflated {
			return fmt.Errorf("shared cache: put of %s: its bodies have %d bytes, at most %d can be kept without Options.Bodies", e.Record.Origin, size, maxInflated)
		}
		large = deflate(pieces...)
	}
	return s.do(ctx, writes, "put", e.Record.Origin, func(ctx context.Context, key string) error {
		code, _, err := s.run(ctx, putScript, key, encoded(e.Fence), rueidis.BinaryString(rest), millis(keep), bodyKey(key), rueidis.BinaryString(large))
		if err == nil && code == refused {
			err = cache.ErrFenced
		}
		return err
	})
}

// Delete forgets an origin.
func (s *Store) Delete(ctx context.Context, origin robots.Origin) error {
	return s.do(ctx, writes, "delete", origin, func(ctx context.Context, key string) error {
		_, _, err := s.run(ctx, deleteScript, key, bodyKey(key))
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
