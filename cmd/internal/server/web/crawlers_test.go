package web

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/robotskit/robots/internal/campaign"
)

// TestMentions: a name that people use for a crawler is answered with those of the directory, a browser's header with what it is, and a
// crawler that the table has with that.
func TestMentions(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	b.settled()
	ask := func(text, want string) {
		b.Helper()
		b.do(`document.querySelector('#newcrawler').focus()`)
		b.keys(text + "\r")
		b.wait(`document.querySelector('#asking').innerText.startsWith(` + quoted(want) + `) && document.querySelector('#newcrawler').value === ''`)
	}
	const browser = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36"
	ask(browser, "This is the User-Agent of a browser.")
	b.keys(kb.Escape)
	b.wait(`document.querySelector('#asking').hidden && document.activeElement.id === 'newcrawler'`)
	ask("Mozilla/5.0 (compatible; SeznamBot/4.0; +http://napoveda.seznam.cz/seznambot-intro/)", "SeznamBot is already in the table.")
	for typed, want := range map[string]string{"Bing": "bingbot", "ChatGPT": "ChatGPT-User", "Google AdsBot": "AdsBot-Google"} {
		ask(typed, "“"+typed+"” is not the name of a crawler. Did you mean")
		b.wait(`document.activeElement.innerText === ` + quoted(want))
		b.keys(kb.Enter)
		b.wait(`page.state.names.at(-1).name === ` + quoted(want) + ` && document.activeElement.id === 'newcrawler' && document.querySelector('#asking').hidden`)
	}
	if got := b.undo(); !strings.HasPrefix(got, "Undo adding ") {
		t.Errorf("after the crawlers there is %q", got)
	}
}

// TestAI: the crawlers of the three purposes are apart, those first that state to obey, and the counts of the groups that they follow add
// up. Blocking shows its lines in the text, and can be undone.
func TestAI(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	b.do(`document.querySelector('#tab-more').click()`)
	b.settled()
	panel := b.text("#access")
	for _, title := range []string{"AI training", "AI search", "AI user fetchers", "Search engines"} {
		if !strings.Contains(panel, title) {
			t.Errorf("the panel lacks %s", title)
		}
	}
	sums := eval[[][]int](b, `[...document.querySelectorAll('.category')].map((e) => {
		const [, total, rest] = /Of (\d+) crawlers? in use, (.*)\.$/.exec(e.querySelector('.soft').innerText);
		return [+total, rest.split('; ').reduce((n, part) => n + parseInt(part, 10), 0), e.querySelectorAll('li').length];
	})`)
	for _, sum := range sums {
		if sum[0] == 0 || sum[0] != sum[1] || sum[0] != sum[2] {
			t.Errorf("of %d crawlers %d follow some group, and %d are listed", sum[0], sum[1], sum[2])
		}
	}
	before := b.body()
	b.ok(chromedp.Do(b.ctx, chromedp.EmulateViewport(1440, 900)))
	b.do(`[...document.querySelectorAll('#ai button')].find((e) => e.innerText === 'Block AI training, keep search').click()`)
	b.wait(`document.querySelector('#blocking pre')`)
	b.settled()
	if !eval[bool](b, `(() => {
		const names = document.querySelector('#blocking pre').innerText.trim().split('\n');
		const editor = document.querySelector('.cm-scroller').getBoundingClientRect();
		const line = [...document.querySelectorAll('.cm-line')].find((e) => e.innerText === names[0]);
		const at = line && line.getBoundingClientRect();
		return at && at.top >= editor.top && at.bottom <= editor.bottom;
	})()`) {
		t.Error("the first line that was added is not in view")
	}
	if got := b.undo(); got != "Undo blocking AI training" {
		t.Errorf("after blocking there is %q", got)
	}
	b.keys("z", chromedp.ModifierCtrl)
	b.settled()
	if b.body() != before {
		t.Error("blocking was not undone")
	}
}
