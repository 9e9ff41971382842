package main

import (
	"fmt"
	"io"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/robotskit/robots/internal/redistest"
)

// TestServeSecrets: the password of the store, the tokens of clients and what a URL has of secrets are in no
// metric, profile, page or line of the log.
func TestServeSecrets(t *testing.T) {
	const password, token, userPassword = "store-geheim", "token-geheim-0123456789-0123456789-01", "url-geheim"
	redis := redistest.Start(t, redistest.Options{})
	redis.Do("CONFIG", "SET", "requirepass", password)
	site := serveAt(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "User-agent: *\nDisallow: /private\n")
	})
	t.Setenv(ownSitesEnv, strings.TrimPrefix(site, "http://"))
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("a check,fetch,permit "+token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ROBOTS_REDIS_PASSWORD", password)
	s := runServer(t, "--store", redis.URL(), "--tokens-file", tokens, "--log-urls")
	request := func(host, path, authorization string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", host+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if authorization != "" {
			r.Header.Set("Authorization", "Bearer "+authorization)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	url := strings.Replace(site, "http://", "http://user:"+userPassword+"@", 1) + "/private?token=" + token
	if status, body := request(s.open, "/v1/check?url="+neturl.QueryEscape(url), token); status != 200 || !strings.Contains(body, `"line":2`) {
		t.Errorf("with the token: %d %s", status, body)
	}
	if status, _ := request(s.open, "/v1/check?url="+neturl.QueryEscape(url), token+"-geheim-too"); status != 401 {
		t.Errorf("with another token: status %d", status)
	}
	redis.Kill() // so that errors of the store are logged
	request(s.open, "/v1/permits?url="+neturl.QueryEscape(site), token)
	for _, path := range []string{
		"/metrics", "/readyz", "/healthz", "/debug/pprof/", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1",
		"/debug/pprof/allocs?debug=1", "/debug/pprof/goroutine?debug=1", "/debug/pprof/cmdline", "/debug/pprof/mutex?debug=1",
	} {
		if _, body := request(s.admin, path, ""); strings.Contains(body, "geheim") {
			t.Errorf("%s has a secret: %.300s", path, body[max(0, strings.Index(body, "geheim")-100):])
		}
	}
	s.signal(t)
	s.wait()
	if log := s.log.String(); strings.Contains(log, "geheim") {
		t.Errorf("the log has a secret: %.300s", log[max(0, strings.Index(log, "geheim")-200):])
	}
}

// TestServeReloadWaiting: a request that waits for a site is answered after SIGHUP, unless its token is gone.
func TestServeReloadWaiting(t *testing.T) {
	old, next := strings.Repeat("o", 40), strings.Repeat("n", 40)
	tokens := filepath.Join(t.TempDir(), "tokens")
	write := func(list ...string) {
		t.Helper()
		var text strings.Builder
		for _, token := range list {
			fmt.Fprintf(&text, "%.1s check,fetch %s\n", token, token)
		}
		if err := os.WriteFile(tokens, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	requested, released := make(chan struct{}), make(chan struct{})
	site := serveAt(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) {
		close(requested)
		<-released
		fmt.Fprint(w, "User-agent: *\nDisallow: /private\n")
	})
	t.Setenv(ownSitesEnv, strings.TrimPrefix(site, "http://"))
	write(old, next)
	s := runServer(t, "--store", "memory", "--tokens-file", tokens)
	type answer struct {
		status int
		body   string
		err    error
	}
	check := func(token string) answer {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.open+"/v1/check?wait=30s&url="+neturl.QueryEscape(site+"/private"), nil)
		if err != nil {
			return answer{err: err}
		}
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return answer{err: err}
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return answer{resp.StatusCode, string(body), err}
	}
	staying, leaving := make(chan answer, 1), make(chan answer, 1)
	go func() { staying <- check(next) }()
	go func() { leaving <- check(old) }()
	<-requested
	for !strings.Contains(get(t, s.admin+"/metrics"), "\nrobots_requests_working 2\n") {
		runtime.Gosched() // until both wait for the site
	}
	write(next)
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if s.log.await(`"msg":"reloaded"`) == nil {
		t.Fatalf("it is not reloaded: %s", s.log)
	}
	close(released)
	if a := <-staying; a.err != nil || a.status != 200 || !strings.Contains(a.body, `"line":2`) {
		t.Errorf("with a token that stays: %+v", a)
	}
	if a := <-leaving; a.err != nil || a.status != 401 {
		t.Errorf("with a token that is gone: %+v", a)
	}
	s.signal(t)
	if code := s.wait(); code != exitAllowed {
		t.Errorf("exit status %d, want 0: %s", code, s.log)
	}
}
