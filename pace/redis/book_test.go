package redis

import (
	"context"
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/pace"
)

// impatient is a context in which nothing is waited for.
type impatient struct{ context.Context }

func (impatient) Done() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// BookAgrees holds the line of an address in the script against that of a pace.Local. The
// Local has a clock of its own, which is set to that of the server by each answer: so
// what both say is the same to the microsecond in which they are asked.
func BookAgrees(t *testing.T, c rueidis.Client, cases int) {
	r := rand.New(rand.NewPCG(3, 18))
	for n := 0; n < cases; {
		now := time.Now()
		o := pace.Options{
			AddressInterval: time.Duration(1+r.IntN(20)) * time.Hour, FetchInterval: time.Duration(1+r.IntN(8)) * time.Hour,
			GrantTimeout: 1000 * time.Hour, Now: func() time.Time { return now },
		}
		local, err := pace.NewLocal(o)
		if err != nil {
			t.Fatal(err)
		}
		o.Now = nil
		l, err := New(c, Options{Options: o, Prefix: "agrees" + string(rune('a'+n%26)) + time.Now().Format("150405.000000")})
		if err != nil {
			t.Fatal(err)
		}
		addr := netip.MustParseAddr("192.0.2.1")
		for range 25 {
			n++
			b := l.booking(addr)
			b.fetch = r.IntN(2) == 0
			if b.within = time.Duration(r.IntN(100)) * time.Hour; b.fetch {
				b.within = math.MaxInt64
			} else if r.IntN(3) == 0 {
				b.notBefore = time.Now().Add(time.Duration(r.IntN(60)) * time.Hour)
			}
			got, err := l.tagOf(addr.String()).ask(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			now = time.Now()
			if b.fetch { // what it took shows in the next pages
				if err := local.Start(impatient{t.Context()}, addr); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, _ := local.Book(t.Context(), addr, b.notBefore, b.within)
			// Intervals of hours leave seconds for the time between the two.
			if d := got.Start.Sub(want.Start).Abs(); d > time.Minute || got.Booked != want.Booked {
				t.Fatalf("case %d, pages every %v, fetches %v: %+v at the server, %+v here", n, o.AddressInterval, o.FetchInterval, got, want)
			}
		}
		l.Close()
	}
}
