package redis

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
)

// randomSchedule returns a schedule of any kind, with intervals between a
// microsecond and days.
func randomSchedule(t *testing.T, r *rand.Rand) (*pace.Schedule, string) {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	hhmm := func() string { return fmt.Sprintf("%02d%02d", r.IntN(24), r.IntN(60)) }
	for range r.IntN(4) {
		fmt.Fprintf(&b, "Request-rate: %d/%ds", 1+r.IntN(20), []int{1, 7, 60, 3600, 86400}[r.IntN(5)])
		if r.IntN(4) > 0 {
			b.WriteString(" " + hhmm() + "-" + hhmm())
		}
		b.WriteString("\n")
	}
	for range max(r.IntN(5)-2, 0) {
		b.WriteString("Visit-time: " + hhmm() + "-" + hhmm() + "\n")
	}
	if r.IntN(3) == 0 {
		fmt.Fprintf(&b, "Crawl-delay: %d\n", r.IntN(200))
	}
	zones := []string{"UTC", "Europe/Prague", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"}
	p := pace.Policy{Default: time.Duration(1 + r.Int64N(int64(10*time.Second))), Zone: zones[r.IntN(len(zones))]}
	s, err := pace.NewSchedule(robots.Parse([]byte(b.String())).Rules(robots.RFC9309, "x"), p)
	if err != nil {
		t.Fatal(err)
	}
	return s, b.String() + fmt.Sprintf("default %s, zone %s", p.Default, p.Zone)
}

// randomState returns the state of an origin as bytes, and what the script should make of
// it. Nothing in it ends within two seconds of now.
func randomState(r *rand.Rand, o pace.Options, s *pace.Schedule, now micros) (state []byte, want pace.State) {
	ago := func(most time.Duration) micros { return now - float64(r.Int64N(most.Microseconds())) }
	most := min(2*s.Slowest()+time.Second, 26*time.Hour)
	var last, retry, over micros
	var factor, step int
	if r.IntN(5) > 0 {
		last = ago(most)
	}
	if r.IntN(4) == 0 {
		retry = now + float64(r.Int64N(int64(20*time.Hour/time.Microsecond))) - 1e9
		want.NotBefore = timeAt(retry)
	}
	if r.IntN(3) == 0 {
		over, factor, step = ago(2*time.Hour), 2+r.IntN(1023), 1+r.IntN(9)
		if now-over < microsOf(o.Forget)-2e6 {
			want.BackOff = pace.BackOff{Factor: uint16(factor), Step: uint16(step)}
		} else if now-over < microsOf(o.Forget)+2e6 {
			over, factor, step = 0, 0, 0
		}
	}
	state = appendDoubles(nil, last, retry, over, 0, now-1e6)
	state = binary.LittleEndian.AppendUint16(state, uint16(factor))
	state = binary.LittleEndian.AppendUint16(state, uint16(step))
	taken := 0
	for i := range r.IntN(4) {
		start := ago(10 * time.Minute)
		if end := start + microsOf(o.GrantTimeout); end > now+2e6 {
			taken++
		} else if end > now-2e6 {
			continue // too near to say
		} else {
			last = max(last, end)
		}
		state = appendDoubles(binary.BigEndian.AppendUint64(state, uint64(i)), start, 0)
	}
	want.Busy = taken >= o.Concurrency
	want.Last = timeAt(last)
	return state, want
}

// floored returns a state in which nothing may start before so long from now.
func floored(s pace.State, now micros, floor time.Duration) pace.State {
	if at := timeAt(now + microsUp(floor)); floor > 0 && at.After(s.NotBefore) {
		s.NotBefore = at
	}
	return s
}

// askKey makes a decision on the server about the state in a key of the first tag.
func (d *decision) askKey(t *testing.T, l *Limiter, key string, id uint64) (answer, micros) {
	t.Helper()
	d.id = id
	tag := &l.tags[0]
	e := tag.epoch.Load()
	r, usable, err := tag.step(t.Context(), e, e.step, []string{key}, d.appendTo(slices.Clone(l.head), "", 0))
	a, ok := parseAnswers(r.answers, 1)
	if err != nil || !ok || !usable {
		t.Fatalf("the script answers %q, usable %t, %v", r.answers, usable, err)
	}
	return a[0], r.now
}

// newDay sets the server's clock to some day and returns a limiter on the empty server.
func newDay(t *testing.T, server *redistest.Server, r *rand.Rand, o pace.Options) *Limiter {
	day := []string{"2026-03-29", "2026-10-25", "2026-03-08", "2026-11-01", "2026-04-05", "2026-06-15", "2026-12-31"}[r.IntN(7)]
	at, _ := time.Parse(time.DateOnly, day)
	server.SetClock(time.Until(at.Add(rand.N(26*time.Hour) - time.Hour)))
	server.Do("FLUSHALL")
	l, err := New(server.Client(), Options{Options: o, Prefix: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestScriptIsNextIn holds the search of the script against Schedule.NextIn, on
// random schedules and states, and on days on which clocks change.
func TestScriptIsNextIn(t *testing.T) {
	campaign.OneGoroutine(t)
	cases := campaign.Size(150, 1500, 20_000)
	server := redistest.Start(t, redistest.Options{Clock: true})
	o := pace.Options{Concurrency: 2, GrantTimeout: 5 * time.Minute, Forget: time.Hour}
	r := rand.New(rand.NewPCG(2, 6))
	var l *Limiter
	key := tagHead("test", 0) + "origin:x"
	inside, granted, busy := 0, 0, 0
	for n := range cases {
		if n%50 == 0 {
			if l != nil {
				l.Close() // else it may see the empty server before the next one does
			}
			l = newDay(t, server, r, o)
		}
		s, text := randomSchedule(t, r)
		now := microsAt(l.tags[0].clock.estimate())
		state, want := randomState(r, o, s, now)
		server.Do("SET", key, string(state))
		q := &decision{schedule: s, now: l.tags[0].clock.estimate(), within: time.Duration(r.Int64N(int64(30 * time.Hour)))}
		if r.IntN(4) == 0 {
			q.earliest = time.Duration(r.Int64N(int64(time.Hour)))
		}
		a, asked := q.askKey(t, l, key, 0)
		if a.state != want {
			t.Fatalf("case %d: the state is read as %+v, want %+v", n, a.state, want)
		}
		next := s.NextIn(timeAt(asked), floored(want, asked, q.earliest))
		horizon := q.now.Add(q.within + spanAfter - time.Second)
		if next.Before(horizon) {
			inside++
			// An interval of nanoseconds ends within the next microsecond, and a
			// factor makes no more of that.
			if d := timeAt(a.start).Sub(next); d < 0 || d > 3*time.Microsecond {
				t.Fatalf("case %d: the script says %s, NextIn %s (%s apart)\n%s\n%+v", n, timeAt(a.start), next, d, text, want)
			}
		} else if a.start > microsAt(next)+1 {
			t.Fatalf("case %d: the script says %s, NextIn %s, which is not before", n, timeAt(a.start), next)
		}
		b, at := q.askKey(t, l, key, 7)
		start := s.NextIn(timeAt(at), floored(want, at, q.earliest))
		wait := start.Sub(timeAt(at))
		if near := (wait - q.within).Abs() < 10*time.Microsecond; !near && (b.code == codeGranted) != (!want.Busy && wait <= q.within) {
			t.Fatalf("case %d: the answer is %c, the start in %s and asked within %s, busy %t\n%s", n, b.code, wait, q.within, want.Busy, text)
		}
		if b.code == codeGranted {
			granted++
		}
		if want.Busy {
			busy++
		}
	}
	l.Close()
	t.Logf("%d cases: %d with a start within the spans, %d granted, %d busy", cases, inside, granted, busy)
}

// TestBackOffAgrees: the script's back-off is that of pace.BackOff, through
// answers of all kinds. A Done for a grant that nobody knows counts.
func TestBackOffAgrees(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	l, err := New(server.Client(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx := context.Background()
	s, key := Steady(t, 3*time.Second), pace.Key{Origin: OriginOf(t, "back.example")}
	r := rand.New(rand.NewPCG(1, 8))
	var back pace.BackOff
	for n := range 500 {
		result := pace.Result{Status: []int{200, 200, 404, 500, 429, 503, 504, 301}[r.IntN(8)], Timeout: r.IntN(20) == 0}
		if n%100 < 30 {
			result = pace.Result{Status: 503} // up to the top
		}
		if err := l.Done(ctx, pace.Grant{ID: l.newGrantID(), Key: key}, result); err != nil {
			t.Fatal(err)
		}
		back = back.After(result)
		turn, err := l.NotBefore(ctx, key, s)
		if err != nil {
			t.Fatal(err)
		}
		if want := back.Interval(3 * time.Second); turn.Interval != want {
			t.Fatalf("after %d answers the interval is %s, want %s (%+v)", n+1, turn.Interval, want, back)
		}
	}
}
