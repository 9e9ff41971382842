package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/robotskit/robots/cmd/internal/server"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/pace"
)

// payloads are texts that become an element, an attribute, a script or the end of one where a page
// makes markup of them.
var payloads = []string{
	`<script>hit()</script>`, `"><img src=x onerror=hit()>`, `'><svg onload=hit()>`, `javascript:hit()//`, `</textarea><img src=x onerror=hit()>`,
	`</script><script>hit()</script>`, `</style><iframe srcdoc="<script>parent.hit()</script>">`, `--><img src=x onerror=hit()>`, `]]><img src=x onerror=hit()>`,
	`<a href="javascript:hit()">x</a>`, "\u2028hit()\u2029<b>x</b>", "\u202e<i>x</i>\u2066", `&lt;img src=x onerror=hit()&gt;`, `{{constructor.constructor('hit()')()}}`,
	`<base href=//evil.example>`, `<meta http-equiv=refresh content="0;url=javascript:hit()">`, `<form action=javascript:hit()><input name=attributes>`, "\x00<u>x</u>\x1b[2J", `|<s>x</s>|`,
	"::error::<q>x</q>", `<style>*{display:none}</style>`, `<link rel=stylesheet href=//evil.example>`, `__proto__`, `<template><slot onclick=hit()>`,
}

// TestMarkup: whatever a link, a robots.txt, a site with its headers and redirects, crawlers, URLs and
// pasted headers contain is shown as text: no script runs, the policy of the page has nothing to refuse,
// and no element or attribute is made of it.
func TestMarkup(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	all := strings.Join(payloads, " ")
	plain := strings.NewReplacer("\x00", "", "\x1b", "", "\u2028", "", "\u2029", "").Replace(all)
	file := func(p string) string {
		var b strings.Builder
		b.WriteString("User-agent: *\nDisallow: /" + p + "\n")
		for _, field := range []string{"User-agent", "Allow", "Disallow", "Sitemap", "Crawl-delay", "Request-rate", "Visit-time", "Clean-param", "Host", "Content-Signal", "Content-Usage", "License", "Disalow", p} {
			fmt.Fprintf(&b, "%s: %s\n%[1]s: /%[2]s # %[2]s\n", field, p)
		}
		return b.String() + p + "\nUser-agent: Googlebot\nDisallow: /" + p + "\nContent-Usage: /" + p + " train-ai=n\n"
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Server", "Via", "Etag", "X-Robots-Tag", "Retry-After", "Cache-Control", "Last-Modified"} {
			w.Header().Set(name, plain)
		}
		switch r.URL.Path {
		case "/robots.txt":
			w.Header().Set("Location", "/second?"+plain)
			w.WriteHeader(http.StatusFound)
		default:
			w.Header().Set("Content-Type", "text/plain; charset="+plain)
			_, _ = io.WriteString(w, file(all))
		}
	}))
	t.Cleanup(site.Close)
	limiter, err := pace.NewLocal(pace.Options{AddressInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	// No name is looked up: some payloads are names of hosts.
	noNames := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.ErrUnsupported }}
	service, err := server.New(server.Parts{Limiter: limiter, Fetch: fetch.Options{Guard: fetch.Guard{AllowLoopback: true}, Resolver: noNames}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	b := blank(t, serve(t, Options{Sites: []Site{{Name: all, URL: site.URL + "/" + plain, See: all}}}, func(h http.Handler) http.Handler {
		mux := http.NewServeMux()
		mux.Handle("/v1/", service.Handler())
		mux.Handle("/", h)
		return mux
	}))
	b.expected = []string{"a status of 422", "a status of 503"} // of sites that are typed
	b.load("?" + "x=%3Cscript%3Ehit()%3C/script%3E")
	b.do(`globalThis.hits = []; globalThis.hit = () => hits.push('a script ran');
		document.addEventListener('securitypolicyviolation', (e) => hits.push('the policy refused ' + e.violatedDirective + ' ' + e.blockedURI));
		const judge = (e) => {
			const named = e.closest('head') || e.className === 'cm-widgetBuffer' && !e.src; // the page's and the editor's
			if (['script', 'img', 'iframe', 'base', 'meta', 'link', 'style', 'i', 'u', 's', 'q', 'slot', 'template'].includes(e.localName) && !named) hits.push('an element ' + e.outerHTML.slice(0, 200));
			for (const a of e.attributes) {
				if (a.name.startsWith('on') || a.name === 'srcdoc' || ['href', 'src', 'action', 'formaction'].includes(a.name) && /^\s*(javascript|data|vbscript):/i.test(a.value) && e.localName !== 'link') hits.push('an attribute ' + a.name + ' of ' + e.outerHTML.slice(0, 200));
			}
		};
		const look = () => document.querySelectorAll('*').forEach(judge);
		new MutationObserver((records) => {
			for (const { target, addedNodes } of records) {
				for (const e of [target, ...addedNodes]) if (e.localName) [e, ...e === target ? [] : e.querySelectorAll('*')].forEach(judge);
			}
		}).observe(document, { subtree: true, childList: true, attributes: true }); globalThis.look = look`)
	visit := func(what string) {
		b.settled()
		for _, tab := range []string{"why", "changes", "lint", "more"} {
			b.do(`document.querySelector('#tab-` + tab + `').click()`)
			b.settled()
		}
		for _, topic := range []string{"ai", "rates", "sitemaps", "page"} {
			b.do(`document.querySelector('[data-topic=` + topic + `]').click()`)
			if topic == "page" {
				b.do(`const e = document.querySelector('#headers'); e.value = ` + quoted("X-Robots-Tag: "+all+"\nX-Robots-Tag: noindex, "+all+"\n<meta name='robots' content='"+all+"'>\n"+all) + `; e.dispatchEvent(new Event('input', { bubbles: true }))`)
			}
			b.settled()
		}
		b.do(`document.querySelectorAll('td.cell').forEach((e) => { e.focus(); e.click(); e.dispatchEvent(new MouseEvent('mouseover', { bubbles: true })) }); look()`)
		b.settled()
		if hits := eval[[]string](b, `(look(), hits.splice(0))`); len(hits) != 0 {
			t.Errorf("%s: %s", what, strings.Join(hits[:min(len(hits), 5)], "\n"))
		}
	}
	list := campaign.Size([]string{all}, []string{all}, append(payloads, all))
	for _, p := range list {
		text, _ := json.Marshal(map[string]string{"file": file(p), "before": "User-agent: " + p + "\nDisallow: /b" + p + "\nSitemap: " + p + "\n"})
		oneLine := strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(p)
		urls, _ := json.Marshal([]string{"/" + oneLine, oneLine, "http://" + oneLine + "/", "javascript:hit()//" + oneLine})
		tokens, _ := json.Marshal([]string{oneLine, "x" + oneLine})
		b.do(`const s = ` + string(text) + `, bytes = (t) => new TextEncoder().encode(t), urls = ` + string(urls) + `, tokens = ` + string(tokens) + `;
			location.hash = await page.link.write({ file: bytes(s.file), before: bytes(s.before), urls, crawlers: [{ dialect: 'rfc9309', tokens }, { dialect: 'google', tokens: ['*'] }, { dialect: 'all', tokens: ['Googlebot'] }] });`)
		b.wait(`page.state.crawlers.length === 3 && page.state.urls[0] === ` + string(urls[:strings.Index(string(urls), `","`)+1][1:]))
		visit("a link")
		b.do(`const e = document.querySelector('#newurl'); e.value = ` + quoted(p+"\n<urlset><url><loc>javascript:hit()</loc></url></urlset>") + `; document.querySelector('#adding').requestSubmit()`)
		b.do(`const e = document.querySelector('#newcrawler'); e.value = ` + quoted(oneLine) + `; document.querySelector('#addcrawler').requestSubmit()`)
		visit("URLs and a crawler that are typed")
		b.do(`document.querySelector('#site').value = ` + quoted(oneLine) + `; document.querySelector('#fetchgo').click()`)
		b.wait(`!document.querySelector('#message').hidden`)
		visit("a site that is typed")
	}
	b.do(`document.querySelector('#record').hidden = true; document.querySelector('#site').value = document.querySelector('#sites option').value; document.querySelector('#fetchgo').click()`)
	b.wait(`!document.querySelector('#record').hidden`)
	b.do(`document.querySelectorAll('details').forEach((d) => d.open = true)`)
	visit("a hostile site")
	if shown := b.text("#record"); !strings.Contains(shown, "onerror") {
		t.Errorf("the redirect is not shown: %s", shown)
	}
	if hits := eval[[]string](b, `(document.querySelector('main').append(document.createElement('q')), look(), hits)`); len(hits) == 0 {
		t.Error("an element goes unnoticed")
	}
	for _, path := range []string{"/docs#" + "%22%3E%3Cimg%20src=x%20onerror=hit()%3E", "/problems/%3Cscript%3E", "/%3Cscript%3Ehit()%3C/script%3E", "/v1/check?url=%3Cscript%3Ehit()%3C/script%3E&%3Cscript%3E=1", "/page/%3Cimg%20src=x%20onerror=hit()%3E"} {
		resp := httptest.NewRecorder()
		service.Handler().ServeHTTP(resp, httptest.NewRequest(http.MethodGet, path, nil))
		if kind := resp.Header().Get("Content-Type"); strings.Contains(resp.Body.String(), "<script>hit") && strings.HasPrefix(kind, "text/html") {
			t.Errorf("%s: %s has the text of its request: %s", path, kind, resp.Body)
		}
	}
}
