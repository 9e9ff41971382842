package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/robotskit/robots/internal/script"
)

// An epoch is a time in which the memory of a tag is taken to be whole. Its name is in the
// text of its scripts.
type epoch struct {
	name  string // 16 hexadecimal digits
	step  *script.Script
	site  *script.Script
	begin *script.Script
}

func newEpoch(name string) *epoch {
	return &epoch{name: name, step: of(stepLean, name), site: of(siteLean, name), begin: of(beginText, name)}
}

// epochValue is the value of the epoch's key.
type epochValue struct {
	name   string
	before string // the epoch that it followed
	since  micros // what was written before is not trusted; 0 for ever
}

// parseEpoch returns the zero value for anything that is none.
func parseEpoch(s string) epochValue {
	if len(s) <= 32 {
		return epochValue{}
	}
	since, err := strconv.ParseFloat(s[32:], 64)
	if err != nil {
		return epochValue{}
	}
	return epochValue{name: s[:16], before: s[16:32], since: since}
}

// joinAttempts bounds how often a client looks again because others changed the
// epoch meanwhile. Each of them changes it once.
const joinAttempts = 8

// join brings the client and the tag to one epoch. old is the one the caller worked with, nil
// for none: if the client has another by now, there is nothing to do. With doubt, or where
// the memory cannot be the one that old was part of, a new epoch begins, and all that the
// tag knows counts as asked now. Many clients that doubt the same epoch begin one.
func (t *tag) join(ctx context.Context, old *epoch, doubt bool) error {
	// The limit holds from here, so that callers who come together and find the
	// server hanging do not wait for each other's limits.
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	t.joining.Lock()
	defer t.joining.Unlock()
	if t.epoch.Load() != old {
		return nil
	}
	var known string
	if old != nil {
		known = old.name
	}
	current, _, err := t.epochCall(ctx, (*script.Script).Run, epochLook)
	if err != nil {
		return err
	}
	for range joinAttempts {
		e := parseEpoch(current)
		switch {
		case e.name == "":
		case known == "" && !doubt, known != "" && e.name == known && !doubt,
			known != "" && e.name != known && (e.before == known || e.since > t.clock.confirmedAt(old)):
			t.adopt(newEpoch(e.name), known != "" && e.name != known)
			return nil
		}
		follows, first := e.name, "0"
		if follows == "" {
			follows = known
		}
		if passed(t.l.began) < forgetful {
			first = "1" // else somebody may have lost the tag, of which this worker knows nothing
		}
		next := newEpoch(fmt.Sprintf("%016x", rand.Uint64()))
		// Run by its text and not by its name, so that from now on this server
		// knows it.
		sent := clock()
		var now micros
		if current, now, err = t.epochCall(ctx, (*script.Script).ByText, next.begin, follows, first); err != nil {
			return err
		}
		if parseEpoch(current).name == next.name {
			t.adopt(next, known != "" || follows != "")
			t.clock.observe(nil, now, sent, clock())
			return nil
		}
	}
	return errors.New("the epoch of the server's memory changes all the time: do two servers answer at one address?")
}

// epochCall runs a script about the epoch, which returns its value and the time.
func (t *tag) epochCall(ctx context.Context, run runner, s *script.Script, args ...string) (value string, now micros, err error) {
	reply, err := t.l.call(ctx, run, s, []string{t.epochKey}, args)
	if err != nil {
		return "", 0, err
	}
	value, ok := readDoubles(reply, &now)
	if !ok {
		err = script.ErrReply
	}
	return value, now, err
}

// adopt goes on in an epoch, which may follow one whose memory is lost.
func (t *tag) adopt(e *epoch, lost bool) {
	if lost {
		t.l.tellRenewed()
		t.ended.Store(t.l.grants.Load()) // what has not started yet asks again: its grant may be lost, or have timed out
	}
	t.epoch.Store(e)
	t.clock.forget()
	t.l.pending.sendAgain(t)
	notify(t.l.wake)
}

// knows reports whether an epoch began on this server, which was not restarted since: it
// knows the script that began it.
func (t *tag) knows(ctx context.Context, e *epoch) (bool, error) {
	_, err := t.l.call(ctx, (*script.Script).ByName, e.begin, []string{t.epochKey}, nil)
	if script.Says(err, "NOSCRIPT") {
		return false, nil
	}
	return err == nil, err
}
