package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/robotskit/robots/cmd/internal/server"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/pace"
)

// What people work on is kept, and changes can be undone.

// body returns the text as the page would save it.
func (b *tab) body() string {
	b.Helper()
	return eval[string](b, `new TextDecoder().decode(page.file())`)
}

// table returns the names of the crawlers, then the URLs.
func (b *tab) table() string {
	b.Helper()
	return eval[string](b, `page.state.crawlers.map((c) => c.dialect + ' ' + c.tokens).join() + '; ' + page.state.urls.join()`)
}

// undo returns what the button offers to undo.
func (b *tab) undo() string {
	b.Helper()
	return b.text("#undo")
}

// TestNothingIsLost: one's own file takes the place of the example, with crawlers that it names. Text, URLs, crawlers and dialects
// are there again after a reload. Each change is named and can be undone from anywhere, starting over included.
func TestNothingIsLost(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	const file = "User-agent: SeznamBot\nDisallow: /a\nDisallow: /a/b\n"
	b.paste(file)
	b.settled()
	if got := b.table(); got != "auto Googlebot,auto SeznamBot,auto bingbot; /" {
		t.Errorf("with one's own file the table has %s", got)
	}
	b.do(`const s = document.querySelector('thead [data-crawler="1"]'); s.value = 'rfc9309'; s.dispatchEvent(new Event('change'))`)
	b.do(`page.addURLs('/a/b')`)
	b.settled()
	b.do(`document.querySelector('#tab-lint').click()`)
	b.wait(`[...document.querySelectorAll('#lint button')].some((e) => e.innerText === 'Fix')`)
	b.do(`const fix = [...document.querySelectorAll('#lint button')].find((e) => e.innerText === 'Fix'); fix.focus(); fix.click()`)
	b.settled()
	fixed := b.body()
	if got := b.undo(); got != "Undo the fix of line 3" || fixed == file || eval[bool](b, `document.activeElement === document.body`) {
		t.Errorf("after a fix there is %q, with the text %q", got, fixed)
	}
	want := "auto Googlebot,rfc9309 SeznamBot,auto bingbot; /,/a/b"
	b.load("")
	if got := b.table(); got != want || b.body() != fixed {
		t.Errorf("after a reload the table has %s, the text is %q", got, b.body())
	}

	b.do(`document.querySelector('#startover').click()`)
	b.settled()
	if got := b.table(); got != "auto Googlebot,auto bingbot,auto GPTBot; /" || b.body() != "" {
		t.Errorf("after starting over the table has %s, the text is %q", got, b.body())
	}
	b.do(`document.activeElement.blur()`)
	b.keys("z", chromedp.ModifierCtrl)
	b.settled()
	if got := b.table(); got != want || b.body() != fixed {
		t.Errorf("undone, the table has %s, the text is %q", got, b.body())
	}
	b.do(`document.querySelector('td[data-row="1"][data-col="0"]').focus()`)
	b.keys(kb.Delete)
	b.wait(`page.state.urls.length === 1 && document.activeElement.matches('td[data-row="0"]')`)
	if got := b.undo(); got != "Undo removing /a/b" {
		t.Errorf("after the removal of a URL there is %q", got)
	}
	b.keys("z", chromedp.ModifierCtrl)
	b.keys("z", chromedp.ModifierCtrl, chromedp.ModifierShift)
	b.keys("z", chromedp.ModifierCtrl)
	b.settled()
	if got := b.table(); got != want {
		t.Errorf("undone, done and undone again, the table has %s", got)
	}
	b.do(`document.querySelector('.cm-content').focus()`)
	b.keys(kb.End, chromedp.ModifierCtrl)
	b.keys("#") // one key, as the editor undoes keys together only if they follow each other fast
	b.do(`document.querySelector('#clear').click()`)
	b.settled()
	b.do(`document.querySelector('.cm-content').focus()`)
	b.keys("z", chromedp.ModifierCtrl) // in the text only its changes are undone
	b.settled()
	if got := b.table(); !strings.HasSuffix(got, "; ") || b.body() != fixed || b.undo() != "Undo removing all URLs" {
		t.Errorf("undone in the text, the table has %s, the text is %q, next is %q", got, b.body(), b.undo())
	}
}

// TestEditedLink: an edited link stays as it was edited, and can be shown as it was shared. The work before a link can be restored.
func TestEditedLink(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	b.paste("User-agent: *\nDisallow: /work\n")
	b.settled()
	fragment := eval[string](b, `page.link.write({ ...page.snapshot(), file: page.encode('User-agent: *\nDisallow: /shared\n') })`)
	b.do(`document.querySelector('#open').focus()`)
	b.load(fragment)
	b.ok(chromedp.Do(b.ctx, chromedp.Reload()))
	b.wait(`document.querySelector('[role=grid]')`)
	b.answered()
	if got := b.body(); !strings.Contains(got, "/shared") || eval[bool](b, `!document.querySelector('#message').hidden`) {
		t.Errorf("the link shows %q and %q", got, b.text("#message"))
	}
	b.do(`page.insert('# edited\n')`)
	b.settled()
	b.ok(chromedp.Do(b.ctx, chromedp.Navigate("about:blank")))
	b.load(fragment)
	if got := b.body(); !strings.HasPrefix(got, "# edited\n") || !strings.Contains(b.text("#message"), "as you edited it") {
		t.Errorf("the edited link shows %q and %q", got, b.text("#message"))
	}
	b.do(`document.querySelector('#message .answer').click()`)
	b.wait(`!new TextDecoder().decode(page.file()).includes('edited')`)
	b.do(`document.querySelector('#undo').click()`)
	b.wait(`new TextDecoder().decode(page.file()).includes('edited')`)

	b.do(`document.querySelector('#compare').click(); const s = document.querySelector('#version'); s.value = [...s.options].find((o) => o.text.startsWith('version of')).value; s.dispatchEvent(new Event('change'))`)
	b.wait(`!document.querySelector('#restore').hidden`)
	before := eval[string](b, `document.querySelector('#before').value`)
	b.do(`document.querySelector('#restore').click()`)
	b.settled()
	if got := b.body(); got != before || b.undo() != "Undo restoring the other text" {
		t.Errorf("restored is %q, want %q", got, before)
	}
}

// TestUnreachable: a host that cannot be reached leaves the text as it is, and the banner of a fetched file goes with its text. URLs of
// another host than the file's are marked.
func TestUnreachable(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	live := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("User-agent: *\nDisallow: /live\n"))
	}))
	t.Cleanup(live.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	limiter, err := pace.NewLocal(pace.Options{AddressInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	service, err := server.New(server.Parts{Limiter: limiter, Fetch: fetch.Options{Guard: fetch.Guard{AllowLoopback: true}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	b := open(t, serve(t, Options{}, func(h http.Handler) http.Handler {
		mux := http.NewServeMux()
		mux.Handle("/v1/", service.Handler())
		mux.Handle("/", h)
		return mux
	}), "")
	b.paste("User-agent: *\nDisallow: /mine\n")
	b.settled()
	visit := func(url string) {
		b.do(`document.querySelector('#site').value = ` + quoted(url) + `; document.querySelector('#fetchgo').click()`)
		b.wait(`!document.querySelector('#fetchgo').disabled`)
		b.settled()
	}
	visit(gone.URL)
	if got := b.body(); !strings.Contains(got, "/mine") || !strings.Contains(b.text("#message"), "is unreachable, so the text is as it was: ") {
		t.Errorf("of a host that is not there the text is %q, and the page says %q", got, b.text("#message"))
	}
	visit(live.URL)
	b.do(`page.addURLs('http://127.0.0.1/a\nhttps://other.example/live')`)
	b.settled()
	if got := b.body(); !strings.Contains(got, "/live") || b.text("#record") == "" {
		t.Errorf("the live file is %q, with the banner %q", got, b.text("#record"))
	}
	if marks := eval[string](b, `[...document.querySelectorAll('.foreign')].map((e) => e.title).join()`); marks != "other.example is another host than 127.0.0.1; judged by this file" {
		t.Errorf("marked are %q", marks)
	}
	b.load("")
	b.wait(`!document.querySelector('#record').hidden`)
	b.do(`page.insert('# x\n')`)
	b.wait(`document.querySelector('#record').hidden`)
	b.do(`document.querySelector('#undo').click()`)
	b.wait(`!document.querySelector('#record').hidden`)
}
