package fetch

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
)

const day = 24 * time.Hour

var (
	began   = time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	copied  = began.Add(-12 * time.Hour)
	private = mustPath("/private/x")
	public  = mustPath("/public")
)

func mustPath(s string) robots.Path {
	p, err := robots.ParsePath(s)
	if err != nil {
		panic(err)
	}
	return p
}

// failing returns a record that has failed since a time, with or without an earlier copy.
func failing(c Cause, status int, held bool) *Record {
	origin, _, _ := robots.ParseURL("https://example.com/")
	var before *Record
	if held {
		before = &Record{Origin: origin, Outcome: Success, Cause: OK, Status: 200, Body: []byte(someRules), Fetched: copied, Expires: began}
	}
	r := &Record{Origin: origin, URL: origin.RobotsURL(), Outcome: c.Outcome(), Cause: c, Status: status, Fetched: began}
	return r.After(before)
}

// covered returns r with enough failures to cover a duration.
func covered(r *Record, d time.Duration) *Record {
	c := *r
	c.Failures, c.Covered = outageFailures, d
	return &c
}

// TestOutage: the verdicts by age, for every dialect, with their texts.
func TestOutage(t *testing.T) {
	const a, d, c, u = "allow", "disallow", "copy", "undefined"
	const all = "rfc9309 google google-cpp google-2019 google-legacy seznam bing yandex"
	ages := []time.Duration{0, 12*time.Hour - 1, 12 * time.Hour, 30*day - 1, 30 * day, 400 * day}
	for _, row := range []struct {
		dialects string
		cause    Cause
		held     bool
		policy   Policy
		want     [6]string
	}{
		{"rfc9309 seznam bing yandex", ServerError, false, Policy{}, [6]string{d, d, d, d, a, a}},
		{"rfc9309 seznam bing yandex", ServerError, true, Policy{}, [6]string{c, c, c, c, c, c}},
		{"rfc9309 seznam bing yandex", DNSNotFound, false, Policy{}, [6]string{d, d, d, d, a, a}},
		{"rfc9309 seznam bing yandex", DNSNotFound, true, Policy{}, [6]string{c, c, c, c, c, c}},
		{"google google-cpp", ServerError, false, Policy{}, [6]string{d, d, a, a, d, d}},
		{"google google-cpp", ServerError, true, Policy{}, [6]string{d, d, c, c, d, d}},
		{"google google-cpp", Timeout, false, Policy{SiteAnswers: true}, [6]string{d, d, a, a, a, a}},
		{"google google-cpp", Timeout, true, Policy{SiteAnswers: true}, [6]string{d, d, c, c, a, a}},
		{"google-2019", ServerError, false, Policy{}, [6]string{d, d, d, d, a, a}},
		{"google-2019", Timeout, true, Policy{}, [6]string{d, d, d, d, c, c}},
		{"google-legacy", ServerError, false, Policy{}, [6]string{d, d, d, d, d, d}},
		{"google-legacy", ServerError, true, Policy{}, [6]string{d, d, d, d, d, d}},
		{"google-legacy", Timeout, true, Policy{}, [6]string{u, u, u, u, u, u}},
		{"google-legacy", Incomplete, false, Policy{}, [6]string{u, u, u, u, u, u}},
		{"google-legacy", Timeout, false, Policy{OnFailure: DisallowAtOnce}, [6]string{d, d, d, d, d, d}},
		{"rfc9309 seznam bing google", TooManyRequests, false, Policy{}, [6]string{d, d, "", "", "", ""}},
		{"google-2019 google-legacy yandex", TooManyRequests, true, Policy{}, [6]string{a, a, a, a, a, a}},
		{"rfc9309 google google-2019 yandex bing seznam google-cpp", ServerError, true, Policy{OnFailure: DisallowAtOnce}, [6]string{d, d, d, d, d, d}},
		{"rfc9309 google google-2019 google-legacy", ServerError, true, Policy{OnFailure: AllowOnFailure}, [6]string{c, c, c, c, c, c}},
		{"rfc9309 google google-2019 google-legacy", Timeout, false, Policy{OnFailure: AllowOnFailure}, [6]string{a, a, a, a, a, a}},
		{"google-2019 google-legacy", ServerError, true, Policy{MissingIs5xx: true}, [6]string{a, a, a, a, a, a}},
		{"rfc9309 seznam bing yandex", ServerError, false, Policy{MissingIs5xx: true}, [6]string{d, d, d, d, a, a}},
		{"google-2019", Timeout, false, Policy{MissingIs5xx: true}, [6]string{d, d, d, d, a, a}},
		// A failure on our side begins no outage: the copy applies at any age.
		{all, AddressRefused, true, Policy{OnFailure: AllowOnFailure, SiteAnswers: true, MissingIs5xx: true}, [6]string{c, c, c, c, c, c}},
		{all, AddressRefused, false, Policy{OnFailure: AllowOnFailure, SiteAnswers: true, MissingIs5xx: true}, [6]string{d, d, d, d, d, d}},
		{all, PortRefused, false, Policy{}, [6]string{d, d, d, d, d, d}},
		{all, DNSFailure, true, Policy{}, [6]string{c, c, c, c, c, c}},
		{all, BadEncoding, false, Policy{SiteAnswers: true}, [6]string{d, d, d, d, d, d}},
		{all, NoNetwork, true, Policy{OnFailure: DisallowAtOnce}, [6]string{d, d, d, d, d, d}},
		{all, TLSVersion, false, Policy{OnFailure: AllowOnFailure}, [6]string{a, a, a, a, a, a}},
	} {
		for name := range strings.FieldsSeq(row.dialects) {
			dialect, ok := robots.DialectByName(name)
			if !ok {
				t.Fatal(name)
			}
			r := failing(row.cause, 0, row.held)
			for i, age := range ages {
				if row.want[i] == "" {
					continue
				}
				// TestEvidence has fewer failures.
				rules := row.policy.Rules(covered(r, age), dialect, began.Add(age), "anybot")
				v, w := rules.Match(private), rules.Match(public)
				got := w.Word()
				if v.Reason == robots.ReasonRule {
					got = c
				}
				if got != row.want[i] {
					t.Errorf("%s, %v, copy %v, %+v, age %v\ngot:  %s (%v)\nwant: %s", name, row.cause, row.held, row.policy, age, got, v, row.want[i])
				}
				since := began
				if row.cause.OwnSide() {
					since = time.Time{}
				}
				if v.State.FailingSince != since || v.State.Text() == "" || (got == c) != !v.State.StaleSince.IsZero() {
					t.Errorf("%s, %v, age %v: state %+v", name, row.cause, age, v.State)
				}
				if !dialect.MatchRobotsTxt && !rules.Allowed(mustPath("/robots.txt")) {
					t.Errorf("%s, %v, age %v: /robots.txt itself is disallowed", name, row.cause, age)
				}
			}
		}
	}
	for _, held := range []bool{false, true} {
		d := robots.Google
		d.Outage = 99 // unknown: it never allows
		r := covered(failing(ServerError, 500, held), 400*day)
		if v := (Policy{SiteAnswers: true}).Rules(r, d, began.Add(400*day), "x").Match(public); v.Allowed {
			t.Errorf("an unknown outage: %v", v)
		}
	}
}

// TestSpan: within Record.Span, Rules returns the same rules, whatever the record, the dialect
// and the policy; at both of its ends the rules of some record change.
func TestSpan(t *testing.T) {
	campaign.NotForRace(t)
	rng := rand.New(rand.NewPCG(28, 54))
	some := func(most time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(most))) }
	causes := []Cause{OK, ClientError, ServerError, TooManyRequests, Timeout, DNSFailure, AddressRefused}
	said := func(p Policy, r *Record, d robots.Dialect, at time.Time) string {
		rules := p.Rules(r, d, at, "mybot")
		v := rules.Match(private)
		return fmt.Sprintf("%v %v %+v", v, v.Reason, *rules.State())
	}
	spans, changed := 0, map[string]int{}
	for range campaign.Size(3_000, 20_000, 1_000_000) {
		var r *Record
		for at := began; r == nil || rng.IntN(4) > 0; at = at.Add(some(20 * day)) {
			c := causes[rng.IntN(len(causes))]
			next := &Record{Outcome: c.Outcome(), Cause: c, Status: 200 + 100*rng.IntN(4), Fetched: at}
			if c == OK {
				next.Body = []byte("User-agent: mybot\nDisallow: /private\n")
			}
			if c.Outcome().Good() {
				next.Expires = at.Add(some(day))
			}
			if rng.IntN(9) > 0 { // else it stands alone, as Fetch returns it
				next = next.After(r)
			}
			r = next
			r.Degraded = rng.IntN(9) == 0
		}
		if r.Failures > 0 && rng.IntN(2) == 0 {
			r = covered(r, 30*day)
		}
		d := robots.Dialects()[rng.IntN(len(robots.Dialects()))]
		p := Policy{OnFailure: OnFailure(rng.IntN(3)), SiteAnswers: rng.IntN(2) == 0, MissingIs5xx: rng.IntN(9) == 0}
		now := r.Fetched.Add(some(40*day) - day)
		want := said(p, r, d, now)
		from, until := r.Span(d, now)
		if now.Before(from) || !until.IsZero() && !now.Before(until) {
			t.Fatalf("%v is not from %v until %v", now, from, until)
		}
		start, end := from, until
		if start.IsZero() {
			start = now.Add(-90 * day)
		}
		if end.IsZero() {
			end = now.Add(9000 * day)
		}
		for _, at := range []time.Time{start, start.Add(some(end.Sub(start))), end.Add(-1)} {
			if got := said(p, r, d, at); got != want {
				t.Fatalf("%+v\n%s, %+v\nat %v: %s\nat %v: %s\nfrom %v until %v", r, d.Name, p, now, want, at, got, from, until)
			}
			spans++
		}
		for name, at := range map[string]time.Time{"from": from.Add(-1), "until": until} {
			if !at.Before(r.Fetched.Add(-day)) && said(p, r, d, at) != want {
				changed[name]++
			}
		}
	}
	t.Logf("%d times inside a span, other rules outside: %v", spans, changed)
	if changed["from"] == 0 || changed["until"] == 0 {
		t.Error("no rules changed at an end of their span: the law says nothing")
	}
}

// again returns r followed by the same failure after a duration.
func again(r *Record, d time.Duration) *Record {
	next := &Record{Origin: r.Origin, URL: r.URL, Outcome: r.Outcome, Cause: r.Cause, Status: r.Status, Fetched: r.Fetched.Add(d)}
	return next.After(r)
}

// TestEvidence: a site opens when at least five failures cover the age of the step, never by the
// clock (D-54). All other steps follow the clock. A failure on our side changes nothing: an
// outage that the site had begun continues by its clock (D-55).
func TestEvidence(t *testing.T) {
	for _, row := range []struct {
		dialects string
		gaps     string // between the failures, the first of which was at began; own: all failures on our side
		after    time.Duration
		held     bool
		answers  bool
		want     string
	}{
		// Two failures a month apart are not an outage of a month.
		{"rfc9309 seznam bing yandex google-2019", "744h", 0, false, false, "disallow"},
		{"google google-cpp", "744h", 0, false, false, "disallow"},
		{"google google-cpp", "20h", 0, false, false, "disallow"},
		// With a daily fetch, the step of 12 hours opens at the fifth failure.
		{"google google-cpp", "24h 24h 24h", 0, false, false, "disallow"},
		{"google google-cpp", "24h 24h 24h 24h", 0, false, false, "allow"},
		{"google google-cpp", "3h 3h 3h 2h59m59.999s", 0, false, false, "disallow"},
		{"google google-cpp", "3h 3h 3h 3h", 0, false, false, "allow"},
		{"google google-cpp", "1h 1h 1h 1h", 20 * time.Hour, false, false, "disallow"},
		{"google google-cpp", "1h 1h 1h 1h 8h", 0, false, false, "allow"},
		// It closes after 30 days by the clock, whatever the failures cover.
		{"google google-cpp", "24h 24h 24h 24h", 26*day - 1, false, false, "allow"},
		{"google google-cpp", "24h 24h 24h 24h", 26 * day, false, false, "disallow"},
		{"google google-cpp", "24h 24h 24h 24h", 26 * day, false, true, "allow"},
		// The copy is used by the clock, and dropped by it.
		{"google google-cpp", "1h", 11 * time.Hour, true, false, "copy"},
		{"google google-cpp", "1h", 30 * day, true, false, "disallow"},
		{"google google-cpp", "1h", 300 * day, true, true, "copy"},
		{"google-2019", "1h", 30 * day, true, false, "copy"},
		{"google google-cpp", "30*24h", 0, true, true, "allow"},
		{"google google-cpp", "29*24h 23h", 0, true, true, "copy"},
		// 30 days must be covered, and a pause delays them.
		{"rfc9309 seznam bing yandex google-2019", "29*24h 23h", 300 * day, false, false, "disallow"},
		{"rfc9309 seznam bing yandex google-2019", "29*24h 23h 1h", 0, false, false, "allow"},
		{"rfc9309 seznam bing yandex google-2019", "20*24h 2000h 9*24h", 0, false, false, "allow"},
		{"rfc9309 seznam bing yandex google-2019", "20*24h 2000h 8*24h", 0, false, false, "disallow"},
		{"rfc9309 seznam bing yandex google-2019", "719*1h", 0, false, false, "disallow"},
		{"rfc9309 seznam bing yandex google-2019", "720*1h", 0, false, false, "allow"},
		{"google-legacy", "90*24h", 0, false, false, "disallow"},
		{"google google-cpp", "24h 24h 24h own", 0, false, false, "disallow"},
		{"google google-cpp", "24h 24h 24h own", 20 * day, false, false, "disallow"},
		{"google google-cpp", "24h own 24h 24h 24h own", 26*day - 1, false, false, "allow"},
		{"google google-cpp", "24h 24h 24h 24h own", 26 * day, false, false, "disallow"},
		{"google google-cpp", "own", 12*time.Hour - 1, true, false, "disallow"},
		{"google google-cpp", "own", 12 * time.Hour, true, false, "copy"},
		{"google google-cpp", "own", 30 * day, true, false, "disallow"},
		{"rfc9309 seznam bing yandex", "29*24h own", 90 * day, false, false, "disallow"},
		{"rfc9309 seznam bing yandex", "30*24h own", 90 * day, false, false, "allow"},
		{"rfc9309 seznam bing yandex", "30*24h own", 90 * day, true, false, "copy"},
		{"google-2019", "24h own", 29*day - 1, true, false, "disallow"},
		{"google-2019", "24h own", 29 * day, true, false, "copy"},
		{"google-legacy", "4*24h own", 90 * day, true, false, "disallow"},
		// A clock that was set back adds nothing.
		{"google google-cpp", "-24h 3h 3h 3h", 0, false, false, "disallow"},
	} {
		r := failing(ServerError, 500, row.held)
		for gap := range strings.FieldsSeq(row.gaps) {
			if gap == "own" {
				for _, c := range Causes() {
					if c.OwnSide() {
						r = (&Record{Origin: r.Origin, Outcome: c.Outcome(), Cause: c, Fetched: r.Fetched}).After(r)
					}
				}
				continue
			}
			times := 1
			if n, rest, ok := strings.Cut(gap, "*"); ok {
				times, _ = strconv.Atoi(n)
				gap = rest
			}
			d, err := time.ParseDuration(gap)
			if err != nil {
				t.Fatal(err)
			}
			for range times {
				r = (&Record{Origin: r.Origin, Outcome: Unreachable, Cause: ServerError, Status: 500, Fetched: r.Fetched.Add(d)}).After(r)
			}
		}
		for name := range strings.FieldsSeq(row.dialects) {
			d, _ := robots.DialectByName(name)
			rules := Policy{SiteAnswers: row.answers}.Rules(r, d, r.Fetched.Add(row.after), "anybot")
			got := rules.Match(public).Word()
			if rules.Match(private).Reason == robots.ReasonRule {
				got = "copy"
			}
			if got != row.want {
				t.Errorf("%s, failures with gaps of %s, %v later, copy %v, site answers %v (%d failures cover %v)\ngot:  %s (%v)\nwant: %s",
					name, row.gaps, row.after, row.held, row.answers, r.Failures, r.Covered, got, rules.Match(public), row.want)
			}
			if r.FailingSince != began {
				t.Errorf("failing since %v, want %v", r.FailingSince, began)
			}
		}
	}
}

// TestFreshCopy: a failure changes nothing while the copy is fresh.
func TestFreshCopy(t *testing.T) {
	origin, _, _ := robots.ParseURL("https://example.com/")
	for _, good := range []Record{
		{Origin: origin, Outcome: Success, Cause: OK, Status: 200, Body: []byte(someRules), Fetched: copied, Expires: began.Add(4 * time.Hour)},
		{Origin: origin, Outcome: Unavailable, Cause: ClientError, Status: 404, Fetched: copied, Expires: began.Add(4 * time.Hour)},
	} {
		for _, c := range []Cause{ServerError, Timeout, TooManyRequests, AddressRefused, NoNetwork} {
			r := (&Record{Origin: origin, Outcome: c.Outcome(), Cause: c, Fetched: began}).After(&good)
			for _, d := range robots.Dialects() {
				at := began.Add(4*time.Hour - 1)
				want, got := good.Rules(d, at, "x").Match(private), r.Rules(d, at, "x").Match(private)
				if got.Allowed != want.Allowed || got.Reason != want.Reason {
					t.Errorf("%s, %v: %v, before the failure %v", d.Name, c, got, want)
				}
				if got.State.FailingSince.IsZero() != c.OwnSide() || got.State.Text() == "" {
					t.Errorf("%s, %v: the failure does not show in %+v", d.Name, c, got.State)
				}
				later := r.Rules(d, began.Add(4*time.Hour), "x").Match(public)
				if good.Outcome == Unavailable && later.Allowed && (c != TooManyRequests || !d.TooManyIsMissing) {
					t.Errorf("%s, %v: a 404 outlives its freshness: %v", d.Name, c, later)
				}
			}
		}
	}
}

// TestAfter: what a record takes from its predecessor.
func TestAfter(t *testing.T) {
	origin, _, _ := robots.ParseURL("https://example.com/")
	at := func(c Cause, h int) *Record {
		return &Record{Origin: origin, Outcome: c.Outcome(), Cause: c, Fetched: began.Add(time.Duration(h) * time.Hour)}
	}
	good := at(OK, -9)
	one := at(ServerError, 0).After(good)
	two := at(Timeout, 2).After(one)
	if two.FailingSince != began || two.Failures != 2 || two.LastGood == nil || two.LastGood.Fetched != good.Fetched {
		t.Errorf("second failure: %+v", two)
	}
	if d := two.NextTry.Sub(two.Fetched); d != 2*time.Minute {
		t.Errorf("second wait %v, want 2 min", d)
	}
	back := at(OK, 3).After(two)
	if !back.FailingSince.IsZero() || back.Failures != 0 || back.LastGood != nil {
		t.Errorf("back: %+v", back)
	}
	gone := at(ServerError, 5).After(at(ClientError, 4).After(two))
	if gone.LastGood.Outcome != Unavailable || gone.FailingSince != gone.Fetched {
		t.Errorf("after a 404: %+v", gone)
	}
	// A failure on our side begins no outage and adds nothing to one.
	own := at(NoNetwork, 0).After(good)
	if !own.FailingSince.IsZero() || own.Failures != 0 || own.LastGood == nil {
		t.Errorf("a failure of our own: %+v", own)
	}
	begun := at(Timeout, 24*31).After(own)
	if begun.FailingSince != begun.Fetched || begun.Failures != 1 || begun.Covered != 0 || begun.LastGood == nil {
		t.Errorf("after a failure of our own: %+v", begun)
	}
	refused := at(AddressRefused, 6).After(two)
	if refused.FailingSince != began || refused.Failures != 2 || refused.Covered != 2*time.Hour || refused.LastFailure != two.Fetched {
		t.Errorf("a refusal in an outage: %+v", refused)
	}
	// A gap is between two failures of the site, whatever failed on our side meanwhile.
	later := at(Timeout, 9).After(at(DNSFailure, 8).After(refused))
	if later.FailingSince != began || later.Failures != 3 || later.Covered != 9*time.Hour || later.LastFailure != later.Fetched {
		t.Errorf("after a refusal in an outage: %+v", later)
	}
	if long := at(Timeout, 24*31).After(refused); long.Covered != 26*time.Hour {
		t.Errorf("a month after a refusal failures cover %v, want 26 h", long.Covered)
	}
	// A record of an earlier release without a last failure.
	old := *two
	old.LastFailure, old.Covered = time.Time{}, 0
	if next := at(Timeout, 5).After(&old); next.Failures != 3 || next.Covered != 3*time.Hour {
		t.Errorf("after an old record: %+v", next)
	}
	var waits []string
	r := at(ServerError, 0).After(nil)
	for range 9 {
		wait, _, _ := r.RetryDelay()
		waits = append(waits, wait.String())
		r = at(ServerError, 0).After(r)
	}
	if got := strings.Join(waits, " "); got != "1m0s 2m0s 4m0s 8m0s 16m0s 32m0s 1h0m0s 1h0m0s 1h0m0s" {
		t.Errorf("waits %s", got)
	}
	for _, row := range []struct {
		r    Record
		want time.Duration
	}{
		{Record{Cause: ServerError, Status: 503, Failures: 9}, 15 * time.Minute},
		{Record{Cause: DNSServer, Failures: 9}, 15 * time.Minute},
		{Record{Cause: DNSNotFound, Failures: 1}, time.Hour},
		{Record{Cause: BadEncoding}, time.Hour}, // or the site would be asked every minute for ever
		{Record{Cause: NoNetwork}, time.Minute},
		{Record{Cause: NoNetwork, Failures: 9}, time.Hour},
		{Record{Cause: TooManyRequests, Failures: 1, RetryAfter: 3 * time.Hour}, 3 * time.Hour},
		{Record{Cause: TooManyRequests, Failures: 1, RetryAfter: 99 * day}, day},
		{Record{Cause: TooManyRequests, Failures: 1, RetryAfter: time.Second}, time.Minute},
		{Record{Cause: OK}, 0},
	} {
		if got, _, _ := row.r.RetryDelay(); got != row.want {
			t.Errorf("%+v waits %v, want %v", row.r, got, row.want)
		}
	}
}

// TestTruncated: the partial last line of a truncated body never counts, in no dialect; one that is complete does.
func TestTruncated(t *testing.T) {
	body := "User-agent: *\nDisallow: /a\nDisallow: /bc"
	r := &Record{Outcome: Success, Cause: OK, Status: 200, Body: []byte(body), Truncated: true, Fetched: began}
	for _, d := range robots.Dialects() {
		for _, d.MaxFileBytes = range []int{d.MaxFileBytes, len(body), len(body) + 1} {
			rules := r.Rules(d, began, "x")
			if rules.Allowed(mustPath("/a")) || !rules.Allowed(mustPath("/bcd")) {
				t.Errorf("%s, limit %d: /a %v, /bcd %v", d.Name, d.MaxFileBytes, rules.Match(mustPath("/a")), rules.Match(mustPath("/bcd")))
			}
		}
	}
	r.Body = []byte("User-agent: *\nDisallow: /a\nDisallow: /bc\n")
	for _, d := range robots.Dialects() {
		if r.Rules(d, began, "x").Allowed(mustPath("/bcd")) {
			t.Errorf("%s discards a last line that is complete", d.Name)
		}
	}
	if !(&Record{Outcome: Success, Body: []byte("D"), Truncated: true}).Rules(robots.GoogleCPP, began).Allowed(mustPath("/D")) {
		t.Error("a cut body of one byte disallows")
	}
}

// TestCutAt: if a dialect would read beyond the kept bytes, the verdict has the number and a
// note.
func TestCutAt(t *testing.T) {
	body := "User-agent: *\nDisallow: /private" + strings.Repeat("\n# more", 1000) + "s"
	origin, _, _ := robots.ParseURL("https://example.com/")
	with := func(limit int) robots.Dialect {
		d := robots.Yandex
		d.MaxFileBytes = limit
		return d
	}
	r := &Record{Origin: origin, Outcome: Success, Cause: OK, Status: 200, Body: []byte(body), Truncated: true, Fetched: began, Expires: began.Add(day)}
	whole := *r
	whole.Truncated = false
	down := (&Record{Origin: origin, Outcome: Unreachable, Cause: ServerError, Status: 500, Fetched: began.Add(2 * day)}).After(r)
	for _, row := range []struct {
		r    *Record
		d    robots.Dialect
		cut  int
		note string
	}{
		{r, with(0), len(body), "truncated by the fetch at 7033 bytes, the partial last line discarded"},
		{r, with(len(body) + 1), len(body), "truncated by the fetch at 7033 bytes, the partial last line discarded"},
		{r, with(len(body)), 0, ""},
		{r, with(100), 0, ""},
		{&whole, with(0), 0, ""},
		{down, with(0), len(body), "status 500 since 2026-05-03T10:00:00Z, copy of 2026-05-01T10:00:00Z used; truncated by the fetch at 7033 bytes, the partial last line discarded"},
		{down, with(100), 0, "status 500 since 2026-05-03T10:00:00Z, copy of 2026-05-01T10:00:00Z used"},
	} {
		rules := row.r.Rules(row.d, row.r.Fetched, "x")
		if s := rules.State(); s.CutAt != row.cut || s.Text() != row.note {
			t.Errorf("limit %d, cut %v\ngot:  %d, %q\nwant: %d, %q", row.d.MaxFileBytes, row.r.Truncated, s.CutAt, s.Text(), row.cut, row.note)
		}
		e := rules.Explain(private)
		if i := slices.IndexFunc(e.Steps, func(s robots.Note) bool { return row.note != "" && s.Text == row.note }); (i < 0) != (row.note == "") {
			t.Errorf("limit %d: explained by %v", row.d.MaxFileBytes, e.Steps)
		}
	}
}

// TestLimitsFor: a client reads as far as its dialects, and at least the default.
func TestLimitsFor(t *testing.T) {
	far, huge := robots.RFC9309, robots.RFC9309
	far.MaxFileBytes, huge.MaxFileBytes = 3<<20, math.MaxInt
	for _, row := range []struct {
		l         Limits
		d         []robots.Dialect
		body, raw int64
	}{
		{Limits{}, nil, 512_000, 1 << 20},
		{Limits{}, robots.Dialects(), 512_000, 1 << 20},
		{Limits{}, []robots.Dialect{robots.Yandex, far, robots.GoogleCPP}, 3 << 20, 6 << 20},
		{Limits{MaxBodyBytes: 4 << 20}, []robots.Dialect{far}, 4 << 20, 8 << 20},
		{Limits{MaxBodyBytes: 1000, MaxRawBytes: 2000}, []robots.Dialect{robots.GoogleCPP}, 1000, 2000},
		{Limits{}, []robots.Dialect{huge}, min(math.MaxInt, 1<<40), 2 * min(math.MaxInt, 1<<40)},
		{Limits{MaxRawBytes: 4 << 20}, []robots.Dialect{far}, 3 << 20, 4 << 20},
	} {
		if got := row.l.For(row.d...).filled(); got.MaxBodyBytes != row.body || got.MaxRawBytes != row.raw {
			t.Errorf("%+v: body %d, raw %d, want %d, %d", row.l, got.MaxBodyBytes, got.MaxRawBytes, row.body, row.raw)
		}
	}
}

// TestSentences: the texts for people.
func TestSentences(t *testing.T) {
	for _, row := range []struct {
		r    *Record
		d    robots.Dialect
		age  time.Duration
		want string
	}{
		{failing(ServerError, 503, true), robots.RFC9309, time.Hour, "disallowed by line 2: Disallow: /private (status 503 since 2026-05-01T10:00:00Z, copy of 2026-04-30T22:00:00Z used)"},
		{failing(ServerError, 503, false), robots.RFC9309, time.Hour, "disallowed: robots.txt cannot be reached (status 503 since 2026-05-01T10:00:00Z, no earlier copy; everything allowed once 5 failures or more cover 30 days)"},
		{again(failing(ServerError, 503, false), 31*day), robots.RFC9309, 31 * day, "disallowed: robots.txt cannot be reached (status 503 since 2026-05-01T10:00:00Z, no earlier copy; everything allowed once 5 failures or more cover 30 days, so far 2 cover 24 h)"},
		{covered(failing(ServerError, 503, false), 30*day), robots.RFC9309, 31 * day, "allowed: robots.txt cannot be reached (status 503 since 2026-05-01T10:00:00Z, no earlier copy; everything allowed after 30 days of failures)"},
		{covered(failing(ServerError, 503, true), 30*day), robots.Google, 29 * day, "disallowed by line 2: Disallow: /private (status 503 since 2026-05-01T10:00:00Z, copy of 2026-04-30T22:00:00Z used)"},
		{failing(DNSNotFound, 0, true), robots.Google, time.Hour, "disallowed: robots.txt cannot be reached (no such host since 2026-05-01T10:00:00Z, copy of 2026-04-30T22:00:00Z kept; used from 2026-05-01T22:00:00Z)"},
		{failing(Timeout, 0, false), robots.GoogleLegacy, 0, "undefined (not allowed): the dialect leaves this failure undefined (no complete response in time since 2026-05-01T10:00:00Z)"},
		{failing(BadEncoding, 200, true), robots.Google, time.Hour, "disallowed by line 2: Disallow: /private (on our side: content encoding that was not requested, copy of 2026-04-30T22:00:00Z used)"},
		{failing(DNSFailure, 0, false), robots.Google, 90 * day, "disallowed: robots.txt cannot be reached (on our side: the name cannot be resolved, no earlier copy)"},
		{(&Record{Outcome: Unreachable, Cause: NoNetwork, Fetched: began.Add(time.Hour)}).After(failing(ServerError, 503, true)), robots.RFC9309, time.Hour,
			"disallowed by line 2: Disallow: /private (on our side: this machine cannot connect; site unreachable since 2026-05-01T10:00:00Z, copy of 2026-04-30T22:00:00Z used)"},
		{failing(AddressRefused, 0, false), robots.RFC9309, 0, "disallowed: the address guard refused to fetch robots.txt (address not allowed)"},
		{&Record{Outcome: Unavailable, Cause: ClientError, Status: 404, Fetched: began}, robots.RFC9309, 0, "allowed: the site has no robots.txt (status 404)"},
		{&Record{Outcome: Success, Cause: OK, Status: 200, Body: []byte(someRules), Fetched: began, Expires: began.Add(day)}, robots.RFC9309, 0, "disallowed by line 2: Disallow: /private"},
	} {
		v := row.r.Rules(row.d, began.Add(row.age), "x").Match(private)
		if got := v.String(); got != row.want {
			t.Errorf("got:  %s\nwant: %s", got, row.want)
		}
	}
	v := failing(ServerError, 503, true).Rules(robots.RFC9309, began.Add(time.Hour), "x").Match(private)
	got, _ := v.MarshalJSON()
	const want = `{"allowed":false,"verdict":"disallow","reason":"rule","rule":{"line":2,"directive":"disallow","pattern":"/private"},"group":{"token":"*","lines":[1]},"status":503,"fetched":"2026-04-30T22:00:00Z","expires":"2026-05-01T10:00:00Z","stale_since":"2026-05-01T10:00:00Z","failing_since":"2026-05-01T10:00:00Z","next_try":"2026-05-01T10:01:00Z","note":"status 503 since 2026-05-01T10:00:00Z, copy of 2026-04-30T22:00:00Z used","dialect":"rfc9309"}`
	if string(got) != want {
		t.Errorf("got:  %s\nwant: %s", got, want)
	}
}

// statusConflicts lists the rows of http_status.tsv that a decision overrules. Each must really
// fail.
var statusConflicts = map[string]string{
	"google-legacy ko redirect to an uncrawlable (disallowed) URL":                  "REDIR-04: no rules are known yet, so the redirect is followed",
	"google-legacy ko 200 with HTML logical redirect (frame, script, meta refresh)": "D-27: the lines of the page are read",
	"google-legacy ko 5xx permanent":                                                "HTTP-04: nobody can say which failure is permanent, so it disallows",
	"yandex docs any status other than 200":                                         "an older page; every failure would become permission",
}

// TestStatusTable: every row of the table for one of the eight dialects, for the causes that the
// catalogue of faults lists for it.
func TestStatusTable(t *testing.T) {
	data, err := os.ReadFile("../robotstest/testdata/spec/http_status.tsv")
	if err != nil {
		t.Fatal(err)
	}
	checked, others, conflicts := 0, 0, 0
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n")[1:] {
		cells := strings.Split(line, "\t")
		name, input, outcome := cells[0], cells[2], cells[3]
		d, ok := robots.DialectByName(name)
		if !ok {
			others++
			continue
		}
		err := checkStatusRow(d, input, outcome)
		reason, listed := statusConflicts[strings.Join(cells[:3], " ")]
		switch {
		case listed && err == nil:
			t.Errorf("%s, %s: no conflict any more (%s)", name, input, reason)
		case listed:
			conflicts++
			t.Logf("not followed: %s, %s: %s", name, input, reason)
		case err != nil:
			t.Errorf("%s, %s: %v", name, input, err)
		default:
			checked++
		}
	}
	t.Logf("%d rows checked, %d conflicting, %d of other sources", checked, conflicts, others)
	if checked < 75 || conflicts != len(statusConflicts) {
		t.Errorf("%d rows checked, %d conflicting", checked, conflicts)
	}
}

// statusInputs are the inputs of the table that are not numbers: their causes, the age, and
// whether there is a copy.
var statusInputs = map[string]struct {
	causes []Cause
	body   string // someRules if empty
	age    time.Duration
	held   bool
	policy Policy
}{
	"redirects=1 then 200": {causes: []Cause{OK}},
	"redirects=5 then 200": {causes: []Cause{OK}},
	"redirects=6":          {causes: []Cause{RedirectLimit}},
	"redirect loop":        {causes: []Cause{RedirectLoop}},
	"redirect to an uncrawlable (disallowed) URL":                  {causes: []Cause{OK}},
	"redirect to a disallowed URL":                                 {causes: []Cause{OK}},
	"redirect to another site":                                     {causes: []Cause{OK}},
	"disallowed URL inside the redirect chain":                     {causes: []Cause{RedirectLimit}},
	"200 with HTML logical redirect (frame, script, meta refresh)": {causes: []Cause{OK}},
	"200 with HTML logical redirect":                               {causes: []Cause{OK}},
	"timeout":                                                      {causes: []Cause{HeaderTimeout, ConnectTimeout, Timeout}},
	"DNS failure":                                                  {causes: []Cause{DNSNotFound, DNSServer, DNSTimeout}},
	"invalid response":                                             {causes: []Cause{BadResponse, NotModified, BadStatus, BadRedirect}},
	"reset connection":                                             {causes: []Cause{Reset}},
	"hung connection":                                              {causes: []Cause{HeaderTimeout, TooSlow}},
	"HTTP chunking error":                                          {causes: []Cause{Incomplete}},
	"5xx permanent":                                                {causes: []Cause{ServerError}, age: 400 * day},
	"5xx on a site known to answer 5xx for missing pages":          {causes: []Cause{ServerError}, policy: Policy{MissingIs5xx: true}},
	"5xx for more than 30 days, cached copy":                       {causes: []Cause{ServerError}, age: 31 * day, held: true},
	"5xx for more than 30 days, no cached copy":                    {causes: []Cause{ServerError}, age: 31 * day},
	"5xx age<12h":                                                  {causes: []Cause{ServerError}, age: 11 * time.Hour, held: true},
	"5xx 12h..30d, cached copy":                                    {causes: []Cause{ServerError}, age: 13 * time.Hour, held: true},
	"5xx 12h..30d, no cached copy":                                 {causes: []Cause{ServerError}, age: 29 * day},
	"5xx >30d, site otherwise reachable":                           {causes: []Cause{ServerError}, age: 31 * day, held: true, policy: Policy{SiteAnswers: true}},
	"5xx >30d, site generally unavailable":                         {causes: []Cause{ServerError}, age: 31 * day, held: true},
	"5xx >30d":                                                     {causes: []Cause{ServerError}, age: 31 * day},
	"missing or empty robots.txt":                                  {causes: []Cause{ClientError, Empty}},
	"missing on a subdomain":                                       {causes: []Cause{ClientError}},
	"any status other than 200":                                    {causes: []Cause{ClientError, ServerError}},
	"file larger than 500 KB":                                      {causes: []Cause{OK}, body: rulesOf(512_000 + bodySlack)},
}

func checkStatusRow(d robots.Dialect, input, outcome string) error {
	in, ok := statusInputs[input]
	var records []*Record
	for _, c := range in.causes {
		r := &Record{Outcome: c.Outcome(), Cause: c, Status: 500, Fetched: began, Expires: began.Add(day), Hops: make([]Hop, 6)}
		if c == OK {
			r.Body, r.Truncated = []byte(cmp.Or(in.body, someRules)), in.body != ""
		}
		records = append(records, r.After(nil))
	}
	if status, err := strconv.Atoi(input); err == nil {
		answer := &Answer{URL: "http://site.test/robots.txt", At: began, Status: status, Body: strings.NewReader(someRules)}
		if status == 204 {
			answer.Body = nil
		}
		r, next, err := Limits{}.Judge(robots.Origin{}, answer)
		if err != nil || next != "" {
			return fmt.Errorf("status %d leads to %q, %v", status, next, err)
		}
		records = append(records, r)
	} else if !ok {
		return errors.New("nobody knows what this input means")
	}
	for _, r := range records {
		if in.held {
			r = r.After(&Record{Outcome: Success, Cause: OK, Body: []byte(someRules), Fetched: r.Fetched.Add(-day), Expires: r.Fetched})
		}
		rules := in.policy.Rules(covered(r, in.age), d, r.Fetched.Add(in.age), "anybot")
		v, w := rules.Match(private), rules.Match(public)
		var good bool
		switch outcome {
		case "conditional-allow", "followed", "cached rules":
			_, fallback := rules.FallbackReason()
			good = !fallback && w.Allowed
			if len(r.Body) == len(someRules) || in.held {
				good = good && !v.Allowed && v.Rule.Line() == 2
			}
		case "full-allow", "full-allow or cached rules (MAY)", "full-allow after the hop limit":
			good = v.Allowed && w.Allowed && !v.Undefined
		case "full-disallow (first)", "full-disallow", "server-error":
			good = !v.Allowed && !w.Allowed && !v.Undefined && v.Reason == robots.ReasonUnreachable
		case "undefined":
			good = v.Undefined && w.Undefined && !w.Allowed
		}
		if !good {
			return fmt.Errorf("%v is %v (%v), want %s", r.Cause, w, v, outcome)
		}
	}
	return nil
}

// TestDialectTable: the columns of dialects.tsv on fetching equal the fields of Dialect.
func TestDialectTable(t *testing.T) {
	data, err := os.ReadFile("../robotstest/testdata/spec/dialects.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	head := strings.Split(lines[0], "\t")
	cells := 0
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range strings.Split(line, "\t") {
			row[head[i]] = cell
		}
		d, ok := robots.DialectByName(row["dialect"])
		if !ok || d.Name == "google-cpp" { // which knows no fetching
			continue
		}
		got := map[string]string{
			"s4xx": "allow", "s401_403": "allow", "s429": map[bool]string{true: "allow"}[d.TooManyIsMissing],
			"redirects": fmt.Sprint(d.Redirects), "over_redirects": "allow", "html_body": "parse",
			"net_fail": map[bool]string{true: "undefined"}[d.FailureUndefined],
			"ttl":      fmt.Sprintf("%.0fh", d.Lifetime.Hours()),
		}
		for column, value := range got {
			if value == "" {
				value = "server-error"
			}
			switch {
			case d.Name == "yandex" && column == "net_fail":
				row[column] = "server-error" // an older page; every failure would become permission
			case d.Name == "google-legacy" && column == "html_body":
				row[column] = "parse" // D-27: the lines of the page are read
			}
			if cells++; row[column] != value {
				t.Errorf("%s, %s: %s, the table says %s", d.Name, column, value, row[column])
			}
		}
	}
	t.Logf("%d cells", cells)
}
