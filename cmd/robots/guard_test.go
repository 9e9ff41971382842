package main

import (
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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/freeport"
	"github.com/robotskit/robots/internal/proctest"
)

// A guarding is a running robots guard.
type guarding struct {
	cmd     *exec.Cmd
	address string
	log     *logLines
}

// runGuard runs the program with further flags until the test ends.
func runGuard(t *testing.T, args ...string) *guarding {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no signals on this system")
	}
	g := &guarding{log: &logLines{}}
	g.log.grown = sync.NewCond(&g.log.mu)
	g.cmd, _, _ = start(t, g.log, append([]string{"guard", "--listen", "127.0.0.1:0"}, args...)...)
	go func() {
		_ = g.cmd.Wait() // its state says how it ended
		g.log.mu.Lock()
		g.log.ended = true
		g.log.grown.Broadcast()
		g.log.mu.Unlock()
	}()
	m := g.log.await(`"listen":"([^"]*)"`)
	if m == nil {
		t.Fatalf("the program ended: %s", g.log)
	}
	g.address = m[1]
	return g
}

// ask returns the answer to a web server.
func (g *guarding) ask(t *testing.T, host, userAgent, target string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequest("GET", "http://"+g.address+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("X-Original-URI", target)
	req.Header.Set("X-Forwarded-Host", host)
	req.Header.Set("X-Forwarded-For", "198.51.100.1")
	return send(t, req)
}

func send(t *testing.T, req *http.Request) (status int, text string) {
	t.Helper()
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
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

// put writes a file, and its folders.
func put(t *testing.T, name, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestGuardReload: files are read again when they change, also those of new hosts; what cannot be read
// keeps the last content, with one line in the log.
func TestGuardReload(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "a.example", "robots.txt")
	put(t, file, "User-agent: *\nDisallow: /a\n")
	g := runGuard(t, "-f", folder, "--enforce")
	check := func(host, target string, want int) {
		t.Helper()
		if status, text := g.ask(t, host, "Googlebot", target); status != want {
			t.Errorf("%s %s: %d %s", host, target, status, text)
		}
	}
	check("a.example", "/a", 403)
	check("a.example", "/b", 204)
	check("b.example", "/b", 204)
	put(t, file, "User-agent: *\nDisallow: /b\n")
	put(t, filepath.Join(folder, "b.example", "robots.txt"), "User-agent: *\nDisallow: /\n")
	g.log.await(`"reloaded".*b.example`)
	g.log.await(`"reloaded".*a.example`)
	check("a.example", "/a", 204)
	check("A.example:80", "/b", 403)
	check("b.example", "/b", 403)
	put(t, file, "<html>")
	g.log.await(`last content stays in force.*a.example.*HTML`)
	if err := os.RemoveAll(filepath.Join(folder, "b.example")); err != nil {
		t.Fatal(err)
	}
	g.log.await(`last content stays in force.*b.example.*no such file`)
	check("a.example", "/b", 403)
	check("b.example", "/b", 403)
	if n := strings.Count(g.log.String(), "HTML"); n != 1 {
		t.Errorf("%d lines for one problem:\n%s", n, g.log)
	}
}

// TestGuardNameServer: a name server that never answers delays no answer.
func TestGuardNameServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "robots.txt")
	put(t, file, "User-agent: *\nDisallow: /basket\n")
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	g := runGuard(t, "-f", file, "--enforce", "--refuse-faked", "--resolver", silent.LocalAddr().String())
	for target, want := range map[string]int{"/": 204, "/basket": 403} {
		if status, text := g.ask(t, "", "Googlebot", target); status != want {
			t.Errorf("%s: %d %s", target, status, text)
		}
	}
	if _, _, err := silent.ReadFrom(make([]byte, 512)); err != nil { // it is queried
		t.Error(err)
	}
}

// A proxied site is a web server in front of an application, in a configuration of docs/guard.md.
type proxiedSite struct {
	guard   *guarding
	address string
}

const guardedFile = "User-agent: *\nDisallow: /basket/\nAllow: /basket/help\n\nUser-agent: GPTBot\nUser-agent: ChatGPT-User\nDisallow: /\n"

// newProxiedSite starts the application, the guard and a web server.
func newProxiedSite(t *testing.T, language string, server func(folder, config string) *exec.Cmd) *proxiedSite {
	file := filepath.Join(t.TempDir(), "robots.txt")
	put(t, file, guardedFile)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "served ", r.Method, " ", r.RequestURI)
	}))
	t.Cleanup(app.Close)
	s := &proxiedSite{guard: runGuard(t, "-f", file, "--enforce")}
	s.address = freeport.Addr(t)
	config := strings.NewReplacer(
		"listen 80;", "listen "+s.address+";", ":80 {", "http://"+s.address+" {\n\tbind 127.0.0.1",
		"127.0.0.1:8080", app.Listener.Addr().String(), "127.0.0.1:8782", s.guard.address, "127.0.0.1:8783", freeport.Addr(t),
		" 1s;", " 60s;", "_duration 1s", "_duration 60s",
	).Replace(codeBlock(t, "../../docs/guard.md", language))
	folder := t.TempDir()
	runProxy(t, server(folder, config), s.address)
	return s
}

// runProxy runs a web server until the test ends, and waits until it listens.
func runProxy(t *testing.T, cmd *exec.Cmd, address string) {
	t.Helper()
	output := &logLines{}
	output.grown = sync.NewCond(&output.mu)
	cmd.Stdout = output
	cmd.Stderr = output
	if err := proctest.Start(cmd); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	for {
		select {
		case <-ended:
			t.Fatalf("%s ended: %s", cmd, output)
		case <-time.After(10 * time.Millisecond): // until it listens
		}
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return
		}
	}
}

// codeBlock returns the block of code of a document in a language.
func codeBlock(t *testing.T, name, language string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatalf("%s has no block of code in %s", name, language)
	}
	return string(block[1])
}

// TestGuardNginx: nginx in the configuration of docs/guard.md lets the right requests pass, and all of them
// when the guard is killed.
func TestGuardNginx(t *testing.T) {
	program := installed(t, "nginx")
	newProxiedSite(t, "nginx", func(folder, config string) *exec.Cmd {
		return nginx(t, program, folder, config)
	}).check(t)
}

// TestGuardCaddy is the same for Caddy.
func TestGuardCaddy(t *testing.T) {
	campaign.Only(t)
	program := installed(t, "caddy")
	newProxiedSite(t, "caddy", func(folder, config string) *exec.Cmd {
		return caddy(t, program, folder, config)
	}).check(t)
}

func (s *proxiedSite) request(t *testing.T, method, target, userAgent string) (int, string) {
	t.Helper()
	url, err := neturl.Parse("http://" + s.address + target)
	if err != nil {
		t.Fatal(err)
	}
	req := &http.Request{Method: method, URL: url, Header: http.Header{"User-Agent": {userAgent}}}
	req.Header.Set("X-Forwarded-Uri", "/") // what a client sends does not count
	return send(t, req)
}

func (s *proxiedSite) check(t *testing.T) {
	const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
	const googlebot = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
	const gptbot = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; GPTBot/1.3; +https://openai.com/gptbot"
	basket := []string{"/basket/1?x=/", "//basket/1", "/./basket/1", "/x/../basket/1", "/%62asket/1"}
	open := []string{"/robots.txt", "/robots.txt?x=1", "/.well-known/security.txt"}
	for _, test := range []struct {
		userAgent string
		targets   []string
		reason    string // "" passes
	}{
		{firefox, append(basket, "/", "/robots.txt"), ""},
		{googlebot, append(open, "/", "/basket/help", "/x?/basket/1"), ""},
		{googlebot, basket, "Googlebot: disallowed by line 2: Disallow: /basket/ (robots.txt)\n"},
		{gptbot, open, ""},
		{gptbot, append(basket, "/", "/basket/help"), "GPTBot: disallowed by line 7: Disallow: / (robots.txt)\n"},
		{"ChatGPT-User/1.0", append(basket, "/"), ""},
		{"", basket, ""},
	} {
		for _, target := range test.targets {
			for _, method := range []string{"GET", "HEAD", "POST", "OPTIONS"} {
				status, text := s.request(t, method, target, test.userAgent)
				want := 200
				if test.reason != "" {
					want = 403
				}
				if status != want || method == "GET" && want == 403 && text != test.reason {
					t.Errorf("%s %s %s: %d %s\n%s", test.userAgent, method, target, status, text, s.guard.log)
				}
			}
		}
	}
	if err := s.guard.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.guard.log.await(`\x00`) // which is never said
	for _, userAgent := range []string{firefox, googlebot, gptbot} {
		if status, text := s.request(t, "GET", "/basket/1", userAgent); status != 200 {
			t.Errorf("%s without the guard: %d %s", userAgent, status, text)
		}
	}
}

// installed returns the path of a program, and skips the test without it.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + name)
	}
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

// nginx returns a command that runs nginx with a server block.
func nginx(t *testing.T, program, folder, server string) *exec.Cmd {
	config := filepath.Join(folder, "nginx.conf")
	paths := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		paths += kind + "_temp_path " + folder + ";\n"
	}
	put(t, config, "daemon off;\nmaster_process off;\npid "+folder+"/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n"+paths+server+"}\n")
	return exec.Command(program, "-e", "stderr", "-p", folder, "-c", config)
}

// caddy returns a command that runs Caddy with sites.
func caddy(t *testing.T, program, folder, sites string) *exec.Cmd {
	config := filepath.Join(folder, "Caddyfile")
	put(t, config, "{\n\tadmin off\n}\n"+sites)
	cmd := exec.Command(program, "run", "--adapter", "caddyfile", "--config", config)
	cmd.Env = append(os.Environ(), "HOME="+folder, "XDG_DATA_HOME="+folder, "XDG_CONFIG_HOME="+folder)
	return cmd
}
