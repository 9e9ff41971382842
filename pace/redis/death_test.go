package redis_test

import (
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

const (
	deathAddr = "192.0.2.1"
	deathGap  = 50 * time.Millisecond
)

// TestDeathBetween: a worker that is killed between its grant and its booking costs the
// address nothing, and one between its booking and its Done one gap. The others go on at its
// site once its heartbeats are missed, and keep the spacing of site and address.
func TestDeathBetween(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]byte{"granted": stops, "booked": hangs} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, prefix := redistest.Start(t, redistest.Options{}), fresh()
			s := fleet(t, 3, orders{Redis: server.Addr, Prefix: prefix, Interval: hotInterval, Heartbeat: shortHeartbeat, Addr: deathAddr, Gap: deathGap})
			l := newLimiter(t, server.Client(), redis.Options{Prefix: prefix, Options: pace.Options{AddressInterval: deathGap}})
			told := time.Now()
			s.workers[0].tell(t, how)
			if how == stops {
				stopped(t, s.workers[0].pid)
			} else {
				until(t, "the first start", func() bool { return len(s.seen()) == 1 })
			}
			s.workers[0].signal(t, syscall.SIGKILL)
			slot, err := l.Book(t.Context(), netip.MustParseAddr(deathAddr), time.Time{}, time.Minute)
			asked := time.Now()
			if err != nil || !slot.Booked {
				t.Fatalf("the address: %+v, %v", slot, err)
			}
			before := s.seen()
			if how == stops && (slot.Delayed || len(before) != 0) {
				t.Errorf("a worker that was killed before it booked delays the address: %+v, starts %v", slot, before)
			}
			if how == hangs && slot.Start.After(later(asked, before[0].Add(deathGap)).Add(logSlack)) {
				t.Errorf("the next start at the address is %s after the one that was booked, want %s", slot.Start.Sub(before[0]), deathGap)
			}
			for _, v := range s.workers[1:] {
				v.tell(t, works)
			}
			until(t, "starts of the others", func() bool { return len(s.seen()) > len(before)+5 })
			starts := s.end()
			if d := starts[len(before)].Sub(told); d < shortTimeout+hotInterval-logSlack {
				t.Errorf("the others start %s after the order to the worker that was killed, want %s without a heartbeat and an interval", d, shortTimeout)
			}
			if d := closest(starts); d < hotInterval-logSlack {
				t.Errorf("two starts at the site are %s apart, want %s", d, hotInterval)
			}
			booked := slices.SortedFunc(slices.Values(append(starts, slot.Start)), time.Time.Compare)
			if d := closest(booked); d < deathGap-logSlack {
				t.Errorf("two starts at the address are %s apart, want %s", d, deathGap)
			}
		})
	}
}

// TestDeaths: workers at one address, each at a site of its own, are killed one after
// another at any step. Each death costs the address one gap at most, and none is made
// shorter.
func TestDeaths(t *testing.T) {
	t.Parallel()
	workers, between := campaign.Size(4, 8, 32), campaign.Size(4, 4, 16)
	server := redistest.Start(t, redistest.Options{})
	s := fleet(t, workers, orders{Redis: server.Addr, Prefix: fresh(), Interval: time.Millisecond, Addr: deathAddr, Gap: deathGap, Own: true})
	s.begin(t)
	more := func() {
		before := len(s.seen())
		until(t, "starts", func() bool { return len(s.seen()) >= before+between })
	}
	more()
	deaths := workers / 2
	for _, v := range s.workers[:deaths] {
		v.signal(t, syscall.SIGKILL)
		more()
	}
	// What was booked until now is told by the next start of each that lives.
	starts := s.seen()
	for _, v := range s.workers[deaths:] {
		before := s.of(v)
		until(t, "a start of each", func() bool { return s.of(v) > before })
	}
	last := starts[len(starts)-1]
	starts = slices.DeleteFunc(s.end(), func(at time.Time) bool { return at.After(last) })
	lost := 0
	for i := 1; i < len(starts); i++ {
		// A start that nobody's was booked before is as late as its worker asked.
		if behind := starts[i].UnixNano()&1 == 0; behind {
			lost += int((starts[i].Sub(starts[i-1])+deathGap/2)/deathGap) - 1
		}
	}
	if d := closest(starts); d < deathGap-logSlack {
		t.Errorf("two starts are %s apart, want %s", d, deathGap)
	}
	if lost > deaths {
		t.Errorf("%d gaps are lost to %d deaths", lost, deaths)
	}
	t.Logf("%d processes, %d of them killed: %d starts, the closest %s apart, %d gaps lost", workers, deaths, len(starts), closest(starts), lost)
}
