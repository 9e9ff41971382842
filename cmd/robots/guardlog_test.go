package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/guard"
)

// headers returns the lines of test data of package crawlers, the last column of each.
func headers(t *testing.T, name string) (list []string) {
	t.Helper()
	text, err := os.ReadFile("../../crawlers/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		list = append(list, columns[len(columns)-1])
	}
	return list
}

// TestGuardLog: verify --log -f counts exactly the requests that a guard, given the same requests, answers
// with 403.
func TestGuardLog(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "robots.txt")
	put(t, file, guardedFile)
	site := guard.NewSite([]byte(guardedFile))
	refused := map[string]int{} // by crawler
	g, err := guard.New(guard.Options{
		Enforce: true,
		Site:    func(string) *guard.Site { return site },
		Report:  func(d guard.Decision) { refused[d.Crawler.Name]++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	status := map[int]int{}
	for _, header := range append(headers(t, "user-agents.tsv"), headers(t, "browsers.txt")[:50]...) {
		for _, target := range []string{"/", "/basket/1?x", "//basket/1", "/x/%2e./basket/1", "/basket/help", "/robots.txt?x", "/.well-known/../x", "http://shop.example/basket/1"} {
			fmt.Fprintf(&log, "192.0.2.1 - - %s \"GET %s HTTP/1.1\" 200 5 \"-\" \"%s\"\n", logTime, target, strings.ReplaceAll(header, `"`, `\"`))
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = "127.0.0.1:1"
			r.Header = http.Header{"User-Agent": {header}, "X-Original-Uri": {target}, "X-Forwarded-For": {"192.0.2.1"}}
			w := httptest.NewRecorder()
			g.ForwardAuth(nil).ServeHTTP(w, r)
			status[w.Code]++
		}
	}
	if status[403] < 100 || status[204] < 100 || len(status) > 2 {
		t.Errorf("statuses %v", status)
	}
	var out, errs bytes.Buffer
	run(context.Background(), []string{"verify", "--log", "-", "-f", file, "--offline", "--format", "json"}, strings.NewReader(log.String()), &out, &errs)
	if errs.Len() > 0 {
		t.Errorf("%s", &errs)
	}
	counted := 0
	var report answer.LogReport
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	for _, crawler := range report.Crawlers {
		if !crawler.Known {
			continue // a guard refuses only crawlers of the directory
		}
		n := 0
		for _, forbidden := range crawler.Forbidden {
			n += forbidden.Requests
		}
		if n != refused[crawler.Name] {
			t.Errorf("%s: verify counts %d, the guard refuses %d", crawler.Name, n, refused[crawler.Name])
		}
		counted += n
	}
	if counted != status[403] {
		t.Errorf("verify counts %d requests, the guard refuses %d", counted, status[403])
	}
}
