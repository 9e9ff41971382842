package server

import (
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/cmd/internal/answer"
	"golang.org/x/time/rate"
)

func TestRobots(t *testing.T) {
	b, s := newBench(t, Parts{}), newSite(t, shop+"<script>\xff")
	got := decoded[answer.SiteRecord](b, b.get("/v1/robots?url="+s.URL+"/any/page"))
	if got.URL != s.URL+"/robots.txt" || got.Outcome != "success" || got.Status != 200 || got.Bytes != len(s.body) || len(got.SHA256) != 64 || len(got.Hops) != 1 || !strings.HasPrefix(got.Hops[0].Address, "127.0.0.1") {
		t.Errorf("%+v", got)
	}
	r := b.get("/v1/robots?body=1&url=" + s.URL + "/")
	if r.body != s.body || r.header.Get("Content-Type") != "text/plain" || r.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%v %q", r.header, r.body)
	}
	bad := newSite(t, "")
	bad.status = 500
	if got := decoded[answer.SiteRecord](b, b.get("/v1/robots?url="+bad.URL)); got.Outcome != "unreachable" || got.NextTry == nil || got.Failures != 1 {
		t.Errorf("%+v", got)
	}
	if r := b.get("/v1/robots?body=1&url=" + bad.URL); r.status != 503 || r.header.Get("Retry-After") == "" {
		t.Errorf("%d %v %s", r.status, r.header, r.body)
	}
	none := newSite(t, "")
	none.status = 404
	if r := b.get("/v1/robots?body=1&url=" + none.URL); r.status != 404 {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestRefresh: the site is fetched again, an outage keeps the last good response, and a refresh
// counts as a new site of the client.
func TestRefresh(t *testing.T) {
	b, s := newBench(t, Parts{}), newSite(t, shop)
	b.get("/v1/robots?url=" + s.URL)
	s.mu.Lock()
	s.status = 503
	s.mu.Unlock()
	got := decoded[answer.SiteRecord](b, b.post("/v1/robots/refresh", `{"url":"`+s.URL+`"}`))
	if got.Outcome != "unreachable" || got.LastGood == nil || got.LastGood.Bytes != len(shop) || s.asked.Load() != 2 {
		t.Fatalf("asked %d times: %+v", s.asked.Load(), got)
	}
	if r := b.get("/v1/robots?body=1&url=" + s.URL); r.body != shop {
		t.Errorf("the last good answer is %q", r.body)
	}
	b.caller.Store(&Caller{Name: "a", Scopes: ScopeCheck | ScopeFetch, limits: &limits{unlimited.questions, rate.NewLimiter(1./9, 0)}})
	if r := b.post("/v1/robots/refresh", `{"url":"`+s.URL+`"}`); r.status != 429 || r.header.Get("Retry-After") != "9" {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func TestSchedule(t *testing.T) {
	b := newBench(t, Parts{Now: func() time.Time { return time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC) }})
	s := newSite(t, "User-agent: *\nCrawl-delay: 10\nRequest-rate: 1/30s 0800-2000\nRequest-rate: x\n")
	r := b.get("/v1/schedule?agent=MyBot&url=" + s.URL)
	got := decoded[answer.CrawlRate](b, r)
	if r.header.Get("Cache-Control") != "private, max-age=7200" || !got.Allowed || len(got.Windows) != 3 || got.Windows[0].Interval != 10 || got.Windows[1].Interval != 30 || got.Interval != 10 || len(got.Declared) != 3 ||
		!got.Windows[0].From.Equal(got.At) || !got.Windows[2].To.Equal(got.At.Add(24*time.Hour)) {
		t.Errorf("%+v", got)
	}
	bad := newSite(t, "")
	bad.status = 500
	if r := b.get("/v1/schedule?url=" + bad.URL); !strings.Contains(r.body, `"allowed":false`) || !strings.Contains(r.body, `"windows":[]`) {
		t.Errorf("%s", r.body)
	}
}
