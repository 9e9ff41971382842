package polite

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
)

// permitted sends a request for a page with a permit.
func permitted(t *testing.T, transport *PermitTransport, url string, p pace.Permit) (*http.Response, *sent, error) {
	body := &sent{Reader: strings.NewReader("x")}
	ctx := WithPermit(t.Context(), p)
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Body = body
	resp, err := (&http.Client{Transport: transport}).Do(req)
	return resp, body, err
}

// TestPermitRepeat: a request that net/http repeats, as the site closed a kept connection, starts
// again: by the site's own log no two arrivals are closer than the interval.
func TestPermitRepeat(t *testing.T) {
	t.Parallel()
	const interval = 300 * time.Millisecond
	s := newSite(t, "")
	kept := map[string]bool{}
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		if !kept[r.RemoteAddr] {
			kept[r.RemoteAddr] = true
			io.WriteString(w, "a page")
			return
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		c.Close()
	}
	origin, _, _ := robots.ParseURL(s.URL)
	schedule, err := pace.NewSchedule(nil, pace.Policy{Default: interval})
	if err != nil {
		t.Fatal(err)
	}
	limiter := newLimiter(t, pace.Options{AddressInterval: -1})
	o := &counts{}
	transport := &PermitTransport{Limiter: limiter, Base: &http.Transport{}, UserAgent: "MyBot/1.0", Observe: o}
	began := time.Now()
	for range 3 {
		p, err := limiter.Acquire(t.Context(), pace.Request{Origin: origin, Schedule: schedule})
		if err != nil {
			t.Fatal(err)
		}
		req, _ := http.NewRequestWithContext(WithPermit(t.Context(), p), http.MethodGet, s.URL+"/page", nil)
		resp, err := (&http.Client{Transport: transport}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err := limiter.Release(t.Context(), p, ResultOf(t.Context(), resp, err)); err != nil {
			t.Fatal(err)
		}
	}
	log := s.log()
	if len(log) != 5 || o.of(string(EventStarted)) != 5 {
		t.Fatalf("%d requests arrived, want 3 and the repeats of 2; events %v", len(log), o.kinds)
	}
	for i, a := range log {
		if least := time.Duration(i) * interval; a.at.Sub(began) < least {
			t.Errorf("request %d after %v, want at least %v", i, a.at.Sub(began), least)
		}
		if a.agent != "MyBot/1.0" {
			t.Errorf("request %d is of %q", i, a.agent)
		}
	}
}

// TestPermitMissed: a permit that can no longer start a request, one of another site and none at
// all send nothing, close the body, and are results without a request.
func TestPermitMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const page = "https://site.example/page"
		origin, _, _ := robots.ParseURL(page)
		schedule, err := pace.NewSchedule(robots.Parse([]byte("User-agent: *\nVisit-time: 0000-0009\n")).Rules(robots.RFC9309, "MyBot"), pace.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		limiter := newLimiter(t, pace.Options{})
		pages := &recorder{}
		o := &counts{}
		transport := &PermitTransport{Limiter: limiter, Base: pages, Observe: o}
		p, err := limiter.Acquire(t.Context(), pace.Request{Origin: origin, Schedule: schedule})
		if err != nil {
			t.Fatal(err)
		}
		opens := time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)
		time.Sleep(11 * time.Minute) // the site is closed, at 00:11
		for _, tt := range []struct {
			name   string
			permit pace.Permit
			url    string
			of     *PermitTransport
			want   string
		}{
			{"missed", p, page, transport, "no longer usable"},
			{"another site", p, "https://other.example/", transport, "permit of another site"},
			{"none", pace.Permit{}, page, transport, "has no permit"},
			{"no limiter", p, page, &PermitTransport{Base: pages}, "no Limiter"},
		} {
			resp, body, err := permitted(t, tt.of, tt.url, tt.permit)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !body.closed {
				t.Errorf("%s: %v, body closed %v, want %q", tt.name, err, body.closed, tt.want)
			}
			if r := ResultOf(t.Context(), resp, err); r != (pace.Result{Unused: true}) {
				t.Errorf("%s: the result is %+v, want it unused", tt.name, r)
			}
			missed, is := errors.AsType[*pace.MissedError](err)
			if is != (tt.name == "missed") || is && !missed.Permit.NotBefore.Equal(opens) {
				t.Errorf("%s: %v, want a MissedError until %v", tt.name, err, opens)
			}
		}
		if len(pages.at) > 0 || o.of(string(EventUnsent)) != 3 {
			t.Errorf("%d requests were sent, events %v", len(pages.at), o.kinds)
		}
	})
}

// slowPage is the timeout of a site.
type slowPage struct{}

func (slowPage) Error() string   { return "timeout awaiting response headers" }
func (slowPage) Timeout() bool   { return true }
func (slowPage) Temporary() bool { return true }

// TestResultOf: a timeout counts unless it is that of the caller, and a request whose repetition
// failed was sent.
func TestResultOf(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		resp *http.Response
		err  error
		want pace.Result
	}{
		{"status", t.Context(), &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"60"}}}, nil, pace.Result{Status: 429, RetryAfter: time.Minute}},
		{"timeout", t.Context(), nil, slowPage{}, pace.Result{Timeout: true}},
		{"caller gave up", ended, nil, slowPage{}, pace.Result{}},
		{"refused connection", t.Context(), nil, io.EOF, pace.Result{}},
		{"not written", t.Context(), nil, &notStartedError{err: context.DeadlineExceeded}, pace.Result{Unused: true}},
		{"not repeated", t.Context(), nil, &notStartedError{err: context.DeadlineExceeded, written: true}, pace.Result{}},
		{"body ended early", t.Context(), &http.Response{StatusCode: 200}, io.ErrUnexpectedEOF, pace.Result{Status: 200}},
	} {
		if got := ResultOf(tt.ctx, tt.resp, tt.err); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// idle is a Base that counts the calls of CloseIdleConnections.
type idle struct {
	http.RoundTripper
	closed int
}

func (b *idle) CloseIdleConnections() { b.closed++ }

// TestIdle: http.Client.CloseIdleConnections reaches the Base of both transports.
func TestIdle(t *testing.T) {
	b := &idle{}
	client, _ := newClient(t, Options{Base: b})
	client.CloseIdleConnections()
	(&http.Client{Transport: &PermitTransport{Base: b}}).CloseIdleConnections()
	if b.closed != 2 {
		t.Errorf("%d calls reached the Base, want 2", b.closed)
	}
}
