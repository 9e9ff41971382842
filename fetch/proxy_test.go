package fetch

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/proctest"
)

// TestRealProxies fetches through tinyproxy and danted if they are installed.
func TestRealProxies(t *testing.T) {
	tinyproxy := func(settings string) func(t *testing.T) string {
		return func(t *testing.T) string {
			return daemon(t, "tinyproxy", "-d -c", "Port %d\nListen 127.0.0.1\nTimeout 9\nMaxClients 9\nLogLevel Critical\nDisableViaHeader Yes\n"+settings)
		}
	}
	danted := func(t *testing.T) string {
		return daemon(t, "danted", "-N 1 -f", "internal: 127.0.0.1 port = %d\nexternal: lo\nclientmethod: none\nsocksmethod: none\n"+
			"user.privileged: root\nuser.unprivileged: root\nlogoutput: /dev/null\n"+
			"client pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }\n"+
			"socks block { from: 0.0.0.0/0 to: 127.0.0.3/32 }\nsocks pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }\n")
	}
	s := newStage(t)
	for _, row := range []struct {
		name  string
		start func(t *testing.T) string
		proxy string // its URL
		url   string
		file  string // what the site says, "" for a silent one
		want  Cause
		proto string
	}{
		{"tinyproxy, https", tinyproxy(""), "http://PROXY", "https://localhost:PORT/", whole("200 OK", someRules), OK, "HTTP/1.1"},
		{"tinyproxy, http in a tunnel", tinyproxy(""), "http://PROXY", "http://localhost:PORT/", whole("200 OK", someRules), OK, "HTTP/1.1"},
		{"tinyproxy, http forwarded", tinyproxy("ConnectPort 443\n"), "http://PROXY", "http://localhost:PORT/", "HTTP/1.0 200 OK\r\n\r\n" + someRules, OK, "HTTP/1.0"},
		{"tinyproxy, forwarded 404", tinyproxy("ConnectPort 443\n"), "http://PROXY", "http://localhost:PORT/", whole("404 Not Found", ""), ClientError, "HTTP/1.1"},
		{"tinyproxy, https to a port that it refuses", tinyproxy("ConnectPort 443\n"), "http://PROXY", "https://localhost:PORT/", whole("200 OK", someRules), ProxyFailed, ""},
		{"tinyproxy, login", tinyproxy("BasicAuth user hiddenword\n"), "http://user:hiddenword@PROXY", "https://localhost:PORT/", whole("200 OK", someRules), OK, "HTTP/1.1"},
		{"tinyproxy, login, forwarded", tinyproxy("BasicAuth user hiddenword\nConnectPort 443\n"), "http://user:hiddenword@PROXY", "http://localhost:PORT/", whole("200 OK", someRules), OK, "HTTP/1.1"},
		{"tinyproxy, no login", tinyproxy("BasicAuth user hiddenword\n"), "http://PROXY", "http://localhost:PORT/", whole("200 OK", someRules), ProxyFailed, ""},
		{"tinyproxy, nobody listens", tinyproxy(""), "http://PROXY", "https://localhost:4/", "", ProxyFailed, ""},
		{"tinyproxy, silent site", tinyproxy(""), "http://PROXY", "http://localhost:PORT/", "", HeaderTimeout, ""},
		{"danted, https", danted, "socks5://PROXY", "https://site.test:PORT/", whole("200 OK", someRules), OK, "HTTP/1.1"},
		{"danted, its own names", danted, "socks5h://PROXY", "http://localhost:PORT/", whole("200 OK", someRules), OK, "HTTP/1.1"},
		{"danted, nobody listens", danted, "socks5://PROXY", "https://127.0.0.1:4/", "", ProxyFailed, ""},
		{"danted, refused by its rules", danted, "socks5://PROXY", "http://127.0.0.3:PORT/", whole("200 OK", someRules), ProxyFailed, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			address := row.start(t)
			serve := answer(row.file)
			if row.file == "" {
				serve = func(p *peer) { p.hang() }
			}
			site := s.listen(t, "127.0.0.1:0", speak(serve))
			o := s.options()
			o.Limits = Limits{Connect: time.Minute, TLS: time.Minute, Header: time.Minute, Total: 5 * time.Minute} // a machine can be busy
			if row.want == HeaderTimeout {
				o.Limits.Header = 2 * time.Second
			}
			o.Proxy = http.ProxyURL(mustURL(t, strings.ReplaceAll(row.proxy, "PROXY", address)))
			r, err := s.client(t, o).Fetch(context.Background(), mustOrigin(t, strings.ReplaceAll(row.url, "PORT", site.port())))
			if err != nil {
				t.Fatal(err)
			}
			if r.Cause != row.want || r.Hops[0].Protocol != row.proto {
				t.Errorf("got:  %v, %q (%s)\nwant: %v, %q", r.Cause, r.Hops[0].Protocol, r.Detail, row.want, row.proto)
			}
			if row.want == OK && string(r.Body) != someRules {
				t.Errorf("body %q", r.Body)
			}
			checkVerdicts(t, r)
			s.unseen(t, r)
		})
	}
}

// daemon runs a program with a configuration in which %d is its port, until the test ends, and
// returns its address.
func daemon(t *testing.T, name, args, config string) string {
	t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		if program = "/usr/sbin/" + name; exec.Command(program, "-v").Run() != nil {
			t.Skipf("%s is not installed; the proxies of the catalogue stand for it", name)
		}
	}
	port := daemonPort(t)
	file := filepath.Join(t.TempDir(), name+".conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, port), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	fields := strings.Fields(args)
	cmd := exec.Command(program, append(fields, file)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := proctest.Start(cmd); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		// Its children end with it. A shell's background process ignores an interrupt, and a
		// signal can arrive before there is a handler.
		cmd.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(5*time.Second, func() { cmd.Process.Kill() })
		defer late.Stop()
		cmd.Wait()
	})
	address := fmt.Sprintf("127.0.0.1:%d", port)
	for range 200 {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return address
		}
		time.Sleep(10 * time.Millisecond) // until it listens
	}
	t.Skipf("%s does not start here: %s", name, out.String())
	return ""
}
