package pace_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/pacetest"
)

func local(t testing.TB, o pace.Options) *pace.Local {
	t.Helper()
	l, err := pace.NewLocal(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func origin(host string) robots.Origin {
	o, _, err := robots.ParseURL("http://" + host + "/")
	if err != nil {
		panic(err)
	}
	return o
}

// TestContract runs the exported suite on the simulated clock, where a test also
// fails if it leaves a goroutine behind, and on the real one.
func TestContract(t *testing.T) {
	create := func(t *testing.T, o pace.Options) pace.Limiter { return local(t, o) }
	t.Run("simulated", func(t *testing.T) {
		pacetest.Run(t, pacetest.Subject{New: create, Unit: 7 * time.Second, Within: synctest.Test, Callers: 3000})
	})
	t.Run("real", func(t *testing.T) {
		if testing.Short() {
			t.Skip("takes 10 s")
		}
		pacetest.Run(t, pacetest.Subject{New: create, Unit: 50 * time.Millisecond})
	})
}

// TestResume: the limiter of the next process knows the grants that are lent, and that
// every site may have been asked until the last one ended.
func TestResume(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	o := pace.Options{Now: func() time.Time { return now }}
	first, s, ctx := local(t, o), schedule(t, "User-agent: *\nCrawl-delay: 10\n", robots.RFC9309, pace.Policy{}), t.Context()
	addr := netip.MustParseAddr("192.0.2.1")
	lend := func(l *pace.Local, host string, within time.Duration) pace.Grant {
		t.Helper()
		g, err := l.Lend(ctx, pace.Key{Origin: origin(host), Addr: addr}, s, within, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	out, lost := lend(first, "out.example", time.Second), lend(first, "lost.example", time.Second)
	if back := lend(first, "back.example", 2*time.Second); first.Done(ctx, back, pace.Result{Status: 200}) != nil {
		t.Fatal("not given back")
	}
	own, err := first.Reserve(ctx, pace.Key{Origin: origin("own.example")}, s, 0) // of the process, and ends with it
	if err != nil || !own.OK() {
		t.Fatal(own, err)
	}
	now = now.Add(5 * time.Second)
	loans := first.Loans()
	if len(loans) != 2 {
		t.Fatalf("%+v", loans)
	}

	ended := now
	now = now.Add(3 * time.Second)
	second := local(t, o)
	second.Resume(ended, loans, nil)
	for _, host := range []string{"back.example", "own.example", "new.example"} {
		if g := lend(second, host, 0); g.OK() || !g.Start.Equal(ended.Add(10*time.Second)) {
			t.Errorf("%s: %+v, want a start at %s", host, g.Turn, ended.Add(10*time.Second))
		}
	}
	now = now.Add(20 * time.Second) // nothing is left of the end
	if g := lend(second, "new.example", 0); !g.OK() {
		t.Errorf("after an interval: %+v", g.Turn)
	}
	if g := lend(second, "out.example", time.Hour); g.OK() || !second.Valid(out) {
		t.Errorf("beside one that is out: %+v", g.Turn)
	}
	for range 2 {
		if err := second.Done(ctx, out, pace.Result{Status: 200}); err != nil {
			t.Error(err)
		}
	}
	if g := lend(second, "out.example", 0); g.OK() || !g.Start.Equal(now.Add(10*time.Second)) {
		t.Errorf("after it was given back: %+v", g.Turn)
	}
	now = now.Add(40 * time.Second)
	if g := lend(second, "lost.example", 0); g.OK() || !g.Start.Equal(lost.Until.Add(20*time.Second)) {
		t.Errorf("after one timed out: %+v", g.Turn)
	}

	// The clock was set back, and nobody knows when the process ended.
	now = now.Add(-time.Hour)
	third := local(t, o)
	third.Resume(time.Time{}, loans, nil)
	if g := lend(third, "new.example", 0); g.OK() || !g.Start.Equal(now.Add(10*time.Second)) {
		t.Errorf("%+v", g.Turn)
	}
	now = now.Add(2 * time.Minute)
	if g := lend(third, "out.example", time.Minute); !g.OK() {
		t.Errorf("after the longest time: %+v", g.Turn)
	}
}

// TestRests: the limiter of the next process knows which sites said that they are to be
// left alone, for how long, and by what their intervals are stretched.
func TestRests(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	o := pace.Options{Now: func() time.Time { return now }}
	first, s, ctx := local(t, o), schedule(t, "User-agent: *\nCrawl-delay: 10\n", robots.RFC9309, pace.Policy{}), t.Context()
	ask := func(l *pace.Local, host string, r pace.Result) {
		t.Helper()
		g, err := l.Lend(ctx, pace.Key{Origin: origin(host)}, s, time.Hour, time.Minute)
		if err != nil || !g.OK() {
			t.Fatal(g, err)
		}
		now = g.Start
		if err := l.Done(ctx, g, r); err != nil {
			t.Fatal(err)
		}
	}
	at := func(l *pace.Local, host string) time.Time {
		t.Helper()
		turn, err := l.NotBefore(ctx, pace.Key{Origin: origin(host)}, s)
		if err != nil {
			t.Fatal(err)
		}
		return turn.Start
	}
	ask(first, "later.example", pace.Result{Status: 503, RetryAfter: time.Hour})
	ask(first, "slower.example", pace.Result{Status: 503})
	ask(first, "slower.example", pace.Result{Status: 503})
	ask(first, "usual.example", pace.Result{Status: 200})
	ask(first, "better.example", pace.Result{Status: 503})
	for range 8 {
		ask(first, "better.example", pace.Result{Status: 200})
	}
	later := at(first, "later.example")
	rests := first.Rests()
	if len(rests) != 2 {
		t.Fatalf("%+v", rests)
	}
	ended := now
	now = now.Add(time.Minute)
	second := local(t, o)
	second.Resume(ended, nil, rests)
	for host, want := range map[string]time.Time{"later.example": later, "slower.example": ended.Add(40 * time.Second), "usual.example": ended.Add(10 * time.Second)} {
		if got := at(second, host); !got.Equal(want) && want.After(now) || got.Before(want) {
			t.Errorf("%s: not before %s, want %s", host, got, want)
		}
	}
	if again := second.Rests(); len(again) != 2 {
		t.Errorf("for the process after: %+v", again)
	}
	now = ended.Add(35 * time.Second)
	third := local(t, o)
	third.Resume(ended, nil, rests)
	if got, want := at(third, "slower.example"), ended.Add(40*time.Second); !got.Equal(want) {
		t.Errorf("a back-off: not before %s, want %s", got, want)
	}

	// The clock was set back by years: nobody waits longer than a site can ask for.
	now = now.AddDate(-5, 0, 0)
	fourth := local(t, o)
	fourth.Resume(ended, nil, rests)
	if got := at(fourth, "later.example"); got.After(now.Add(24 * time.Hour)) {
		t.Errorf("after the clock was set back: not before %s", got)
	}
	// What comes of a file that is damaged is no back-off.
	fifth := local(t, o)
	fifth.Resume(now, nil, map[robots.Origin]pace.History{origin("odd.example"): {Overload: now, BackOff: pace.BackOff{Factor: 60_000}}})
	if got, want := at(fifth, "odd.example"), now.Add(10*time.Second); !got.Equal(want) {
		t.Errorf("an impossible back-off: not before %s, want %s", got, want)
	}
}

// TestVisitClosed: a site that has closed when its address would be free is not visited, and
// the caller is told when it opens.
func TestVisitClosed(t *testing.T) {
	now := time.Date(2026, 11, 22, 8, 59, 50, 0, time.UTC)
	l := local(t, pace.Options{AddressInterval: 30 * time.Second, Now: func() time.Time { return now }})
	s, addr := schedule(t, "User-agent: *\nVisit-time: 0600-0900\n", robots.RFC9309, pace.Policy{}), netip.MustParseAddr("192.0.2.1")
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(10*time.Second, cancel).Stop() // one that waits for its address fails, and does not hang
	for i, opens := range []time.Time{{}, time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)} {
		g, err := l.Reserve(t.Context(), pace.Key{Origin: origin(fmt.Sprintf("closes%d.example", i))}, s, 0)
		if err != nil || !g.OK() {
			t.Fatal(g, err)
		}
		_, err = l.Visit(ctx, g, addr, s)
		missed, is := errors.AsType[*pace.MissedError](err)
		if is == opens.IsZero() || is && (!missed.Turn.Start.Equal(opens) || missed.Turn.Reasons[0].Cause != pace.CauseVisitTime) {
			t.Errorf("visit %d: %v, want one that is missed until %s", i, err, opens)
		}
	}
}

// TestOthersGrant: what came of a grant of another limiter counts, whatever its id.
func TestOthersGrant(t *testing.T) {
	for _, id := range []uint64{7, 1 << 62, 1<<62 | 1<<61, 1<<63 | 1<<61, 1<<64 - 1} {
		l, key := local(t, pace.Options{}), pace.Key{Origin: origin("a.example")}
		if err := l.Done(t.Context(), pace.Grant{ID: id, Key: key}, pace.Result{Status: 503, RetryAfter: time.Hour}); err != nil {
			t.Fatal(err)
		}
		if turn, err := l.NotBefore(t.Context(), key, nil); err != nil || time.Until(turn.Start) < time.Minute {
			t.Errorf("after a Retry-After of the grant %x: %s, %v", id, turn, err)
		}
	}
}

// TestFair: callers of one site are served in the order of their arrival.
func TestFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := local(t, pace.Options{})
		key := pace.Key{Origin: origin("a.example")}
		var order []int
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				g, err := l.Wait(t.Context(), key, nil)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				l.Done(t.Context(), g, pace.Result{Status: 200})
			})
			synctest.Wait()
		}
		all.Wait()
		for i, n := range order {
			if i != n {
				t.Fatalf("served in the order %v", order)
			}
		}
	})
}

// TestBackOff: doubling to 2^10, an eighth of the height off for every usual
// answer, forgotten after a day.
func TestBackOff(t *testing.T) {
	now := at("2026-03-01T12:00:00Z")
	l := local(t, pace.Options{Now: func() time.Time { return now }})
	key := pace.Key{Origin: origin("a.example")}
	ask := func(r pace.Result) time.Duration {
		turn, err := l.NotBefore(t.Context(), key, nil)
		if err != nil {
			t.Fatal(err)
		}
		now = turn.Start
		g, err := l.Reserve(t.Context(), key, nil, 0)
		if err != nil || !g.OK() {
			t.Fatalf("%v: %v", err, g)
		}
		l.Done(t.Context(), g, r)
		turn, _ = l.NotBefore(t.Context(), key, nil)
		return turn.Start.Sub(now)
	}
	for i := range 12 {
		want := 4 * time.Second << min(i+1, 10)
		if got := ask(pace.Result{Status: 503}); got != want {
			t.Errorf("after %d failures %s, want %s", i+1, got, want)
		}
	}
	for i := range 8 {
		want := max(4*time.Second*time.Duration(1024-128*(i+1)), 4*time.Second)
		if got := ask(pace.Result{Status: 404}); got != want {
			t.Errorf("after %d answers %s, want %s", i+1, got, want)
		}
	}
	if got := ask(pace.Result{Status: 500}); got != 4*time.Second {
		t.Errorf("after a 500 %s, want no change", got)
	}
	ask(pace.Result{Timeout: true})
	now = now.Add(25 * time.Hour)
	if got := ask(pace.Result{}); got != 4*time.Second {
		t.Errorf("after a day %s, want nothing left", got)
	}
}

// TestFull: a limiter that may hold no more refuses a further site, forgets none
// that matters, and takes it when one does not.
func TestFull(t *testing.T) {
	now := at("2026-03-01T12:00:00Z")
	l := local(t, pace.Options{MaxBytes: 128 * 100, Now: func() time.Time { return now }})
	slow := schedule(t, "User-agent: *\nRequest-rate: 1/1h\n", robots.RFC9309, pace.Policy{})
	granted := 0
	var last pace.Grant
	for i := range 200 {
		g, err := l.Reserve(t.Context(), pace.Key{Origin: origin(fmt.Sprintf("s%d.example", i))}, slow, 0)
		if err != nil {
			t.Fatal(err)
		}
		if last = g; g.OK() {
			granted++
			l.Done(t.Context(), g, pace.Result{Status: 200})
		}
	}
	if granted < 90 || granted > 100 || last.Reasons[0].Cause != pace.CauseFull {
		t.Errorf("%d sites, then %v", granted, last.Turn)
	}
	for i := range granted {
		if g, _ := l.Reserve(t.Context(), pace.Key{Origin: origin(fmt.Sprintf("s%d.example", i))}, slow, 0); g.OK() {
			t.Fatalf("site %d was forgotten", i)
		}
	}
	now = last.Start
	if g, _ := l.Reserve(t.Context(), last.Key, slow, 0); !g.OK() {
		t.Errorf("at %s still %v", now, g.Turn)
	}
}

// TestOptions: what is impossible is refused in one sentence.
func TestOptions(t *testing.T) {
	ten, wide := netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::ffff:10.1.0.0/104")
	for want, o := range map[string]pace.Options{
		"pace.Options.Concurrency is -1: it must be 1 or more, or 0 for the default":                                                             {Concurrency: -1},
		"pace.Options.MaxBytes is -1: it must be 1 or more, or 0 for the default":                                                                {MaxBytes: -1},
		"pace.Options.GrantTimeout is -1ns: it must be positive, or 0 for the default":                                                           {GrantTimeout: -1},
		"pace.Options.MaxRetryAfter is -1ns: it must be positive, or 0 for the default":                                                          {MaxRetryAfter: -1},
		"pace.Options.Forget is -1ns: it must be positive, or 0 for the default":                                                                 {Forget: -1},
		"the pace of 10.0.0.0/8 is given twice":                                                                                                  {Addresses: []pace.AddressPace{{ten, 1}, {wide, -1}}},
		"pace.Options.Addresses[0].Prefix is empty: it must be a prefix such as 104.16.0.0/13":                                                   {Addresses: []pace.AddressPace{{Interval: 1}}},
		"pace.Options.Addresses[0].Interval is 0: it must be the time between two requests to an address of 10.0.0.0/8, or negative for no pace": {Addresses: []pace.AddressPace{{Prefix: ten}}},
	} {
		if _, err := pace.NewLocal(o); err == nil || err.Error() != want {
			t.Errorf("%+v\ngot:  %v\nwant: %s", o, err, want)
		}
	}
}

// TestCause: the error of Wait wraps the cause of the context's end.
func TestCause(t *testing.T) {
	l := local(t, pace.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := l.Wait(ctx, pace.Key{Origin: origin("a.example")}, nil); !errors.Is(err, why) {
		t.Errorf("Wait says %v, want the cause", err)
	}
}

// BenchmarkIdle is what a million idle sites cost: the bytes of the heap for
// each, held against the estimate behind Options.MaxBytes.
func BenchmarkIdle(b *testing.B) {
	const sites = 1_000_000
	now := at("2026-03-01T12:00:00Z")
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		before := heap()
		l := local(b, pace.Options{Now: func() time.Time { return now }})
		for i := range sites {
			now = now.Add(time.Microsecond)
			g, err := l.Reserve(b.Context(), pace.Key{Origin: origin(fmt.Sprintf("site-%d.example", i))}, nil, 0)
			if err != nil || !g.OK() {
				b.Fatal(err, g)
			}
			l.Done(b.Context(), g, pace.Result{Status: 200})
		}
		bytes := float64(heap()-before) / sites
		b.ReportMetric(bytes, "B/origin")
		if bytes > 128 {
			b.Errorf("%.0f bytes per origin, stated are 128", bytes)
		}
		runtime.KeepAlive(l)
	}
}

// TestForeignGrants: what a site answered to a grant of another limiter counts, whatever its
// id: that of pace/redis tells its own Local of every end.
func TestForeignGrants(t *testing.T) {
	origin, _, err := robots.ParseURL("http://foreign.example/")
	if err != nil {
		t.Fatal(err)
	}
	key := pace.Key{Origin: origin}
	for _, id := range []uint64{1 << 20, 1 << 62, 1<<62 | 1<<61 | 5, 1<<63 | 1<<61, 1<<63 | 7} {
		l, err := pace.NewLocal(pace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Done(t.Context(), pace.Grant{ID: id, Key: key}, pace.Result{Status: 503, RetryAfter: time.Hour}); err != nil {
			t.Fatal(err)
		}
		if turn, err := l.NotBefore(t.Context(), key, nil); err != nil || time.Until(turn.Start) < 30*time.Minute {
			t.Errorf("the Retry-After for grant %x is forgotten: %v, %v", id, turn, err)
		}
	}
}
