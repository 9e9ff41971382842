package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/robotskit/robots/internal/campaign"
)

// shopList is a sitemap of a shop with n pages and their images.
func shopList(n int) string {
	var s strings.Builder
	s.WriteString(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:i="http://www.google.com/schemas/sitemap-image/1.1">`)
	for i := range n {
		fmt.Fprintf(&s, "<url><loc>https://shop.example/catalog/garden/chairs/chair-%d?color=%d</loc><i:image><i:loc>https://shop.example/%[1]d.jpg</i:loc></i:image></url>", i, i%7)
	}
	return s.String() + "</urlset>"
}

// pasteURLs pastes text into the field for URLs.
func (b *tab) pasteURLs(text string) {
	b.Helper()
	b.do(`const data = new DataTransfer(); data.setData('text/plain', ` + quoted(text) + `);
		document.querySelector('#newurl').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))`)
	b.settled()
}

// TestHundreds: of hundreds of URLs those are shown that a person looks for, in the order of the verdicts, and the column of URLs has
// the width that is free. Lists are read in the forms that people have; a robots.txt among them is offered as the file.
func TestHundreds(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	b.ok(chromedp.Do(b.ctx, chromedp.EmulateViewport(1920, 1080)))
	b.paste("User-agent: *\nDisallow: /*color=3\n\nUser-agent: GPTBot\nDisallow: /\n\nUser-agent: bingbot\nDisallow: /*chair-1\n")
	b.settled()
	b.pasteURLs(shopList(200))
	if said := b.text("#asking"); !strings.HasPrefix(said, "200 URLs added from a sitemap.") {
		t.Errorf("after a sitemap the page says %q", said)
	}
	if over := eval[int](b, `(() => { const g = document.querySelector('#grid'); return g.scrollWidth - g.clientWidth })()`); over > 0 {
		t.Errorf("three crawlers scroll sideways by %d pixels at 1920", over)
	}
	if cut := eval[string](b, `[...document.querySelectorAll('code.url')].filter((e) => e.scrollHeight > e.clientHeight + 1).map((e) => e.textContent).join()`); cut != "" {
		t.Errorf("URLs are cut: %s", cut)
	}
	choose := func(id, value string) {
		b.do(`const s = document.querySelector('#` + id + `'); s.value = ` + quoted(value) + `; s.dispatchEvent(new Event('change'))`)
		b.settled()
	}
	choose("show", "blocked")
	choose("showfor", "0")
	if got := b.text("#shown"); got != "29 of 201" {
		t.Errorf("blocked for Googlebot are %s", got)
	}
	b.do(`const f = document.querySelector('#find'); f.value = 'CHAIR-10'; f.dispatchEvent(new Event('input'))`)
	b.settled()
	if got := b.cell(0, 0); eval[int](b, `document.querySelectorAll('#grid tbody tr').length`) != 3 || got != "Googlebot as google, https://shop.example/catalog/garden/chairs/chair-10?color=3: blocked line 2" {
		t.Errorf("the first of the rows found is %q", got)
	}
	if got := eval[string](b, `page.copies.csv(page.matrix.answer(), page.state.names).split('\n').slice(0, 2).join()`); got != "url,crawler,dialect,verdict,reason,line,rule,group,https://shop.example/catalog/garden/chairs/chair-10?color=3,Googlebot,google,disallow,rule,2,Disallow: /*color=3,*" {
		t.Errorf("copied are %q", got)
	}
	b.do(`document.querySelector('#showall').click()`)
	b.settled()
	b.do(`document.querySelector('[data-sort=verdict2]').click()`)
	b.settled()
	if got := b.cell(0, 2); !strings.Contains(got, "chair-1?color=1: blocked line 8") || eval[string](b, `document.activeElement.dataset.sort`) != "verdict2" {
		t.Errorf("sorted by bingbot the first is %q", got)
	}

	for text, want := range map[string]string{
		"shop.example/foo":                           "https://shop.example/foo",
		"https://shop.example/csv,1\n/other,2":       "https://shop.example/csv",
		"Top pages\tClicks\nshop.example/console\t9": "https://shop.example/console",
	} {
		b.do(`page.addURLs(` + quoted(text) + `)`)
		b.settled()
		if got := eval[string](b, `page.state.urls.join('\n')`); !strings.Contains(got, want) || strings.Contains(got, ",1") {
			t.Errorf("of %q the table has no %s", text, want)
		}
	}
	b.pasteURLs("User-agent: *\nDisallow: /pasted\n")
	b.do(`document.querySelector('#asking button').click()`)
	b.settled()
	if got := b.body(); got != "User-agent: *\nDisallow: /pasted\n" || !strings.HasPrefix(b.table(), "auto Googlebot,") {
		t.Errorf("the robots.txt became %q, the table %.100s", got, b.table())
	}
}

// TestWidth: the column of URLs is resized by dragging and with arrow keys, and keeps its width.
func TestWidth(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	width := func() int {
		return eval[int](b, `Math.round(document.querySelector('thead th').getBoundingClientRect().width)`)
	}
	free := width()
	b.do(`document.querySelector('.resize').focus()`)
	b.keys(kb.ArrowRight)
	b.keys(kb.ArrowRight)
	if got := width(); got != free+48 {
		t.Errorf("with arrow keys %d pixels became %d", free, got)
	}
	at := eval[[]float64](b, `(() => { const r = document.querySelector('.resize').getBoundingClientRect(); return [r.x + 3, r.y + 10] })()`)
	for _, e := range []struct {
		kind input.DispatchMouseEventType
		x    float64
	}{{input.DispatchMouseEventTypeMousePressed, at[0]}, {input.DispatchMouseEventTypeMouseMoved, at[0] - 60}, {input.DispatchMouseEventTypeMouseReleased, at[0] - 60}} {
		_, err := chromedp.Call(b.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: e.kind, X: e.x, Y: at[1], Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1})
		b.ok(err)
	}
	dragged := width()
	if dragged >= free {
		t.Errorf("dragged, the column has %d pixels", dragged)
	}
	b.load("")
	if got := width(); got != dragged {
		t.Errorf("after a reload the column has %d pixels, before %d", got, dragged)
	}
	b.do(`document.querySelector('.resize').focus()`)
	b.keys(kb.Home)
	if got := width(); got != free {
		t.Errorf("with its free width the column has %d pixels, before %d", got, free)
	}
}
