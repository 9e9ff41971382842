package redis

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
)

// TestLook holds what a look makes of a state against what the script makes of it, with
// grants of workers, lent ones, an operator's hold and damage.
func TestLook(t *testing.T) {
	campaign.OneGoroutine(t)
	cases := campaign.Size(200, 1000, 20_000)
	server := redistest.Start(t, redistest.Options{})
	o := pace.Options{Concurrency: 2, GrantTimeout: 5 * time.Minute, Forget: time.Hour}
	l, err := New(server.Client(), Options{Options: o, Prefix: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := rand.New(rand.NewPCG(7, 1))
	key := tagHead("test", 0) + "origin:x"
	known := 0
	for n := range cases {
		s, text := randomSchedule(t, r)
		now := microsAt(l.tags[0].clock.estimate())
		state, _ := randomState(r, o, s, now)
		for range max(r.IntN(4)-1, 0) {
			id := newLentID(1 + r.IntN(1200))
			ago := float64(r.Int64N(int64(30 * time.Minute / time.Microsecond)))
			if seconds := float64(id >> 40 & 0xffff); ago-seconds*1e6 > -2e6 && ago-seconds*1e6 < 2e6 {
				continue // it ends while this runs
			}
			state = appendDoubles(binary.BigEndian.AppendUint64(state, id), now-ago, 0)
		}
		if len(state) > 0 && r.IntN(4) == 0 { // an operator holds it, or did
			until := now + (r.Float64()*2-1)*1e9
			if d := until - now; d < -2e6 || d > 2e6 {
				state = appendDoubles(append(state, heldRow...), until, 0)
			}
		}
		if r.IntN(10) == 0 {
			state = state[:r.IntN(len(state))]
		}
		server.Do("SET", key, string(state))
		q := &decision{schedule: s, now: l.tags[0].clock.estimate()}
		a, asked := q.askKey(t, l, key, 0)
		site, ok := l.siteOf(string(state), asked, list{})
		got := site.State
		if len(state) == 0 {
			continue // which is damage on the server, and no reply of a GET
		}
		if damaged := len(state) < 44 || len(state)%24 != 20; ok == damaged {
			t.Fatalf("case %d: a look at %d bytes is known: %t", n, len(state), ok)
		}
		if !ok {
			continue
		}
		known++
		if held := !site.Held.IsZero() && site.Held.Equal(got.NotBefore); got != a.state || held != a.held {
			t.Fatalf("case %d: a look says %+v, the script %+v\n%s", n, got, a.state, text)
		}
	}
	t.Logf("%d cases, %d known by a look", cases, known)
}
