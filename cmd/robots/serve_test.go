package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
	paceredis "github.com/robotskit/robots/pace/redis"
)

// A served is a running robots serve.
type served struct {
	cmd         *exec.Cmd
	out         *bufio.Reader
	open, admin string // URLs without the last slash
	log         *logLines
}

// logLines keeps the log of a program, and lets a test wait for a line.
type logLines struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown *sync.Cond
	ended bool
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.grown.Broadcast()
	return l.text.Write(p)
}

// await waits for text of this form and returns its groups, nil if the program has ended without it.
func (l *logLines) await(form string) []string {
	pattern := regexp.MustCompile(form)
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if m := pattern.FindStringSubmatch(l.text.String()); m != nil || l.ended {
			return m
		}
		l.grown.Wait()
	}
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// runServer runs the program with further flags until the test ends.
func runServer(t *testing.T, args ...string) *served {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no signals on this system")
	}
	s := &served{log: &logLines{}}
	s.log.grown = sync.NewCond(&s.log.mu)
	cmd, _, out := start(t, s.log, append([]string{"serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--client-rate", "0"}, args...)...)
	s.cmd, s.out = cmd, bufio.NewReader(out)
	go func() {
		_ = s.cmd.Wait() // its state says how it ended
		s.log.mu.Lock()
		s.log.ended = true
		s.log.grown.Broadcast()
		s.log.mu.Unlock()
	}()
	m := s.log.await(`"open":"(http://[^"]*)/".*"admin":"(http://[^"]*)/"`)
	if m == nil {
		t.Fatalf("the program ended: %s", s.log)
	}
	s.open, s.admin = m[1], m[2]
	return s
}

func (s *served) signal(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// wait waits for the end of the program and returns its exit status, -1 if a signal
// ended it.
func (s *served) wait() int {
	s.log.await(`\x00`) // which is never said
	return s.cmd.ProcessState.ExitCode()
}

// TestServeDrain: a signal under load: the program answers every request that it has accepted,
// is not ready meanwhile, and ends with status 0.
func TestServeDrain(t *testing.T) {
	s := runServer(t, "--store", "memory", "--drain-delay", "200ms")
	var answered, begun atomic.Int64
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			client := http.Client{Transport: &http.Transport{}}
			for {
				resp, err := client.Get(s.open + "/version")
				if err != nil {
					return // it does not listen any more
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK || !bytes.HasPrefix(body, []byte(`{"version":`)) {
					t.Errorf("status %d, %v: %s", resp.StatusCode, err, body)
				}
				answered.Add(1)
				begun.Add(1)
			}
		})
	}
	for begun.Load() < 100 {
		runtime.Gosched()
	}
	s.signal(t)
	if s.log.await(`"msg":"draining"`) == nil {
		t.Fatal("the program says nothing of its end")
	}
	if resp, err := http.Get(s.admin + "/readyz"); err == nil { // else the delay is over on a busy machine
		if resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("ready while it drains: %d", resp.StatusCode)
		}
		resp.Body.Close()
	}
	if code := s.wait(); code != exitAllowed {
		t.Errorf("exit status %d, want 0: %s", code, s.log)
	}
	clients.Wait()
	if accepted := int64(strings.Count(s.log.String(), `"url":"/version","status":200`)); accepted != answered.Load() {
		t.Errorf("%d requests were accepted, %d answered", accepted, answered.Load())
	}
	t.Logf("%d requests under a drain, each answered", answered.Load())
}

// TestServeReload: SIGHUP reloads configuration and tokens while a connection stays, a mistake leaves them
// as they are, and names of settings that need a restart are logged.
func TestServeReload(t *testing.T) {
	folder := t.TempDir()
	config, tokens := filepath.Join(folder, "serve.yaml"), filepath.Join(folder, "tokens")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old, next := strings.Repeat("o", 40), strings.Repeat("n", 40)
	write(config, "tokens-file: "+tokens+"\n")
	write(tokens, "a check "+old+"\n")
	s := runServer(t, "--store", "memory", "--config", config)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.open, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	status := func(host, token, path string) int {
		t.Helper()
		request := "POST " + path + " HTTP/1.1\r\nHost: " + host + "\r\nAuthorization: Bearer " + token + "\r\nContent-Length: 30\r\n\r\n" + `{"url":"/a","robots":"a: b\n"}`
		if token == "" {
			request = strings.Replace(request, "Authorization: Bearer \r\n", "", 1)
		}
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	hangup := func(logged string) {
		t.Helper()
		if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if s.log.await(logged) == nil {
			t.Fatalf("the log has no %s: %s", logged, s.log)
		}
	}
	check := func(when string, host, token, path string, want int) {
		t.Helper()
		if got := status(host, token, path); got != want {
			t.Errorf("%s: status %d, want %d", when, got, want)
		}
	}
	check("at first", "localhost", old, "/v1/explain", 200)
	check("without a token", "localhost", "", "/v1/explain", 401)
	check("without the scope", "localhost", old, "/v1/permits/x/done", 403)
	check("another host", "robots.example", old, "/v1/explain", 421)
	write(config, "tokens-file: "+tokens+"\nhost: [robots.example]\nmemory: 64MiB\n")
	write(tokens, "a check "+next+"\n")
	hangup(`"msg":"reloaded"`)
	if s.log.await(`restarted","settings":\["memory"\]`) == nil {
		t.Errorf("the log does not name what needs a restart: %s", s.log)
	}
	check("the old token", "localhost", old, "/v1/explain", 401)
	check("the new token", "robots.example", next, "/v1/explain", 200)
	for _, mistake := range []string{"", "a check short\n"} {
		write(tokens, mistake)
		hangup(`"msg":"the configuration is not reloaded"`)
		check("after a mistake", "robots.example", next, "/v1/explain", 200)
	}
	s.signal(t)
	if code := s.wait(); code != exitAllowed {
		t.Errorf("exit status %d, want 0: %s", code, s.log)
	}
}

// TestServeEnds: a second signal ends the program at once, whatever the first was.
func TestServeEnds(t *testing.T) {
	for _, signals := range [][2]syscall.Signal{{syscall.SIGINT, syscall.SIGTERM}, {syscall.SIGTERM, syscall.SIGINT}} {
		s := runServer(t, "--store", "memory", "--drain-delay", "1h")
		if err := s.cmd.Process.Signal(signals[0]); err != nil {
			t.Fatal(err)
		}
		if s.log.await(`"msg":"draining"`) == nil {
			t.Fatal("the program says nothing of its end")
		}
		for s.cmd.Process.Signal(signals[1]) == nil { // until it has ended: the first one may still be under way
			runtime.Gosched()
		}
		if code := s.wait(); code != -1 {
			t.Errorf("%v: exit status %d, not the end by a signal", signals, code)
		}
	}
}

// processors is the GOMAXPROCS of new processes, whatever -cpu is.
var processors = runtime.GOMAXPROCS(0)

// TestServeLog: the service goes on after whoever reads its log has ended.
func TestServeLog(t *testing.T) {
	log, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd, _, _ := start(t, out, "serve", "--listen", "127.0.0.1:0", "--admin", "none", "--store", "memory")
	out.Close()
	line, err := bufio.NewReader(log).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	log.Close()
	var serving struct{ Open string }
	if err := json.Unmarshal([]byte(line), &serving); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	for range 2 { // of which each writes a line
		get(t, serving.Open+"robots.txt")
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

// TestServeFiles: the service has a robots.txt that keeps crawlers off its API, an icon and documents. It
// warns that it accepts no host of other machines.
func TestServeFiles(t *testing.T) {
	s := runServer(t, "--store", "memory", "--public")
	if !strings.Contains(s.log.String(), "name other hosts with --host") {
		t.Errorf("the log has no warning about --host: %s", s.log)
	}
	if body := get(t, s.open+"/robots.txt"); robots.Allowed([]byte(body), robots.RFC9309, robots.RawPath("/v1/check")) || !robots.Allowed([]byte(body), robots.RFC9309, robots.RawPath("/")) {
		t.Errorf("robots.txt: %q", body)
	}
	if body := get(t, s.open+"/favicon.ico"); !strings.HasPrefix(body, "<svg ") {
		t.Errorf("favicon.ico: %q", body)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.open+"/docs/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(request) // which follows no redirect
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if to := resp.Header.Get("Location"); to != "/docs/index.html" {
		t.Errorf("/docs/ leads to %q, status %d", to, resp.StatusCode)
	}
}

// TestServeIdle: the memory of a connection without requests.
func TestServeIdle(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what a process has in memory is read from /proc")
	}
	n := campaign.Size(100, 1000, 10_000)
	s := runServer(t, "--store", "memory", "--idle-time", "1h")
	if threads := fmt.Sprintf("\ngo_gomaxprocs %d\n", processors+1); !strings.Contains(get(t, s.admin+"/metrics"), threads) {
		t.Errorf("no thread takes in requests while all others work: the metrics have no %q", threads)
	}
	if limit := fmt.Sprintf("\ngo_memlimit_bytes %d\n", 256<<20+restBytes+reserveBytes); !strings.Contains(get(t, s.admin+"/metrics"), limit) {
		t.Errorf("the memory limit is not that of --memory: the metrics have no %q", limit)
	}
	before := procStatus(t, s.cmd.Process.Pid, "VmRSS")
	for range n {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.open, "http://"))
		if err != nil {
			t.Skip("so many files are not allowed here: ", err)
		}
		defer conn.Close()
		fmt.Fprint(conn, "GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(err)
		}
	}
	after := procStatus(t, s.cmd.Process.Pid, "VmRSS")
	t.Logf("%d idle connections: %d MiB before, %d MiB with them", n, before>>20, after>>20)
	const most = 300 << 20
	if n == 10_000 && after > most {
		t.Errorf("%d bytes, at most %d", after, most)
	}
	if n < 10_000 && after-before > int64(n)*most/10_000+32<<20 { // and what answering takes at all
		t.Errorf("%d bytes a connection", (after-before)/int64(n))
	}
}

// TestServeDemo: the curl line of each demo site works, and the guard permits nothing else of this machine.
func TestServeDemo(t *testing.T) {
	s := runServer(t, "--demo")
	other := serveAt(t, "127.0.0.1:0", func(http.ResponseWriter, *http.Request) { t.Error("a server outside the demo was requested") })
	sites := map[string][]string{
		"shop":     {`"allowed":false`, `"line":5`, `/sitemap.xml`},
		"blog":     {`"allowed":false`, `"crawl_delay":10`},
		"redirect": {`"allowed":false`, `"/drafts/"`},
		"outage":   {`"allowed":false`, `"line":2`, `"failing_since"`},
		"rates":    {`"allowed":true`, `"from":"1800"`},
		"html":     {`"allowed":true`, `"empty-file"`},
	}
	for range sites {
		line, err := s.out.ReadString('\n')
		m := regexp.MustCompile(`^curl '(http://[^']*)'  # (\w+): .+\n$`).FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%q is not a curl line: %v", line, err)
		}
		name, want := m[2], sites[m[2]]
		got := get(t, m[1]+"&dialect=seznam")
		if want == nil {
			t.Errorf("unknown site %s", name)
		}
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: no %s in %s", name, w, got)
			}
		}
	}
	if got := get(t, s.open+"/v1/check?url="+neturl.QueryEscape(other+"/")); !strings.Contains(got, "is refused") && !strings.Contains(got, `"reason":"refused"`) {
		t.Errorf("a server beside the demo: %s", got)
	}
}

// TestServeIntranet: with --allow-private the program fetches from this machine, also after a redirect there, but not from the
// metadata address of a cloud. Without it, nothing is requested.
func TestServeIntranet(t *testing.T) {
	var requests atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.URL.Path == "/robots.txt" {
			http.Redirect(w, r, "/moved.txt", http.StatusFound)
			return
		}
		io.WriteString(w, "User-agent: *\nDisallow: /private\n")
	}))
	defer site.Close()
	check := func(s *served, url string) string {
		return get(t, s.open+"/v1/check?url="+neturl.QueryEscape(url))
	}
	public := runServer(t, "--store", "memory")
	if got := check(public, site.URL+"/private"); !strings.Contains(got, `"reason":"refused"`) || requests.Load() != 0 {
		t.Errorf("without the flag: %d requests, %s", requests.Load(), got)
	}
	intranet := runServer(t, "--store", "memory", "--allow-private")
	if got := check(intranet, site.URL+"/private"); !strings.Contains(got, `"verdict":"disallow","reason":"rule"`) || requests.Load() != 2 {
		t.Errorf("with the flag: %d requests, %s", requests.Load(), got)
	}
	if got := check(intranet, "http://169.254.169.254/"); !strings.Contains(got, `"reason":"refused"`) {
		t.Errorf("the metadata address: %s", got)
	}
}

// get returns a response with status 200.
func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v: %s", url, resp.StatusCode, err, body)
	}
	return string(body)
}

// TestServeReady: a server that needs Redis is not ready while Redis is unavailable, and is
// ready again afterwards even without requests; a server that does not need it stays ready.
func TestServeReady(t *testing.T) {
	redis := redistest.Start(t, redistest.Options{Config: []string{"requirepass geheim"}})
	t.Setenv("ROBOTS_REDIS_PASSWORD", "geheim")
	needs := runServer(t, "--store", redis.URL())
	not := runServer(t, "--store", redis.URL(), "--redis-optional")
	ready := func(s *served) string {
		resp, err := http.Get(s.admin + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return fmt.Sprint(resp.StatusCode, " ", strings.TrimSpace(string(body)))
	}
	until := func(want string) {
		t.Helper()
		for got := ""; got != want; {
			if next := ready(needs); next != got {
				got = next
			}
			if s := ready(not); s != "200 ready" {
				t.Fatalf("who does not need Redis says %s", s)
			}
		}
	}
	until("200 ready")
	redis.Kill()
	until("503 not ready: Redis is unreachable")
	if m := get(t, needs.admin+"/metrics"); !strings.Contains(m, "\nrobots_ready 0\n") {
		t.Error("the metrics say that it is ready")
	} else if !regexp.MustCompile(`(?m)^robots_limiter_degraded_seconds [0-9.e-]*[1-9]`).MatchString(m) {
		t.Error("the metrics do not say that the limiter is degraded")
	}
	// The store notices first, the limiter with its next heartbeat.
	if needs.log.await(`"level":"WARN","msg":"the fleet's Redis is unreachable","error":`) == nil {
		t.Errorf("the log does not report the outage: %s", needs.log)
	}
	redis.Up()
	until("200 ready")
	if m := get(t, needs.admin+"/metrics"); !strings.Contains(m, "\nrobots_ready 1\n") {
		t.Error("the metrics do not say that it is ready")
	}
	for _, line := range []string{`"level":"INFO","msg":"the fleet's Redis is back"`, `"level":"WARN","msg":"the fleet's Redis has lost memory`} {
		if needs.log.await(line) == nil {
			t.Errorf("the log has no %s: %s", line, needs.log)
		}
	}
	for _, change := range []string{"down", "up", "renewed"} { // more than once where answers come late
		if m := get(t, needs.admin+"/metrics"); !regexp.MustCompile(`(?m)^robots_fleet_changes_total\{change="` + change + `"\} [1-9]`).MatchString(m) {
			t.Errorf("the metrics do not count that Redis went and came back empty: no %s", change)
		}
	}
	for _, s := range []*served{needs, not} {
		s.signal(t)
		if code := s.wait(); code != exitAllowed {
			t.Errorf("exit status %d: %s", code, s.log)
		}
		if strings.Contains(s.log.String(), "geheim") {
			t.Error("the log has the password")
		}
	}
}

// TestServeBounds: a server keeps records for the configured time.
func TestServeBounds(t *testing.T) {
	redis := redistest.Start(t, redistest.Options{})
	site := serveAt(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "User-agent: *\nDisallow: /private\n")
	})
	t.Setenv(ownSitesEnv, strings.TrimPrefix(site, "http://"))
	f := &serverFleet{t: t, client: http.DefaultClient, servers: []*served{
		runServer(t, "--store", redis.URL(), "--keep-once", "100h", "--keep", "200h", "--memory", "64MiB"),
	}}
	if status, reply := f.ask(0, "/v1/check?url="+neturl.QueryEscape(site+"/private"), ""); status != http.StatusOK || !strings.Contains(reply, `"line":2`) {
		t.Errorf("%d %s", status, reply)
	}
	f.servers[0].signal(t)
	f.servers[0].wait() // until all is written
	if left, err := strconv.Atoi(redis.Do("TTL", "robots:{"+site+"}")); err != nil || left < 99*3600 || left > 101*3600 {
		t.Errorf("the record is kept for %d s, %v, want 100 h", left, err)
	}
	var out, said bytes.Buffer
	run(t.Context(), []string{"fleet", "show", "--redis", redis.URL(), site}, strings.NewReader(""), &out, &said)
	if !strings.Contains(out.String(), "  record     fetched") {
		t.Errorf("shown: %s%s", &out, &said)
	}
}

// TestServeSizes: the configured sizes apply, also above the defaults.
func TestServeSizes(t *testing.T) {
	s := runServer(t, "--store", "memory", "--header-size", "32KiB", "--url-size", "16KiB", "--body-size", "3MiB", "--batch-size", "12MiB")
	client := &http.Client{}
	padded := func(n int) string { return `"robots":"` + strings.Repeat("#", n) + `"` }
	for _, tt := range []struct {
		name, path, kind, body string
		status                 int
	}{
		{"body", "/v1/lint", "application/json", "{" + padded(2<<20) + "}", 200},
		{"body too large", "/v1/lint", "application/json", "{" + padded(3<<20) + "}", 413},
		{"JSON", "/v1/check", "application/json", `{"questions":[{"url":"/",` + padded(10<<20) + "}]}", 200},
		{"lines", "/v1/check", "application/x-ndjson", `{"url":"/",` + padded(10<<20) + "}\n", 200},
		{"lines too large", "/v1/check", "application/x-ndjson", `{"url":"/",` + padded(12<<20) + "}\n", 413},
		{"URL in a body", "/v1/explain", "application/json", `{"url":"/` + strings.Repeat("a", 12<<10) + `","robots":""}`, 200},
		{"URL in a body too large", "/v1/explain", "application/json", `{"url":"/` + strings.Repeat("a", 17<<10) + `","robots":""}`, 422},
	} {
		resp, err := client.Post(s.open+tt.path, tt.kind, strings.NewReader(tt.body))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.status {
			t.Errorf("%s: status %d, want %d", tt.name, resp.StatusCode, tt.status)
		}
	}
	// The address is refused, which is an answer: no request is sent.
	if got := get(t, s.open+"/v1/check?url=http://127.0.0.1/"+strings.Repeat("a", 12<<10)); !strings.Contains(got, `"reason":"refused"`) {
		t.Errorf("a long URL: %.200s", got)
	}
}

// TestServeDrained: a server that an operator has drained is not ready and issues no permits
// until it is resumed; the other server of the fleet continues.
func TestServeDrained(t *testing.T) {
	redis := redistest.Start(t, redistest.Options{})
	site := newPacedSite(t, 60, 0)
	t.Setenv(ownSitesEnv, strings.TrimPrefix(site.url, "http://"))
	f := &serverFleet{t: t, client: http.DefaultClient, servers: []*served{runServer(t, "--store", redis.URL()), runServer(t, "--store", redis.URL())}}
	op, err := fleet.Operate(t.Context(), redis.URL(), "a test", fleet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer op.Close()
	s, err := op.Status(t.Context())
	if err != nil || len(s.Workers) != 2 || len(s.Nodes) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	i := slices.IndexFunc(s.Workers, func(w paceredis.Worker) bool {
		return strings.HasSuffix(w.Name, fmt.Sprint("/", f.servers[0].cmd.Process.Pid))
	})
	if i < 0 {
		t.Fatalf("no worker has the name of the process %d: %+v", f.servers[0].cmd.Process.Pid, s.Workers)
	}
	if err := op.Drain(t.Context(), s.Workers[i].ID); err != nil {
		t.Fatal(err)
	}
	if f.servers[0].log.await(`"msg":"an operator has drained this worker`) == nil {
		t.Fatal("the log does not say that the server is drained")
	}
	resp, err := http.Get(f.servers[0].admin + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("ready while it is drained: %d", resp.StatusCode)
	}
	if p, status := f.permit(0, site, "0s", "1m"); p != nil || status != http.StatusServiceUnavailable {
		t.Errorf("a permit of a server that is drained: %+v, %d", p, status)
	}
	p, status := f.permit(1, site, "10s", "1m")
	if p == nil {
		t.Fatalf("no permit of the other server: %d", status)
	}
	f.giveBack(1, p, `{"status":200}`)

	var out, said bytes.Buffer
	call := []string{"fleet", "resume", "--redis", redis.URL(), "--yes", "--format", "json", s.Workers[i].ID}
	if status := run(t.Context(), call, strings.NewReader(""), &out, &said); status != exitAllowed || !strings.Contains(out.String(), `"done":"acquires permits again"`) {
		t.Errorf("resumed: %d %s%s", status, &out, &said)
	}
	if f.servers[0].log.await(`"msg":"the drain of this worker has ended`) == nil {
		t.Fatal("the log does not say that the server is drained no more")
	}
	get(t, f.servers[0].admin+"/readyz") // which fails unless it is ready
	if p, status := f.permit(0, site, "10s", "1m"); p == nil {
		t.Errorf("no permit after the end of the drain: %d", status)
	}
}
