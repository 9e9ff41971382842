package server

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/pace"
)

// A permitReply is a response of POST /v1/permits.
type permitReply struct {
	Verdict   struct{ Allowed bool }
	Permit    *struct{ ID, Start, Expires string }
	NotBefore *string `json:"not_before"`
	Reasons   []string
	Done      []Returned
}

func (b *bench) permit(body string) permitReply {
	b.Helper()
	return decoded[permitReply](b, b.post("/v1/permits", body))
}

// giveBack releases a permit and returns the status.
func (b *bench) giveBack(id, body string) int {
	b.Helper()
	return b.post("/v1/permits/"+id+"/done", body).status
}

// TestFirstPermit: the first request to a site starts one interval after its robots.txt was read.
func TestFirstPermit(t *testing.T) {
	clock := newTestClock()
	b, s := newBench(t, Parts{Now: clock.now}), newSite(t, shop)
	clock.set(time.Now())
	ready := b.fetched(s.URL).Add(10 * time.Second)
	single := fmt.Sprintf(`{"url":"%s/a"}`, s.URL)
	many := fmt.Sprintf(`{"urls":["%s/a"]}`, s.URL)
	next := func() permitReply {
		return decoded[struct{ Answers []permitReply }](b, b.post("/v1/permits/next", many)).Answers[0]
	}
	clock.set(ready.Add(-8 * time.Second))
	for path, got := range map[string]permitReply{"/v1/permits": b.permit(single), "/v1/permits/next": next()} {
		if got.Permit != nil || got.NotBefore == nil || !strings.Contains(strings.Join(got.Reasons, " "), "line 4") {
			t.Errorf("%s: a permit within the interval after robots.txt was read: %+v", path, got)
			continue
		}
		if at, err := time.Parse(time.RFC3339, *got.NotBefore); err != nil || at.Before(ready) || at.Sub(ready) > time.Millisecond {
			t.Errorf("%s: not before %s, %v; want %s", path, at, err, ready)
		}
	}
	clock.set(ready.Add(time.Millisecond))
	if got := next(); got.Permit == nil {
		t.Errorf("none after the interval: %+v", got)
	}
}

func TestPermits(t *testing.T) {
	clock := newTestClock()
	b, s := newBench(t, Parts{Now: clock.now}), newSite(t, shop)
	ask := fmt.Sprintf(`{"url":"%s/a","agent":"MyBot"}`, s.URL)
	first := b.permit(ask)
	if first.Permit == nil || !first.Verdict.Allowed {
		t.Fatalf("%+v", first)
	}
	start, err := time.Parse(time.RFC3339, first.Permit.Start)
	expires, err2 := time.Parse(time.RFC3339, first.Permit.Expires)
	if err != nil || err2 != nil || expires.Sub(start).Round(time.Second) != 2*time.Minute {
		t.Errorf("%+v", first.Permit)
	}
	if busy := b.permit(ask); busy.Permit != nil || busy.NotBefore == nil || len(busy.Reasons) == 0 {
		t.Errorf("a second permit while the first is out: %+v", busy)
	}
	for range 2 {
		if status := b.giveBack(first.Permit.ID, `{"status":200}`); status != 200 {
			t.Errorf("given back: %d", status)
		}
	}
	// A Crawl-delay counts from the end of a response.
	later := b.permit(ask)
	if later.Permit != nil || later.NotBefore == nil || !strings.Contains(strings.Join(later.Reasons, " "), "line 4") {
		t.Errorf("%+v", later)
	}
	ahead := b.permit(fmt.Sprintf(`{"url":"%s/a","agent":"MyBot","within":"30s","hold":"10s"}`, s.URL))
	if ahead.Permit == nil {
		t.Fatalf("%+v", ahead)
	}
	if start, _ = time.Parse(time.RFC3339, ahead.Permit.Start); start.Before(clock.now().Add(10 * time.Second)) {
		t.Errorf("it starts at %s, within the delay; now is %s", start, clock.now())
	}
	for _, url := range []string{"nonsense", s.URL + strings.Repeat("/", 9000)} { // nothing is released
		if r := b.post("/v1/permits", fmt.Sprintf(`{"url":"%s","done":[{"id":"%s","unused":true}]}`, url, ahead.Permit.ID)); r.status != 422 {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	if busy := b.permit(ask); !strings.Contains(strings.Join(busy.Reasons, " "), "in progress") {
		t.Errorf("after an invalid request the permit is released: %+v", busy)
	}
	with := b.permit(fmt.Sprintf(`{"url":"%s/basket","agent":"MyBot","done":[{"id":"%s","unused":true},{"id":"p_x"}]}`, s.URL, ahead.Permit.ID))
	if with.Verdict.Allowed || with.Permit != nil || with.NotBefore != nil || len(with.Done) != 2 || with.Done[0].Result != "done" || with.Done[1].Result != "unknown" {
		t.Errorf("%+v", with)
	}
	// An address has a rate of its own.
	other := newSite(t, "")
	if g := b.permit(fmt.Sprintf(`{"url":"%s/","addr":"::ffff:192.0.2.7"}`, other.URL)); g.Permit == nil {
		t.Errorf("%+v", g)
	}
	another := newSite(t, "")
	if g := b.permit(fmt.Sprintf(`{"url":"%s/","addr":"192.0.2.7"}`, another.URL)); g.Permit != nil || g.NotBefore == nil {
		t.Errorf("another site at the address: %+v", g)
	}
}

// TestPermitsNext: the first of many sites that are ready get permits, and the others a reason
// or a time.
func TestPermitsNext(t *testing.T) {
	clock := newTestClock()
	local, err := pace.NewLocal(pace.Options{AddressInterval: -1, Now: clock.now}) // the sites have one address
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, Parts{Limiter: local, Now: clock.now})
	var urls []string
	for range 6 {
		urls = append(urls, newSite(t, "User-agent: *\nCrawl-delay: 60\nDisallow: /private\n").URL)
	}
	type line struct {
		permitReply
		Error, Code string
	}
	type nextReply struct {
		Answers []line
		Done    []Returned
	}
	next := func(body string) nextReply {
		t.Helper()
		return decoded[nextReply](b, b.post("/v1/permits/next", body))
	}
	given := func(list []line) (which []int) {
		for i, l := range list {
			if l.Permit != nil {
				which = append(which, i)
			}
		}
		return which
	}
	first := b.permit(fmt.Sprintf(`{"url":"%s/"}`, urls[0]))
	asked := fmt.Sprintf(`{"urls":["%s/","nonsense","%s/private","%s/","%s/","%s/","%s/"],"hold":"5m"`, urls[0], urls[1], urls[2], urls[3], urls[4], urls[5])
	got := next(asked + `,"most":2}`)
	a := got.Answers
	if len(a) != 7 || !slices.Equal(given(a), []int{3, 4}) || got.Done != nil {
		t.Fatalf("%+v", got)
	}
	if a[0].NotBefore == nil || !strings.Contains(strings.Join(a[0].Reasons, " "), "in progress") {
		t.Errorf("a site with a permit that is out: %+v", a[0])
	}
	if a[1].Code != "bad-url" || a[1].Error == "" {
		t.Errorf("an invalid URL: %+v", a[1])
	}
	if a[2].Verdict.Allowed || a[2].NotBefore != nil || len(a[2].Reasons) != 0 {
		t.Errorf("a page that is disallowed: %+v", a[2])
	}
	if a[5].NotBefore == nil {
		t.Fatalf("a site that is ready and not among the first: %+v", a[5])
	}
	if at, err := time.Parse(time.RFC3339, *a[5].NotBefore); err != nil || at.After(clock.now().Add(time.Millisecond)) {
		t.Errorf("a site that is ready and not among the first: %+v", a[5])
	}
	start, err := time.Parse(time.RFC3339, a[3].Permit.Start)
	expires, err2 := time.Parse(time.RFC3339, a[3].Permit.Expires)
	if err != nil || err2 != nil || expires.Sub(start).Round(time.Second) != 5*time.Minute {
		t.Errorf("%+v", a[3].Permit)
	}
	// All others that are ready. The sites of released permits rest for their interval.
	got = next(asked + fmt.Sprintf(`,"done":[{"id":"%s","status":200},{"id":"p_x"}]}`, first.Permit.ID))
	if len(got.Done) != 2 || got.Done[0].Result != "done" || got.Done[1].Result != "unknown" || !slices.Equal(given(got.Answers), []int{5, 6}) {
		t.Errorf("%+v", got)
	}
	if a := got.Answers[0]; a.NotBefore == nil || !strings.Contains(strings.Join(a.Reasons, " "), "line 2") {
		t.Errorf("a site whose permit was given back: %+v", a)
	}
	if b.giveBack(got.Answers[5].Permit.ID, `{"status":200}`) != 200 {
		t.Error("a permit of many is not given back as any other")
	}
	b.caller.Store(&Caller{Name: "a", Scopes: ScopeCheck | ScopeFetch})
	if r := b.post("/v1/permits/next", asked+"}"); r.status != 403 {
		t.Errorf("without the scope: %d", r.status)
	}
	bad, refused := b.counts.questions.of("bad").Get(), b.counts.refused.of("forbidden").Get()
	if allowed := b.counts.questions.of("allowed").Get(); allowed != 11 || bad != 2 || refused != 1 {
		t.Errorf("%v allowed, %v bad and %v refused are counted, want 11, 2 and 1", allowed, bad, refused)
	}
}

// TestPermitEnds: a permit that is not released counts as a request that timed out, and cannot
// be released later.
func TestPermitEnds(t *testing.T) {
	clock := newTestClock()
	b, s := newBench(t, Parts{Now: clock.now}), newSite(t, "")
	got := b.permit(fmt.Sprintf(`{"url":"%s/","hold":"1s"}`, s.URL))
	clock.advance(2 * time.Second)
	if status := b.giveBack(got.Permit.ID, `{}`); status != http.StatusGone {
		t.Errorf("%d", status)
	}
	if with := b.permit(fmt.Sprintf(`{"url":"%s/","done":[{"id":"%s"}]}`, s.URL, got.Permit.ID)); with.Done[0].Result != "ended" {
		t.Errorf("%+v", with)
	}
}

// TestReleaseTwice: a second release is no error, and the interval of the site starts again; what it
// reports of the load does not count, but its Retry-After does.
func TestReleaseTwice(t *testing.T) {
	clock := newTestClock()
	b, s := newBench(t, Parts{Now: clock.now}), newSite(t, "User-agent: *\nCrawl-delay: 10\n")
	got := b.permit(fmt.Sprintf(`{"url":"%s/","hold":"1h"}`, s.URL))
	for _, c := range []struct {
		body  string
		after time.Duration
	}{{`{"status":200}`, 10 * time.Second}, {`{"status":503}`, 10 * time.Second}, {`{"status":200,"retry_after":60}`, time.Minute}} {
		clock.advance(5 * time.Second)
		if status := b.giveBack(got.Permit.ID, c.body); status != http.StatusOK {
			t.Fatalf("%s: %d", c.body, status)
		}
		next := b.permit(fmt.Sprintf(`{"url":"%s/"}`, s.URL))
		if next.Permit != nil {
			t.Fatalf("%s: a permit at once", c.body)
		}
		at, err := time.Parse(time.RFC3339, *next.NotBefore)
		if wait := at.Sub(clock.now()); err != nil || wait < c.after || wait > c.after+time.Millisecond {
			t.Errorf("%s: the next permit is in %v, %v; want %v", c.body, wait, err, c.after)
		}
	}
}

// TestPermitForged: an id that is invalid or changed is unknown.
func TestPermitForged(t *testing.T) {
	b, s := newBench(t, Parts{Now: newTestClock().now}), newSite(t, "")
	other := newBench(t, Parts{})
	id := b.permit(fmt.Sprintf(`{"url":"%s/"}`, s.URL)).Permit.ID
	if status := other.giveBack(id, `{}`); status != 404 {
		t.Errorf("a server with another secret: %d", status)
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(id, "p_"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		changed := append([]byte{}, raw...)
		changed[i] ^= 1
		if _, ok := b.verify("p_" + base64.RawURLEncoding.EncodeToString(changed)); ok {
			t.Errorf("with byte %d changed it is ours", i)
		}
		if _, ok := b.verify("p_" + base64.RawURLEncoding.EncodeToString(raw[:i])); ok {
			t.Errorf("cut to %d bytes it is ours", i)
		}
	}
	for _, id := range []string{"x", "p_", "p_!", strings.Repeat("p", 5000), "%2e%2e", "%00"} {
		if status := b.giveBack(id, `{}`); status != 404 {
			t.Errorf("%.20s: %d", id, status)
		}
	}
	if status := b.giveBack(id, `{"status":200}`); status != 200 {
		t.Errorf("%d", status)
	}
	b.caller.Store(&Caller{Name: "a", Scopes: ScopeCheck | ScopeFetch})
	if status := b.giveBack(id, `{"status":200}`); status != 403 {
		t.Errorf("without the scope: %d", status)
	}
}

// TestAnonymousPermits: what a client without a token does to a site ends after seconds: it holds a permit
// no longer, and its report of a response changes nothing.
func TestAnonymousPermits(t *testing.T) {
	b, s := newBench(t, Parts{Now: newTestClock().now}), newSite(t, "")
	own := Caller{Name: "127.0.0.1/32", Scopes: allScopes}
	anyone := own
	anyone.Anonymous = true
	ask := fmt.Sprintf(`{"url":"%s/a","agent":"MyBot"`, s.URL)
	b.caller.Store(&own) // whose request has the robots.txt fetched
	first := b.permit(ask + "}")
	if first.Permit == nil || b.giveBack(first.Permit.ID, `{"unused":true}`) != 200 {
		t.Fatalf("%+v", first)
	}
	b.caller.Store(&anyone)
	for _, body := range []string{ask + `,"hold":"11s"}`, ask + `,"hold":"1h"}`} {
		if r := b.post("/v1/permits", body); r.status != 422 || !strings.Contains(r.body, "from 1 s to 10 s") {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
	for _, result := range []string{`{"status":503,"retry_after":31536000}`, `{"status":429}`, `{"timeout":true}`} {
		got := b.permit(ask + `,"within":"30s"}`)
		if got.Permit == nil {
			t.Fatalf("before %s: %+v", result, got)
		}
		start, _ := time.Parse(time.RFC3339, got.Permit.Start)
		if expires, err := time.Parse(time.RFC3339, got.Permit.Expires); err != nil || expires.Sub(start).Round(time.Second) != anonymousHold {
			t.Errorf("%+v", got.Permit)
		}
		if status := b.giveBack(got.Permit.ID, result); status != 200 {
			t.Errorf("%s: status %d", result, status)
		}
		after := b.permit(ask + `,"within":"30s"}`)
		if after.Permit == nil || strings.Contains(strings.Join(after.Reasons, " "), "overloaded") || strings.Contains(strings.Join(after.Reasons, " "), "Retry-After") {
			t.Errorf("after %s: %+v", result, after)
		}
		if after.Permit != nil {
			b.giveBack(after.Permit.ID, `{"unused":true}`)
		}
	}
	// A client with a token is believed.
	b.caller.Store(&own)
	last := b.permit(ask + `,"within":"30s","hold":"1h"}`)
	if last.Permit == nil || b.giveBack(last.Permit.ID, `{"status":503,"retry_after":3600}`) != 200 {
		t.Fatalf("%+v", last)
	}
	if after := b.permit(ask + `,"within":"30s"}`); after.Permit != nil || !strings.Contains(strings.Join(after.Reasons, " "), "Retry-After") {
		t.Errorf("after a Retry-After: %+v", after)
	}
}

// TestAnonymousExpiry: a permit that a client without a token does not release ends after its lifetime,
// also if its start was ahead, and the next start is one interval later. One of a client with a token
// counts as timed out.
func TestAnonymousExpiry(t *testing.T) {
	trusted := Caller{Name: "127.0.0.1/32", Scopes: allScopes}
	anyone := trusted
	anyone.Anonymous = true
	for path, body := range map[string]string{
		"/v1/permits":      `{"url":"%s/a","hold":"10s","within":"30s"}`,
		"/v1/permits/next": `{"urls":["%s/a"],"hold":"10s"}`,
	} {
		clock := newTestClock()
		b, s := newBench(t, Parts{Now: clock.now}), newSite(t, "User-agent: *\nCrawl-delay: 5\n")
		b.fetched(s.URL)
		for i, c := range []struct {
			caller *Caller
			wait   time.Duration
			reason string
		}{{&anyone, 5 * time.Second, "line 2"}, {&anyone, 5 * time.Second, "line 2"}, {&trusted, 10 * time.Second, "overloaded"}, {&anyone, 10 * time.Second, "overloaded"}} {
			b.caller.Store(c.caller)
			answer := b.post(path, fmt.Sprintf(body, s.URL))
			_, text, given := strings.Cut(answer.body, `"permit":{`)
			_, text, _ = strings.Cut(text, `"expires":"`)
			text, _, _ = strings.Cut(text, `"`)
			expires, err := time.Parse(time.RFC3339, text)
			if !given || err != nil {
				t.Fatalf("%s, %d: %d %s", path, i, answer.status, answer.body)
			}
			clock.set(expires.Add(time.Millisecond))
			b.caller.Store(&trusted)
			next := b.permit(fmt.Sprintf(`{"url":"%s/a"}`, s.URL))
			if next.NotBefore == nil || !strings.Contains(strings.Join(next.Reasons, " "), c.reason) {
				t.Fatalf("%s, %d: after a permit has expired: %+v, want %q", path, i, next, c.reason)
			}
			at, err := time.Parse(time.RFC3339, *next.NotBefore)
			if wait := at.Sub(expires); err != nil || wait < c.wait || wait > c.wait+2*time.Millisecond {
				t.Errorf("%s, %d: the next start is %s after a permit has expired, want %s", path, i, wait, c.wait)
			}
			if path == "/v1/permits/next" {
				clock.set(at)
			}
		}
	}
}

// TestAnonymousAddress: a client without a token reserves no start at an address that it names, which
// might be that of other sites.
func TestAnonymousAddress(t *testing.T) {
	b, s, other := newBench(t, Parts{Now: newTestClock().now}), newSite(t, ""), newSite(t, "")
	trusted := Caller{Name: "127.0.0.1/32", Scopes: allScopes}
	anyone := trusted
	anyone.Anonymous = true
	b.fetched(s.URL)
	b.caller.Store(&anyone)
	if got := b.permit(fmt.Sprintf(`{"url":"%s/","addr":"192.0.2.7"}`, s.URL)); got.Permit == nil {
		t.Fatalf("%+v", got)
	}
	b.caller.Store(&trusted)
	if got := b.permit(fmt.Sprintf(`{"url":"%s/","addr":"192.0.2.7"}`, other.URL)); got.Permit == nil {
		t.Errorf("after a client without a token has named the address: %+v", got)
	}
	if got := b.permit(fmt.Sprintf(`{"url":"%s/"}`, newSite(t, "").URL)); got.Permit != nil {
		t.Errorf("the address of the fetch was not reserved: %+v", got)
	}
}
