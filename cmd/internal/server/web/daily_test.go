package web

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/robotskit/robots/internal/campaign"
)

// TestDailyWork does the tasks of a day, once with the keyboard and once with the mouse. Each control that is used is in view or
// comes into view, and can have the focus. ROBOTS_PICTURES names a folder for a picture of each task.
func TestDailyWork(t *testing.T) {
	campaign.Only(t)
	axe, err := os.ReadFile("testdata/axe-core/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"keyboard", "mouse"} {
		t.Run(way, func(t *testing.T) {
			b := usual(t)
			b.ok(chromedp.Do(b.ctx, chromedp.EmulateViewport(1440, 900)))
			b.do(`globalThis.saved = []; URL.createObjectURL = (blob) => { saved.push(blob); return 'data:,' }; HTMLAnchorElement.prototype.click = () => {};
				globalThis.clip = []; navigator.clipboard.writeText = async (text) => { clip.push(text) }`)
			d := &day{tab: b, way: way, axe: string(axe)}
			d.tasks()
		})
	}
}

// A day is a person's work on the page.
type day struct {
	*tab
	way, axe string
	count    int
}

// use presses a control: the first that a selector matches, with some text if that is not empty.
func (d *day) use(selector, text string) {
	d.Helper()
	find := `[...document.querySelectorAll(` + quoted(selector) + `)].find((e) => e.checkVisibility() && e.innerText.includes(` + quoted(text) + `))`
	d.settled() // until then controls are drawn again
	d.wait(find)
	d.do(`document.querySelectorAll('[data-used]').forEach((e) => e.removeAttribute('data-used')); ` + find + `.setAttribute('data-used', '')`)
	if d.way == "mouse" && selector != ".cm-content" { // whose middle can be out of view
		d.click(`[data-used]`)
		return
	}
	d.do(`document.querySelector('[data-used]').focus()`)
	if !eval[bool](d.tab, `document.activeElement.matches('[data-used]') && (document.activeElement.tabIndex >= 0 || document.activeElement.matches('.cm-content, [role=tab]'))`) {
		d.Errorf("%s: the focus cannot come to %s %q", d.way, selector, text)
	}
	if eval[bool](d.tab, `document.activeElement.matches('button, summary')`) {
		d.keys(kb.Enter)
	}
}

// text puts the cursor into the text.
func (d *day) text() {
	d.Helper()
	if d.way == "mouse" {
		d.use(".cm-line", "")
	}
	d.use(".cm-content", "")
}

// judged are the tasks after which axe-core looks at the page, which takes seconds.
var judged = []string{"add SeznamBot", "a CSV", "fix", "block AI training"}

// done ends a task: an expression must become true. The page is then free of violations, and a person's focus is somewhere.
func (d *day) done(task, condition string) {
	d.Helper()
	d.count++
	d.wait(condition)
	d.settled()
	if folder := os.Getenv("ROBOTS_PICTURES"); folder != "" {
		png, err := chromedp.Run(d.ctx, chromedp.CaptureScreenshot())
		d.ok(err)
		d.ok(os.WriteFile(fmt.Sprintf("%s/%s-%02d.png", folder, d.way, d.count), png, 0o644))
	}
	if d.way == "keyboard" && eval[bool](d.tab, `document.activeElement === document.body`) {
		d.Errorf("%s: after “%s” nothing has the focus", d.way, task)
	}
	if d.way == "mouse" && slices.Contains(judged, task) {
		for _, v := range eval[[]string](d.tab, d.axe+`; axe.run(document, { resultTypes: ['violations'] }).then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.slice(0, 2).map((n) => n.target).join(' | ')))`) {
			d.Errorf("after “%s”: %s", task, v)
		}
	}
	d.Logf("%s, task %d: %s", d.way, d.count, task)
}

func (d *day) tasks() {
	var file strings.Builder
	file.WriteString("User-agent: *\nDisallow: /basket\nDisallow: /basket/new\n")
	for i := range 297 {
		fmt.Fprintf(&file, "Disallow: /catalog/garden/chairs/chair-%d?color=3\n", i)
	}
	d.text()
	d.paste(file.String())
	d.done("paste a file of 300 lines", `page.state.crawlers.length === 3 && page.file().length > 15000`)

	for _, c := range []struct{ typed, choice, name string }{
		{"SeznamBot", "", "SeznamBot"}, {"Bing", "BingPreview", "BingPreview"}, {"ChatGPT", "ChatGPT-User", "ChatGPT-User"}, {"Google AdsBot", "AdsBot-Google", "AdsBot-Google"},
		{"Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)", "", "YandexBot"},
	} {
		d.use("#newcrawler", "")
		d.keys(c.typed + "\r")
		if c.choice != "" {
			d.use("#asking button", c.choice)
		}
		d.done("add "+c.typed, `page.state.names.at(-1).name === `+quoted(c.name))
	}

	d.use("#newurl", "")
	d.pasteURLs(shopList(200))
	d.done("200 URLs of a sitemap", `page.state.urls.length === 201`)
	d.use("#newurl", "")
	d.pasteURLs("https://shop.example/csv,200\nhttps://other.example/csv,404\n")
	d.done("a CSV", `page.state.urls.length === 203 && document.querySelector('#asking').innerText.includes('from a CSV')`)
	d.use("#newurl", "")
	d.pasteURLs("Top pages\tClicks\tCTR\nhttps://shop.example/basket\t5\t1%\n")
	d.done("an export of Search Console", `page.state.urls.includes('https://shop.example/basket')`)

	d.use("#find", "")
	d.keys("basket")
	d.done("find a URL", `document.querySelector('#shown').innerText === '1 of 204'`)
	d.use("#showall", "")
	d.use("#compare", "")
	d.text()
	d.keys(kb.Home, chromedp.ModifierCtrl)
	d.keys("User-agent: SeznamBot\rDisallow: /seznam\r\r")
	d.done("compare", `document.querySelector('#changes').innerText.includes('newly blocked')`)
	d.use("#tab-lint", "")
	d.use("#lint button", "Fix")
	d.done("fix", `document.querySelector('#undo').innerText.startsWith('Undo the fix of')`)
	d.use("#undo", "")
	d.done("undo", `!document.querySelector('#undo').innerText.includes('fix')`)
	d.use("#tab-more", "")
	d.use("#ai button", "Block AI training, keep search")
	d.done("block AI training", `document.querySelector('#blocking pre') && document.querySelector('#undo').innerText === 'Undo blocking AI training'`)
	d.use("#share > summary", "")
	d.use("#share button", "Link to this page")
	d.done("share", `clip.length + saved.length === 1`)
	d.use("#download", "")
	d.use("#share > summary", "")
	d.use("#share button", "Download the table as CSV")
	d.done("download the file and the table", `saved.length >= 2`)
}
