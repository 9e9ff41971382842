package web

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/server"
	"github.com/robotskit/robots/cmd/internal/server/page"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/pace"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"go.yaml.in/yaml/v3"
)

// TestUse is a typical use of the page: a paste, its verdicts and why, a fix, a link to share, and undoing. It is the one long way that
// each run of the tests goes.
func TestUse(t *testing.T) {
	b := usual(t)
	if got := b.cell(0, 0); got != "Googlebot as google, /basket: blocked line 23" {
		t.Errorf("the first cell says %q", got)
	}
	b.settled()
	if why := b.text("section[aria-label=Why]"); !strings.Contains(why, "Blocked for Googlebot by line 23") || !strings.Contains(why, "AGENT-01") {
		t.Errorf("the selected result is not explained: %q", why)
	}
	if said := b.text("#privacy"); said != "Your text stays in this browser." {
		t.Errorf("the line about privacy: %q", said)
	}

	// Pasting replaces the example.
	b.own()
	b.do(`document.querySelector('.cm-content').focus()`)
	b.paste("User-agent: *\nDisallow: /basket/new\nDisalow: /about\nAllow: /basket/new/x\nDisallow: /basket/new/x\n")
	b.settled()
	if got := b.cell(0, 1); got != "GPTBot as rfc9309, /basket: allowed no matching rule" {
		t.Errorf("after a paste: %q", got)
	}
	if got := b.cell(5, 0); got != "Googlebot as google, /about: blocked line 3; different in rfc9309, bing, seznam, yandex" {
		t.Errorf("what only Google reads: %q", got)
	}
	b.wait(`document.querySelector('.kind-lenient') && document.querySelector('.count.never')`)
	if n := eval[int](b, `document.querySelectorAll('.count.never').length`); n != 1 {
		t.Errorf("%d rules never decide, want 1", n)
	}

	// The fix of the misspelt field makes it a rule for everyone, and a link has what the page shows.
	const fix = `[...document.querySelectorAll('#lint button')].find((e) => e.textContent === 'Change')`
	b.do(`document.querySelector('#tab-lint').click(); globalThis.copied = []; navigator.clipboard.writeText = async (text) => { copied.push(text) }`)
	b.wait(fix)
	b.do(fix + `.click()`)
	b.settled()
	if got := b.cell(5, 1); b.undo() != "Undo the fix of line 3" || got != "GPTBot as rfc9309, /about: blocked line 3" {
		t.Errorf("after a fix: %q, %q", got, b.undo())
	}
	b.do(`document.querySelector('[data-copy=link]').click()`)
	b.wait(`copied.length`)
	if got := eval[string](b, `page.link.read(new URL(copied[0]).hash, ['auto']).then((shared) => page.decode(shared.file))`); got != b.body() {
		t.Errorf("the link has %q, the page %q", got, b.body())
	}

	// Undo restores the example.
	b.do(`document.querySelector('.cm-content').focus()`)
	b.keys("z", chromedp.ModifierCtrl)
	b.keys("z", chromedp.ModifierCtrl)
	b.settled()
	if got := b.cell(0, 0); !strings.Contains(got, "line 23") {
		t.Errorf("after undo: %q", got)
	}
	b.useKeyboard()
	b.pressSlowly()
}

// TestLights: hovering a cell highlights its rule, hovering a rule its cells.
func TestLights(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	b.settled()
	b.do(`document.querySelector('td[data-row="2"][data-col="0"]').dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))`)
	b.wait(`document.querySelector('.cm-line.won')?.textContent === 'Allow: /*?sort=new$' && document.querySelector('.cm-line.lost')?.textContent === 'Disallow: /*?sort='`)
	b.do(`document.querySelector('#grid').dispatchEvent(new MouseEvent('mouseleave'))`)
	b.wait(`document.querySelector('.cm-line.won')?.textContent === 'Disallow: /basket'`)
	b.do(`const line = document.querySelector('.cm-line.won').getBoundingClientRect();
		document.querySelector('.cm-content').dispatchEvent(new MouseEvent('mousemove', { clientX: line.x + 40, clientY: line.y + 8, bubbles: true }))`)
	b.wait(`document.querySelectorAll('.cell.lit').length === 1 && document.querySelector('.cell.lit').dataset.col === '0'`)
}

// TestChanges: an edit is shown with an example URL, which can be added as a row.
func TestChanges(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	b.settled()
	b.do(`document.querySelector('#compare').click()`)
	b.wait(`document.querySelector('section[aria-label=Changes]').innerText.includes('No URL changes for these crawlers (proved).')`)
	b.do(`document.querySelector('.cm-content').focus(); page.restore({ ...page.snapshot(), file: new TextEncoder().encode(new TextDecoder().decode(page.snapshot().file).replaceAll('Disallow: /basket', 'Disallow: /cart')) })`)
	b.wait(`document.querySelector('.witness')`)
	changes := b.text("section[aria-label=Changes]")
	for _, want := range []string{"newly blocked", "newly allowed", "/cart", "/basket", "= no change (proved)"} {
		if !strings.Contains(changes, want) {
			t.Errorf("the changes lack %q: %s", want, changes)
		}
	}
	b.do(`[...document.querySelectorAll('.changes > li')].find((e) => e.innerText.startsWith('SeznamBot')).querySelector('.witness').click()`)
	b.settled()
	if got, why := b.cell(0, 2), b.text("#why"); got != "SeznamBot as seznam, /cart: blocked line 35" || !strings.Contains(why, "Blocked for SeznamBot") {
		t.Errorf("the witness became %q, explained by %q", got, why)
	}
}

// TestFindings: mistakes are listed, and fixed without a change of verdicts.
func TestFindings(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	b.paste("# \U0001F600 caf\u00e9\nUser-agent: *\nDisallow: /a\nDisallow: /a/\U0001F600b\n")
	b.wait(`page.state.findings?.file === page.state.file && page.state.findings.findings.length === 1`)
	b.do(`document.querySelector('#tab-lint').click()`)
	b.wait(`[...document.querySelectorAll('#lint button')].some((e) => e.textContent === 'Fix')`) // it is proved a moment later
	b.do(`[...document.querySelectorAll('#lint button')].find((e) => e.textContent === 'Fix').click()`)
	b.wait(`page.state.findings.findings.length === 0`)
	if got := eval[string](b, `new TextDecoder().decode(page.snapshot().file)`); got != "# \U0001F600 caf\u00e9\nUser-agent: *\nDisallow: /a\n" {
		t.Errorf("fixed to %q", got)
	}

	// What a safe fix does without the others is not proved.
	for file, want := range map[string]string{
		"User-agent: *\nDisallow: /a\nDisallow: /a/b\n":                 "Fix changes no verdict (proved)",
		"User-agent: *\nDisallow: /a\nDisallow: /a/b\nDisallow: /a/c\n": "Fix changes no verdict with all other safe fixes (proved)",
	} {
		b.paste(file)
		b.wait(`page.state.findings?.file === page.state.file && [...document.querySelectorAll('#lint p')].some((e) => e.textContent === '` + want + `')`)
	}

	// A dropped file is read as bytes. Fixes keep those that are not UTF-8, and add no lines to a
	// file with other line ends.
	for _, button := range []string{"Apply all safe fixes", "Change", "Fix"} {
		b.do(`const data = new DataTransfer(); data.items.add(new File([Uint8Array.from('User-agent: *\r\nDisallow: https://shop.example/caf\xe9\r\nDisallow: /a\r\nDisallow: /a\r\n', (c) => c.charCodeAt(0))], 'robots.txt'));
			document.querySelector('.cm-content').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))`)
		b.wait(`page.state.bytes && page.state.findings.file === page.state.file && [...document.querySelectorAll('#lint button')].some((e) => e.textContent === '` + button + `')`)
		b.do(`[...document.querySelectorAll('#lint button')].find((e) => e.textContent === '` + button + `').click()`)
		b.wait(`!page.state.bytes`)
		want := "User-agent: *\nDisallow: https://shop.example/caf\u00e9\nDisallow: /a\n"
		if button == "Change" {
			want = "User-agent: *\nDisallow: /caf\u00e9\nDisallow: /a\nDisallow: /a\n"
		}
		if got := eval[string](b, `Array.from(page.snapshot().file, (c) => String.fromCharCode(c)).join('')`); got != want {
			t.Errorf("%s: fixed to %q, want %q", button, got, want)
		}
	}
}

// TestAllDialects: one column becomes eight, those of the engine, whose names the scripts have.
func TestAllDialects(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	b.do(`const s = document.querySelector('thead [data-crawler]'); s.value = 'all'; s.dispatchEvent(new Event('change'))`)
	b.settled()
	var want []string
	for _, d := range robots.Dialects() {
		want = append(want, d.Name)
	}
	slices.Sort(want)
	for _, names := range []string{`page.state.names.slice(0, 8).map((n) => n.dialect)`, `[...document.querySelector('thead [data-crawler]').options].map((o) => o.value).filter((v) => v !== 'all' && v !== 'auto')`} {
		if got := eval[[]string](b, names+`.sort()`); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", names, got, want)
		}
	}
}

// useKeyboard uses the page from its beginning to an explanation without a mouse.
func (b *tab) useKeyboard() {
	b.Helper()
	b.do(`document.activeElement.blur(); document.querySelector('h1').tabIndex = -1; document.querySelector('h1').focus()`)
	for tabs := 0; !eval[bool](b, `document.activeElement.matches('[aria-label="robots.txt text"]')`); tabs++ {
		if tabs == 30 {
			b.Fatal("Tab does not come to the text")
		}
		b.keys(kb.Tab)
	}
	b.keys(kb.Enter, chromedp.ModifierCtrl)
	b.wait(`document.activeElement.matches('td[data-row="0"][data-col="0"]')`)
	b.keys(kb.ArrowDown)
	b.keys(kb.ArrowDown)
	b.keys(kb.ArrowRight)
	b.wait(`document.activeElement.matches('td[data-row="2"][data-col="1"]')`)
	b.keys(kb.Enter)
	b.wait(`document.activeElement.id === 'panel-why' && document.querySelector('#why').innerText.includes('Allowed for GPTBot by line 13')`)
	b.keys(kb.Escape)
	b.wait(`document.activeElement.matches('td[data-row="2"][data-col="1"]')`)
}

// TestMouse: adding a crawler moves no column, so the next click selects its cell. A button blocks the
// crawlers for AI training as robots block does; it shows the lines, and takes them back. The crawl rate lists the periods of a day.
func TestMouse(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	b.settled()
	b.do(`document.querySelector('#newcrawler').focus()`)
	b.keys("MyBot, Googlebot\r")
	b.wait(`page.state.names.length === 4 && document.activeElement.id === 'newcrawler'`)
	b.click(`td[data-row="2"][data-col="3"]`)
	b.wait(`document.querySelector('#why').innerText.includes('Allowed for MyBot by line 27')`)
	b.do(`document.querySelector('#tab-more').click()`)
	b.settled()
	const block = `[...document.querySelectorAll('#ai button')].find((e) => e.innerText === 'Block AI training, keep search').click()`
	bytes := func() string {
		return eval[string](b, `new TextDecoder().decode(page.file())`)
	}
	before := bytes()
	b.do(block)
	b.wait(`/^\d+ newly blocked; \d+ of \d+ others, and \*, unchanged for all URLs \(proved\)\.$/m.test(document.querySelector('#blocking').innerText)`)
	b.settled()
	var want struct {
		Body  []byte
		Added string
	}
	b.ok(json.Unmarshal([]byte(page.Ask("block", before)), &want))
	if got := bytes(); got != string(want.Body) || got == before {
		t.Errorf("the text is\n%s", got)
	}
	if added := eval[string](b, `document.querySelector('#blocking pre').textContent`); added != want.Added {
		t.Errorf("added is %q, want %q", added, want.Added)
	}
	b.do(block)
	b.wait(`document.querySelector('#blocking').innerText.includes('are already blocked (proved)')`)
	b.do(`document.querySelector('.cm-content').focus()`)
	b.keys("z", chromedp.ModifierCtrl)
	b.wait(`new TextDecoder().decode(page.file()) === ` + quoted(before))
	b.do(block)
	b.wait(`document.querySelector('#blocking pre')`)
	b.do(`[...document.querySelectorAll('#blocking button')].find((e) => e.innerText === 'Undo').click()`)
	b.wait(`document.querySelector('#blocking').innerText === '' && new TextDecoder().decode(page.file()) === ` + quoted(before))
	b.settled()

	_, err := chromedp.Call(b.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"})
	b.ok(err)
	b.do(`document.querySelector('[data-topic=rates]').click()`)
	b.click(`td[data-row="0"][data-col="2"]`)
	b.wait(`['00:00–18:00 UTC: one request every 6 s', '18:00–19:00 UTC: one request every 30 s', '19:00–24:00 UTC: one', '(UTC+5:30)'].every((s) => document.querySelector('#rates').innerText.includes(s))`)
}

// TestAuto: a name that is typed is read as the dialect auto means it, by the engine (D-62): in the table, the explanation, the
// differences, and what is copied.
func TestAuto(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	const file = "User-agent: Google-NotebookLM\nDisallow: /notebook\n\nUser-agent: Googlebot\nDisallow: /list\n"
	b.do(`page.restore({ ...page.snapshot(), file: page.encode(` + quoted(file) + `), before: page.encode(` + quoted(strings.Replace(file, "/notebook", "/note", 1)) + `), urls: ['/notebook'], crawlers: [] })`)
	b.settled()
	for i, c := range []struct{ typed, cell, head, why string }{
		{"Google-GeminiNotebook", "Google-GeminiNotebook as google, /notebook: blocked line 2", "group of Google-NotebookLM", "Google-GeminiNotebook, formerly Google-NotebookLM, is not named; it follows the group of Google-NotebookLM (Google's documentation). D-62"},
		{"googlebot-image", "Googlebot-Image as google, /notebook: allowed no matching rule", "group of Googlebot", "googlebot-image is not named; it follows the group of Googlebot"},
		{"Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", "bingbot as bing, /notebook: allowed no group", "", `is read as "bingbot"`},
	} {
		b.do(`document.querySelector('#newcrawler').focus()`)
		b.keys(c.typed + "\r")
		b.wait(fmt.Sprintf(`page.state.names?.length === %d`, i+1))
		b.settled()
		b.click(fmt.Sprintf(`td[data-row="0"][data-col="%d"]`, i))
		b.settled()
		head := eval[string](b, fmt.Sprintf(`document.querySelectorAll('thead th')[%d].innerText`, i+1))
		if got, why := b.cell(0, i), b.text("#why"); got != c.cell || !strings.Contains(why, c.why) || !strings.Contains(head, c.head) {
			t.Errorf("%s: the cell says %q, the head %q, explained by %q", c.typed, got, head, why)
		}
	}
	b.wait(`document.querySelector('#changes').textContent.includes('Google-GeminiNotebook Google ≠ changes')`)
	if got := eval[string](b, `page.copies.tests(page.matrix.answer(), page.state.names, 0)`); !strings.Contains(got, "dialect: auto\n") || !strings.Contains(got, `agent: "googlebot-image"`) {
		t.Errorf("the copied tests are %s", got)
	}
	if got := eval[string](b, `page.curl(page.state.names[0], '/notebook')`); !strings.Contains(got, `"agent":["Google-GeminiNotebook"],"dialect":"auto"`) {
		t.Errorf("the copied command is %s", got)
	}
}

// TestPhone: at 390 pixels a picker chooses the crawler, which the table's head changes, and a URL is a
// card that opens in place. What is picked or opened is the selected result.
func TestPhone(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	b.ok(chromedp.Do(b.ctx, chromedp.EmulateViewport(390, 780)))
	b.settled()
	press := func(label string) {
		b.Helper()
		b.do(`const e = [...document.querySelectorAll('.card button')].find((e) => e.innerText === ` + quoted(label) + `); e.focus(); e.click()`)
	}
	b.do(`const s = document.querySelector('.picker'); s.value = 2; s.dispatchEvent(new Event('change', { bubbles: true }))`)
	b.wait(`document.querySelector('#why').innerText.includes('Blocked for SeznamBot by line 35') && document.querySelector('#summary').innerText === '2 of 6 URLs blocked'`)
	b.click(`th[data-row="3"]`)
	b.wait(`document.querySelector('#said').textContent === 'SeznamBot, /account/register: blocked by line 37'`)
	if got := b.text(".card:not(:empty)"); !strings.HasPrefix(got, "Disallow: /account/\n\nGroup seznambot, line 34\n\nShow line 37") {
		t.Errorf("the open card has %q", got)
	}
	if small := eval[string](b, `[...document.querySelectorAll('.results :is(button, select, th, td, input)')].filter((e) => e.checkVisibility() && e.innerHTML + e.id && e.clientHeight < 42).map((e) => e.outerHTML).join()`); small != "" {
		t.Errorf("too small for a finger: %s", small)
	}
	press("Show line 37")
	b.wait(`document.querySelector('.cm-content').checkVisibility() && document.querySelector('.cm-activeLine').innerText === 'Disallow: /account/'`)
	b.do(`document.querySelector('[data-view=results]').click()`)
	press("Why")
	b.wait(`document.querySelector('#why').checkVisibility() && document.activeElement.id === 'panel-why'`)
	b.keys(kb.Escape)
	b.wait(`document.activeElement.matches('td[data-row="3"][data-col="2"]')`)
	b.keys(kb.ArrowLeft)
	b.wait(`document.activeElement.matches('input.url[data-row="3"]')`)
	b.keys(kb.Escape)
	press("Edit")
	b.keys(kb.End)
	b.keys("s\r")
	b.wait(`page.state.urls[3] === '/account/registers' && !document.querySelector('.card > *')`)
	b.answered()
	b.keys(kb.Enter)
	press("Remove")
	b.wait(`page.state.urls.length === 5 && document.activeElement.getAttribute('aria-label').startsWith('SeznamBot as seznam, /images/')`)

	b.do(`const s = document.querySelector('[aria-label="Dialect of SeznamBot"]'); s.value = 'all'; s.dispatchEvent(new Event('change'))`)
	b.wait(`page.state.names.length === 10`)
	b.do(`page.matrix.choose(0, 7); const s = document.querySelector('[aria-label="Dialect of SeznamBot"]'); s.focus(); s.value = 'bing'; s.dispatchEvent(new Event('change'))`)
	b.wait(`page.state.names.length === 3 && document.querySelector('.picker').value === '2' && document.activeElement.matches('.picked select')`)
	b.do(`document.querySelector('#newcrawler').focus()`)
	b.keys("MyBot\r")
	b.wait(`document.querySelector('.picker').selectedOptions[0].text === 'MyBot' && document.activeElement.id === 'newcrawler'`)
	b.do(`document.querySelector('.picked [aria-label="Remove MyBot"]').click()`)
	b.wait(`page.state.names.length === 3 && document.activeElement.matches('.picker') && document.querySelectorAll('tbody .picked').length === 5`)
}

// TestTyping: while the worker does not answer, typed characters appear at once, and old answers
// are marked until the new ones arrive.
func TestTyping(t *testing.T) {
	campaign.Only(t)
	b := usual(t)
	b.settled()
	b.do(`const post = Worker.prototype.postMessage, held = [];
		Worker.prototype.postMessage = function (...message) { held.push(() => post.apply(this, message)) };
		globalThis.held = held; globalThis.letGo = () => { Worker.prototype.postMessage = post; held.forEach((send) => send()) };
		document.querySelector('.cm-content').focus()`)
	b.keys("# wait!")
	b.paste("\n")
	b.wait(`held.length`)
	typed := strings.Repeat("# twenty characters!", 10)
	for range 10 {
		b.keys("# twenty characters!")
	}
	if got := eval[string](b, `document.querySelector('.cm-content').innerText`); !strings.Contains(got, typed) {
		t.Errorf("what was typed while the worker was held is not there: %.300q", got)
	}
	busy := func() string { return eval[string](b, `document.querySelector('#grid').getAttribute('aria-busy')`) }
	if busy() != "true" {
		t.Error("old answers are not marked")
	}
	b.do(`letGo()`)
	b.settled()
	if got := eval[string](b, `new TextDecoder().decode(page.snapshot().file)`); !strings.HasPrefix(got, "# wait!\n"+typed) {
		t.Errorf("the text begins with %.300q", got)
	}
	if busy() != "false" {
		t.Error("the answers stay marked as old")
	}
}

// TestLink: a link opens the same state in another browser; an invalid one opens the example, or
// leaves what is there, with a message.
func TestLink(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	b.own()
	b.paste("User-agent: *\nDisallow: /gr\u00fc\u00df\n")
	b.settled()
	fragment := eval[string](b, `page.link.write({ ...page.snapshot(), urls: ['/grüß', '/x'], before: new TextEncoder().encode('User-agent: *') })`)
	if !strings.HasPrefix(fragment, "#v1=") {
		t.Fatalf("the fragment is %q", fragment)
	}
	other := open(t, b.site, fragment)
	other.settled()
	if got := other.cell(0, 1); got != "GPTBot as rfc9309, /grüß: blocked line 2" {
		t.Errorf("in a new browser: %q", got)
	}
	other.wait(`document.querySelector('section[aria-label=Changes]').innerText.includes('newly blocked')`)

	bomb := eval[string](b, `(async () => {
		const s = new CompressionStream('deflate-raw'); const w = s.writable.getWriter(); w.write(new TextEncoder().encode('{"t":"' + 'a'.repeat(10 << 20) + '"}')); w.close();
		const bytes = new Uint8Array(await new Response(s.readable).arrayBuffer()); let t = ''; for (const c of bytes) t += String.fromCharCode(c);
		return '#v1=' + btoa(t).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '') })()`)
	for name, bad := range map[string]string{"unknown version": "#v2=abc", "cut": fragment[:len(fragment)/2], "no base64": "#v1=%%%", "bomb": bomb, "nothing known": "#about"} {
		b.do(`location.hash = ` + quoted(bad))
		b.wait(`!document.querySelector('#message').hidden`)
		if said := b.text("#message"); !strings.Contains(said, "This link ") || !strings.Contains(said, "Nothing has changed.") {
			t.Errorf("%s: %q", name, said)
		}
		if got := eval[string](b, `new TextDecoder().decode(page.snapshot().file)`); !strings.Contains(got, "grüß") {
			t.Errorf("%s: the text is %q", name, got)
		}
		b.do(`document.querySelector('#message button').click()`)
	}
	b.do(`location.hash = '#other'`)
	b.wait(`!document.querySelector('#message').hidden`)
	b.do(`location.hash = ` + quoted(fragment))
	b.wait(`document.querySelector('#message').hidden`)
	example := open(t, b.site, "#about")
	if said := example.text("#message"); !strings.Contains(said, "The example is shown.") {
		t.Errorf("at the start: %q", said)
	}
	if got := example.cell(0, 0); !strings.Contains(got, "line 23") {
		t.Errorf("the first cell says %q, want the example", got)
	}
}

// TestSaved: a state that is too long for a link is saved in a file, which the page opens.
func TestSaved(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	b.do(`let saved = null; globalThis.saved = () => saved;
		URL.createObjectURL = (blob) => { saved = blob; return 'data:,' }; HTMLAnchorElement.prototype.click = () => {};
		let text = 'User-agent: *\nDisallow: /saved\n'; for (let i = 0; text.length < 140000; i++) text += 'Disallow: /' + (i * 7919 % 1000003).toString(36) + '\n';
		page.restore({ ...page.snapshot(), file: new TextEncoder().encode(text), urls: ['/saved'] })`)
	b.answered()
	b.do(`document.querySelector('[data-copy=link]').click()`)
	b.wait(`saved()`)
	b.wait(`document.querySelector('#message').innerText.includes('page.robots.json')`)
	b.do(`page.restore({ ...page.snapshot(), file: new Uint8Array() });
		const data = new DataTransfer(); data.items.add(new File([saved()], 'page.robots.json'));
		document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))`)
	b.wait(`page.state.bytes?.length > 139999`)
	b.answered()
	if got := b.cell(0, 1); got != "GPTBot as rfc9309, /saved: blocked line 2" {
		t.Errorf("of the saved file: %q", got)
	}
}

// TestCopies: the table can be copied for other programs. A cell that a spreadsheet would
// execute is text.
func TestCopies(t *testing.T) {
	campaign.Only(t)
	b := usual(t)
	file, err := os.ReadFile("testdata/copied/robots.txt")
	b.ok(err)
	b.do(`page.restore({ ...page.snapshot(), file: new TextEncoder().encode(` + quoted(string(file)) + `), urls: ['/a', '/a/b"x', '=1+1|y'], crawlers: [{ dialect: 'auto', tokens: ['Googlebot-Image'] }, { dialect: 'bing', tokens: ['@x'] }] })`)
	b.settled()
	copied := func(kind string) string {
		return eval[string](b, `page.copies.`+kind+`(page.matrix.answer(), page.state.names, 0)`)
	}
	for kind, want := range map[string]string{
		"tsv": "url\tcrawler\tdialect\tverdict\treason\tline\trule\tgroup\n" +
			"/a\tGooglebot-Image\tgoogle\tdisallow\trule\t2\tDisallow: /a\t*\n/a\t'@x\tbing\tdisallow\trule\t2\tDisallow: /a\t*\n" +
			"/a/b\"x\tGooglebot-Image\tgoogle\tallow\trule\t3\tAllow: /a/b\t*\n/a/b\"x\t'@x\tbing\tallow\trule\t3\tAllow: /a/b\t*\n" +
			"'=1+1|y\tGooglebot-Image\tgoogle\t\tinvalid URL\t\t\t\n'=1+1|y\t'@x\tbing\t\tinvalid URL\t\t\t\n",
		"csv": "url,crawler,dialect,verdict,reason,line,rule,group\n" +
			"/a,Googlebot-Image,google,disallow,rule,2,Disallow: /a,*\n/a,'@x,bing,disallow,rule,2,Disallow: /a,*\n" +
			"\"/a/b\"\"x\",Googlebot-Image,google,allow,rule,3,Allow: /a/b,*\n\"/a/b\"\"x\",'@x,bing,allow,rule,3,Allow: /a/b,*\n" +
			"'=1+1|y,Googlebot-Image,google,,invalid URL,,,\n'=1+1|y,'@x,bing,,invalid URL,,,\n",
		"markdown": "| URL | `Googlebot-Image (google)` | `@x (bing)` |\n| --- | --- | --- |\n| `/a` | blocked line 2 | blocked line 2 |\n| `/a/b\"x` | allowed line 3 | allowed line 3 |\n| `=1+1\\|y` | invalid URL | invalid URL |\n",
	} {
		if got := copied(kind); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
	const kept = "testdata/copied/page.yaml" // which TestPageSuite of the program runs
	if os.Getenv("README") == "write" {
		b.ok(os.WriteFile(kept, []byte(copied("tests")), 0o644))
	}
	want, err := os.ReadFile(kept)
	b.ok(err)
	if got := copied("tests"); got != string(want) {
		t.Errorf("the tests are %s, want those of %s", got, kept)
	}

	// Whatever a URL or a token contains, a copy has it in one cell, or in one value.
	hostile := []string{"/`|\\\\|`` x", "/&lt;b&gt;*@user*~~x~~[y](z)<img>|", "/\u0085\u2028\u2029\u007f\ufeff", "/\\\"{[,: #", "/%20'"}
	text, err := json.Marshal(hostile)
	b.ok(err)
	b.do(`page.restore({ ...page.snapshot(), urls: ` + string(text) + `, crawlers: [{ dialect: 'google', tokens: ['a|b\u0060', '\u2028@me'] }] })`)
	b.settled()
	var suite struct {
		Tests []struct {
			Agent    any
			Allow    []any
			Disallow []any
		}
	}
	b.ok(yaml.Unmarshal([]byte(copied("tests")), &suite))
	var urls []string
	for _, tests := range suite.Tests {
		for _, one := range append(tests.Allow, tests.Disallow...) {
			if m, ok := one.(map[string]any); ok {
				one = m["url"]
			}
			urls = append(urls, fmt.Sprint(one))
		}
	}
	if slices.Sort(urls); !slices.Equal(urls, slices.Sorted(slices.Values(hostile))) {
		t.Errorf("the tests have %q, want %q", urls, hostile)
	}
	var table strings.Builder
	b.ok(goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert([]byte(copied("markdown")), &table))
	row := regexp.MustCompile(`(?s)<tr>\n<td><code>(.*?)</code></td>\n<td>[a-z0-9 ]+</td>\n</tr>`)
	var shown []string
	for _, m := range row.FindAllStringSubmatch(table.String(), -1) {
		shown = append(shown, html.UnescapeString(m[1]))
	}
	for i, url := range hostile {
		hostile[i] = strings.NewReplacer("\u0085", " ", "\u2028", " ", "\u2029", " ", "\u007f", " ").Replace(url)
	}
	if !slices.Equal(shown, hostile) {
		t.Errorf("the table shows %q, want %q:\n%s", shown, hostile, &table)
	}
}

// TestFragments: random states can be restored from their links. Columns in bytes are converted into
// positions in the text.
func TestFragments(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	n := campaign.Size(100, 200, 10000)
	lost := eval[string](b, fmt.Sprintf(`(async () => {
		let seed = 1; const next = (n) => { seed = (seed * 48271) %% 2147483647; return seed %% n };
		const letters = ['a', '/', '*', '$', '\u00e9', '\u{1F600}', '\ufeff', '\0', '"', '\\', '<b>', '%%', '#', ' ', '\u2028', '=', '+'];
		const text = (n) => Array.from({ length: next(n) }, () => letters[next(letters.length)]).join('');
		const dialects = ['rfc9309', 'google', 'seznam', 'all'];
		for (let i = 0; i < %d; i++) {
			const bytes = next(3) ? new TextEncoder().encode(text(300).replaceAll('/', '\n')) : Uint8Array.from({ length: next(200) }, () => next(256));
			const state = { file: bytes, urls: Array.from({ length: next(20) }, () => '/' + text(20)), crawlers: Array.from({ length: next(9) }, () => ({ dialect: dialects[next(4)], tokens: Array.from({ length: next(4) }, () => 'x' + text(9)) })),
				before: next(2) ? Uint8Array.from({ length: next(100) }, () => next(256)) : null };
			const plain = (s) => JSON.stringify({ ...s, file: [...s.file], before: s.before && [...s.before] });
			const fragment = await page.link.write(state);
			const back = await page.link.read(fragment, dialects).catch((e) => e);
			if (back instanceof Error || plain(back) !== plain(state) || String(page.encode(page.decode(bytes))) !== String(bytes)) { return String(back) + ' of ' + plain(state) }
		}
		return '';
	})()`, n))
	if lost != "" {
		t.Error(lost)
	}
	t.Logf("%d states survive their link", n)

	// Columns in bytes are positions in the text, also with single surrogates.
	wrong := eval[string](b, `(() => {
		const bytes = (s) => page.encode(s).length;
		for (const text of ['abc', 'caf\u00e9/\u20ac', '\u{1F600}x\u{1F600}', '\ud83dx', 'x\ude00y\ud83d', '\ufeffa', page.decode(Uint8Array.of(0xe9, 0x61, 0xe2, 0x82, 0xc3, 0xa9, 0xff))]) {
			for (let i = 0; i <= text.length; i++) {
				const split = i > 0 && i < text.length && bytes(text.slice(0, i)) + bytes(text.slice(i)) !== bytes(text);
				if (!split && page.units(text, bytes(text.slice(0, i))) !== i) return JSON.stringify(text) + ' ' + i;
			}
		}
		return '';
	})()`)
	if wrong != "" {
		t.Error(wrong)
	}
}

// TestSilence: after loading nothing is sent, whatever is typed, and the page works after its
// server has stopped.
func TestSilence(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	site := serve(t, Options{}, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked = append(asked, r.Method+" "+r.URL.Path)
			mu.Unlock()
			h.ServeHTTP(w, r)
		})
	})
	take := func() []string {
		mu.Lock()
		defer mu.Unlock()
		was := asked
		asked = nil
		return was
	}
	b := open(t, site, "")
	b.do(`await navigator.serviceWorker.ready`)
	b.wait(`navigator.serviceWorker.controller`)
	b.settled() // both workers have loaded their engine
	take()
	b.own()
	b.do(`document.querySelector('.cm-content').focus()`)
	b.paste("User-agent: *\nDisallow: /typed\n")
	b.settled()
	b.do(`document.querySelector('#compare').click(); document.querySelectorAll('[role=tab]').forEach((e) => e.click()); document.querySelector('[data-row="1"]').click()`)
	b.settled()
	if list := take(); len(list) != 0 {
		t.Errorf("requests after the load: %q", list)
	}

	site.CloseClientConnections()
	site.Close()
	b.load("")
	if got := b.cell(0, 0); !strings.Contains(got, "/basket: allowed") {
		t.Errorf("without its server the page says %q", got)
	}
	b.do(`page.restore({ ...page.snapshot(), file: page.encode('User-agent: *\nDisallow: /about\n') })`)
	b.settled()
	if got := b.cell(5, 1); got != "GPTBot as rfc9309, /about: blocked line 2" {
		t.Errorf("without its server a text is answered with %q", got)
	}
	if said := b.text("#privacy"); said != "Your text stays in this browser." {
		t.Errorf("without its server the line about privacy is %q", said)
	}
	b.do(`document.querySelector('#site').value = 'example.com'; document.querySelector('#fetchgo').click()`)
	b.wait(`document.querySelector('#message').innerText.includes('The server does not respond.')`)
	b.expect(`ERR_CONNECTION_REFUSED`)
}

// TestServer: without an engine that starts the server answers, which the page shows; if it needs a
// token or stops, the page shows that too.
func TestServer(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	broken := fstest.MapFS{"robots.wasm.gz": {Data: []byte("no gzip")}, "wasm_exec.js.gz": {Data: []byte("nor this")}}
	for _, engine := range []fstest.MapFS{{}, broken} {
		var secret atomic.Bool
		site := serve(t, Options{Packed: engine}, func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if secret.Load() && r.Method == http.MethodPost {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				h.ServeHTTP(w, r)
			})
		})
		b := blank(t, site)
		secret.Store(true)
		b.ok(chromedp.Do(b.ctx, chromedp.Navigate(b.site.URL+"/")))
		b.wait(`document.querySelector('#message').innerText.includes('This service needs a token') && document.querySelector('td.cell').innerText === 'no result'`)
		b.expect("401")
		secret.Store(false)
		b.load("")
		b.settled()
		if got := b.cell(0, 0); got != "Googlebot as google, /basket: blocked line 23" {
			t.Errorf("the first cell says %q", got)
		}
		if said := b.text("#privacy"); !strings.Contains(said, "your text is sent there") {
			t.Errorf("the line about privacy: %q", said)
		}
		site.CloseClientConnections()
		site.Close()
		b.do(`document.querySelector('.cm-content').focus()`)
		b.paste("User-agent: *\n")
		b.wait(`document.querySelector('#privacy').innerText === 'The server does not respond.'`)
		if busy := eval[string](b, `document.querySelector('#grid').getAttribute('aria-busy')`); busy != "true" {
			t.Error("old answers are not marked when the server has gone")
		}
		b.expect(`ERR_`)
	}
}

// TestAccess runs axe-core in every part of the page, light, dark and narrow, and finds controls
// that are cut off.
func TestAccess(t *testing.T) {
	campaign.Only(t)
	axe, err := os.ReadFile("testdata/axe-core/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	b := usual(t)
	b.own()
	b.paste("User-agent: *\nDisallow: /list?sort\nDisalow: /about\nCrawl-delay: 5\nAllow: /basket\nDisallow: /basket\nSitemap: /x\n")
	b.settled()
	b.do(`document.querySelector('#compare').click()`)
	b.do(string(axe) + `; globalThis.axe = axe`)
	b.do(`document.querySelector('.cm-content').blur()`)
	look := func(where string) {
		b.settled()
		for _, v := range violations(b) {
			t.Errorf("%s: %s", where, v)
		}
		for _, cut := range eval[[]string](b, `[...document.querySelectorAll('button, summary, select, input, textarea, [role=tab], a')].filter((e) => {
			if (!e.checkVisibility() || e.closest('.cm-editor, details:not([open]) .sheet') || innerWidth > 767 && e.closest('.grid')) return false;
			const r = e.getBoundingClientRect();
			return r.left < -0.5 || r.right > document.documentElement.clientWidth + 0.5 || r.width < 1 || document.documentElement.scrollWidth > innerWidth;
		}).map((e) => (e.getAttribute('aria-label') || e.id || e.innerText) + ' ' + Math.round(e.getBoundingClientRect().right))`) {
			t.Errorf("%s: the control %q is cut off", where, cut)
		}
	}
	for _, tab := range []string{"why", "changes", "lint", "more"} {
		b.do(`document.querySelector('#tab-` + tab + `').click()`)
		look("light, " + tab)
	}
	b.media("dark", "")
	for _, tab := range []string{"why", "changes", "lint"} { // where colors have a meaning
		b.do(`document.querySelector('#tab-` + tab + `').click()`)
		look("dark, " + tab)
	}
	b.media("light", "")
	b.do(`document.querySelector('#tab-more').click()`)
	for _, topic := range []string{"ai", "rates", "sitemaps", "page"} {
		b.do(`document.querySelector('[data-topic=` + topic + `]').click()`)
		look(topic)
	}
	b.do(`document.querySelector('#help').click()`)
	look("help")
	b.do(`document.querySelector('#helping').close()`)
	for _, size := range [][2]int64{{1440, 900}, {1024, 768}} {
		b.ok(chromedp.Do(b.ctx, chromedp.EmulateViewport(size[0], size[1])))
		look(fmt.Sprint(size))
		if over := eval[int](b, `document.documentElement.scrollHeight - innerHeight`); over > 0 {
			t.Errorf("at %v the page scrolls by %d pixels; its panes should", size, over)
		}
	}
	b.ok(chromedp.Do(b.ctx, chromedp.EmulateViewport(390, 780)))
	for _, view := range []string{"file", "results", "details"} {
		b.do(`document.querySelector('.views [data-view=` + view + `]').click()`)
		b.do(`document.querySelector('th[data-row="1"]').click()`) // opens or closes a card
		look("390 pixels, " + view)
	}
	for _, tab := range []string{"why", "changes", "more"} {
		b.do(`document.querySelector('#tab-` + tab + `').click()`)
		look("390 pixels, " + tab)
	}
	b.do(`document.querySelector('#actions').open = true; document.querySelector('#share').open = true`)
	look("390 pixels, menu")
}

// TestFetch: the only button that sends a request names the recipient, and shows the record of a
// site: a file after a redirect, a missing file, and a failure.
func TestFetch(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	tests := []struct {
		answer           http.HandlerFunc
		told, more, cell string
	}{
		{func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.Redirect(w, r, "/elsewhere.txt", http.StatusMovedPermanently)
				return
			}
			_, _ = w.Write([]byte("User-agent: *\nDisallow: /fetched\n# \xff\n"))
		}, "/elsewhere.txt. It expires ", "HTTP/1.1 301 /elsewhere.txt", "blocked line 2"},
		{http.NotFound, "has no robots.txt (status 404), so every URL is allowed.", "404", "allowed"},
		{func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "We are moving house.", http.StatusServiceUnavailable)
		}, "responds with status 503 since ", "server error", "blocked line 3"},
	}
	var sites []Site
	for _, test := range tests {
		s := httptest.NewServer(test.answer)
		t.Cleanup(s.Close)
		sites = append(sites, Site{URL: s.URL + "/fetched?x"})
	}
	limiter, err := pace.NewLocal(pace.Options{AddressInterval: -1}) // the sites have one address
	if err != nil {
		t.Fatal(err)
	}
	service, err := server.New(server.Parts{Limiter: limiter, Fetch: fetch.Options{Guard: fetch.Guard{AllowLoopback: true}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	b := open(t, serve(t, Options{Sites: sites}, func(h http.Handler) http.Handler {
		mux := http.NewServeMux()
		mux.Handle("/v1/", service.Handler())
		mux.Handle("/", h)
		return mux
	}), "")
	b.do(`document.querySelector('#site').value = 'http://['; document.querySelector('#fetchgo').click()`)
	b.wait(`document.querySelector('#message').innerText.includes('“http://[” is not a valid URL.')`)
	b.do(`document.querySelector('#site').value = 'http://127.0.0.1:25/'; document.querySelector('#fetchgo').click()`)
	b.wait(`document.querySelector('#message').innerText.includes('This server may not fetch that address')`)
	for i, test := range tests {
		b.do(fmt.Sprintf(`document.querySelector('#record').hidden = true; document.querySelector('#site').value = document.querySelectorAll('#sites option')[%d].value; document.querySelector('#fetchgo').click()`, i))
		b.wait(`!document.querySelector('#record').hidden`)
		b.settled()
		b.do(`document.querySelector('#record details').open = true`)
		if got := b.text("#record"); !strings.Contains(got, test.told) || !strings.Contains(got, test.more) {
			t.Errorf("the record is shown as %q", got)
		}
		if got := b.cell(0, 0); !strings.Contains(got, "/fetched?x: ") || !strings.Contains(got, test.cell) {
			t.Errorf("the first answer is %q", got)
		}
	}
	b.expect("404", "503") // the console names answers that are none, such as the body of no file
}

// TestOneEngine: the matrix in the browser is the same as that of the engine here, for real
// files, several crawlers and URLs, in all dialects.
func TestOneEngine(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	want := campaign.Size(5, 20, 200)
	b := usual(t)
	crawlers := []string{"Googlebot", "GPTBot", "SeznamBot", "MJ12bot", "*"}
	urls := []string{"/", "/search?q=a", "/admin/", "/wp-admin/admin-ajax.php", "/a/b/c.pdf", "/caf\u00e9/%7Ex", "https://shop.example/index.html?sort=price", "/robots.txt", "https://b\u00fccher.example/admin/", "https://\u00ad/"}
	files := 0
	ask := func(name string, body []byte) {
		d := robots.Dialects()
		var lines []string
		var columns []any
		for i, c := range crawlers {
			for _, dialect := range []robots.Dialect{d[(files+i)%len(d)], d[(files+i+4)%len(d)]} {
				lines = append(lines, dialect.Name+"\t"+c)
				columns = append(columns, map[string]any{"dialect": dialect.Name, "tokens": []string{c}})
			}
		}
		set, err := json.Marshal(map[string]any{"file": body, "crawlers": columns, "urls": urls})
		if err != nil {
			t.Fatal(err)
		}
		got := eval[[]any](b, `(async () => {
			const s = `+string(set)+`;
			page.restore({ ...s, before: null, file: Uint8Array.from(atob(s.file), (c) => c.charCodeAt(0)) });
			while (page.state.answered !== page.state.version) await new Promise((r) => setTimeout(r, 1));
			return page.matrix.answer().rows;
		})()`)
		var want struct{ Rows []any }
		if err := json.Unmarshal([]byte(page.Ask("matrix", string(body), strings.Join(lines, "\n"), strings.Join(urls, "\n"), "")), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want.Rows) {
			t.Fatalf("%s: the browser says %v, want %v", name, got, want.Rows)
		}
		files++
	}
	if os.Getenv("ROBOTS_CORPUS") == "" {
		examples, err := filepath.Glob("../../../../examples/*.txt")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range examples {
			body, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			ask(name, body)
		}
	} else {
		campaign.Files(t, 12859/want, func(name string, body []byte) {
			if files < want {
				ask(name, body)
			}
		})
	}
	t.Logf("the answers about %d files are those of the engine", files)
}

// TestManyURLs: an added URL is selected and announced, and an example keeps it. Rows are drawn when
// they are scrolled into view, and their number is limited.
func TestManyURLs(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	for _, said := range []string{"Googlebot, /own: allowed, no matching rule", "Already in the table: Googlebot, /own: allowed, no matching rule"} {
		b.do(`document.querySelector('#newurl').value = '/own'; document.querySelector('#adding button').click()`)
		b.wait(`document.querySelector('#said').textContent === ` + quoted(said) + ` && document.querySelector('[aria-selected=true][data-row="6"]').getBoundingClientRect().bottom < document.querySelector('#adding').getBoundingClientRect().top + 2`)
	}
	b.do(`[...document.querySelectorAll('#examples button')].find((e) => e.textContent === 'Blog').click()`)
	b.settled()
	if urls, agents := eval[string](b, `String(page.state.urls.slice(0, 2))`), eval[string](b, `page.state.names.map((n) => n.name).join()`); urls != "/own,/" || agents != "Googlebot,GPTBot,CCBot" {
		t.Errorf("after another example the URLs are %s, the crawlers %s", urls, agents)
	}
	b.do(`page.restore({ ...page.snapshot(), urls: ['/1', '/2', '/3', '/4', '/5', '/6'] });
		const data = new DataTransfer(); data.setData('text/plain', Array.from({ length: 1200 }, (_, i) => '/basket/' + i).join('\n'));
		document.querySelector('#newurl').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))`)
	b.settled()
	if n := eval[int](b, `document.querySelectorAll('#grid tbody tr').length`); n != 200 {
		t.Errorf("%d rows are drawn at once, want 200", n)
	}
	if said := b.text("#message"); !strings.Contains(said, "the other 206 were left out") {
		t.Errorf("of 1,200 URLs the page says %q", said)
	}
	b.do(`document.querySelector('#grid').scrollTop = 1e6`)
	b.wait(`document.querySelectorAll('#grid tbody tr').length === 400`)
	b.do(`page.restore({ ...page.snapshot(), crawlers: [] })`)
	b.wait(`document.querySelector('#message').hidden && document.querySelector('#why').innerText === ''`)
}

// TestScreenshots takes the screenshot in README.md. README=write replaces it.
func TestScreenshots(t *testing.T) {
	campaign.Only(t)
	b := usual(t)
	b.ok(chromedp.Do(b.ctx, chromedp.EmulateViewport(1440, 900)))
	b.settled()
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	b.ok(err)
	if len(png) > 300<<10 {
		t.Errorf("the picture of README.md has %d bytes", len(png))
	}
	if os.Getenv("README") == "write" {
		b.ok(os.WriteFile("../../../../docs/page.png", png, 0o644))
	}
}
