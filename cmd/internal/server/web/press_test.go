package web

import (
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// pressSlowly: what a press causes, such as a question or a new table, takes nothing from the rest of the press: neither the character
// of a key, nor the release of a button over what was pressed.
func (b *tab) pressSlowly() {
	b.Helper()
	b.do(`document.querySelector('#newcrawler').focus()`)
	b.keys("Bing")
	for _, event := range kb.Encode('\r') {
		b.settled()
		_, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, *event)
		b.ok(err)
	}
	b.wait(`document.querySelector('#asking').innerText.startsWith('“Bing” is not the name of a crawler.')`)

	b.do(`document.querySelector('input.url[data-row="0"]').focus()`)
	b.keys("/edited")
	b.settled()
	place := b.middle(`td[data-row="3"][data-col="1"]`)
	press := input.DispatchMouseEventParams{Type: chromedp.MousePressed, X: place[0], Y: place[1], Button: input.MouseButtonLeft, ClickCount: 1}
	_, err := chromedp.Call(b.ctx, input.DispatchMouseEvent, press)
	b.ok(err)
	b.wait(`page.isHeld()`) // the answer about the URL, whose field has lost the focus
	press.Type = chromedp.MouseReleased
	_, err = chromedp.Call(b.ctx, input.DispatchMouseEvent, press)
	b.ok(err)
	b.wait(`page.state.urls[0].includes('/edited') && document.querySelector('td[data-row="3"][data-col="1"]').ariaSelected === 'true'`)
}
