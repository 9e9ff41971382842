package pace_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/duration"
	"github.com/robotskit/robots/pace"
)

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

// TestNext: one answer per row, with the deciding reason.
func TestNext(t *testing.T) {
	never := "0001-01-01T00:00:00Z"
	tests := []struct {
		name, lines, at, last, want, reason string
		policy                              pace.Policy
	}{
		{name: "nothing declared, never asked", at: "2026-03-01T12:00:00Z", last: never, want: "2026-03-01T12:00:00Z", reason: "default"},
		{name: "nothing declared", at: "2026-03-01T12:00:00Z", last: "2026-03-01T11:59:59Z", want: "2026-03-01T12:00:03Z", reason: "default"},
		{name: "delay", lines: "Crawl-delay: 2.5", at: "2026-03-01T12:00:00Z", last: "2026-03-01T12:00:00Z", want: "2026-03-01T12:00:02.5Z", reason: "crawl-delay 2"},
		{name: "delay of nothing", lines: "Crawl-delay: 0", at: "2026-03-01T12:00:00Z", last: "2026-03-01T12:00:00Z", want: "2026-03-01T12:00:00Z", reason: "crawl-delay 2"},
		{name: "delay over the maximum", lines: "Crawl-delay: 86400", at: "2026-03-01T12:00:00Z", last: "2026-03-01T12:00:00Z", want: "2026-03-01T12:05:00Z", reason: "crawl-delay 2"},
		{name: "delay beyond all numbers", lines: "Crawl-delay: 1" + strings.Repeat("0", 300), at: "2026-03-01T12:00:00Z", last: "2026-03-01T12:00:00Z", want: "2026-03-01T12:05:00Z", reason: "crawl-delay 2"},
		{name: "the slower of rate and delay", lines: "Crawl-delay: 5\nRequest-rate: 1/10s", at: "2026-03-01T12:00:00Z", last: "2026-03-01T12:00:00Z", want: "2026-03-01T12:00:10Z", reason: "request-rate 3, crawl-delay 2"},
		{name: "the slower of delay and rate", lines: "Crawl-delay: 15\nRequest-rate: 1/10s", at: "2026-03-01T12:00:00Z", last: "2026-03-01T12:00:00Z", want: "2026-03-01T12:00:15Z", reason: "crawl-delay 2, request-rate 3"},
		{name: "a window beats no window, faster too", lines: "Request-rate: 1/1m\nRequest-rate: 1/10s 1200-1300", at: "2026-03-01T12:00:00Z", last: "2026-03-01T12:00:00Z", want: "2026-03-01T12:00:10Z", reason: "request-rate 3"},
		{name: "the slowest of windows", lines: "Request-rate: 1/20s 1100-1300\nRequest-rate: 1/10s 1200-1300", at: "2026-03-01T12:00:00Z", last: "2026-03-01T12:00:00Z", want: "2026-03-01T12:00:20Z", reason: "request-rate 2, request-rate 3"},
		{name: "the eight slowest of ten rates", lines: "Request-rate: 1/11s\nRequest-rate: 1/12s\nRequest-rate: 1/13s\nRequest-rate: 1/14s\nRequest-rate: 1/15s\nRequest-rate: 1/16s\nRequest-rate: 1/17s\nRequest-rate: 1/18s\nRequest-rate: 1/19s\nRequest-rate: 1/20s", at: "2026-03-01T12:00:00Z", last: "2026-03-01T12:00:00Z", want: "2026-03-01T12:00:20Z", reason: "request-rate 11, request-rate 10, request-rate 9, request-rate 8, request-rate 7, request-rate 6, request-rate 5, request-rate 4"},
		{name: "the slowest without windows", lines: "Request-rate: 1/20s\nRequest-rate: 1/10s", at: "2026-03-01T12:00:00Z", last: "2026-03-01T12:00:00Z", want: "2026-03-01T12:00:20Z", reason: "request-rate 2, request-rate 3"},
		{name: "outside the window, default", lines: "Request-rate: 1/1m 0100-0200", at: "2026-03-01T12:00:00Z", last: "2026-03-01T12:00:00Z", want: "2026-03-01T12:00:04Z", reason: "default"},
		{name: "into a slower window", lines: "Request-rate: 1/1m 1200-1259\nRequest-rate: 1/10s", at: "2026-03-01T11:59:55Z", last: "2026-03-01T11:59:55Z", want: "2026-03-01T12:00:55Z", reason: "request-rate 2"},
		{name: "just before a slower window", lines: "Request-rate: 1/1m 1200-1259\nRequest-rate: 1/10s", at: "2026-03-01T11:59:45Z", last: "2026-03-01T11:59:49.9Z", want: "2026-03-01T11:59:59.9Z", reason: "request-rate 3"},
		{name: "out of a slow window", lines: "Request-rate: 1/1d 0000-0559\nRequest-rate: 1/10s", at: "2026-03-01T05:00:00Z", last: "2026-03-01T00:00:00Z", want: "2026-03-01T06:00:00Z", reason: "request-rate 3"},
		{name: "out of a slow window a moment after", lines: "Request-rate: 1/1d 0000-0559\nRequest-rate: 1/10s", at: "2026-03-01T05:59:58Z", last: "2026-03-01T05:59:58Z", want: "2026-03-01T06:00:08Z", reason: "request-rate 3"},
		{name: "a rate slower than its window", lines: "Request-rate: 1/3d 0000-0559", at: "2026-03-01T03:00:00Z", last: "2026-03-01T03:00:00Z", want: "2026-03-01T06:00:00Z", reason: "default"},
		{name: "closed", lines: "Visit-time: 0600-0845", at: "2026-03-01T12:00:00Z", last: never, want: "2026-03-02T06:00:00Z", reason: "visit-time 2, default"},
		{name: "closed over midnight", lines: "Visit-time: 2200-0359", at: "2026-03-01T04:00:00Z", last: never, want: "2026-03-01T22:00:00Z", reason: "visit-time 2, default"},
		{name: "open over midnight", lines: "Visit-time: 2200-0359", at: "2026-03-01T03:59:59Z", last: never, want: "2026-03-01T03:59:59Z", reason: "default"},
		{name: "closes while waiting", lines: "Visit-time: 0600-0845\nCrawl-delay: 100", at: "2026-03-01T08:45:00Z", last: "2026-03-01T08:45:00Z", want: "2026-03-02T06:00:00Z", reason: "visit-time 2, crawl-delay 3"},
		{name: "closed, and the delay ends later", lines: "Visit-time: 0600-0845\nCrawl-delay: 300", at: "2026-03-01T05:59:00Z", last: "2026-03-01T05:58:00Z", want: "2026-03-01T06:03:00Z", reason: "crawl-delay 3, visit-time 2"},
		{name: "open, and closed when the delay ends", lines: "Visit-time: 0600-0845\nCrawl-delay: 100", at: "2026-03-01T08:44:00Z", last: "2026-03-01T08:44:00Z", want: "2026-03-02T06:00:00Z", reason: "visit-time 2, crawl-delay 3"},
		{name: "two visits", lines: "Visit-time: 0600-0700\nVisit-time: 1900-2000", at: "2026-03-01T12:00:00Z", last: never, want: "2026-03-01T19:00:00Z", reason: "visit-time 2, visit-time 3, default"},
		{name: "floor", lines: "Request-rate: 100/1s", at: "2026-03-01T12:00:00Z", last: "2026-03-01T12:00:00Z", want: "2026-03-01T12:00:01Z", reason: "floor, request-rate 2", policy: pace.Policy{Floor: time.Second}},
		{name: "ceiling", lines: "Request-rate: 1/1h", at: "2026-03-01T12:00:00Z", last: "2026-03-01T12:00:00Z", want: "2026-03-01T12:01:00Z", reason: "ceiling, request-rate 2", policy: pace.Policy{Ceiling: time.Minute}},
		{name: "default under a floor", at: "2026-03-01T12:00:00Z", last: "2026-03-01T12:00:00Z", want: "2026-03-01T12:00:09Z", reason: "floor, default", policy: pace.Policy{Floor: 9 * time.Second}},
		{name: "a zone", lines: "Request-rate: 1/1m 1200-1259", at: "2026-03-01T11:00:00Z", last: "2026-03-01T11:00:00Z", want: "2026-03-01T11:01:00Z", reason: "request-rate 2", policy: pace.Policy{Zone: "Europe/Prague"}},
		{name: "thousands of years, or what an int holds", lines: "Request-rate: 1/1000000000d", at: "2026-03-01T11:00:00Z", last: "2026-03-01T11:00:00Z", want: map[int]string{32: "2094-03-19T11:00:00Z", 64: "2126-03-02T11:00:00Z"}[strconv.IntSize], reason: "request-rate 2"},
		{name: "nonsense", lines: "Crawl-delay: soon\nRequest-rate: 5", at: "2026-03-01T12:00:00Z", last: "2026-03-01T12:00:00Z", want: "2026-03-01T12:00:04Z", reason: "default"},
		// 2026-03-29 02:00 to 03:00 does not exist in Prague, 2026-10-25 02:00 to
		// 03:00 comes twice.
		{name: "a window in the hour that is not", lines: "Visit-time: 0200-0259", at: "2026-03-29T00:00:00Z", last: never, want: "2026-03-30T00:00:00Z", reason: "visit-time 2, default", policy: pace.Policy{Zone: "Europe/Prague"}},
		{name: "a window into the hour that is not", lines: "Visit-time: 0230-0330", at: "2026-03-29T00:00:00Z", last: never, want: "2026-03-29T01:00:00Z", reason: "visit-time 2, default", policy: pace.Policy{Zone: "Europe/Prague"}},
		{name: "the hour that comes twice, first", lines: "Visit-time: 0200-0229", at: "2026-10-24T23:59:00Z", last: never, want: "2026-10-25T00:00:00Z", reason: "visit-time 2, default", policy: pace.Policy{Zone: "Europe/Prague"}},
		{name: "the hour that comes twice, again", lines: "Visit-time: 0200-0229", at: "2026-10-25T00:30:00Z", last: never, want: "2026-10-25T01:00:00Z", reason: "visit-time 2, default", policy: pace.Policy{Zone: "Europe/Prague"}},
	}
	for _, tt := range tests {
		s := schedule(t, "User-agent: *\n"+tt.lines+"\n", robots.RFC9309, tt.policy)
		state := pace.State{Last: at(tt.last)}
		start, reasons := s.Explain(at(tt.at), state)
		if got := causes(reasons); !start.Equal(at(tt.want)) || got != tt.reason {
			t.Errorf("%s\ngot:  %s: %s\nwant: %s: %s", tt.name, start.UTC().Format(time.RFC3339Nano), got, tt.want, tt.reason)
		}
		if next := s.Next(at(tt.at), state); !next.Equal(start) {
			t.Errorf("%s: Next %s, Explain %s", tt.name, next, start)
		}
	}
	t.Logf("%d rows", len(tests))
}

// causes returns the causes of reasons with their lines.
func causes(reasons []pace.Reason) string {
	var all []string
	for _, r := range reasons {
		all = append(all, strings.TrimSuffix(fmt.Sprint(r.Cause, " ", r.Line), " 0"))
	}
	return strings.Join(all, ", ")
}

// TestDialects: which dialect follows which line of one file.
func TestDialects(t *testing.T) {
	const body = "User-agent: *\nCrawl-delay: 20\nRequest-rate: 1/1m\nVisit-time: 0600-0700\n"
	tests := []struct {
		dialect  robots.Dialect
		obey     pace.Obey
		interval time.Duration
		open     bool
		uses     string
	}{
		{robots.RFC9309, "", time.Minute, false, "outdone honored honored"},
		{robots.RFC9309, pace.ObeyDocumented, 4 * time.Second, true, "ignored ignored ignored"},
		{robots.Google, "", 4 * time.Second, true, "ignored ignored ignored"},
		{robots.Google, pace.ObeyDeclared, time.Minute, false, "outdone honored honored"},
		{robots.Seznam, "", 30 * time.Second, false, "ignored adjusted honored"},
		{robots.Seznam, pace.ObeyDocumented, 30 * time.Second, false, "ignored adjusted honored"},
		{robots.Bing, "", 20 * time.Second, true, "honored ignored ignored"},
		{robots.Yandex, "", 4 * time.Second, true, "ignored ignored ignored"},
	}
	for _, tt := range tests {
		s := schedule(t, body, tt.dialect, pace.Policy{Obey: tt.obey})
		interval, open := s.At(at("2026-03-01T12:00:00Z"))
		var uses []string
		for _, e := range s.Entries() {
			uses = append(uses, string(e.Use))
			if e.Use != pace.UseHonored && e.Why == "" {
				t.Errorf("%s: line %d is %s without a why", tt.dialect.Name, e.Line, e.Use)
			}
		}
		if got := strings.Join(uses, " "); interval != tt.interval || open != tt.open || got != tt.uses {
			t.Errorf("%s, %s\ngot:  %s, open %t, %s\nwant: %s, open %t, %s", tt.dialect.Name, tt.obey, interval, open, got, tt.interval, tt.open, tt.uses)
		}
	}
	// A named group inherits Crawl-delay only in bing, and the entry says so.
	inherit := "User-agent: *\nCrawl-delay: 7\nUser-agent: SeznamBot\nDisallow: /a\n"
	s := schedule(t, inherit, robots.Bing, pace.Policy{})
	if got, _ := s.At(time.Time{}); got != 7*time.Second || len(s.Entries()) != 1 || s.Entries()[0].Line != 2 || s.Entries()[0].Why == "" {
		t.Errorf("bing: %s, %+v, want the delay of *", got, s.Entries())
	}
	if got, _ := schedule(t, inherit, robots.RFC9309, pace.Policy{}).At(time.Time{}); got != 4*time.Second {
		t.Errorf("rfc9309: %s, want the default", got)
	}
}

// TestPolicy: an invalid policy is refused in one sentence.
func TestPolicy(t *testing.T) {
	tests := []struct {
		policy pace.Policy
		want   string
	}{
		{pace.Policy{}, ""},
		{pace.Policy{Floor: time.Minute, Ceiling: time.Minute, Zone: "America/New_York"}, ""},
		{pace.Policy{Floor: time.Minute, Ceiling: time.Second}, "the floor of 1m0s is above the ceiling of 1s: no interval is both"},
		{pace.Policy{Floor: -1}, "the floor is -1ns, and an interval is never negative"},
		{pace.Policy{Ceiling: -time.Hour}, "the ceiling is -1h0m0s, and an interval is never negative"},
		{pace.Policy{Default: -1}, "the default interval is -1ns, and an interval is never negative"},
		{pace.Policy{MaxCrawlDelay: -1}, "the maximal crawl delay is -1ns, and an interval is never negative"},
		{pace.Policy{Zone: "Europe/Atlantis"}, `unknown time zone "Europe/Atlantis": it is a name such as Europe/Prague or UTC`},
		{pace.Policy{Zone: "../etc/passwd"}, `unknown time zone "../etc/passwd": it is a name such as Europe/Prague or UTC`},
		{pace.Policy{Zone: "Local"}, `the time zone "Local" depends on the machine: name it, such as Europe/Prague`},
		{pace.Policy{Obey: "all"}, `unknown way to obey "all": it is unless-ignored, honored or declared`},
	}
	for _, tt := range tests {
		got := ""
		s, err := pace.NewSchedule(nil, tt.policy)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want || (s == nil) != (err != nil) || (tt.policy.Check() == nil) != (err == nil) {
			t.Errorf("%+v\ngot:  %s\nwant: %s", tt.policy, got, tt.want)
		}
	}
}

// TestDay: the crawl rates of a day, in order and without gaps, on days of 23, 24 and 25 hours.
func TestDay(t *testing.T) {
	const body = "User-agent: *\nRequest-rate: 1/10m 1300-1659\nRequest-rate: 1/20m 1700-0459\nRequest-rate: 5/1m 0500-1259\n"
	for day, hours := range map[string]int{"2026-03-28": 24, "2026-03-29": 23, "2026-10-25": 25} {
		s := schedule(t, body, robots.RFC9309, pace.Policy{Zone: "Europe/Prague"})
		spans := s.Day(at(day + "T12:00:00Z"))
		var got []string
		sum := time.Duration(0)
		for i, sp := range spans {
			if i > 0 && !sp.From.Equal(spans[i-1].To) {
				t.Errorf("%s: a gap before %s", day, sp.From)
			}
			sum += sp.To.Sub(sp.From)
			got = append(got, fmt.Sprintf("%s-%s %s line %d", sp.From.Format("15:04"), sp.To.Format("15:04"), sp.Interval, sp.Reasons[0].Line))
		}
		want := "00:00-05:00 20m0s line 3, 05:00-13:00 12s line 4, 13:00-17:00 10m0s line 2, 17:00-00:00 20m0s line 3"
		if g := strings.Join(got, ", "); g != want || sum != time.Duration(hours)*time.Hour {
			t.Errorf("%s, %s\ngot:  %s\nwant: %s, %d h", day, sum, g, want, hours)
		}
	}
	s := schedule(t, "User-agent: *\nVisit-time: 2200-0559\n", robots.RFC9309, pace.Policy{})
	if spans := s.Day(at("2026-03-01T12:00:00Z")); len(spans) != 3 || !spans[0].Open || spans[1].Open || spans[1].Reasons[0].Cause != pace.CauseVisitTime {
		t.Errorf("visits: %+v", spans)
	}
	// Midnight of 2026-03-29 does not exist in Beirut: the clocks jump over it.
	s = schedule(t, body, robots.RFC9309, pace.Policy{Zone: "Asia/Beirut"})
	if spans := s.Day(at("2026-03-29T12:00:00Z")); spans[0].From.Format("15:04") != "01:00" || spans[len(spans)-1].To.Sub(spans[0].From) != 23*time.Hour {
		t.Errorf("Beirut: %s to %s", spans[0].From, spans[len(spans)-1].To)
	}
}

// TestDuration: the estimate for many pages equals calls of Next page by page.
func TestDuration(t *testing.T) {
	from := at("2026-03-01T00:00:00Z")
	for _, tt := range []struct {
		lines string
		pages int
		want  string
	}{
		{"Request-rate: 1/10s", 1800, "5 h"},
		{"Request-rate: 400/1h", 400, "1 h"},
		{"Request-rate: 1/10s 1200-1300", 10800, "12 h"},
		{"Visit-time: 0600-0645\nCrawl-delay: 1", 60 * 45, "6 h 45 min"},
		{"Visit-time: 0600-0645\nCrawl-delay: 1", 60*45 + 1, "30 h"},
		{"Crawl-delay: 0", 1000, "0 s"},
		{"", 0, "0 s"},
		{"Request-rate: 1/1d", 3654, "more"},
	} {
		s := schedule(t, "User-agent: *\n"+tt.lines+"\n", robots.RFC9309, pace.Policy{})
		got := "more"
		d, ok := s.Duration(tt.pages, from)
		if ok {
			got = duration.Text(d)
		}
		if got != tt.want {
			t.Errorf("%q, %d pages\ngot:  %s\nwant: %s", tt.lines, tt.pages, got, tt.want)
		}
		if tt.pages == 0 || !ok {
			continue
		}
		last := time.Time{}
		for range tt.pages {
			last = s.Next(latest(last, from), pace.State{Last: last})
		}
		interval, _ := s.At(last)
		if slow := last.Add(interval).Sub(from); slow != d {
			t.Errorf("%q, %d pages: %s, page by page %s", tt.lines, tt.pages, d, slow)
		}
	}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// TestHostile: a file with only rates is read and reported in bounded time and size, and Next
// allocates nothing.
func TestHostile(t *testing.T) {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := 0; b.Len() < 500<<10; i++ {
		fmt.Fprintf(&b, "Request-rate: 1/%ds %02d%02d-%02d%02d\n", 1+i%977, i%24, i%60, i*7%24, i*11%60)
	}
	began := time.Now()
	s := schedule(t, b.String(), robots.RFC9309, pace.Policy{})
	t.Logf("%d bytes: %s, %d entries kept, %d dropped", b.Len(), time.Since(began).Round(time.Millisecond), len(s.Entries()), s.Dropped())
	if len(s.Entries()) > 24*60+100 || s.Dropped() == 0 {
		t.Errorf("%d entries, %d dropped", len(s.Entries()), s.Dropped())
	}
	now := at("2026-03-01T12:00:00Z")
	if n := testing.AllocsPerRun(100, func() { s.Next(now, pace.State{Last: now}) }); n != 0 {
		t.Errorf("Next allocates %v times", n)
	}
	if _, reasons := s.Explain(now, pace.State{Last: now}); len(reasons) == 0 || len(reasons) > 16 {
		t.Errorf("%d reasons", len(reasons))
	}
}

// TestSteady: the longest, the shortest and the only interval of a day.
func TestSteady(t *testing.T) {
	s := schedule(t, "User-agent: *\nRequest-rate: 1/10s 0600-1159\nRequest-rate: 1/30s\nVisit-time: 0600-1800\n", robots.RFC9309, pace.Policy{})
	if s.Fastest() != 10*time.Second || s.Slowest() != 30*time.Second {
		t.Errorf("from %s to %s, want 10 s to 30 s", s.Fastest(), s.Slowest())
	}
	if _, ok := s.Steady(); ok {
		t.Error("a schedule with windows is steady")
	}
	if interval, ok := (*pace.Schedule)(nil).Steady(); !ok || interval != 4*time.Second {
		t.Errorf("the schedule of a site that declares nothing is steady: %t, at %s", ok, interval)
	}
}
