package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
)

// python returns a Python that has a module, preferably Debian's, or "".
func python(module string) string {
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(name, "-c", "import sys, "+module+"; sys.exit(sys.version_info < (3, 11))").Run() == nil {
			return name
		}
	}
	return ""
}

// examplePace is the interval of the sites of the examples.
const examplePace = 200 * time.Millisecond

// exampleSite is a site that records the requests for its pages with their times. /busy is
// overloaded once, and answers with Retry-After: 1.
type exampleSite struct {
	url string

	mu    sync.Mutex
	pages []string
	times []time.Time
	busy  time.Time // when it said so
	read  time.Time // when its robots.txt was requested last
}

func newExampleSite(t *testing.T, i int) *exampleSite {
	s := &exampleSite{}
	s.url = serveAt(t, fmt.Sprintf("127.0.40.%d:0", i), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			s.mu.Lock()
			s.read = time.Now()
			s.mu.Unlock()
			fmt.Fprintf(w, "User-agent: *\nCrawl-delay: %g\nDisallow: /private\n", examplePace.Seconds())
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		now := time.Now()
		s.pages, s.times = append(s.pages, r.URL.Path), append(s.times, now)
		switch {
		case r.URL.Path == "/old":
			w.Header().Set("Retry-After", "Fri, 01 May 2026 10:00:00 -0000") // a date without a zone
			http.Redirect(w, r, "/new", http.StatusFound)
		case r.URL.Path == "/new":
			w.Header().Set("Retry-After", strings.Repeat("9", 5000))
			w.Header().Set("Location", "http://[nowhere")
			w.WriteHeader(http.StatusFound)
		case r.URL.Path == "/busy" && s.busy.IsZero():
			s.busy = now
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			fmt.Fprintln(w, "a page")
		}
	})
	return s
}

// TestExamples: clients in other languages over robots serve obey robots.txt, the crawl rate of
// a site and its Retry-After. Two of them use two servers of one fleet for the same sites.
func TestExamples(t *testing.T) {
	campaign.Only(t)
	asyncio, scrapy := python("asyncio"), python("scrapy")
	if asyncio == "" {
		t.Skip("no Python 3.11 on this machine: apt-get install python3")
	}
	root, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	clients := []func(service string, urls []string) *exec.Cmd{
		func(service string, urls []string) *exec.Cmd {
			return exec.Command(asyncio, append([]string{filepath.Join(root, "python", "crawl.py"), service, "MyBot"}, urls...)...)
		},
		func(service string, urls []string) *exec.Cmd {
			cmd := exec.Command(scrapy, "-m", "scrapy", "runspider", "pages.py", "-o", "-:jsonlines", "-s", "ROBOTS_SERVICE="+service, "-a", "urls="+strings.Join(urls, " "))
			cmd.Dir = filepath.Join(root, "scrapy")
			return cmd
		},
	}
	if scrapy == "" {
		t.Log("without Scrapy, which is not on this machine: apt-get install python3-scrapy")
		clients[1] = clients[0]
	}
	sites := []*exampleSite{newExampleSite(t, 1), newExampleSite(t, 2)}
	var own []string
	for _, s := range sites {
		own = append(own, strings.TrimPrefix(s.url, "http://"))
	}
	t.Setenv(ownSitesEnv, strings.Join(own, " "))
	redis := redistest.Start(t, redistest.Options{})
	var running sync.WaitGroup
	for i, client := range clients {
		server := runServer(t, "--store", redis.URL())
		var urls []string
		for at, s := range sites {
			urls = append(urls, fmt.Sprintf("%s/%d", s.url, i), s.url+"/private", s.url+"/old")
			if i == at { // each client meets a site that is overloaded
				urls = append(urls, s.url+"/busy")
			}
		}
		cmd := client(server.open, urls)
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
		running.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "disallowed http") != len(sites) {
				t.Errorf("%s: %v\n%s", cmd, err, out)
			}
		})
	}
	running.Wait()
	for _, s := range sites {
		s.check(t)
	}
}

// check compares the requests that a site received with those expected of two clients.
func (s *exampleSite) check(t *testing.T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := map[string]int{}
	for i, page := range s.pages {
		got[page]++
		last := s.read
		if i > 0 {
			last = s.times[i-1]
		}
		if gap := s.times[i].Sub(last); gap < examplePace {
			t.Errorf("%s got a request for %s %s after the previous response", s.url, page, gap)
		}
		if rest := s.times[i].Sub(s.busy); rest > 0 && rest < time.Second {
			t.Errorf("%s got a request for %s %s after a Retry-After of a second", s.url, page, rest)
		}
	}
	want := map[string]int{"/0": 1, "/1": 1, "/old": 2, "/new": 2, "/busy": 2}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s got requests for %v, want %v", s.url, got, want)
	}
}
