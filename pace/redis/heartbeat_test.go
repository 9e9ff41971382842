package redis_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace/redis"
)

// In these tests a worker sends a heartbeat every shortHeartbeat and is gone after three.
const (
	shortHeartbeat = 500 * time.Millisecond
	shortTimeout   = 3 * shortHeartbeat
)

// stopped waits until a process is stopped.
func stopped(t *testing.T, pid int) {
	t.Helper()
	until(t, "a process that stops", func() bool {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err == nil && strings.Contains(string(text), ") T ")
	})
}

// TestKilledWorker: the grant of a worker that is killed ends after the time without a
// heartbeat, and not after GrantTimeout.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	s := fleet(t, 3, orders{Redis: server.Addr, Prefix: fresh(), Interval: hotInterval, Heartbeat: shortHeartbeat})
	told := time.Now() // its grant starts later, and is logged later still where the machine is busy
	s.workers[0].tell(t, hangs)
	until(t, "the first start", func() bool { return len(s.seen()) == 1 })
	s.workers[0].signal(t, syscall.SIGKILL)
	killed := time.Now()
	for _, v := range s.workers[1:] {
		v.tell(t, works)
	}
	until(t, "starts of the others", func() bool { return len(s.seen()) > 10 })
	starts := s.end()
	if d := starts[1].Sub(told); d < shortTimeout+hotInterval-logSlack {
		t.Errorf("the next start is %s after the order to the worker that was killed, want %s without a heartbeat and an interval", d, shortTimeout)
	}
	if d := closest(starts); d < hotInterval-logSlack {
		t.Errorf("two starts are %s apart, want %s", d, hotInterval)
	}
	t.Logf("the next start is %s after the kill, %d starts in all", starts[1].Sub(killed).Round(time.Millisecond), len(starts))
}

// TestStoppedWorker: a worker that is stopped with a grant, until that has ended, asks
// again before it sends, whether it was stopped while it waited for the server, for its
// start, or after Wait has returned.
func TestStoppedWorker(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(t *testing.T, server *redistest.Server, s *site){
		"returned": func(t *testing.T, _ *redistest.Server, s *site) {
			s.workers[0].tell(t, stops)
			stopped(t, s.workers[0].pid)
		},
		"asking": func(t *testing.T, server *redistest.Server, s *site) {
			server.Freeze() // so that the answer comes when the worker is stopped
			s.workers[0].tell(t, works)
			time.Sleep(100 * time.Millisecond) // it asks; if it has not, the test is an easier one
			s.workers[0].signal(t, syscall.SIGSTOP)
			server.Thaw()
		},
		"anywhere": func(t *testing.T, _ *redistest.Server, s *site) {
			s.workers[0].tell(t, works)
			until(t, "starts", func() bool { return len(s.seen()) > 10 })
			s.workers[0].signal(t, syscall.SIGSTOP)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Options{})
			s := fleet(t, 3, orders{Redis: server.Addr, Prefix: fresh(), Interval: hotInterval, Heartbeat: shortHeartbeat, WhenDown: redis.Stop})
			stop(t, server, s)
			for _, v := range s.workers[1:] {
				v.tell(t, works)
			}
			before := len(s.seen())
			until(t, "starts of the others", func() bool { return len(s.seen()) > before+10 })
			time.Sleep(shortTimeout) // its grant has ended by now, if it had one
			s.workers[0].signal(t, syscall.SIGCONT)
			after := len(s.seen())
			until(t, "starts of all", func() bool { return len(s.seen()) > after+20 })
			starts := s.end()
			if d := closest(starts); d < hotInterval-logSlack {
				t.Errorf("two starts are %s apart, want %s", d, hotInterval)
			}
			t.Logf("%d starts, the closest %s apart, the longest %s", len(starts), closest(starts), longest(starts))
		})
	}
}
