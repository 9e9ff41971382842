package polite

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/pace"
)

// site is a real server that records the times of its requests.
type site struct {
	*httptest.Server
	mu       sync.Mutex
	robots   string
	arrivals []arrival
	answer   func(w http.ResponseWriter, r *http.Request)
}

type arrival struct {
	at    time.Time
	path  string
	agent string
}

func newSite(t *testing.T, robots string) *site {
	s := &site{robots: robots}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.URL.Path == "/robots.txt" {
			w.Header().Set("Cache-Control", "max-age=0")
			io.WriteString(w, s.robots)
			return
		}
		s.arrivals = append(s.arrivals, arrival{time.Now(), r.URL.RequestURI(), r.UserAgent()})
		if s.answer != nil {
			s.answer(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) log() []arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]arrival(nil), s.arrivals...)
}

func TestDisallowedIsNotSent(t *testing.T) {
	s := newSite(t, "User-agent: mybot\nDisallow: /private\n")
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "/private/hop", http.StatusFound)
		}
	}
	client, transport := newClient(t, local())
	for _, path := range []string{"/private", "/private/x?y", "/away"} {
		err := get(client, strings.Replace(s.URL, "//", "//user:s3cret@", 1)+path)
		var disallowed *DisallowedError
		if !errors.As(err, &disallowed) || disallowed.Verdict.Rule.Line() != 2 || disallowed.Undecided() || strings.Contains(err.Error()+disallowed.URL, "s3cret") {
			t.Errorf("%s: got %v, want a DisallowedError by line 2", path, err)
		}
	}
	if err := get(client, s.URL+"/public"); err != nil {
		t.Error(err)
	}
	log := s.log()
	if len(log) != 2 || log[0].path != "/away" || log[1].path != "/public" {
		t.Errorf("the site saw %v, want /away and /public", log)
	}
	for _, a := range log {
		if a.agent != "MyBot" {
			t.Errorf("User-Agent %q", a.agent)
		}
	}
	v, err := transport.Verdict(t.Context(), s.URL+"/private")
	if err != nil || v.Allowed {
		t.Errorf("Verdict: %v, %v", v, err)
	}
	req, _ := http.NewRequestWithContext(UserInitiated(t.Context()), "GET", s.URL+"/private", nil)
	if resp, err := client.Do(req); err != nil {
		t.Errorf("a user's own request: %v", err)
	} else {
		resp.Body.Close()
	}
}

// TestRetryAfter: the next request starts when the site asked for it, and a caller that cannot
// wait that long gets its error at once.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []string{"1", "", "3600"}
		pages := &recorder{answer: func(r *http.Response) {
			if r.Header = (http.Header{"Retry-After": {answers[0]}}); answers[0] != "" {
				r.StatusCode = http.StatusTooManyRequests
			}
			answers = answers[1:]
		}}
		client, _ := newClient(t, withFile(t, Options{Base: pages, Policy: local().Policy}, ""))
		for range 3 {
			if err := get(client, "http://site.test/"); err != nil {
				t.Fatal(err)
			}
		}
		if gap := pages.at[1].Sub(pages.at[0]); gap < time.Second {
			t.Errorf("came again after %v, asked to wait 1 s", gap)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, "GET", "http://site.test/", nil)
		if _, err := client.Do(req); !errors.As(err, new(*pace.LateError)) || ctx.Err() != nil {
			t.Errorf("got %v, want a LateError before the context ends", err)
		}
	})
}

func TestGuard(t *testing.T) {
	s := newSite(t, "")
	o := local()
	o.AllowPrivate = false
	client, _ := newClient(t, o)
	err := get(client, s.URL+"/")
	var disallowed *DisallowedError
	if !errors.As(err, &disallowed) || disallowed.Verdict.Reason != robots.ReasonRefused || !disallowed.Undecided() {
		t.Errorf("got %v, want a refusal", err)
	}
	req, _ := http.NewRequestWithContext(UserInitiated(t.Context()), "GET", s.URL+"/", nil)
	if resp, err := client.Do(req); err == nil {
		resp.Body.Close()
		t.Error("a user's request reached a private address")
	}
	if n := len(s.log()); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestImpossible(t *testing.T) {
	for want, f := range map[string]func() (string, Options){
		`crawler name "" is not a product token`:    func() (string, Options) { return "", Options{} },
		`crawler name " \t" is not a product token`: func() (string, Options) { return " \t", Options{} },
		`crawler name "*" is not a product token`:   func() (string, Options) { return "*", Options{} },
		`crawler name " * " is not a product token`: func() (string, Options) { return " * ", Options{} },
		`crawler name "My\nBot" contains a line`:    func() (string, Options) { return "My\nBot", Options{UserAgent: "x"} },
		`crawler name "MyBot\r" contains a line`:    func() (string, Options) { return "MyBot\r", Options{} },
		"Lummerland":                                func() (string, Options) { return "MyBot", Options{Policy: pace.Policy{Zone: "Lummerland"}} },
		"set Cache or Store": func() (string, Options) {
			return "MyBot", Options{Cache: new(cache.Cache), Store: cachetest.NewMemory()}
		},
		"contains a line end": func() (string, Options) { return "MyBot", Options{UserAgent: "a\r\nb"} },
	} {
		name, o := f()
		if _, err := New(name, o); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestName: a name with a version, with spaces, a list and a full User-Agent header stand for
// their product tokens, and are sent unchanged (D-03).
func TestName(t *testing.T) {
	t.Parallel()
	s := newSite(t, "User-agent: mybot\nDisallow: /private\n")
	for i, name := range []string{
		"MyBot/1.0", "MyBot ", " MyBot", "MyBot-Image/2.0, MyBot/1.0", "Mozilla/5.0 (compatible; MyBot/2.1; +https://bot.example/)",
	} {
		transport, err := New(name, local())
		if err != nil {
			t.Errorf("New(%q): %v", name, err)
			continue
		}
		defer transport.Close()
		if v, err := transport.Verdict(t.Context(), s.URL+"/private"); err != nil || v.Allowed {
			t.Errorf("%q: %v, %v, want it disallowed by line 2", name, v, err)
		}
		if err := get(&http.Client{Transport: transport}, s.URL+"/public"); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if log := s.log(); len(log) != i+1 || log[i].agent != strings.TrimSpace(name) {
			t.Errorf("%q: the site saw %v", name, log)
		}
	}
}

// TestWindows crawls a day in simulated time: one page in 30 s from 18:00 to
// 19:00, one a minute over midnight, closed from noon to 12:59.
func TestWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := &recorder{}
		client, _ := newClient(t, withFile(t, Options{Base: pages, Policy: pace.Policy{Default: 10 * time.Minute}},
			"User-agent: *\nRequest-rate: 1/30s 1800-1900\nRequest-rate: 1/1m 2200-0200\nVisit-time: 1300-1159\n"))
		for start := time.Now(); time.Since(start) < 24*time.Hour; {
			if err := get(client, "https://example.com/page"); err != nil {
				t.Fatal(err)
			}
		}
		in := map[string]int{}
		for i, at := range pages.at {
			at, least := at.UTC(), 10*time.Minute
			switch minute := at.Hour()*60 + at.Minute(); {
			case minute >= 18*60 && minute <= 19*60:
				least = 30 * time.Second
				in["18-19"]++
			case minute >= 22*60 || minute <= 2*60:
				least = time.Minute
				in["22-02"]++
			case minute >= 12*60 && minute < 13*60:
				t.Errorf("came at %v while closed", at)
			}
			if i > 0 && at.Sub(pages.at[i-1]) < least {
				t.Errorf("%v and %v are closer than %v", pages.at[i-1], at, least)
			}
		}
		if in["18-19"] < 115 || in["22-02"] < 230 {
			t.Errorf("slower than asked for: %v", in)
		}
	})
}

// TestMaxFileBytes: a crawler whose dialect reads further than the default obeys rules beyond
// the default limit.
func TestMaxFileBytes(t *testing.T) {
	s := newSite(t, "User-agent: *\n"+strings.Repeat("# bytes that nobody needs\n", 50_000)+"Disallow: /private\n") // 1.35 MB
	for _, row := range []struct {
		limit   int
		allowed bool
		cutAt   int
	}{{robots.RFC9309.MaxFileBytes, true, 0}, {1 << 20, true, 0}, {2 << 20, false, 0}, {0, true, robots.RFC9309.MaxFileBytes + 1024}} {
		o := local()
		o.Dialect = robots.RFC9309
		o.Dialect.MaxFileBytes = row.limit
		_, transport := newClient(t, o)
		v, err := transport.Verdict(t.Context(), s.URL+"/private")
		if err != nil {
			t.Fatal(err)
		}
		if v.Allowed != row.allowed || v.State.CutAt != row.cutAt {
			t.Errorf("limit %d: allowed %v, cut at %d, want %v, %d: %v", row.limit, v.Allowed, v.State.CutAt, row.allowed, row.cutAt, v)
		}
	}
}

// smallFleet is a Fleet whose memory for records holds none.
type smallFleet struct{ limiter pace.Limiter }

func (f smallFleet) Store() cache.Store    { return cachetest.NewMemory() }
func (f smallFleet) Limiter() pace.Limiter { return f.limiter }
func (f smallFleet) CacheMemory() int64    { return 1 }
func (f smallFleet) Observe(cache.Event)   {}

// TestFleetMemory: the records in memory stay within the Fleet's limit.
func TestFleetMemory(t *testing.T) {
	s := newSite(t, "User-agent: *\nAllow: /\n")
	for want, fleet := range []Fleet{smallFleet{newLimiter(t, pace.Options{})}, nil} {
		_, transport := newClient(t, Options{Fleet: fleet, AllowPrivate: true})
		if v, err := transport.Verdict(t.Context(), s.URL+"/"); err != nil || !v.Allowed {
			t.Fatalf("%v, %v", v, err)
		}
		if n, size := transport.ownCache.Usage(); n != want {
			t.Errorf("%d records of %d bytes in memory, want %d", n, size, want)
		}
	}
}
