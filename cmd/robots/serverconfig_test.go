package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robotskit/robots/guard"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/freeport"
)

// TestServerConfig: real web servers load the configurations of robots crawlers --format, and refuse by them
// what robots guard refuses.
func TestServerConfig(t *testing.T) {
	blocked := []string{"GPTBot", "CCBot", "Slurp", "Google-Extended", "ChatGPT-User", "AdsBot-Google", "curl", "Applebot"}
	for name, server := range map[string]func(t *testing.T, folder, config, address string) *exec.Cmd{
		"nginx":   nginxConfig,
		"apache":  apacheConfig,
		"caddy":   caddyConfig,
		"haproxy": haproxyConfig,
	} {
		if name != "nginx" && !campaign.On() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			checkServerConfig(t, name, server, "User-agent: *\nDisallow: /\n")
			checkServerConfig(t, name, server, "User-agent: "+strings.Join(blocked, "\nUser-agent: ")+"\nDisallow: /\n")
		})
	}
}

func checkServerConfig(t *testing.T, format string, server func(t *testing.T, folder, config, address string) *exec.Cmd, robotsTxt string) {
	t.Helper()
	folder := t.TempDir()
	file := filepath.Join(folder, "robots.txt")
	put(t, file, robotsTxt)
	var config, errs bytes.Buffer
	if status := run(context.Background(), []string{"crawlers", file, "--all", "--format", format}, strings.NewReader(""), &config, &errs); status != exitAllowed {
		t.Fatalf("status %d: %s", status, &errs)
	}
	address := freeport.Addr(t)
	runProxy(t, server(t, folder, config.String(), address), address)
	transport := &http.Transport{MaxConnsPerHost: 1}
	defer transport.CloseIdleConnections()
	get := func(path, userAgent string) int {
		req, err := http.NewRequest("GET", "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("User-Agent", userAgent)
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
	site := guard.NewSite([]byte(robotsTxt))
	g, err := guard.New(guard.Options{Site: func(string) *guard.Site { return site }})
	if err != nil {
		t.Fatal(err)
	}
	some := ""
	for _, header := range append(headers(t, "user-agents.tsv"), headers(t, "browsers.txt")...) {
		d := g.Decide(guard.Request{UserAgent: header, Target: "/page"})
		want := 200
		if d.Refused {
			want = 403
			some = header
		}
		if status := get("/page", header); status != want {
			t.Errorf("%d, want %d: %s: %s", status, want, header, d.Reason())
		}
	}
	for path, want := range map[string]int{"/robots.txt": 200, "/robots.txt?x=1": 200, "/robots.txt/x": 403, "/": 403} {
		if status := get(path, some); status != want {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status := get("/page", ""); status != 200 {
		t.Errorf("without a header: %d", status)
	}
}

func nginxConfig(t *testing.T, folder, config, address string) *exec.Cmd {
	program := installed(t, "nginx")
	put(t, filepath.Join(folder, "blocked.conf"), config)
	return nginx(t, program, folder, "include "+folder+"/blocked.conf;\nserver {\nlisten "+address+";\nif ($robots_blocked) { return 403; }\nlocation / { return 200; }\n}\n")
}

func apacheConfig(t *testing.T, folder, config, address string) *exec.Cmd {
	program := installed(t, "apache2")
	put(t, filepath.Join(folder, "blocked.conf"), config)
	modules := ""
	for _, name := range []string{"mpm_event", "rewrite", "authz_core", "alias"} {
		modules += "LoadModule " + name + "_module /usr/lib/apache2/modules/mod_" + name + ".so\n"
	}
	file := filepath.Join(folder, "apache2.conf")
	put(t, file, modules+"ServerName localhost\nPidFile "+folder+"/pid\nDefaultRuntimeDir "+folder+"\nErrorLog /dev/stderr\nListen "+address+
		"\n<VirtualHost "+address+">\nInclude "+folder+"/blocked.conf\nRewriteRule ^ - [R=200]\n</VirtualHost>\n")
	return exec.Command(program, "-d", folder, "-f", file, "-X") // one process
}

func caddyConfig(t *testing.T, folder, config, address string) *exec.Cmd {
	program := installed(t, "caddy")
	put(t, filepath.Join(folder, "blocked.caddy"), config)
	return caddy(t, program, folder, "import "+folder+"/blocked.caddy\nhttp://"+address+" {\n\tbind 127.0.0.1\n\timport robots_blocked\n\trespond 200\n}\n")
}

func haproxyConfig(t *testing.T, folder, config, address string) *exec.Cmd {
	program := installed(t, "haproxy")
	file := filepath.Join(folder, "haproxy.cfg")
	put(t, file, "defaults\nmode http\ntimeout client 60s\ntimeout connect 60s\ntimeout server 60s\nfrontend site\nbind "+address+"\n"+config+"http-request return status 200\n")
	return exec.Command(program, "-db", "-f", file)
}
