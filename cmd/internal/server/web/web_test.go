package web

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/robotskit/robots/cmd/internal/server"
	"github.com/robotskit/robots/cmd/internal/server/page"
	"github.com/robotskit/robots/internal/campaign"
)

func question(parts ...string) []byte {
	var b []byte
	for _, p := range parts {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
	}
	return b
}

func get(h http.Handler, method, path string, body []byte, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, bytes.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestAsk: the server answers like the engine in a browser, also for any bytes, and an invalid
// question is a problem.
func TestAsk(t *testing.T) {
	h := Handler(Options{})
	const octets = "application/octet-stream"
	file := "User-agent: *\nDisallow: /\xff\x00\n"
	w := get(h, "POST", "/page/ask", question("parse", file), "Content-Type", octets)
	if got := w.Body.String(); w.Code != 200 || got != page.Ask("parse", file) || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("status %d: %s", w.Code, got)
	}
	for name, c := range map[string]struct {
		body   []byte
		kind   string
		status int
	}{
		"empty":          {nil, octets, 422},
		"short":          {[]byte{0, 0, 0, 9, 'a'}, octets, 422},
		"half a length":  {append(question("parse", ""), 0, 0), octets, 422},
		"long length":    {[]byte{255, 255, 255, 255, 'a'}, octets, 422},
		"many arguments": {question(strings.Split("parse,,,,,,,,", ",")...), octets, 422},
		"of a form":      {question("parse", file), "text/plain", 415},
		"too large":      {question("parse", strings.Repeat("#", MaxQuestion)), octets, 413},
	} {
		w := get(h, "POST", "/page/ask", c.body, "Content-Type", c.kind)
		if w.Code != c.status || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: status %d, %s, want %d", name, w.Code, w.Header().Get("Content-Type"), c.status)
		}
	}
	rules := "User-agent: *\n" + strings.Repeat("Disallow: /*a*b*c\n", 20_000)
	if w := get(h, "POST", "/page/ask", question("matrix", rules, "google\ta\n", strings.Repeat("/"+strings.Repeat("a", 1000)+"\n", 1000), ""), "Content-Type", octets); w.Code != 413 {
		t.Errorf("status %d of a question that takes too much work", w.Code)
	}
	for _, path := range []string{"/", "/page/page.js", "/docs/lint.html"} {
		if w := get(h, "POST", path, nil); w.Code != 405 || w.Header().Get("Allow") == "" {
			t.Errorf("status %d of POST %s", w.Code, path)
		}
	}
	bare := Handler(Options{Packed: fstest.MapFS{}})
	for path, want := range map[string]string{
		"/docs/":             "/docs/index.html",
		"/docs/index.html":   repositoryDocs + "README.md",
		"/docs/clauses.html": repositoryDocs + "clauses.md",
	} {
		if w := get(bare, "GET", path, nil); w.Code/100 != 3 || w.Header().Get("Location") != want {
			t.Errorf("status %d of %s, to %q, without documents", w.Code, path, w.Header().Get("Location"))
		}
	}
	for _, path := range []string{"/page/nothing", "/docs/nothing.png"} {
		if w := get(bare, "GET", path, nil); w.Code != 404 || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("status %d of %s, which there is not", w.Code, path)
		}
	}
}

// TestAskScope: a question to the page's engine needs a token with the scope check, if there are tokens.
func TestAskScope(t *testing.T) {
	secret := strings.Repeat("s", 32)
	c := &server.Config{Tokens: "a check " + secret + "a\nb fetch,permit " + secret + "b\n", BodyTime: time.Hour, WriteTime: time.Hour, URLBytes: 1 << 10, BatchBytes: 1 << 20, Queue: 1, QueueTime: time.Hour}
	gate, err := server.NewGate(c, slog.New(slog.DiscardHandler), server.NewMetrics())
	if err != nil {
		t.Fatal(err)
	}
	h := gate.Wrap(Handler(Options{}))
	for authorization, status := range map[string]int{"Basic x": 401, "Bearer " + secret + "x": 401, "Bearer " + secret + "a": 200, "Bearer " + secret + "b": 403} {
		w := get(h, "POST", "http://localhost/page/ask", question("parse", "a: b\n"), "Content-Type", "application/octet-stream", "Authorization", authorization)
		if w.Code != status {
			t.Errorf("%q: status %d, want %d: %.200s", authorization, w.Code, status, w.Body)
		}
	}
}

// TestAssets: every file and document has the policy and the best encoding that the client accepts, and is not sent again to a client
// that has it.
func TestAssets(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte("program"))
	z.Close()
	h := Handler(Options{Packed: fstest.MapFS{
		"docs/clauses.html.gz": {Data: packed.Bytes()}, "docs/explain.svg.gz": {Data: packed.Bytes()},
		"robots.wasm.gz": {Data: packed.Bytes()}, "robots.wasm.br": {Data: []byte("by brotli")}, "wasm_exec.js.gz": {Data: packed.Bytes()},
	}})
	for _, c := range []struct{ path, accept, encoding, kind, body string }{
		{"/page/robots.wasm", "gzip, deflate, br, zstd", "br", "application/wasm", "by brotli"},
		{"/page/robots.wasm", "br;q=0, gzip", "gzip", "application/wasm", packed.String()},
		{"/page/robots.wasm", "", "", "application/wasm", "program"},
		{"/page/wasm_exec.js", "br", "", "text/javascript; charset=utf-8", "program"},
		{"/page/page.js", "gzip", "gzip", "text/javascript; charset=utf-8", ""},
		{"/page/page.css", "identity", "", "text/css; charset=utf-8", ""},
		{"/", "br", "", "text/html; charset=utf-8", ""},
		{"/docs/clauses.html", "gzip", "gzip", "text/html; charset=utf-8", ""},
		{"/docs/explain.svg", "", "", "image/svg+xml", ""},
	} {
		w := get(h, "GET", c.path, nil, "Accept-Encoding", c.accept)
		head := w.Header()
		if w.Code != 200 || head.Get("Content-Encoding") != c.encoding || head.Get("Content-Type") != c.kind || c.body != "" && w.Body.String() != c.body {
			t.Errorf("%s for %q: status %d, encoding %q, type %q", c.path, c.accept, w.Code, head.Get("Content-Encoding"), head.Get("Content-Type"))
		}
		policy := head.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src-elem 'self' 'nonce-", "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy %q lacks %q", c.path, policy, part)
			}
		}
		if tag := head.Get("ETag"); tag != "" {
			for _, known := range []string{tag, strings.TrimPrefix(tag, "W/"), `"x", ` + tag, "*"} {
				if w := get(h, "GET", c.path, nil, "If-None-Match", known); w.Code != 304 || w.Body.Len() != 0 {
					t.Errorf("%s again, with %s: status %d", c.path, known, w.Code)
				}
			}
		} else if c.path != "/" {
			t.Errorf("%s has no tag", c.path)
		}
	}
	if body := get(h, "GET", "/", nil).Body.String(); !strings.Contains(body, `data-engine="wasm"`) || strings.Contains(body, "{{") {
		t.Error("the page does not know that there is an engine")
	}
	if body := get(Handler(Options{Packed: fstest.MapFS{}}), "GET", "/", nil).Body.String(); !strings.Contains(body, `data-engine="server"`) {
		t.Error("the page believes in an engine that is not there")
	}
}

// TestBundle builds page.js where npm can download its imports, and compares it with the
// committed one.
func TestBundle(t *testing.T) {
	campaign.Only(t)
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("there is no npm here: page.js is taken as it is")
	}
	temp := t.TempDir()
	// As deep as the folder is in the repository, because the scripts import examples by a
	// relative path.
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(temp, "cmd", "internal", "server", "web")
	if err := os.MkdirAll(filepath.Join(place, "assets"), 0o755); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"src": filepath.Join(place, "src"), filepath.Join(root, "examples"): filepath.Join(temp, "examples")} {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=0")
	npm.Dir = filepath.Join(place, "src")
	if out, err := npm.CombinedOutput(); err != nil {
		t.Skipf("npm downloads nothing here, page.js is taken as it is: %v: %.300s", err, out)
	}
	// The command of go generate in generate.go.
	source, err := os.ReadFile("generate.go")
	if err != nil {
		t.Fatal(err)
	}
	_, command, _ := strings.Cut(string(source), "//go:generate ")
	build := exec.Command(strings.Fields(command)[0], strings.Fields(command)[1:]...)
	build.Dir = place
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("esbuild: %v: %.300s", err, out)
	}
	got, err := os.ReadFile(filepath.Join(place, "assets", "page.js"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("assets/page.js")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("page.js is not what its sources give: npm ci --ignore-scripts in src, then go generate")
	}
}

// FuzzSplit: every question is split correctly.
func FuzzSplit(f *testing.F) {
	f.Add(question("parse", "x"))
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, body []byte) {
		if parts, ok := split(body); ok && !bytes.Equal(question(parts...), body) {
			t.Errorf("split(%q) = %q", body, parts)
		}
	})
}
