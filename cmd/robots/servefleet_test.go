package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	neturl "net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
)

// pacedSite is a site that records the times of its requests.
type pacedSite struct {
	url      string
	interval time.Duration

	mu      sync.Mutex
	pages   []time.Time
	late    int // requests for pages after the end of their permits, which is their clients' doing
	robots  int // requests for robots.txt
	flying  int // of these under way
	overlap int // most of them at a time
}

func newPacedSite(t *testing.T, i int, interval time.Duration) *pacedSite {
	s := &pacedSite{interval: interval}
	s.url = serveAt(t, fmt.Sprintf("127.0.%d.%d:0", 30+i/200, 1+i%200), func(w http.ResponseWriter, r *http.Request) {
		now := time.Now()
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.URL.Path == "/robots.txt" {
			s.robots++
			s.flying++
			s.overlap = max(s.overlap, s.flying)
			s.mu.Unlock()
			time.Sleep(30 * time.Millisecond) // as a site over a network
			fmt.Fprintf(w, "User-agent: *\nCrawl-delay: %g\nDisallow: /private\nUser-agent: SoonBot\nCrawl-delay: 1\n", interval.Seconds())
			s.mu.Lock()
			s.flying--
			return
		}
		if end, err := time.Parse(time.RFC3339, r.FormValue("expires")); err == nil && now.Before(end) {
			s.pages = append(s.pages, now)
		} else {
			s.late++
		}
	})
	return s
}

func (s *pacedSite) requests() (robots, overlap, pages int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.robots, s.overlap, len(s.pages)
}

// closest returns the shortest time between two requests.
func (s *pacedSite) closest() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	least := time.Hour
	slices.SortFunc(s.pages, time.Time.Compare)
	for i := 1; i < len(s.pages); i++ {
		least = min(least, s.pages[i].Sub(s.pages[i-1]))
	}
	return least
}

// serverFleet is several servers on one Redis.
type serverFleet struct {
	t       *testing.T
	servers []*served
	agent   string      // of permits, MyBot if ""
	killed  atomic.Bool // the first of them
	client  *http.Client
}

// some returns a running server.
func (f *serverFleet) some() int {
	if f.killed.Load() {
		return 1 + rand.IntN(len(f.servers)-1)
	}
	return rand.IntN(len(f.servers))
}

// ask sends a request to a server, GET without a body. The status is 0 if the server was killed
// meanwhile.
func (f *serverFleet) ask(server int, path, body string) (status int, reply string) {
	var resp *http.Response
	var err error
	if body == "" {
		resp, err = f.client.Get(f.servers[server].open + path)
	} else {
		resp, err = f.client.Post(f.servers[server].open+path, "application/json", strings.NewReader(body))
	}
	if err == nil {
		defer resp.Body.Close()
		var text []byte
		text, err = io.ReadAll(resp.Body)
		status, reply = resp.StatusCode, string(text)
	}
	if err != nil {
		if server != 0 || !f.killed.Load() {
			f.t.Errorf("server %d, %s: %v", server, path, err)
		}
		return 0, ""
	}
	return status, reply
}

// check checks a URL of a site, and reports whether the answer is right.
func (f *serverFleet) check(server int, s *pacedSite) {
	status, reply := f.ask(server, "/v1/check?url="+neturl.QueryEscape(s.url+"/private"), "")
	if status != 0 && (status != http.StatusOK || !strings.Contains(reply, `"line":3`)) {
		f.t.Errorf("server %d about %s: %d %s", server, s.url, status, reply)
	}
}

// fleetPermit is a permit with the rest of the response.
type fleetPermit struct {
	ID             string
	Start, Expires time.Time
}

// permit acquires a permit. Without one it returns the status.
func (f *serverFleet) permit(server int, s *pacedSite, within, hold string) (*fleetPermit, int) {
	status, reply := f.ask(server, "/v1/permits", fmt.Sprintf(`{"url":"%s/page","agent":"%s","within":"%s","hold":"%s"}`, s.url, cmp.Or(f.agent, "MyBot"), within, hold))
	if status != http.StatusOK {
		if status != 0 && status != http.StatusServiceUnavailable {
			f.t.Errorf("server %d about %s: %d %s", server, s.url, status, reply)
		}
		return nil, status
	}
	var a struct{ Permit *fleetPermit }
	if err := json.Unmarshal([]byte(reply), &a); err != nil {
		f.t.Error(err)
	}
	return a.Permit, status
}

func (f *serverFleet) giveBack(server int, p *fleetPermit, body string) int {
	status, _ := f.ask(server, "/v1/permits/"+p.ID+"/done", body)
	return status
}

// retryPause is the time between two attempts of a client.
const retryPause = 50 * time.Millisecond

// crawl is a client until stop is closed: it checks URLs of cached sites, and requests pages
// with permits.
func (f *serverFleet) crawl(sites []*pacedSite, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(retryPause):
		}
		s := sites[rand.IntN(len(sites))]
		f.check(f.some(), s)
		p, _ := f.permit(f.some(), s, "1s", "10s")
		if p == nil {
			continue
		}
		time.Sleep(time.Until(p.Start))
		resp, err := f.client.Get(s.url + "/page?expires=" + neturl.QueryEscape(p.Expires.Format(time.RFC3339Nano)))
		if err != nil {
			f.t.Error(err)
			return
		}
		resp.Body.Close()
		for status := http.StatusServiceUnavailable; status == 0 || status == http.StatusServiceUnavailable; {
			if status = f.giveBack(f.some(), p, `{"status":200}`); status == http.StatusServiceUnavailable {
				time.Sleep(retryPause)
			}
		}
	}
}

// TestServeFleet: servers on one Redis are one service. Whatever happens to a server or to
// Redis, no site gets two robots.txt requests at a time or pages faster than its interval, and
// cached sites are answered. A permit belongs to its client: it outlives its server, any other
// server releases it, and it ends at its expiry.
func TestServeFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("short: seconds of load")
	}
	clients, origins := campaign.Size(0, 6, 20), campaign.Size(0, 12, 50)
	away, rest := campaign.Size(0, 1500*time.Millisecond, 10*time.Second), campaign.Size(0, 1500*time.Millisecond, 12*time.Second)
	hold := campaign.Size(0, 2, 10) // seconds
	const refreshed = 6             // sites that each server asks again

	var sites []*pacedSite
	for i := range origins + 4 {
		sites = append(sites, newPacedSite(t, i, []time.Duration{300, 500, 1000}[i%3]*time.Millisecond))
	}
	lent, kept, unknown := sites[origins], sites[origins+1], sites[origins+2:]
	var own []string
	for _, s := range sites {
		own = append(own, strings.TrimPrefix(s.url, "http://"))
	}
	t.Setenv(ownSitesEnv, strings.Join(own, " "))
	redis := redistest.Start(t, redistest.Options{AppendOnly: true, Config: []string{"appendfsync always"}})
	f := &serverFleet{t: t, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}, Timeout: time.Minute}}
	defer f.client.CloseIdleConnections()
	for range 3 {
		f.servers = append(f.servers, runServer(t, "--store", redis.URL()))
	}
	began := time.Now()

	// All servers check all sites at the same time.
	held := sites[:origins+2]
	var asking sync.WaitGroup
	for server := range f.servers {
		for part := range 4 {
			asking.Go(func() {
				for i := range held {
					if i%4 == part {
						f.check(server, held[i])
					}
				}
			})
		}
	}
	asking.Wait()
	for _, s := range held {
		if n, _, _ := s.requests(); n != 1 {
			t.Errorf("%s received %d requests for its robots.txt from three servers", s.url, n)
		}
	}
	for server := range f.servers { // and to fetch again what they hold
		asking.Go(func() {
			for _, s := range held[:refreshed] {
				if status, reply := f.ask(server, "/v1/robots/refresh", fmt.Sprintf(`{"url":"%s/"}`, s.url)); status != http.StatusOK {
					t.Errorf("refresh: %d %s", status, reply)
				}
			}
		})
	}
	asking.Wait()

	stop := make(chan struct{})
	var crawling sync.WaitGroup
	for range clients {
		crawling.Go(func() { f.crawl(sites[:origins], stop) })
	}
	end := sync.OnceFunc(func() {
		close(stop)
		crawling.Wait()
	})
	defer end()
	total := func() (n int) {
		for _, s := range sites {
			_, _, pages := s.requests()
			n += pages
		}
		return n
	}
	more := func(what string) {
		for from := total(); total() == from && !t.Failed(); time.Sleep(retryPause) {
		}
		t.Logf("%s: after %.1f s %d pages", what, time.Since(began).Seconds(), total())
	}
	time.Sleep(rest)
	more("three servers")

	long := strconv.Itoa(hold) + "s"
	given, _ := f.permit(0, lent, "0s", "10m")
	lost, _ := f.permit(0, kept, "0s", long)
	if given == nil || lost == nil {
		t.Fatal("no permit for a site without requests")
	}
	f.killed.Store(true)
	if err := f.servers[0].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if p, status := f.permit(1, lent, "30s", long); p != nil || status != http.StatusOK {
		t.Errorf("while a permit of a server that was killed is out: %+v, %d", p, status)
	}
	back := time.Now()
	for server := 1; server < 3; server++ {
		if status := f.giveBack(server, given, `{"status":200}`); status != http.StatusOK {
			t.Errorf("given back through server %d: %d", server, status)
		}
	}
	if p, _ := f.permit(2, lent, "30s", long); p == nil {
		t.Error("no permit after one was given back")
	} else if f.giveBack(1, p, `{}`); p.Start.Before(back.Add(lent.interval)) {
		t.Errorf("a permit for %s, %s after the last was given back", p.Start, p.Start.Sub(back))
	}
	for !t.Failed() {
		p, _ := f.permit(1, kept, "30s", long)
		if p != nil {
			if p.Start.Before(lost.Expires.Add(kept.interval)) {
				t.Errorf("a permit for %s, while another was out until %s", p.Start, lost.Expires)
			}
			f.giveBack(2, p, `{"unused":true}`)
			break
		}
		time.Sleep(retryPause)
	}
	if status := f.giveBack(2, lost, `{"status":200}`); status != http.StatusGone {
		t.Errorf("a permit that has ended is given back: %d", status)
	}
	time.Sleep(rest)
	more("a server was killed")

	for server := 1; server < 3; server++ {
		for _, s := range held {
			f.check(server, s)
		}
	}
	redis.Kill()
	gone := time.Now()
	for server := 1; server < 3; server++ {
		for _, s := range unknown {
			asking.Go(func() { // whose robots.txt is fetched when Redis is back
				if status, reply := f.ask(server, "/v1/check?url="+neturl.QueryEscape(s.url+"/private"), ""); status != http.StatusServiceUnavailable {
					t.Errorf("server %d about %s without Redis: %d %s", server, s.url, status, reply)
				}
			})
		}
	}
	for time.Since(gone) < away {
		for server := 1; server < 3; server++ {
			for _, s := range held {
				f.check(server, s)
			}
		}
		if p, status := f.permit(1, lent, "0s", long); p != nil || status != http.StatusOK {
			t.Errorf("without Redis: %+v, %d", p, status)
		}
		time.Sleep(retryPause)
	}
	asking.Wait()
	still := total()
	redis.Up()
	more("Redis is back")
	time.Sleep(rest)
	more("the end")
	for server := 1; server < 3; server++ {
		for _, s := range unknown {
			f.check(server, s)
		}
	}
	end()

	var late int
	for i, s := range sites {
		robots, overlap, _ := s.requests()
		most, atOnce := 1, 1
		switch {
		case i < refreshed:
			most = 1 + len(f.servers)
		case i >= len(held): // each of the two servers that are left does not know of the other
			most, atOnce = 2, 2
		}
		if robots < 1 || robots > most || overlap > atOnce {
			t.Errorf("%s received %d requests for its robots.txt, %d concurrently", s.url, robots, overlap)
		}
		if gap := s.closest(); gap < s.interval {
			t.Errorf("%s, with an interval of %s, received page requests %s apart", s.url, s.interval, gap)
		}
		late += s.late
	}
	t.Logf("3 servers, %d clients, %d origins, %.0f s: %d pages, %d of them before Redis was back, %d clients too late", clients, origins, time.Since(began).Seconds(), total(), still, late)
}

// TestServeResume: the next process with the same file as a drained one accepts its permits,
// keeps the intervals of its sites, and requests no site that wants to be left alone.
func TestServeResume(t *testing.T) {
	out, back, later := newPacedSite(t, 0, 5*time.Minute), newPacedSite(t, 1, 5*time.Minute), newPacedSite(t, 2, time.Second)
	t.Setenv(ownSitesEnv, strings.ReplaceAll(strings.Join([]string{out.url, back.url, later.url}, " "), "http://", ""))
	store := filepath.Join(t.TempDir(), "store")
	f := &serverFleet{t: t, client: http.DefaultClient, servers: []*served{runServer(t, "--store", store)}, agent: "SoonBot"}
	given, _ := f.permit(0, out, "30s", "1h")
	other, _ := f.permit(0, back, "30s", "1h")
	third, _ := f.permit(0, later, "30s", "1h")
	if given == nil || other == nil || third == nil {
		t.Fatal("no permit for a site without requests")
	}
	if status := f.giveBack(0, other, `{"status":200}`); status != http.StatusOK {
		t.Errorf("given back: %d", status)
	}
	done := time.Now()
	if status := f.giveBack(0, third, `{"status":503,"retry_after":7200}`); status != http.StatusOK {
		t.Errorf("given back: %d", status)
	}
	f.servers[0].signal(t)
	if code := f.servers[0].wait(); code != exitAllowed {
		t.Fatalf("exit status %d: %s", code, f.servers[0].log)
	}

	f.servers[0] = runServer(t, "--store", store)
	wants := func(s *pacedSite, when time.Time, reason string) {
		t.Helper()
		status, reply := f.ask(0, "/v1/permits", fmt.Sprintf(`{"url":"%s/page","within":"30s"}`, s.url))
		var a struct {
			Permit    *fleetPermit
			NotBefore time.Time `json:"not_before"`
			Reasons   []string
		}
		if err := json.Unmarshal([]byte(reply), &a); err != nil || a.Permit != nil || a.NotBefore.Before(when) || !strings.Contains(strings.Join(a.Reasons, " "), reason) {
			t.Errorf("%s: %d, %v: %s, want none before %s (%s)", s.url, status, err, reply, when, reason)
		}
	}
	wants(out, time.Time{}, "in progress")
	wants(back, done.Truncate(time.Millisecond).Add(5*time.Minute), "line 2")
	wants(later, done.Truncate(time.Millisecond).Add(2*time.Hour), "the site sent Retry-After")
	done = time.Now()
	for range 2 {
		if status := f.giveBack(0, given, `{"status":200}`); status != http.StatusOK {
			t.Errorf("a permit of the process before is given back: %d", status)
		}
	}
	wants(out, done.Add(5*time.Minute), "line 2")
	metrics := get(t, f.servers[0].admin+"/metrics")
	for _, line := range []string{
		`permits_total{outcome="refused"} 4`, `permits_total{outcome="released"} 2`, `permits_total{outcome="acquired"} 0`, "permit_later_seconds_count 4",
		`decisions_total{outcome="retry-after"} 1`,
	} {
		if !strings.Contains(metrics, "\nrobots_"+line+"\n") {
			t.Errorf("the metrics have no %s", line)
		}
	}
	// The request in progress and its interval end in the same instant, or in two, by the moment of the question.
	decided := func(outcome string, n int) bool {
		return strings.Contains(metrics, fmt.Sprintf("\nrobots_decisions_total{outcome=%q} %d\n", outcome, n))
	}
	if !(decided("crawl-delay", 3) && decided("busy", 0)) && !(decided("crawl-delay", 2) && decided("busy", 1)) {
		t.Errorf("not three decisions by the interval or a request in progress:\n%s", metrics)
	}
	for _, s := range []*pacedSite{out, back, later} {
		if n, _, _ := s.requests(); n != 1 {
			t.Errorf("%s received %d requests for its robots.txt", s.url, n)
		}
	}
}
