package fetch

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
)

var update = flag.Bool("update", false, "rewrite the generated page of docs/")

// A fault is a behavior of an origin, with the expected outcome of a fetch.
type fault struct {
	area, name string
	does       string // what the origin does, for the page

	url     string                    // "http://site.test:PORT/" if empty; PORT is that of the site
	serve   func(p *peer)             // answers a request
	raw     func(s *site, c net.Conn) // or handles the connection
	setup   func(s *stage)
	options func(o *Options)
	proxy   func(s *site, c net.Conn) // handles the connections to a proxy
	// proxyURL is the URL of the proxy, in which PROXY is its address and PROXYPORT its port.
	proxyURL string
	connect  func(ctx context.Context, d *net.Dialer, address string) (net.Conn, error)

	cause     Cause
	or        Cause  // which of two it is hangs on time
	status    int    // 0: not checked
	file      string // of a success; "" is not checked
	hops      int    // 0: not checked
	within    span
	byteCount size
}

// span is the limit that ends a fault.
type span int

const (
	atOnce span = iota
	untilDNS
	untilConnect
	untilTLS
	untilHeader
	untilGrace
	untilTotal
)

func (s span) of(l Limits) (time.Duration, string) {
	switch s {
	case untilDNS:
		return l.DNS, "DNS"
	case untilConnect:
		return l.Connect, "connect"
	case untilTLS:
		return l.TLS, "TLS"
	case untilHeader:
		return l.Header, "header"
	case untilGrace:
		return l.Grace, "least rate"
	case untilTotal:
		return l.Total, "total"
	}
	return 0, "at once"
}

func (s span) words() string {
	if d, name := s.of(Limits{}.filled()); d > 0 {
		return fmt.Sprintf("%v (%s)", d, name)
	}
	return "at once"
}

// size limits the bytes that a client reads.
type size int

const (
	few size = iota
	nothing
	upToHeaders
	upToFile
	upToRaw
)

func (s size) byteCount() int64 {
	l := Limits{}.filled()
	return []int64{4 << 10, 0, l.MaxHeaderBytes, l.MaxHeaderBytes + l.MaxBodyBytes + bodySlack + 1 + 16<<10, l.MaxHeaderBytes + l.MaxRawBytes}[s]
}

func (s size) words() string {
	return []string{"4 KiB", "no bytes", "64 KiB (headers)", "593 KiB (file)", "1.06 MiB (raw)"}[s]
}

// catalogue returns all faults, in the order of the page.
func catalogue() []fault {
	return slices.Concat(dnsFaults(), tcpFaults(), tlsFaults(), statusFaults(), framingFaults(), redirectFaults(),
		encodingFaults(), sizeFaults(), http2Faults(), overHTTP2(), proxyFaults(), ftpFaults(), guardFaults())
}

func (f *fault) id() string { return f.area + "/" + strings.ReplaceAll(f.name, " ", "-") }

// TestFaults: every behavior of the catalogue has the listed outcome, within the listed time and
// bytes, allows only what the dialects list, and causes no line in the log of the process.
func TestFaults(t *testing.T) {
	before := runtime.NumGoroutine()
	var logged bytes.Buffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(&logged)
	t.Run("faults", func(t *testing.T) {
		count := map[string]int{}
		names := map[string]bool{}
		for _, f := range catalogue() {
			count[f.area]++
			if names[f.id()] {
				t.Errorf("two faults are named %s", f.id())
			}
			names[f.id()] = true
			if slow := f.within != atOnce || f.byteCount > few; slow && testing.Short() && f.area == "http2" && strings.Contains(f.name, ", ") {
				continue // as over HTTP/1
			}
			if campaign.Race && f.byteCount >= upToFile {
				continue // one goroutine reads megabytes
			}
			t.Run(f.id(), func(t *testing.T) {
				t.Parallel()
				f.run(t)
			})
		}
		t.Logf("%d behaviors: %v", len(names), count)
		if len(names) < 100 {
			t.Errorf("%d behaviors, fewer than 100", len(names))
		}
	})
	settled(t, before)
	if logged.Len() > 0 {
		t.Errorf("the log of the process has %d bytes:\n%.500s", logged.Len(), logged.String())
	}
}

// settled fails if more goroutines run than before.
func settled(t *testing.T, before int) {
	t.Helper()
	for range 3000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond) // goroutines that end need a moment to be gone
	}
	buf := make([]byte, 1<<16)
	t.Errorf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
}

// fetch runs the fault once.
func (f *fault) fetch(t testing.TB, change func(*Client)) *Record {
	t.Helper()
	return f.open(t)(change)
}

// start starts the origin and returns options for a client.
func (f *fault) start(t testing.TB) (s *stage, o Options, origin robots.Origin) {
	t.Helper()
	s = newStage(t)
	if f.setup != nil {
		f.setup(s)
	}
	raw := f.raw
	if raw == nil {
		raw = speak(f.serve)
	}
	at := s.listen(t, "127.0.0.1:0", raw)
	o = s.options()
	if f.proxy != nil {
		through := s.listen(t, "127.0.0.1:0", f.proxy)
		replace := strings.NewReplacer("PROXYPORT", through.port(), "PROXY", through.Addr().String())
		o.Proxy = http.ProxyURL(mustURL(t, replace.Replace(f.proxyURL)))
	}
	if f.options != nil {
		f.options(&o)
	}
	return s, o, mustOrigin(t, strings.ReplaceAll(cmp.Or(f.url, "http://site.test:PORT/"), "PORT", at.port()))
}

// open starts the origin and returns a function that fetches from it.
func (f *fault) open(t testing.TB) func(change func(*Client)) *Record {
	t.Helper()
	s, o, origin := f.start(t)
	o.Limits, o.PerAddress = shortLimits, 1
	return func(change func(*Client)) *Record {
		t.Helper()
		c := s.client(t, o)
		if f.connect != nil {
			c.connect = f.connect
		}
		if change != nil {
			change(c)
		}
		made, connect := atomic.Int64{}, c.connect
		c.connect = func(ctx context.Context, d *net.Dialer, address string) (net.Conn, error) {
			conn, err := connect(ctx, d, address)
			if err == nil {
				made.Add(1)
			}
			return conn, err
		}
		r, err := c.Fetch(context.Background(), origin)
		if err != nil {
			t.Fatalf("an error for what a site did: %v", err)
		}
		if n := made.Load(); n > 2*int64(len(r.Hops)) && r.Origin.Scheme() != "ftp" {
			t.Errorf("%d connections for %d requests, at most two each", n, len(r.Hops))
		}
		c.pool.idle(t)
		s.unseen(t, r)
		return r
	}
}

// unseen: no password of a proxy is in the record or was sent to a site.
func (s *stage) unseen(t testing.TB, r *Record) {
	for _, secret := range secrets {
		if data := fmt.Sprintf("%s %+v", r.Encode(), r); strings.Contains(data, secret) {
			t.Errorf("the record holds a password: %s", data)
		}
	}
	if n := s.leaked.Load(); n != 0 {
		t.Errorf("%d requests at the site hold a header of the proxy", n)
	}
}

func mustURL(t testing.TB, text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// patient raises the limits for faults that end by bytes, for busy machines.
func patient(c *Client) {
	for _, limit := range []*time.Duration{&c.limits.Total, &c.limits.DNS, &c.limits.Connect, &c.limits.TLS, &c.limits.Header, &c.limits.Grace} {
		*limit *= 3600
	}
}

func (f *fault) run(t *testing.T) {
	r := f.fetch(t, nil)
	expected := func() bool {
		return (r.Cause == f.cause || f.or != CauseNone && r.Cause == f.or) && r.Outcome == f.cause.Outcome()
	}
	timeLimits := []Cause{DNSTimeout, ConnectTimeout, TLSTimeout, HeaderTimeout, TooSlow, Timeout}
	// A busy machine can exceed the short limits of these tests: another outcome of a fetch that
	// took at least the shortest of them proves nothing.
	late := !expected() && r.Took() >= min(shortLimits.DNS, shortLimits.Connect, shortLimits.TLS, shortLimits.Header, shortLimits.Grace)
	if late && f.within == atOnce && !slices.Contains(timeLimits, f.cause) { // nothing but the site ends it
		late = false
		r = f.fetch(t, patient)
	}
	if late { // one time limit came before another
		checkVerdicts(t, r)
		return
	}
	if !expected() {
		t.Errorf("got:  %v, %v (%s)\nwant: %v, %v", r.Outcome, r.Cause, r.Detail, f.cause.Outcome(), f.cause)
	}
	if f.status != 0 && r.Status != f.status {
		t.Errorf("status %d, want %d", r.Status, f.status)
	}
	if f.hops != 0 && len(r.Hops) != f.hops {
		t.Errorf("%d requests, want %d: %v", len(r.Hops), f.hops, r.Hops)
	}
	if f.file != "" && string(r.Body) != f.file {
		t.Errorf("body %.100q, want %.100q", r.Body, f.file)
	}
	if r.Outcome != Success && r.Body != nil {
		t.Errorf("an outcome of %v has a body of %d bytes", r.Outcome, len(r.Body))
	}
	received := int64(0)
	for _, h := range r.Hops {
		received += h.Received
	}
	if received > f.byteCount.byteCount() {
		t.Errorf("%d bytes received, at most %d", received, f.byteCount.byteCount())
	}
	checkVerdicts(t, r)
	back, err := Decode(r.Encode())
	if err != nil || back.Cause != r.Cause || back.Outcome != r.Outcome || back.Status != r.Status {
		t.Errorf("after encoding: %+v, %v", back, err)
	}
}

// checkVerdicts: each dialect allows a fresh record without an earlier copy exactly as listed,
// now and at every age: no age opens a site whose failures do not cover it.
func checkVerdicts(t testing.TB, r *Record) {
	t.Helper()
	private, _ := robots.ParsePath("/private")
	const day = 24 * time.Hour
	for _, d := range robots.Dialects() {
		for _, age := range []time.Duration{0, 11 * time.Hour, 13 * time.Hour, 29 * day, 31 * day, 365 * day} {
			v := r.Rules(d, r.Fetched.Add(age), "anybot").Match(private)
			w := covered(r, age).Rules(d, r.Fetched.Add(age), "anybot").Match(private)
			var may bool
			switch {
			case r.Outcome == Success:
				may = v.Reason == robots.ReasonRule && v.Allowed || v.Reason == robots.ReasonEmptyFile ||
					v.Reason == robots.ReasonNoRule || v.Reason == robots.ReasonNoGroup
			case r.Outcome == Unavailable:
				may = r.Cause != RedirectLimit || r.Redirects() >= d.Redirects
			case r.Cause.OwnSide(): // no outage begins
			case r.Cause == TooManyRequests && d.TooManyIsMissing:
				may = true
			case d.Name == "google-legacy":
			case d.Name == "google", d.Name == "google-cpp":
				may = 12*time.Hour <= age && age < 30*day
			default:
				may = age >= 30*day
			}
			if w.Allowed && !may || !w.Allowed && may && r.Outcome != Success {
				t.Errorf("%s, after %v of failures: %v", d.Name, age, w)
			}
			if allowed := w.Allowed && (r.Outcome != Unreachable || r.Cause == TooManyRequests && d.TooManyIsMissing); v.Allowed != allowed {
				t.Errorf("%s, %v after a failure: %v", d.Name, age, v)
			}
			if v.State == nil {
				t.Errorf("%s: no state in %v", d.Name, v)
			}
		}
	}
}
