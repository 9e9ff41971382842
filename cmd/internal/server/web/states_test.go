package web

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	pageproto "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/robotskit/robots/internal/campaign"
)

// The page under unusual conditions.

// TestWithout: the page without scripts shows what to do; without its own script it does so
// after a while; and without CodeMirror it has a plain text field that works.
func TestWithout(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	var lost atomic.Bool
	b := blank(t, serve(t, Options{}, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if lost.Load() && r.URL.Path == "/page/page.js" {
				http.NotFound(w, r)
				return
			}
			h.ServeHTTP(w, r)
		})
	}))
	scripts := func(off bool) {
		_, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: off})
		b.ok(err)
	}
	controls := func() []string {
		return eval[[]string](b, `[...document.querySelectorAll('button, input, textarea, summary, [role=tab]')].filter((e) => e.checkVisibility()).map((e) => e.id || e.innerText)`)
	}
	scripts(true)
	b.ok(chromedp.Do(b.ctx, chromedp.Navigate(b.site.URL+"/")))
	if said := b.text("body"); !strings.Contains(said, "needs JavaScript") || !strings.Contains(said, "robots explain") || strings.Contains(said, "did not load") {
		t.Errorf("without scripts the page says %q", said)
	}
	if list := controls(); len(list) != 0 {
		t.Errorf("without scripts there are the controls %q, which do nothing", list)
	}
	scripts(false)

	lost.Store(true)
	b.ok(chromedp.Do(b.ctx, chromedp.Navigate(b.site.URL+"/")))
	b.wait(`document.querySelector('.unloaded').checkVisibility({ visibilityProperty: true })`)
	if said := b.text(".unloaded"); !strings.Contains(said, "did not load") {
		t.Errorf("without its script the page says %q", said)
	}
	b.expect("404")
	lost.Store(false)

	// CodeMirror needs MutationObserver.
	_, err := chromedp.Call(b.ctx, pageproto.AddScriptToEvaluateOnNewDocument, pageproto.AddScriptToEvaluateOnNewDocumentParams{Source: "delete globalThis.MutationObserver"})
	b.ok(err)
	b.load("")
	b.wait(`document.querySelector('textarea[aria-label="robots.txt text"]').value.includes('Disallow: /basket') && !document.querySelector('.cm-editor')`)
	if got := b.cell(0, 0); !strings.Contains(got, "line 23") {
		t.Errorf("without CodeMirror the first cell says %q", got)
	}
	b.own()
	b.paste("User-agent: *\nDisallow: /about\n")
	b.settled()
	if got := b.cell(5, 1); got != "GPTBot as rfc9309, /about: blocked line 2" {
		t.Errorf("after a paste: %q", got)
	}
	b.do(`document.querySelector('#text').focus(); document.querySelector('#text').setSelectionRange(0, 0)`)
	b.keys("# typed\r")
	b.settled()
	if got := b.cell(5, 1); !strings.HasSuffix(got, "line 3") {
		t.Errorf("after a line was typed: %q", got)
	}
	b.keys(kb.Enter, chromedp.ModifierCtrl)
	b.wait(`document.activeElement.matches('td[data-row="0"][data-col="0"]')`)
	b.expect("delayedAndroidKey") // CodeMirror is left half made, and says so once
	if list := controls(); len(list) < 10 {
		t.Errorf("without CodeMirror there are the controls %q", list)
	}
}

// TestLoading: after 3 s the page shows that the engine is still loading. Typing is possible
// meanwhile, and the server gets no questions, because the page promises to send no text.
func TestLoading(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	come := make(chan struct{})
	letCome := sync.OnceFunc(func() { close(come) })
	var sent atomic.Int64
	site := serve(t, Options{}, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/page/robots.wasm":
				<-come
			case "/page/ask":
				sent.Add(1)
			}
			h.ServeHTTP(w, r)
		})
	})
	t.Cleanup(letCome)
	b := blank(t, site)
	begun := time.Now()
	b.ok(chromedp.Do(b.ctx, chromedp.Navigate(b.site.URL+"/")))
	b.wait(`document.querySelector('.cm-content')?.innerText.includes('Disallow: /basket')`)
	b.do(`document.querySelector('.cm-content').focus()`)
	b.keys(kb.Home, chromedp.ModifierCtrl)
	b.keys("# early")
	b.paste("\n")
	b.wait(`document.querySelector('.cm-line').innerText === '# early'`)
	b.wait(`document.querySelector('#loading').checkVisibility()`)
	if after := time.Since(begun); after < 3*time.Second {
		t.Errorf("the progress is shown after %s", after)
	}
	if rows, cells := eval[int](b, `document.querySelectorAll('#grid tbody tr').length`), eval[int](b, `document.querySelectorAll('.verdict').length`); rows != 6 || cells != 0 {
		t.Errorf("before the engine there are %d rows and %d results, want 6 and none", rows, cells)
	}
	if said := b.text("#status"); said != "" {
		t.Errorf("before the engine the page says %q", said)
	}
	letCome()
	b.settled()
	if n := sent.Load(); n != 0 || b.text("#privacy") != "Your text stays in this browser." {
		t.Errorf("%d questions were sent, and the page says %q", n, b.text("#privacy"))
	}
	if got := b.cell(0, 0); !strings.Contains(got, "line 24") {
		t.Errorf("the first cell says %q", got)
	}
	if eval[bool](b, `document.querySelector('#loading').checkVisibility()`) {
		t.Error("the progress stays")
	}
}

// TestReasons: text beyond the size limit is grey, has no effect, and is reported. A verdict without
// a line has its reason, and an HTML page instead of a robots.txt is reported.
func TestReasons(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	b.own()
	b.paste("User-agent: *\nDisallow: /basket\n" + strings.Repeat("# sixteen bytes\n", 512_000/16) + "Disallow: /about\n")
	b.settled()
	if before, behind := b.cell(0, 1), b.cell(5, 1); !strings.Contains(before, "/basket: blocked line 2") || !strings.Contains(behind, "/about: allowed no matching rule") {
		t.Errorf("before the limit: %q, behind it: %q", before, behind)
	}
	if said := b.text("#about"); !strings.HasPrefix(said, "Only the first 51") {
		t.Errorf("of a file over the limit the page says %q", said)
	}
	b.do(`document.querySelector('.cm-scroller').scrollTop = 1e9`)
	b.wait(`[...document.querySelectorAll('.cm-line.kind-ignored')].some((e) => e.innerText === 'Disallow: /about' && Number(getComputedStyle(e).opacity) < 1)`)
	b.do(`page.restore({ ...page.snapshot(), file: page.encode('<!doctype html>\n<html><head><title>Not found</title></head>\n<body>\n<p>Disallow: /basket</p>\n</body></html>\n') })`)
	b.settled()
	if said := b.text("#about"); !strings.Contains(said, "HTML") {
		t.Errorf("of a web page the page says %q", said)
	}
	reasons := b.cell(0, 1)
	b.do(`page.restore({ ...page.snapshot(), file: new TextEncoder().encode('User-agent: GPTBot\nDisallow: /x\n'), urls: ['/robots.txt', '/'] })`)
	b.settled()
	reasons += "; " + b.cell(0, 1) + "; " + b.cell(1, 1) + "; " + b.cell(1, 0)
	if want := "GPTBot as rfc9309, /basket: allowed no rules; GPTBot as rfc9309, /robots.txt: allowed always; GPTBot as rfc9309, /: allowed no matching rule; Googlebot as google, /: allowed no group"; reasons != want {
		t.Errorf("the reasons are %q, want %q", reasons, want)
	}
}

// TestPrint: a printed page has the text, all answers and open details, and no buttons.
func TestPrint(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	b.do(`page.setURLs(Array.from({ length: 60 }, (_, i) => '/basket/' + i)); page.changed()`)
	b.settled()
	b.media("dark", "print") // paper is white all the same
	if shown := eval[[]string](b, `[...document.querySelectorAll('button, summary, input, textarea, select, [role=tab]')].filter((e) => e.checkVisibility() && e.closest('.bar, .tabs, .tools, .adding, .foot')).map((e) => e.id || e.innerText)`); len(shown) != 0 {
		t.Errorf("on paper there are %q", shown)
	}
	if paper := eval[string](b, `getComputedStyle(document.body).backgroundColor + ' ' + getComputedStyle(document.body).color`); paper != "rgb(255, 255, 255) rgb(0, 0, 0)" {
		t.Errorf("paper and ink are %s", paper)
	}
	cut := eval[[]string](b, `['.grid', '.cm-scroller', '#panel-why', '.file', '.results', '.details'].filter((s) => { const e = document.querySelector(s); return e.scrollHeight > e.clientHeight + 2 || !e.checkVisibility() })`)
	if len(cut) != 0 {
		t.Errorf("on paper %q are cut off", cut)
	}
	if n := eval[int](b, `document.querySelectorAll('#grid tbody tr').length`); n != 60 {
		t.Errorf("%d of 60 rows are on paper", n)
	}
	if lines := eval[int](b, `document.querySelectorAll('.cm-line').length`); lines != strings.Count(eval[string](b, `new TextDecoder().decode(page.snapshot().file)`), "\n")+1 {
		t.Errorf("%d lines of the text are on paper", lines)
	}
}
