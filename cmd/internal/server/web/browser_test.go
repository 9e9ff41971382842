package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/robotskit/robots/internal/quote"
)

// One Chromium runs for all tests and starts with the first.
var chromium struct {
	once    sync.Once
	ctx     context.Context // of chromedp, nil without Chromium
	missing string          // why
	engine  string          // the folder of robots.wasm
	stop    func()
}

func TestMain(m *testing.M) {
	status := m.Run()
	if chromium.stop != nil {
		chromium.stop()
	}
	os.Exit(status)
}

// start starts Debian's Chromium, and builds the engine for the page.
func start() {
	c := &chromium
	path, err := exec.LookPath("chromium")
	if err != nil {
		c.missing = "chromium is not installed, so the page is not tested"
		return
	}
	temp, err := os.MkdirTemp("", "robots-page-")
	if err != nil {
		c.missing = err.Error()
		return
	}
	c.engine = filepath.Join(temp, "engine")
	err = os.Mkdir(c.engine, 0o755)
	if out, failed := exec.Command("go", "run", "../pack", "-gzip", "-o", c.engine).CombinedOutput(); err != nil || failed != nil {
		panic(fmt.Sprintf("cannot build the engine: %v, %v: %s", err, failed, out))
	}
	ctx, stop, err := launch(path, filepath.Join(temp, "profile"))
	c.stop = func() {
		stop()
		_ = os.RemoveAll(temp)
	}
	if err != nil {
		c.missing = "chromium does not start: " + err.Error()
		return
	}
	c.ctx = ctx
}

// launch starts Chromium with a folder for its profile.
func launch(path, profile string) (tab context.Context, stop func(), err error) {
	ctx, cancel := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-renderer-backgrounding", true), chromedp.Flag("disable-background-timer-throttling", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("lang", "en-US"),
		chromedp.Flag("js-flags", "--liftoff-only"), // the engine is compiled once, and not made faster beside the tests
		chromedp.UserDataDir(profile))
	tab, _ = chromedp.NewContext(ctx)
	return tab, func() {
		_ = chromedp.Cancel(tab)
		cancel()
	}, chromedp.Do(tab)
}

// A tab is the page in a browser, with the problems in it.
type tab struct {
	testing.TB
	ctx  context.Context
	site *httptest.Server

	mu       sync.Mutex
	wrong    []string // console errors, violations of the policy, requests to others
	expected []string // words of what may be wrong
}

// serve starts a server of the page. around wraps its handler if it is not nil.
func serve(t testing.TB, o Options, around func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes too long for a short test")
	}
	chromium.once.Do(start)
	if chromium.ctx == nil {
		t.Skip(chromium.missing)
	}
	if o.Packed == nil {
		o.Packed = os.DirFS(chromium.engine)
	}
	h := Handler(o)
	if around != nil {
		h = around(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// deadline returns when a test that still waits fails, a little before go test -timeout ends all
// of them. There is no other limit, because the machine can be busy or slow.
func deadline(t testing.TB) time.Time {
	tt, ok := t.(*testing.T)
	if ok {
		if end, ok := tt.Deadline(); ok {
			return end.Add(-time.Until(end) / 20)
		}
	}
	return time.Now().Add(24 * time.Hour)
}

// blank opens an empty tab in a new context, without shared cookies, caches and service workers.
// Problems of the site's page in it fail the test.
func blank(t testing.TB, site *httptest.Server) *tab {
	t.Helper()
	return newTab(t, site, chromium.ctx, chromedp.WithNewBrowserContext())
}

// newTab opens an empty tab in a browser.
func newTab(t testing.TB, site *httptest.Server, browser context.Context, options ...chromedp.ContextOption) *tab {
	t.Helper()
	b := &tab{TB: t, site: site}
	ctx, cancel := context.WithDeadline(browser, deadline(t))
	t.Cleanup(cancel)
	ctx, end := chromedp.NewContext(ctx, append(options, chromedp.WithListener(b.heard))...)
	t.Cleanup(end)
	t.Cleanup(b.judge)
	b.ctx = ctx
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	b.ok(err)
	_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	b.ok(err)
	b.ok(chromedp.Do(ctx, chromedp.EmulateViewport(1280, 860)))
	return b
}

// judge fails the test for unexpected problems.
func (b *tab) judge() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, wrong := range b.wrong {
		if !slices.ContainsFunc(b.expected, func(w string) bool { return strings.Contains(wrong, w) }) {
			b.Error(wrong)
		}
	}
}

// load opens the page with a fragment in its URL.
func (b *tab) load(fragment string) {
	b.Helper()
	b.ok(chromedp.Do(b.ctx, chromedp.Navigate(b.site.URL+"/"+fragment)))
	b.wait(`document.querySelector('[role=grid]')`)
	b.answered()
}

// open opens the site in a new tab.
func open(t testing.TB, site *httptest.Server, fragment string) *tab {
	t.Helper()
	b := blank(t, site)
	b.load(fragment)
	return b
}

// usual opens the page with the first example.
func usual(t testing.TB) *tab {
	t.Helper()
	return open(t, serve(t, Options{}, nil), "")
}

// own makes the crawlers and URLs of the example the person's own, so that they stay when the text is replaced.
func (b *tab) own() {
	b.Helper()
	b.do(`page.own()`)
}

func (b *tab) heard(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.wrong = append(b.wrong, "the browser says: "+e.Entry.Text)
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			b.wrong = append(b.wrong, fmt.Sprintf("console: %v", e.Args[0]))
		}
	case *runtime.EventExceptionThrown:
		b.wrong = append(b.wrong, fmt.Sprintf("exception: %s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *network.EventRequestWillBeSent:
		url := e.Request.URL
		if !strings.HasPrefix(url, b.site.URL) && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "blob:") {
			b.wrong = append(b.wrong, "a request to another host: "+url)
		}
	}
}

// expect waits for a problem with each of the words, because the browser reports it late, and
// logs it so that changes are seen. Problems with one of the words do not fail the test.
func (b *tab) expect(words ...string) {
	b.Helper()
	b.mu.Lock()
	b.expected = append(b.expected, words...)
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for _, w := range words {
		for said := false; !said; {
			select {
			case <-ctx.Done():
				b.Fatalf("nothing was wrong with %q", w)
			case <-time.After(10 * time.Millisecond):
			}
			b.mu.Lock()
			for _, wrong := range b.wrong {
				if strings.Contains(wrong, w) {
					said = true
					b.Log("as expected,", wrong)
				}
			}
			b.mu.Unlock()
		}
	}
}

func (b *tab) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// patience is how long something on the page may take. It is long, because the machine can be busy or slow, and much shorter than
// the timeout of go test, so that a click that is lost fails its test and holds up no others.
const patience = 4 * time.Minute

// eval returns the result of a script, or of its promise.
func eval[T any](b *tab, script string) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience+time.Minute)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%.300s: %v", script, err)
	}
	return v
}

func (b *tab) do(script string) {
	b.Helper()
	eval[bool](b, "(async () => {"+script+"; return true })()")
}

// wait waits until an expression is true by polling every 10 ms: the policy of the page forbids
// functions from strings, but not evaluation by the protocol. It ends before the context of the
// tab, so that the failure shows the page.
func (b *tab) wait(condition string) {
	b.Helper()
	end, _ := b.ctx.Deadline()
	limit := min(patience, time.Until(end)*9/10)
	ok := eval[bool](b, `new Promise((done) => {
		const end = Date.now() + `+strconv.FormatInt(limit.Milliseconds(), 10)+`;
		const ask = () => { let v = false; try { v = Boolean(`+condition+`) } catch {} ; v || Date.now() > end ? done(v) : setTimeout(ask, 10) };
		ask();
	})`)
	if !ok {
		b.Fatalf("after %s it is still not true: %s; %s has the focus, and the page says %q", limit.Round(time.Second), condition,
			eval[string](b, `document.activeElement.cloneNode().outerHTML`), eval[string](b, `document.body.innerText.slice(0, 3000)`))
	}
}

// answered waits only for the verdicts: proofs for a large file take seconds.
func (b *tab) answered() {
	b.Helper()
	b.wait(`page.state.answered === page.state.version`)
}

// settled waits until everything on the page is up to date.
func (b *tab) settled() {
	b.Helper()
	b.wait(`page.state.answered === page.state.version && !page.busy()`)
}

// keys presses the keys of some text, with modifiers.
func (b *tab) keys(keys string, modifiers ...chromedp.Modifier) {
	b.Helper()
	b.ok(chromedp.Do(b.ctx, chromedp.KeyEvent(keys, chromedp.KeyModifiers(modifiers...))))
}

// click clicks the middle of an element, once nothing on the page moves any more.
func (b *tab) click(selector string) {
	b.Helper()
	b.settled()
	at := b.middle(selector)
	b.ok(chromedp.Do(b.ctx, chromedp.MouseClickXY(at[0], at[1])))
}

// middle returns the middle of an element, which comes into view.
func (b *tab) middle(selector string) []float64 {
	b.Helper()
	return eval[[]float64](b, `(() => { const e = document.querySelector(`+quoted(selector)+`); e.scrollIntoView({ block: 'nearest' }); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()`)
}

// media sets the environment of the page: a color scheme such as dark, and print.
func (b *tab) media(scheme, medium string) {
	b.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	b.ok(err)
}

// paste pastes text into the focused element, as a user does: by an event.
func (b *tab) paste(text string) {
	b.Helper()
	b.do(`const data = new DataTransfer(); data.setData('text/plain', ` + quoted(text) + `);
		document.querySelector('[aria-label="robots.txt text"]').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))`)
}

func quoted(s string) string { return string(quote.Append(nil, s)) }

// cell returns the text of a cell of the grid.
func (b *tab) cell(row, col int) string {
	b.Helper()
	return eval[string](b, fmt.Sprintf(`document.querySelector('td[data-row="%d"][data-col="%d"]').getAttribute('aria-label')`, row, col))
}

// text returns the text of an element.
func (b *tab) text(selector string) string {
	b.Helper()
	return eval[string](b, `document.querySelector(`+quoted(selector)+`).innerText`)
}
