package web

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/robotskit/robots/internal/campaign"
)

// TestKilled: text, URLs, crawlers and dialects survive a browser that is killed, except for what was typed in the last second: each
// state that the page calls kept is there again when the browser starts with the same profile.
func TestKilled(t *testing.T) {
	campaign.Only(t)
	site := serve(t, Options{}, nil)
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal(err)
	}
	profile := filepath.Join(t.TempDir(), "profile")
	start := func() *tab {
		browser, stop, err := launch(path, profile)
		t.Cleanup(stop)
		if err != nil {
			t.Fatal(err)
		}
		b := newTab(t, site, browser)
		b.load("")
		return b
	}
	kept := func(b *tab) float64 {
		return eval[float64](b, `(async () => {
			const begun = performance.now();
			while (page.state.kept !== page.state.version) await new Promise((done) => setTimeout(done, 5));
			return performance.now() - begun;
		})()`)
	}
	kill := func(b *tab) {
		b.ok(chromedp.FromContext(b.ctx).Browser.Process().Kill())
		<-b.ctx.Done()
	}

	b := start()
	b.paste("User-agent: *\nDisallow: /mine\n")
	b.settled()
	b.do(`const s = document.querySelector('thead [data-crawler="1"]'); s.value = 'yandex'; s.dispatchEvent(new Event('change')); page.addURLs('/mine\n/other')`)
	b.settled()
	text, table := b.body(), b.table()
	kept(b)
	kill(b)
	for _, typed := range []string{"# once\n", "# twice\n"} {
		b = start()
		if b.body() != text || b.table() != table {
			t.Fatalf("after the browser was killed the text is %q, the table %s, want %q, %s", b.body(), b.table(), text, table)
		}
		b.do(`page.insert(` + quoted(typed) + `)`)
		t.Logf("a change is kept after %.0f ms", kept(b))
		text = b.body()
		kill(b)
	}
	b = start()
	if !strings.HasPrefix(b.body(), "# twice\n# once\n") || b.table() != table {
		t.Errorf("at last the text is %q, the table %s", b.body(), b.table())
	}
}
