package web

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/robotskit/robots/cmd/internal/server"
	"github.com/robotskit/robots/internal/campaign"
)

// firstLoad is the maximum that a browser loads before the first result, compressed.
const firstLoad = 5 << 19 // 2.5 MiB

// TestStatic: the page works from a plain file server, in a folder, within its budget for the first load.
func TestStatic(t *testing.T) {
	campaign.Only(t)
	if testing.Short() {
		t.Skip("a browser takes too long for a short test")
	}
	folder := t.TempDir() // as make site writes it
	cmd := exec.Command("go", "run", "./cmd/internal/server/pack", "-site", folder)
	cmd.Dir = "../../../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var sent atomic.Int64
	site := serve(t, Options{}, func(http.Handler) http.Handler {
		return http.StripPrefix("/robots/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				t.Errorf("%s %s", r.Method, r.URL)
			}
			http.FileServer(http.Dir(folder)).ServeHTTP(w, r)
			body, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(r.URL.Path)))
			if err == nil && r.Header.Get("If-Modified-Since") == "" { // or the browser has the file
				sent.Add(int64(len(server.Gzip(body))))
			}
		}))
	})
	b := blank(t, site)
	site.URL += "/robots"
	b.load("index.html")
	b.settled()
	if got := b.cell(0, 0); got != "Googlebot as google, /basket: blocked line 23" {
		t.Errorf("the first result is %q", got)
	}
	if n := sent.Load(); n > firstLoad {
		t.Errorf("the first load takes %d bytes, compressed, the most is %d", n, firstLoad)
	} else {
		t.Logf("the first load takes %d bytes, compressed", n)
	}
	if eval[bool](b, `document.querySelector('#site').checkVisibility({ visibilityProperty: true })`) {
		t.Error("a site can be fetched without a server")
	}
	if status := eval[int](b, `fetch('examples/shop.txt').then((r) => r.status)`); status != http.StatusOK {
		t.Errorf("an example has status %d", status)
	}
	documents, err := filepath.Glob(filepath.Join(folder, "docs", "*.html"))
	b.ok(err)
	axe, err := os.ReadFile("testdata/axe-core/axe.min.js")
	b.ok(err)
	for _, document := range documents {
		b.ok(chromedp.Do(b.ctx, chromedp.Navigate(site.URL+"/docs/"+filepath.Base(document))))
		b.do(string(axe) + `; globalThis.axe = axe`)
		for _, width := range []int64{1280, 390} {
			b.ok(chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 860)))
			for _, v := range violations(b) {
				t.Errorf("%s, %d pixels: %s", filepath.Base(document), width, v)
			}
			if over := eval[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("%s is %d pixels wider than a window of %d", filepath.Base(document), over, width)
			}
		}
	}
	t.Logf("%d documents, at two widths", len(documents))
}

// violations returns what axe-core finds in a page that has it.
func violations(b *tab) []string {
	b.Helper()
	return eval[[]string](b, `axe.run(document, { resultTypes: ['violations'] }).then((r) => r.violations.map((v) => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 3).map((n) => n.target + ' ' + n.failureSummary).join(' | ')))`)
}
