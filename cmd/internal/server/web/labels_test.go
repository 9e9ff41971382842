package web

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/robotskit/robots/internal/campaign"
)

// cutLabels is a script that returns the visible buttons and selects whose labels are not readable in full: those with text wider than
// they are, and the selects that are narrower than what they have selected.
const cutLabels = `[...document.querySelectorAll('button, summary, select')].filter((e) => {
	if (!e.checkVisibility() || e.closest('.cm-editor')) return false;
	if (e.matches('select')) {
		const whole = e.cloneNode(true);
		whole.value = e.value;
		whole.style.cssText = 'field-sizing: content; position: absolute; visibility: hidden; flex: none; width: auto; min-width: 0; max-width: none';
		e.after(whole);
		const needed = whole.offsetWidth;
		whole.remove();
		return needed > e.offsetWidth + 1;
	}
	return [e, ...e.querySelectorAll('*')].some((part) => getComputedStyle(part).display !== 'inline' && part.scrollWidth > part.clientWidth + 1);
}).map((e) => (e.selectedOptions ? e.selectedOptions[0]?.text : e.innerText) + ' in ' + (e.id || e.ariaLabel || e.className))`

// TestLabels: the label of each button and select is readable in full, on a phone, a laptop and a large screen, and the field for a
// crawler has a place of its own.
func TestLabels(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	b := usual(t)
	look := func(what string) {
		b.Helper()
		for _, width := range []int64{390, 1440, 1920} {
			b.ok(chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900)))
			for _, view := range []string{"file", "details", "results"} {
				b.do(`document.querySelector('.views [data-view=` + view + `]').click()`)
				b.settled()
				for _, label := range eval[[]string](b, cutLabels) {
					t.Errorf("%s, %d pixels, %s: cut is %s", what, width, view, label)
				}
			}
		}
	}
	look("the example")
	b.do(`page.restore({ ...page.snapshot(), crawlers: [
		{ dialect: 'google-legacy', tokens: ['Google-CloudVertexBot'] }, { dialect: 'google-cpp', tokens: ['meta-externalagent'] }, { dialect: 'auto', tokens: ['Googlebot-Image'] }, { dialect: 'all', tokens: ['AdsBot-Google-Mobile'] }] })`)
	b.do(`page.addURLs('https://shop.example/catalog/garden/chairs/chair-100?color=3&size=large\n')`)
	b.settled()
	b.do(`const show = document.querySelector('#show'); show.value = 'odd'; show.dispatchEvent(new Event('change'))`)
	look("long names")

	// The field for a crawler moves nothing when it gets the focus, and covers nothing.
	for _, width := range []int64{390, 1440, 1920} {
		b.ok(chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900)))
		b.settled()
		b.do(`document.activeElement.blur()`)
		const places = `JSON.stringify([...document.querySelectorAll('.results, .results *')].map((e) => { const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height] }))`
		before := eval[string](b, places)
		b.do(`document.querySelector('#newcrawler').focus()`)
		if eval[string](b, places) != before {
			t.Errorf("at %d pixels the field for a crawler moves something", width)
		}
		if covered := eval[[]string](b, `[...document.querySelectorAll('.results :is(th .name, th select, .above input, .above select, .above button, .adding *)')].filter((e) => {
			const r = e.getBoundingClientRect();
			const at = [r.x + r.width / 2, r.y + r.height / 2];
			const grid = document.querySelector('#grid').getBoundingClientRect();
			return e.checkVisibility() && (!e.closest('#grid') || at[0] < grid.right) && !e.contains(document.elementFromPoint(...at)) && !document.elementFromPoint(...at)?.contains(e);
		}).map((e) => e.id || e.innerText)`); len(covered) != 0 {
			t.Errorf("at %d pixels covered are %q", width, covered)
		}
	}
	b.do(`document.querySelector('#startover').click(); document.querySelector('#compare').click();
		const s = document.querySelector('#version'); s.value = '0'; s.dispatchEvent(new Event('change'))`)
	look("comparing")
	for _, tab := range []string{"lint", "more"} {
		b.do(`document.querySelector('#tab-` + tab + `').click()`)
		look(tab)
	}
	b.do(`document.querySelector('#help').style.width = '20px'; document.querySelector('.topics button').style.width = '20px'`)
	if cut := eval[[]string](b, cutLabels); len(cut) != 2 {
		t.Errorf("of two labels that are cut the script finds %q", cut)
	}
}
