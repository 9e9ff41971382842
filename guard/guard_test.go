package guard

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/robotskit/robots/crawlers"
)

// newGuard returns a guard of a robots.txt for all hosts.
func newGuard(t testing.TB, robotsTxt string, o Options) *Guard {
	t.Helper()
	site := NewSite([]byte(robotsTxt))
	if o.Site == nil {
		o.Site = func(string) *Site { return site }
	}
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

const shop = `User-agent: *
Disallow: /basket/
Disallow: /a%2Fb
Allow: /basket/help

User-agent: GPTBot
User-agent: ChatGPT-User
Disallow: /
`

func TestDecide(t *testing.T) {
	g := newGuard(t, shop, Options{})
	const googlebot = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
	for _, test := range []struct {
		userAgent, target string
		action            Action
		reason            string
	}{
		{googlebot, "/", Pass, "Googlebot: allowed: no rule for * matches"},
		{googlebot, "/basket/1", Block, "Googlebot: disallowed by line 2: Disallow: /basket/"},
		{googlebot, "/basket/help", Pass, "Googlebot: allowed by line 4: Allow: /basket/help"},
		{googlebot, "//basket/", Block, "Googlebot: disallowed by line 2: Disallow: /basket/"},
		{googlebot, "/./basket/", Block, ""},
		{googlebot, "/x/../basket/", Block, ""},
		{googlebot, "/x/%2e%2E/%62asket/", Block, ""},
		{googlebot, "/basket%2F1", Block, ""},
		{"bingbot/2.0", "/basket/../", Block, ""}, // as it is
		{googlebot, "/x?/../basket/", Pass, ""},
		{googlebot, "/x%3F/../basket/", Block, ""},
		{googlebot, "/a%2Fb", Block, ""},
		{googlebot, "/a/b", Pass, ""},
		{googlebot, "/%zz//basket/", Pass, ""},
		{googlebot, "https://shop.example/basket/", Block, ""},
		{googlebot, "basket", Block, "Googlebot: the target is not valid"},
		{googlebot, "", Block, "Googlebot: the target is not valid"},
		{"GPTBot/1.0", "/page", Block, "GPTBot: disallowed by line 8: Disallow: /"},
		{"GPTBot/1.0", "/robots.txt?x=1", Pass, "GPTBot: robots.txt and /.well-known/ may always be fetched"},
		{"GPTBot/1.0", "/.well-known/security.txt", Pass, ""},
		{"GPTBot/1.0", "/.well-known/../page", Block, ""},
		{"GPTBot/1.0", "/page/../.well-known/x", Block, ""},
		{"GPTBot/1.0", "/robots.txt/../page", Block, ""},
		{"GPTBot/1.0", "*", Pass, ""},
		{"ChatGPT-User/1.0", "/page", Pass, "ChatGPT-User: robots.txt does not apply to it, as a person requests its pages"},
		{"AdsBot-Google", "/basket/1", Pass, ""},
		{"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "/basket/1", Pass, "the User-Agent names no known crawler"},
		{"", "/basket/1", Pass, ""},
		{strings.Repeat("x", readHeader-7) + " GPTBot/1.0", "/page", Block, ""},
		{strings.Repeat("x", readHeader) + " GPTBot/1.0", "/page", Pass, ""},
	} {
		d := g.Decide(Request{Host: "shop.example", UserAgent: test.userAgent, Target: test.target})
		if d.Action != test.action || d.Refused != (d.Action == Block) || test.reason != "" && d.Reason() != test.reason {
			t.Errorf("%s %s: %s, %s; want %s", test.userAgent, test.target, d.Action, d.Reason(), test.action)
		}
	}
}

// TestBinds: a crawler that obeys only its own group is not refused by that of '*'.
func TestBinds(t *testing.T) {
	for _, c := range crawlers.All() {
		byStar := newGuard(t, "User-agent: *\nDisallow: /", Options{}).Decide(Request{UserAgent: c.Name, Target: "/a"})
		if byStar.Crawler == nil || byStar.Crawler.Name != c.Name {
			continue // a name that is not sent
		}
		if want := c.Binds() == crawlers.BindsYes; byStar.Refused != want {
			t.Errorf("%s is refused by *: %v", c.Name, byStar.Refused)
		}
		named := newGuard(t, "User-agent: "+c.Name+"\nDisallow: /", Options{}).Decide(Request{UserAgent: c.Name, Target: "/a"})
		if named.Refused != (c.Binds() != crawlers.BindsNo) && c.GoogleReads == "" {
			t.Errorf("%s is refused by name: %v, %s", c.Name, named.Refused, named.Reason())
		}
	}
}

// lines returns the lines of a file of test data of package crawlers.
func lines(t testing.TB, name string) []string {
	t.Helper()
	text, err := os.ReadFile("../crawlers/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// TestBrowsers: no browser is refused, nor is a program for people that is named after a crawler.
func TestBrowsers(t *testing.T) {
	g := newGuard(t, "User-agent: *\nDisallow: /", Options{})
	const engine = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) "
	headers := append(lines(t, "browsers.txt"),
		engine+"Code/1.107.0 Chrome/142.0.7444.175 Electron/39.2.3 Safari/537.36",
		engine+"Cursor/2.1.36 Chrome/138.0.7204.251 Electron/37.7.0 Safari/537.36",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0")
	for _, header := range headers {
		if d := g.Decide(Request{UserAgent: header, Target: "/"}); d.Action != Pass {
			t.Errorf("%s is refused: %s", header, d.Reason())
		}
	}
	if len(headers) < 977 {
		t.Errorf("only %d headers", len(headers))
	}
}

// TestPublished: at least 276 of the 295 headers that operators publish name the right crawler.
func TestPublished(t *testing.T) {
	g := newGuard(t, "", Options{})
	right := 0
	for _, line := range lines(t, "user-agents.tsv") {
		name, header, _ := strings.Cut(line, "\t")
		if c := g.Decide(Request{UserAgent: header, Target: "/"}).Crawler; c != nil && c.Name == name {
			right++
		}
	}
	if right < 276 {
		t.Errorf("only %d headers name the right crawler", right)
	}
}

// TestAllocations: a decision on a remembered header and address allocates nothing.
func TestAllocations(t *testing.T) {
	g := newGuard(t, shop, Options{Verifier: &crawlers.Verifier{}})
	address := netip.MustParseAddr("192.0.2.1")
	for _, header := range []string{lines(t, "browsers.txt")[0], "Mozilla/5.0 (compatible; GPTBot/1.3; +https://openai.com/gptbot)"} {
		r := Request{Host: "shop.example:443", UserAgent: header, Address: address, Target: "/page?q=1"}
		g.Decide(r)
		if n := testing.AllocsPerRun(100, func() { g.Decide(r) }); n != 0 {
			t.Errorf("%s: %v allocations", header, n)
		}
	}
}

// TestHosts: each host has its own robots.txt; without one, everything passes.
func TestHosts(t *testing.T) {
	site := NewSite([]byte("User-agent: *\nDisallow: /"))
	g := newGuard(t, "", Options{Site: func(host string) *Site {
		return map[string]*Site{"a.example": site, "::1": site}[host]
	}})
	for host, refused := range map[string]bool{"a.example": true, "A.Example.:8080": true, "[::1]:80": true, "b.example": false, "": false} {
		if d := g.Decide(Request{Host: host, UserAgent: "GPTBot", Target: "/"}); d.Refused != refused {
			t.Errorf("%s: %s", host, d.Reason())
		}
	}
	if _, err := New(Options{}); err == nil {
		t.Error("a guard without sites")
	}
}

// get returns the response of a handler.
func get(h http.Handler, method, target, userAgent string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.RemoteAddr = "127.0.0.1:1234"
	r.Header.Set("User-Agent", userAgent)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestMiddleware(t *testing.T) {
	app := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	var reported []Decision
	report := func(d Decision) { reported = append(reported, d) }
	enforcing := newGuard(t, shop, Options{Enforce: true, Report: report}).Middleware(app)
	reporting := newGuard(t, shop, Options{Report: report}).Middleware(app)
	if w := get(enforcing, "GET", "/robots.txt?x", "GPTBot"); w.Code != 200 || w.Body.String() != shop {
		t.Errorf("robots.txt: %d %s", w.Code, w.Body)
	}
	if w := get(enforcing, "POST", "/robots.txt", "GPTBot"); w.Code != http.StatusTeapot {
		t.Errorf("POST: %d", w.Code)
	}
	if w := get(enforcing, "HEAD", "/page", "Firefox"); w.Code != http.StatusTeapot || len(reported) > 0 {
		t.Errorf("a browser: %d, %d reported", w.Code, len(reported))
	}
	w := get(enforcing, "GET", "/basket//1", "Googlebot", "X-Forwarded-For", "192.0.2.1, 198.51.100.7")
	const reason = "Googlebot: disallowed by line 2: Disallow: /basket/"
	if w.Code != 403 || w.Body.String() != reason+" (robots.txt)\n" || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get(ReasonHeader) != reason {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
	if w := get(reporting, "GET", "/basket/1", "Googlebot"); w.Code != http.StatusTeapot {
		t.Errorf("report only: %d", w.Code)
	}
	if len(reported) != 2 || reported[0].Request.Address != netip.MustParseAddr("198.51.100.7") || reported[1].Request.Address.IsValid() {
		t.Errorf("%v", reported)
	}
}

func TestForwardAuth(t *testing.T) {
	var problem error
	unusable := func(err error) { problem = err }
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	enforcing := newGuard(t, shop, Options{Enforce: true, TrustedProxies: proxies}).ForwardAuth(unusable)
	reporting := newGuard(t, shop, Options{}).ForwardAuth(unusable)
	const uri, forwardedURI = "X-Original-URI", "X-Forwarded-Uri"
	for _, test := range []struct {
		headers []string
		enforce int
		report  int
		problem string
	}{
		{[]string{uri, "/page"}, 204, 204, ""},
		{[]string{uri, "/basket/1"}, 403, 204, ""},
		{[]string{forwardedURI, "/basket/1"}, 403, 204, ""},
		{[]string{uri, "/page", forwardedURI, "/basket/1"}, 403, 204, ""},
		{[]string{forwardedURI, "/page", uri, "/basket/1"}, 403, 204, ""},
		{[]string{uri, "/page", uri, "/basket/1"}, 403, 204, ""},
		{nil, 500, 204, "the request has no header X-Original-URI or X-Forwarded-Uri"},
	} {
		problem = nil
		for status, h := range map[int]http.Handler{test.enforce: enforcing, test.report: reporting} {
			if w := get(h, "GET", "/", "Googlebot", test.headers...); w.Code != status && test.enforce != test.report {
				t.Errorf("%v: %d, want %d", test.headers, w.Code, status)
			}
			if problem == nil && test.problem != "" || problem != nil && problem.Error() != test.problem {
				t.Errorf("%v: %v", test.headers, problem)
			}
		}
	}
	for peer, status := range map[string]int{"10.1.2.3:1": 204, "[::ffff:10.1.2.3]:1": 204, "[::1]:1": 204, "192.0.2.1:1": 500, "@": 500} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = peer
		r.Header.Set(uri, "/page")
		w := httptest.NewRecorder()
		enforcing.ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("from %s: %d", peer, w.Code)
		}
	}
}
