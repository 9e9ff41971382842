package pace_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/pace"
)

// declaration is a random robots.txt with the oracle's own interpretation, which shares nothing
// with the schedule except the clauses D-29 to D-35.
type declaration struct {
	body   string
	rates  []rate
	visits []window
	delay  time.Duration // -1 for none
	zone   *time.Location
	policy pace.Policy
}

type window struct{ from, to int } // minutes as written; from -1 for always

type rate struct {
	n      int
	period time.Duration
	window window
}

func (w window) contains(minute int) bool {
	if w.from < 0 || w.from == w.to {
		return true
	}
	if minute == w.to { // the end itself is outside, but for that of HH59 (D-30)
		return w.to%60 == 59
	}
	if w.from < w.to {
		return w.from <= minute && minute < w.to
	}
	return minute >= w.from || minute < w.to
}

var zoneNames = []string{"UTC", "Europe/Prague", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut", "Pacific/Apia", "Asia/Kathmandu"}

// days on which clocks change in some of the zones, and others.
var startDays = []string{"2026-03-28", "2026-03-29", "2026-10-24", "2026-10-25", "2026-03-07", "2026-11-01", "2026-04-04", "2026-10-03", "2026-06-15", "2026-12-31", "2011-12-29"}

func randomDeclaration(r *rand.Rand) declaration {
	d := declaration{delay: -1}
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	randomWindow := func() window {
		w := window{r.IntN(1440), r.IntN(1440)}
		if r.IntN(3) == 0 { // round hours, which touch each other
			w = window{r.IntN(24) * 60, (r.IntN(24)*60 + 1439) % 1440}
		}
		return w
	}
	hhmm := func(m int) string { return fmt.Sprintf("%02d%02d", m/60, m%60) }
	for range r.IntN(5) {
		v := rate{n: 1 + r.IntN(20), window: window{from: -1}}
		seconds := []int{30, 60, 600, 900, 3600, 7200, 86400}[r.IntN(7)]
		v.period = time.Duration(seconds) * time.Second
		for v.period/time.Duration(v.n) < 7*time.Second { // so that a host-hour is no more than 500 starts
			v.n = (v.n + 1) / 2
			v.period *= 2
		}
		fmt.Fprintf(&b, "Request-rate: %d/%ds", v.n, int(v.period/time.Second))
		if r.IntN(4) > 0 {
			v.window = randomWindow()
			fmt.Fprintf(&b, " %s-%s", hhmm(v.window.from), hhmm(v.window.to))
		}
		b.WriteString("\n")
		d.rates = append(d.rates, v)
	}
	for range max(r.IntN(5)-2, 0) {
		w := randomWindow()
		d.visits = append(d.visits, w)
		fmt.Fprintf(&b, "Visit-time: %s - %s\n", hhmm(w.from), hhmm(w.to))
	}
	if r.IntN(3) == 0 {
		d.delay = time.Duration(r.IntN(200)) * time.Second
		fmt.Fprintf(&b, "Crawl-delay: %d\n", d.delay/time.Second)
	}
	if r.IntN(3) == 0 {
		b.WriteString("Request-rate: 1/0\nCrawl-delay: -3\nVisit-time: now\n")
	}
	d.policy = pace.Policy{Default: time.Duration(5+r.IntN(30)) * time.Second, Floor: 5 * time.Second, Zone: zoneNames[r.IntN(len(zoneNames))]}
	d.body = b.String()
	d.zone, _ = time.LoadLocation(d.policy.Zone)
	return d
}

// holds returns the interval at t, whether the site is open, and which rates apply.
func (d *declaration) holds(t time.Time, inForce []bool) (time.Duration, bool) {
	local := t.In(d.zone)
	minute := local.Hour()*60 + local.Minute()
	open := len(d.visits) == 0
	for _, w := range d.visits {
		open = open || w.contains(minute)
	}
	windowed := false
	for _, v := range d.rates {
		windowed = windowed || v.window.from >= 0 && v.window.contains(minute)
	}
	interval := max(d.delay, 0)
	declared := d.delay >= 0
	for i, v := range d.rates {
		force := v.window.from >= 0 == windowed && v.window.contains(minute)
		if inForce != nil {
			inForce[i] = force
		}
		if force {
			interval, declared = max(interval, v.period/time.Duration(v.n), (v.period+time.Duration(v.n)-1)/time.Duration(v.n)), true
		}
	}
	if !declared {
		interval = d.policy.Default
	}
	return max(interval, d.policy.Floor), open
}

// permits is the rule: open, and the interval at u has passed since last.
func (d *declaration) permits(u, last time.Time) bool {
	interval, open := d.holds(u, nil)
	return open && (last.IsZero() || !u.Before(last.Add(interval)))
}

// soonerThan returns an instant from t up to before u that is permitted, if the
// oracle finds one: permission begins only at t, an interval after last, or at a
// full minute, where windows and clocks change.
func (d *declaration) soonerThan(u, t, last time.Time, r *rand.Rand) (time.Time, bool) {
	at := []time.Time{t}
	for _, v := range d.rates {
		at = append(at, last.Add((v.period+time.Duration(v.n)-1)/time.Duration(v.n)))
	}
	at = append(at, last.Add(d.policy.Default), last.Add(max(d.delay, 0)), last.Add(d.policy.Floor))
	minute := t.Truncate(time.Minute).Add(time.Minute)
	for n := 0; minute.Before(u); n++ {
		at = append(at, minute)
		if minute = minute.Add(time.Minute); n > 200 { // of long waits a sample
			minute = minute.Add(time.Duration(r.IntN(30)) * time.Minute)
		}
	}
	for _, x := range at {
		if !x.Before(t) && x.Before(u) && d.permits(x, last) {
			return x, true
		}
	}
	return time.Time{}, false
}

// TestObedience: random declarations, arrivals and answers on a simulated clock,
// hosts on days when clocks change among them. For every start: the oracle
// permits it, nothing sooner was permitted, and of every rate no period of its
// length holds more than its number of starts made while it was in force.
func TestObedience(t *testing.T) {
	hours := campaign.Size(2_000, 25_000, 1_000_000)
	const each = 50 // hours of a host
	hosts := (hours + each - 1) / each
	var next, starts, waits, closed atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for !t.Failed() {
				host := next.Add(1)
				if host > int64(hosts) {
					return
				}
				n, w, c := obey(t, uint64(host), each*time.Hour)
				starts.Add(n)
				waits.Add(w)
				closed.Add(c)
			}
		})
	}
	all.Wait()
	t.Logf("%d hosts, %d host-hours: %d starts, %d waited, %d across a closed site", hosts, hosts*each, starts.Load(), waits.Load(), closed.Load())
}

// check returns what is wrong with a start, "" for nothing, and adds it to the history of
// the rates in force.
func (d *declaration) check(s *pace.Schedule, u, asked, last time.Time, history [][]time.Time, inForce []bool, r *rand.Rand) string {
	interval, open := d.holds(u, inForce)
	if !open || !last.IsZero() && u.Sub(last) < interval {
		return fmt.Sprintf("not permitted: open %t, interval %s", open, interval)
	}
	if got, _ := s.At(u); got != interval {
		return fmt.Sprintf("interval %s, want %s", got, interval)
	}
	if x, ok := d.soonerThan(u, asked, last, r); ok {
		return fmt.Sprintf("%s was permitted", x)
	}
	for i, v := range d.rates {
		if !inForce[i] {
			continue
		}
		h := append(history[i], u)
		if n := len(h) - 1 - v.n; n >= 0 && u.Sub(h[n]) < v.period {
			return fmt.Sprintf("%d starts in %s under rate %d", v.n+1, u.Sub(h[n]), i)
		}
		history[i] = h[max(0, len(h)-v.n-1):]
	}
	return ""
}

func obey(t *testing.T, host uint64, length time.Duration) (starts, waits, closed int64) {
	r := rand.New(rand.NewPCG(host, 5))
	d := randomDeclaration(r)
	s, err := pace.NewSchedule(robots.Parse([]byte(d.body)).Rules(robots.RFC9309, "x"), d.policy)
	if err != nil {
		t.Error(err)
		return
	}
	now := at(startDays[r.IntN(len(startDays))] + "T00:00:00Z").Add(time.Duration(r.Int64N(int64(24 * time.Hour))))
	end := now.Add(length)
	l := local(t, pace.Options{Now: func() time.Time { return now }})
	request := pace.Request{Origin: origin("a.example"), Schedule: s, Within: 1000000 * time.Hour}
	history := make([][]time.Time, len(d.rates)) // starts made while the rate was in force
	inForce := make([]bool, len(d.rates))
	var last time.Time
	idle := r.IntN(3)
	for now.Before(end) {
		asked := now
		p := try(t, l, request)
		u := p.Start
		if !p.OK() {
			t.Errorf("host %d: %s", host, p)
			return
		}
		if wrong := d.check(s, u, asked, last, history, inForce, r); wrong != "" {
			t.Errorf("host %d, %s\n%sasked %s, last %s, start %s: %s", host, d.policy.Zone, d.body, asked, last, u, wrong)
			return
		}
		starts++
		if u.After(asked) {
			waits++
			if _, open := d.holds(asked, nil); !open {
				closed++
			}
		}
		now = u.Add(time.Duration(r.IntN(3000)) * time.Millisecond)
		last = now
		if err := l.Release(t.Context(), p, pace.Result{Status: 200}); err != nil {
			t.Error(err)
		}
		// Arrivals: in a row, with pauses, or mostly idle.
		switch {
		case idle == 1 && r.IntN(10) == 0:
			now = now.Add(time.Duration(r.IntN(3600)) * time.Second)
		case idle == 2:
			now = now.Add(time.Duration(r.IntN(7200)) * time.Second)
		}
	}
	return starts, waits, closed
}
