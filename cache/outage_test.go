package cache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
)

// The behaviors of a site. Each is a row of the model below.
type behaviour struct {
	name    string
	cause   fetch.Cause
	status  int
	body    string
	asks    time.Duration // Retry-After
	probe   bool          // MissingIs5xx
	least   time.Duration // first wait after a failure
	most    time.Duration // longest
	private string        // of a good answer: what becomes of /private
}

const (
	hour = time.Hour
	day  = 24 * hour
)

var behaviours = []behaviour{
	{name: "file", cause: fetch.OK, status: 200, body: "User-agent: *\nDisallow: /private\n", private: "disallow"},
	{name: "empty", cause: fetch.Empty, status: 204, private: "allow"},
	{name: "404", cause: fetch.ClientError, status: 404, private: "allow"},
	{name: "500", cause: fetch.ServerError, status: 500, least: time.Minute, most: hour},
	{name: "503", cause: fetch.ServerError, status: 503, least: time.Minute, most: 15 * time.Minute},
	{name: "503 for 3 h", cause: fetch.ServerError, status: 503, asks: 3 * hour, least: 3 * hour, most: 3 * hour},
	{name: "503 for a week", cause: fetch.ServerError, status: 503, asks: 7 * day, least: day, most: day},
	{name: "500 also for missing", cause: fetch.ServerError, status: 500, probe: true, least: time.Minute, most: hour},
	{name: "429", cause: fetch.TooManyRequests, status: 429, least: time.Minute, most: hour},
	{name: "429 for 1 s", cause: fetch.TooManyRequests, status: 429, asks: time.Second, least: time.Minute, most: hour},
	{name: "no host", cause: fetch.DNSNotFound, least: hour, most: hour},
	{name: "reset", cause: fetch.Reset, least: time.Minute, most: hour},
	{name: "cut short", cause: fetch.Incomplete, status: 200, least: time.Minute, most: hour},
	{name: "refused", cause: fetch.AddressRefused, least: hour, most: hour},
	{name: "no network here", cause: fetch.NoNetwork, least: time.Minute, most: hour},
	{name: "no name server here", cause: fetch.DNSFailure, least: time.Minute, most: hour},
	{name: "compressed as we cannot", cause: fetch.BadEncoding, status: 200, least: hour, most: hour},
}

func (b *behaviour) good() bool    { return b.private != "" }
func (b *behaviour) refused() bool { return b.cause == fetch.AddressRefused }
func (b *behaviour) ours() bool { // a failure of our own side (D-55)
	return b.refused() || b.cause == fetch.NoNetwork || b.cause == fetch.DNSFailure || b.cause == fetch.BadEncoding
}
func (b *behaviour) network() bool {
	return b.cause == fetch.DNSNotFound || b.cause == fetch.Reset || b.cause == fetch.Incomplete
}

// model is a second, simpler implementation of the documented policies: from the list of
// attempts only.
type model struct {
	last     *behaviour // of the last attempt
	at       time.Time
	lastGood *behaviour
	goodAt   time.Time

	failed    []time.Time   // the failures of the site since then, those of our own side left out (D-55)
	firstFail time.Time     // the first of them
	failures  int           // how many
	covered   time.Duration // the sum of the gaps between them, each counted as a day at most (D-54)
}

func (m *model) attempt(b *behaviour, at time.Time) {
	switch {
	case b.good():
		m.lastGood, m.goodAt, m.failed = b, at, nil
	case !b.ours():
		m.failed = append(slices.Clip(m.failed), at) // a copy of the model may go another way
	}
	m.last, m.at = b, at
	m.firstFail, m.failures, m.covered = time.Time{}, len(m.failed), 0
	for i, t := range m.failed {
		if i == 0 {
			m.firstFail = t
			continue
		}
		m.covered += min(t.Sub(m.failed[i-1]), day)
	}
}

// wait returns the bounds of the time to the next attempt of a site in use.
func (m *model) wait() (least, most time.Duration) {
	if m.last.good() {
		return day * 72 / 100, day // 80 % of a life that chance has made a tenth shorter
	}
	wait := m.last.least
	if m.last.asks <= time.Minute {
		for range m.failures - 1 {
			wait = min(2*wait, m.last.most)
		}
	}
	least, most = max(wait*9/10, time.Minute), min(wait*11/10, m.last.most)
	if asks := min(m.last.asks, day); asks > time.Minute {
		least, most = asks, min(asks*11/10, day)
	}
	return least, most
}

// The failure policies, one line per step: the age from which it applies, with a copy, without.
type step struct {
	from       time.Duration
	with, none string
}

var (
	policyRFC    = []step{{0, "copy", "disallow"}, {30 * day, "copy", "allow"}}
	policyGoogle = []step{{0, "disallow", "disallow"}, {12 * hour, "copy", "allow"}, {30 * day, "disallow", "disallow"}}
	policyKnown  = []step{{0, "disallow", "disallow"}, {12 * hour, "copy", "allow"}, {30 * day, "allow", "allow"}} // the site otherwise answers
	policy2019   = []step{{0, "disallow", "disallow"}, {30 * day, "copy", "allow"}}
	policyLegacy = []step{{0, "disallow", "disallow"}}
)

var policies = map[string][]step{
	"rfc9309": policyRFC, "seznam": policyRFC, "bing": policyRFC, "yandex": policyRFC,
	"google": policyGoogle, "google-cpp": policyGoogle, "google-2019": policy2019, "google-legacy": policyLegacy,
}

var (
	tooManyIsMissing = map[string]bool{"google-2019": true, "google-legacy": true, "yandex": true}
	serverErrorsMiss = map[string]bool{"google-2019": true, "google-legacy": true}
)

// private returns the verdict for /private, allow, disallow or undefined, with its reason. A
// failure allows only for a reason that begins with "listed".
func (m *model) private(dialect string, policy []step, now, expires time.Time) (want, why string) {
	switch {
	case m.last.good():
		return m.last.private, "good answer"
	case m.lastGood != nil && now.Before(expires):
		return m.lastGood.private, "answer still fresh"
	case m.last.cause == fetch.TooManyRequests && tooManyIsMissing[dialect]:
		return "allow", "listed: 429 is a client error"
	case m.last.probe && serverErrorsMiss[dialect]:
		return "allow", "listed: 5xx for missing pages"
	case m.last.network() && dialect == "google-legacy":
		return "undefined", "network failure"
	}
	held := m.lastGood != nil && m.lastGood.cause != fetch.ClientError
	if m.failures == 0 { // nothing but failures of our own side: no outage
		if held {
			return m.lastGood.private, "listed: last good copy, no outage"
		}
		return "disallow", "nothing known"
	}
	hold := ""
	var from time.Duration
	for _, s := range policy {
		then := s.none
		if held {
			then = s.with
		}
		begun := now.Sub(m.firstFail) >= s.from
		if then == "allow" { // a step that opens goes by evidence (D-54)
			begun = m.covered >= s.from && m.failures >= 5
		}
		if begun {
			hold, from = then, s.from
		}
	}
	switch hold {
	case "copy":
		return m.lastGood.private, "listed: last good copy"
	case "allow":
		return "allow", fmt.Sprintf("listed: open after %v, copy %v", from, held)
	}
	return "disallow", "outage"
}

// site is a Fetcher for a site with one behavior at a time.
type site struct {
	t     *testing.T
	now   *behaviour
	model model
	asked int
	wall  func() time.Time
	jumps bool // the clock does, so that good answers may end early
}

func (s *site) Fetch(_ context.Context, origin robots.Origin) (*fetch.Record, error) {
	at := s.wall()
	if s.model.last != nil && !(s.jumps && s.model.last.good()) {
		least, _ := s.model.wait()
		if gap := at.Sub(s.model.at); gap < least-time.Millisecond {
			s.t.Errorf("asked %v after %q with %d failures, want %v at least", gap, s.model.last.name, s.model.failures, least)
		}
	}
	s.asked++
	s.model.attempt(s.now, at.Truncate(time.Millisecond))
	return record(origin, s.now, at), nil
}

func record(origin robots.Origin, b *behaviour, at time.Time) *fetch.Record {
	r := &fetch.Record{
		Origin: origin, URL: origin.RobotsURL(), Outcome: b.cause.Outcome(), Cause: b.cause, Status: b.status,
		Started: at, Fetched: at, RetryAfter: b.asks, MissingIs5xx: b.probe,
	}
	if b.body != "" {
		r.Body = []byte(b.body)
	}
	return r
}

// TestOutages compares random histories of sites with the model in every dialect: good and bad
// days, fetched now and then for up to ten weeks or every day, with pauses of weeks.
func TestOutages(t *testing.T) {
	const bubble = 250 // histories in one bubble, whose clock has 262 years
	random := rand.New(rand.NewPCG(1, 20260501))
	verdicts, asked := 0, 0
	for first := 0; first < campaign.Size(1_000, 1_000, 100_000) && !t.Failed(); first += bubble {
		synctest.Test(t, func(t *testing.T) {
			for i := range bubble {
				v, a := outage(t, random)
				verdicts, asked = verdicts+v, asked+a
				if t.Failed() {
					t.Fatalf("in history %d", first+i)
				}
			}
		})
	}
	t.Logf("%d fetches, %d verdicts as the model has them", asked, verdicts)
}

// outage is one history.
func outage(t *testing.T, random *rand.Rand) (verdicts, asked int) {
	s := &site{t: t, wall: time.Now}
	c, err := cache.New(cache.Options{Fetcher: s, Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pick := func() { s.now = &behaviours[random.IntN(len(behaviours))] }
	pick()
	trouble := random.IntN(3) // in a third of histories the site does not recover
	rounds, every := 4+random.IntN(8), time.Duration(0)
	if random.IntN(25) == 0 { // a job that runs every so often, and a site in longer trouble
		rounds, every = 20+random.IntN(30), time.Duration(random.Int64N(int64(30*hour)))
	}
	for range rounds {
		kind := random.IntN(4)
		if every > 0 && random.IntN(15) > 0 {
			kind = -1
		}
		switch kind {
		case -1:
			time.Sleep(every)
		case 0:
			time.Sleep(time.Duration(random.Int64N(int64(10 * time.Minute))))
		case 1:
			time.Sleep(time.Duration(random.Int64N(int64(5 * hour))))
		case 2:
			time.Sleep(time.Duration(random.Int64N(int64(30 * hour))))
		default:
			time.Sleep(time.Duration(random.Int64N(int64(13 * day))))
			if random.IntN(8) == 0 {
				time.Sleep(time.Duration(random.Int64N(int64(40 * day))))
			}
		}
		if random.IntN(3) == 0 && (every == 0 || random.IntN(5) == 0) {
			for pick(); trouble == 0 && s.model.failures > 0 && s.now.good(); pick() {
			}
		}
		now := time.Now()
		before, last := s.asked, s.model
		_, err := c.Get(context.Background(), origin)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // an early refresh ends
		if last.last != nil && s.asked == before {
			if _, most := last.wait(); now.Sub(last.at) > most+time.Millisecond {
				t.Errorf("not asked %v after %q with %d failures, want %v at most", now.Sub(last.at), last.last.name, last.failures, most)
			}
		}
		if s.asked > before+1 {
			t.Errorf("asked %d times at once", s.asked-before)
		}
		r, err := c.Get(context.Background(), origin)
		if err != nil {
			t.Fatal(err)
		}
		verdicts += judge(t, s, r, now)
	}
	return verdicts, s.asked
}

var origin, _, _ = robots.ParseURL("https://site.example/")

var (
	privatePath = path("/private")
	openPath    = path("/open")
)

func path(s string) robots.Path {
	p, err := robots.ParsePath(s)
	if err != nil {
		panic(err)
	}
	return p
}

// judge compares a record with the model in every dialect.
func judge(t *testing.T, s *site, r *fetch.Record, now time.Time) (verdicts int) {
	m := &s.model
	expires := r.Expires
	if g := r.LastGood; g != nil {
		expires = g.Expires
	}
	if life := expires.Sub(m.goodAt); m.lastGood != nil && (life < day*9/10 || life > day) {
		t.Errorf("life of %v, want a day or up to a tenth less", life)
	}
	if n := len(m.failed); n > 0 && !r.LastFailure.Equal(m.failed[n-1]) {
		t.Errorf("last failure %v, want %v", r.LastFailure, m.failed[n-1])
	}
	if !m.last.good() && (!r.FailingSince.Equal(m.firstFail) || r.Failures != m.failures || r.Covered != m.covered) {
		t.Errorf("%d failures since %v cover %v, want %d since %v that cover %v", r.Failures, r.FailingSince, r.Covered, m.failures, m.firstFail, m.covered)
	}
	for _, d := range robots.Dialects() {
		for _, known := range []bool{false, true} {
			policy, p := policies[d.Name], fetch.Policy{SiteAnswers: known}
			if known {
				if d.Name != "google" {
					continue
				}
				policy = policyKnown
			}
			want, why := m.private(d.Name, policy, now, expires)
			rules := p.Rules(r, d, now, "Bot")
			v := rules.Match(privatePath)
			got := v.Word()
			if got != want {
				t.Errorf("%s: %s after %q, failing since %v, last good answer %v: %s (%v), want %s by %s",
					d.Name, now, m.last.name, m.firstFail, m.goodAt, got, v, want, why)
			}
			if got == "allow" && !m.last.good() && why != "answer still fresh" && !strings.HasPrefix(why, "listed") {
				t.Errorf("%s: allowed by %s", d.Name, why)
			}
			verdicts++
		}
	}
	return verdicts
}
