package redistest

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestServer does to a server what the package promises.
func TestServer(t *testing.T) {
	s := Start(t, Options{AppendOnly: true})
	s.Do("SET", "a", "1")
	r := s.Replica(Options{})
	if got := r.Do("GET", "a"); got != "1" {
		t.Errorf("the replica has %q", got)
	}
	time.Sleep(1100 * time.Millisecond) // the append-only file is written every second
	s.Restart()
	if got := s.Do("GET", "a"); got != "1" {
		t.Errorf("after a restart it has %q", got)
	}
	s.Replace()
	if got := s.Do("EXISTS", "a"); got != "0" {
		t.Error("the empty server is not")
	}
	r.Promote()
	p := NewProxy(t, s.Addr)
	o := s.Option()
	o.InitAddress[0] = p.Addr
	p.Switch(r.Addr)
	s.Kill()
	if got := r.Do("GET", "a"); got != "1" {
		t.Errorf("the promoted replica has %q", got)
	}
	c := Start(t, Options{Cluster: true})
	if got := c.Do("SET", "{b}a", "1"); got != "OK" {
		t.Errorf("the cluster says %q", got)
	}
}

func TestClock(t *testing.T) {
	s := Start(t, Options{Clock: true})
	for _, ahead := range []time.Duration{time.Hour, -time.Hour, -1500 * time.Millisecond, 0} {
		s.SetClock(ahead)
		seconds, _, _ := strings.Cut(strings.Trim(s.Do("EVAL", "return redis.call('TIME')[1]", "0"), "[]"), " ")
		n, err := strconv.ParseInt(strings.TrimSpace(seconds), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if off := time.Until(time.Unix(n, 0)) - ahead; off.Abs() > 2*time.Second {
			t.Errorf("moved by %v, off by %v", ahead, off)
		}
	}
}
