package main

import (
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/bolt"
	"github.com/robotskit/robots/fetch"
	"github.com/rogpeppe/go-internal/testscript"
)

// A webSite is a site of a script, with the last response set for its robots.txt.
type webSite struct {
	server *httptest.Server
	closed chan struct{}

	mu       sync.Mutex
	kind     string
	args     []string
	body     string
	requests int
	agents   []string
	pages    map[string]webPage // by path
}

// A webPage is the response for a page: headers and a body.
type webPage struct {
	status  int
	headers []string
	body    string
}

// webSites are the sites of one script.
type webSites struct {
	mu    sync.Mutex
	sites map[string]*webSite
}

type webSitesKey struct{}

func (w *webSites) close() {
	for _, s := range w.sites {
		close(s.closed)
		s.server.Close()
	}
}

func sitesOf(ts *testscript.TestScript) *webSites { return ts.Value(webSitesKey{}).(*webSites) }

// webSiteCommand starts a site and puts its URL into the variable of that name, or changes its
// response.
func webSiteCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: site NAME file|gzip|any|status|missing|redirect|slow|login|public [arg...]")
	}
	all := sitesOf(ts)
	all.mu.Lock()
	defer all.mu.Unlock()
	s := all.sites[args[0]]
	if s == nil {
		s = &webSite{closed: make(chan struct{})}
		s.server = httptest.NewServer(s)
		all.sites[args[0]] = s
		ts.Setenv(args[0], s.server.URL)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kind, s.args, s.body = args[1], args[2:], ""
	switch s.kind {
	case "login":
		s.body, s.args = ts.ReadFile(args[3]), args[2:3]
	case "public":
		s.body, s.args = ts.ReadFile(args[2]), nil
	}
	if s.kind == "file" || s.kind == "gzip" || s.kind == "any" {
		s.body, s.args = ts.ReadFile(args[2]), args[3:]
	}
}

// webPageCommand adds a page to a site.
func webPageCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: page NAME PATH STATUS FILE|- [HEADER=VALUE]...")
	}
	s := sitesOf(ts).sites[args[0]]
	if s == nil {
		ts.Fatalf("no site %s", args[0])
	}
	status, err := strconv.Atoi(args[2])
	ts.Check(err)
	p := webPage{status: status, headers: args[4:]}
	if args[3] != "-" {
		p.body = ts.ReadFile(args[3])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pages == nil {
		s.pages = map[string]webPage{}
	}
	s.pages[args[1]] = p
}

func (s *webSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	kind, args, body := s.kind, s.args, s.body
	page, isPage := s.pages[r.URL.Path]
	s.requests++
	s.agents = append(s.agents, r.UserAgent())
	s.mu.Unlock()
	user, password, isLogin := r.BasicAuth()
	switch {
	case kind == "login" && user+":"+password != args[0]:
		w.Header().Set("WWW-Authenticate", `Basic realm="staging"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	case kind == "login":
		args = nil
	case kind == "public" && isLogin:
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if isPage {
		for _, h := range page.headers {
			name, value, _ := strings.Cut(h, "=")
			w.Header().Add(name, value)
		}
		w.WriteHeader(page.status)
		fmt.Fprint(w, page.body)
		return
	}
	status := http.StatusOK
	switch {
	case kind == "missing" && r.URL.Path != "/":
		status, _ = strconv.Atoi(args[0])
		args = nil
	case kind == "missing":
		args = nil
	case r.URL.Path != "/robots.txt" && kind != "slow" && kind != "any":
		status = http.StatusNotFound
	case kind == "status":
		status, _ = strconv.Atoi(args[0])
		args = args[1:]
	case kind == "redirect":
		w.Header().Set("Location", args[0])
		w.WriteHeader(http.StatusMovedPermanently)
		return
	case kind == "slow":
		select {
		case <-s.closed:
		case <-r.Context().Done():
		}
		return
	}
	for _, h := range args {
		name, value, _ := strings.Cut(h, "=")
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Type", "text/plain")
	if kind == "gzip" {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(status)
		z := gzip.NewWriter(w)
		fmt.Fprint(z, body)
		z.Close()
		return
	}
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

// requests checks how many requests a site received, and the last User-Agent.
func requests(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: requests NAME N [AGENT]")
	}
	s := sitesOf(ts).sites[args[0]]
	if s == nil {
		ts.Fatalf("no site %s", args[0])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if want, err := strconv.Atoi(args[1]); err != nil || s.requests != want {
		ts.Fatalf("%s received %d requests, want %s", args[0], s.requests, args[1])
	}
	if len(args) > 2 && s.agents[len(s.agents)-1] != args[2] {
		ts.Fatalf("%s was last requested by %q, want %q", args[0], s.agents[len(s.agents)-1], args[2])
	}
}

var varying = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT`), "DATE"},
	{regexp.MustCompile(`(?m)^( +)(under )?[\d.]+ m?s(: [^(\n]*)?( \(|$)`), "${1}TOOK${4}"},
	{regexp.MustCompile(`(took|in) (under )?[\d.]+ m?s`), "$1 N ms"},
	{regexp.MustCompile(`_ms":[\d.]+`), `_ms":0`},
	{regexp.MustCompile(`"received":\d+`), `"received":0`},
	{regexp.MustCompile(`\d+ bytes received`), "N bytes received"},
}

// plain copies a file with the names of sites instead of their URLs and without anything that
// differs between runs.
func plain(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: plain FILE TO")
	}
	text := ts.ReadFile(args[0])
	for name, s := range sitesOf(ts).sites {
		_, host, _ := strings.Cut(s.server.URL, "://")
		text = strings.ReplaceAll(text, host, name)
	}
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.with)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o666))
}

// kept puts a record into a cache file: a file of that age, fresh for a day, or
// with "failing" a 503 of that age after it, due again.
func kept(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: kept CACHE URL AGE FILE [failing AGE]")
	}
	origin, _, err := robots.ParseURL(args[1])
	ts.Check(err)
	age := func(s string) time.Time {
		d, err := time.ParseDuration(s)
		ts.Check(err)
		return time.Now().Add(-d).Truncate(time.Millisecond)
	}
	good := age(args[2])
	r := &fetch.Record{
		Origin: origin, URL: origin.RobotsURL(), Outcome: fetch.Success, Cause: fetch.OK, Status: 200,
		Body: []byte(ts.ReadFile(args[3])), Started: good, Fetched: good, Expires: good.Add(24 * time.Hour),
	}
	if len(args) == 6 {
		failed := age(args[5])
		r = (&fetch.Record{
			Origin: origin, URL: origin.RobotsURL(), Outcome: fetch.Unreachable, Cause: fetch.ServerError, Status: 503,
			Started: failed, Fetched: failed,
		}).After(r)
	}
	store, err := bolt.Open(ts.MkAbs(args[0]), bolt.Options{})
	ts.Check(err)
	ts.Check(store.Put(context.Background(), cache.Entry{Record: r}, 90*24*time.Hour))
	ts.Check(store.Close())
}

// at puts a time relative to now into a variable.
func at(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: at NAME DURATION")
	}
	d, err := time.ParseDuration(args[1])
	ts.Check(err)
	ts.Setenv(args[0], time.Now().Add(d).UTC().Format(time.RFC3339))
}
