package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	texttemplate "text/template"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

var update = flag.Bool("update", false, "rewrite docs/api.md and docs.html")

// An example is a request in docs/api.md, sent to a new service.
type example struct {
	op, title string
	path      string
	kind      string
	body      string
	// later is how long after the robots.txt of shop.example was read the examples continue.
	later time.Duration
}

const shopExample = "# shop\nUser-agent: *\nDisallow: /basket\nCrawl-delay: 10\n"

// examples are those of docs/api.md, in the order in which they are sent. PERMIT is the id of
// the last permit.
var examples = []example{
	{"check", "A disallowed URL", "/v1/check?url=https://shop.example/basket&agent=MyBot", "", "", 0},
	{"check", "Only the status, for shell scripts", "/v1/check?url=https://shop.example/&agent=MyBot&as=status", "", "", 0},
	{"check", "The same for a disallowed URL", "/v1/check?url=https://shop.example/basket&agent=MyBot&as=status", "", "", 0},
	{"check", "An unreachable site: treat the URL as blocked, and retry later", "/v1/check?url=https://down.example/&agent=MyBot", "", "", 0},
	{"check", "Not a URL", "/v1/check?url=nonsense&agent=MyBot", "", "", 0},
	{"check", "A misspelled parameter", "/v1/check?url=https://shop.example/&agnet=MyBot", "", "", 0},
	{"check-many", "Several questions as one object", "/v1/check", typeJSON, `{"defaults":{"agent":"MyBot"},"questions":[{"id":1,"url":"https://shop.example/basket"},{"id":2,"url":"nonsense"},{"id":3,"url":"/a","robots":"User-agent: *\nDisallow: /a\n"}]}`, 0},
	{"check-many", "As JSON Lines", "/v1/check", typeLines, `{"id":1,"url":"https://shop.example/a","agent":"MyBot"}` + "\n" + `{"id":2,"url":"https://shop.example/basket","agent":["Googlebot-Image","Googlebot"],"dialect":"google"}` + "\n", 0},
	{"permit", "Not yet: robots.txt was read less than one interval ago", "/v1/permits", typeJSON, `{"url":"https://shop.example/a","agent":"MyBot"}`, 2 * time.Second},
	{"permit", "A permit for one request", "/v1/permits", typeJSON, `{"url":"https://shop.example/a","agent":"MyBot","addr":"192.0.2.7","within":"5s"}`, time.Hour},
	{"permit", "Not yet: the first request is still in progress", "/v1/permits", typeJSON, `{"url":"https://shop.example/b","agent":"MyBot"}`, 0},
	{"permit-next", "A site that is ready, one with a request in progress, and a page that is disallowed", "/v1/permits/next", typeJSON, `{"urls":["https://blog.example/a","https://shop.example/c","https://shop.example/basket"],"agent":"MyBot","most":10}`, 0},
	{"permit-done", "The request is over", "/v1/permits/PERMIT/done", typeJSON, `{"status":200}`, 0},
	{"permit-done", "An unknown permit", "/v1/permits/p_x/done", typeJSON, `{"status":200}`, 0},
	{"permit", "A disallowed URL, with the release of an earlier permit", "/v1/permits", typeJSON, `{"url":"https://shop.example/basket","agent":"MyBot","done":[{"id":"PERMIT","status":200}]}`, 0},
	{"robots", "The record", "/v1/robots?url=https://shop.example/", "", "", 0},
	{"robots", "The file", "/v1/robots?url=https://shop.example/&body=1", "", "", 0},
	{"robots-refresh", "Another fetch", "/v1/robots/refresh", typeJSON, `{"url":"https://shop.example/"}`, 0},
	{"schedule", "The next 24 hours", "/v1/schedule?url=https://rates.example/&agent=SeznamBot&dialect=seznam", "", "", 0},
	{"explain", "Every step", "/v1/explain", typeJSON, `{"robots":"User-agent: *\nDisallow: /basket\n","url":"/basket/1","agent":"MyBot"}`, 0},
	{"lint", "A misspelled field", "/v1/lint", typeJSON, `{"robots":"User-agent: *\nDisallow: /a\nDisalow: /b\n"}`, 0},
	{"diff", "One crawler", "/v1/diff", typeJSON, `{"old":"User-agent: *\nDisallow: /basket\n","new":"User-agent: *\nDisallow: /\n","agent":["MyBot"]}`, 0},
	{"version", "", "/version", "", "", 0},
}

// sites responds for the sites of the examples: nothing leaves this machine.
type sites struct{}

func (sites) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"text/plain"}}, Request: r}
	body := shopExample
	switch r.URL.Hostname() {
	case "down.example":
		resp.StatusCode, body = 503, ""
	case "rates.example":
		body = "User-agent: *\nRequest-rate: 1/10s\nRequest-rate: 1/2s 2000-0600\n"
	}
	resp.ContentLength = int64(len(body))
	resp.Body = io.NopCloser(strings.NewReader(body))
	return resp, nil
}

// Values that differ from run to run, with their replacements on the page.
var variable = []struct {
	is *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`"start":"[^"]*","expires":"[^"]*"`), `"start":"2026-11-21T09:00:00Z","expires":"2026-11-21T09:02:00Z"`},
	{regexp.MustCompile(`"(started|fetched|failing_since)":"[^"]*"`), `"$1":"2026-11-21T09:00:00Z"`},
	{regexp.MustCompile(`"expires":"2026-11-21T09:02:00Z"`), `"EXPIRES"`},
	{regexp.MustCompile(`"expires":"[^"]*"`), `"expires":"2026-11-22T09:00:00Z"`},
	{regexp.MustCompile(`"EXPIRES"`), `"expires":"2026-11-21T09:02:00Z"`},
	{regexp.MustCompile(`"next_try":"[^"]*"`), `"next_try":"2026-11-21T09:01:00Z"`},
	{regexp.MustCompile(`"not_before":"[^"]*"`), `"not_before":"2026-11-21T09:00:12Z"`},
	{regexp.MustCompile(`p_[\w-]{20,}`), `p_3cF0…`},
	{regexp.MustCompile(`"seconds":[\d.e-]+`), `"seconds":0.012`},
	{regexp.MustCompile(`since 20[\d-]+( |T)[\d:]+( UTC|Z)?`), `since 2026-11-21T09:00:00Z`},
	{regexp.MustCompile(`max-age=\d+`), `max-age=86400`},
	{regexp.MustCompile(`(?s)max-age=\d+(.*"next_try")`), `max-age=60$1`},
	{regexp.MustCompile(`Retry-After: \d+`), `Retry-After: 60`},
}

// TestAPIPage sends the examples of docs/api.md, validates requests and responses by the OpenAPI
// document, and compares the page with the responses.
func TestAPIPage(t *testing.T) {
	clock := newTestClock()
	clock.set(time.Now())
	p := Parts{Version: "v1.2.3", Now: clock.now}
	p.Fetch.Transport = sites{}
	b := newBench(t, p)
	shown := map[string]string{} // the examples of an operation
	permit := ""
	for _, e := range examples {
		path, body := strings.ReplaceAll(e.path, "PERMIT", permit), strings.ReplaceAll(e.body, "PERMIT", permit)
		method := http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
		req, _ := http.NewRequest(method, b.URL+path, nil)
		route, _, err := b.judge.router.FindRoute(req)
		if err != nil || route.Operation.OperationID != e.op {
			t.Fatalf("%s: %v", e.title, err)
		}
		if e.later > 0 {
			clock.set(b.fetched("https://shop.example").Add(e.later))
		}
		if e.op == "schedule" { // whose times are shown
			clock.set(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
		}
		text := method + " " + path + "\n"
		if body != "" {
			if err := b.judge.body(route, "requestBody", e.kind, body); err != nil {
				t.Errorf("%s: the body is not what the document says: %v", e.title, err)
			}
			if e.kind != typeJSON {
				text += "Content-Type: " + e.kind + "\n"
			}
			text += "\n" + wrapped(steady(body))
		}
		r := b.ask(method, path, e.kind, body)
		var got permitReply
		if json.Unmarshal([]byte(r.body), &got); got.Permit != nil {
			permit = got.Permit.ID
		}
		text += fmt.Sprintf("\n%d %s\n", r.status, http.StatusText(r.status))
		for _, name := range []string{"Content-Type", "Cache-Control", "Retry-After"} {
			if v := r.header.Get(name); v != "" && v != typeJSON && v != "no-store" {
				text += name + ": " + v + "\n"
			}
		}
		if r.body != "" {
			text += "\n" + wrapped(shortened(steady(r.body), e.op))
		}
		if e.title != "" {
			shown[e.op] += e.title + ":\n\n"
		}
		shown[e.op] += "```http\n" + steady(text) + "```\n\n"
	}
	var common []member
	for _, name := range []string{"agent", "dialect", "wait"} {
		p := b.judge.doc.Components.Parameters[name].Value
		common = append(common, memberOf(name, p.Schema, p.Description, false))
	}
	common = append(common, member{Name: "agent", Text: b.judge.doc.Components.Schemas["Agents"].Value.Description})
	isCommon := func(m member) bool {
		return slices.ContainsFunc(common, func(c member) bool { return c.Name == m.Name && c.Text == m.Text })
	}
	described["commonParameters"] = func() []member { return common }
	described["special"] = func(list []member) []member { return slices.DeleteFunc(slices.Clone(list), isCommon) }
	described["common"] = func(list []member) string {
		var names []string
		for _, m := range list {
			if isCommon(m) {
				names = append(names, "`"+m.Name+"`")
			}
		}
		return strings.Join(names, ", ")
	}
	described["examples"] = func(op *openapi3.Operation) string { return strings.TrimSpace(shown[op.OperationID]) }
	var page, html bytes.Buffer
	err := texttemplate.Must(texttemplate.New("api.md.tmpl").Funcs(described).ParseFiles("testdata/api.md.tmpl")).Execute(&page, b.judge.doc)
	err2 := template.Must(template.New("docs.html.tmpl").Funcs(described).ParseFiles("testdata/docs.html.tmpl")).Execute(&html, b.judge.doc)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	golden(t, filepath.Join("..", "..", "..", "docs", "api.md"), page.Bytes())
	golden(t, "docs.html", html.Bytes())
}

// golden compares a generated file with its expected content, or rewrites it.
func golden(t *testing.T, name string, want []byte) {
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is out of date (%v); make docs rewrites it", name, err)
	}
}

// steady replaces values that differ from run to run.
func steady(text string) string {
	for _, v := range variable {
		text = v.is.ReplaceAllString(text, v.by)
	}
	return text
}

// repeated are parts of responses that an earlier example of docs/api.md shows, with their replacements.
var repeated = []struct {
	ops, is *regexp.Regexp
	by      string
}{
	{regexp.MustCompile("^check-many$"), regexp.MustCompile(`("id":\d+,"allowed":\w+,"verdict":"\w+","reason":"[\w-]+",).*?"binds":"yes"}`), "$1…}"},
	{regexp.MustCompile("^permit"), regexp.MustCompile(`("verdict":{"allowed":\w+,"verdict":"\w+","reason":"[\w-]+",).*?"binds":"yes"}`), "$1…}"},
	{regexp.MustCompile("^robots-refresh$"), regexp.MustCompile(`("outcome":"\w+",).*}`), "$1…}"},
}

// shortened omits the repeated parts of a response.
func shortened(body, op string) string {
	for _, r := range repeated {
		if r.ops.MatchString(op) {
			body = r.is.ReplaceAllString(body, r.by)
		}
	}
	return body
}

// wrapped breaks long lines of JSON between members.
func wrapped(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		width := 0
		for _, part := range strings.SplitAfter(line, ",") {
			if width > 0 && width+len(part) > 120 && strings.HasPrefix(part, `"`) {
				out.WriteString("\n ")
				width = 1
			}
			out.WriteString(part)
			width += len(part)
		}
		out.WriteString("\n")
	}
	return out.String()
}

// filled breaks text into lines.
func filled(text string) string {
	out, width := "", 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case width == 0:
		case width+1+len(word) > 125:
			out, width = out+"\n", 0
		default:
			out, width = out+" ", width+1
		}
		out, width = out+word, width+len(word)
	}
	return out
}

// TestDocsPage: the page has every operation, and every type of a problem, whose URL leads there. It
// loads nothing from other sites.
func TestDocsPage(t *testing.T) {
	b := newBench(t, Parts{})
	r := b.get("/docs")
	if r.status != 200 || !strings.Contains(r.header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Fatalf("%d %v", r.status, r.header)
	}
	for path := range b.judge.doc.Paths.Map() {
		if !strings.Contains(r.body, path) {
			t.Errorf("the page does not name %s", path)
		}
	}
	for word := range problems {
		resp, err := http.Get(b.URL + "/problems/" + string(word))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if at := resp.Request.URL; resp.StatusCode != 200 || at.Path != "/docs" || at.Fragment != string(word) || !strings.Contains(r.body, `id="`+string(word)+`"`) {
			t.Errorf("%s leads to %v, %d", word, at, resp.StatusCode)
		}
	}
	if found := regexp.MustCompile(`(?i)<script|<link|<img|src=|https?://[^"<]*\.(js|css)|ZgotmplZ`).FindString(r.body); found != "" {
		t.Errorf("the page has %q", found)
	}
}

// TestCompressed: the large documents are compressed for clients that accept it.
func TestCompressed(t *testing.T) {
	b := newBench(t, Parts{})
	for _, path := range []string{"/docs", "/openapi.json"} {
		plain := b.get(path)
		for accept, want := range map[string]string{"br, gzip;q=0.5": "gzip", "gzip;q=0": "", "identity": ""} {
			req, _ := http.NewRequest(http.MethodGet, b.URL+path, nil)
			req.Header.Set("Accept-Encoding", accept)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body := []byte(plain.body)
			if want != "" {
				body = Gzip(body)
			}
			text, err := io.ReadAll(resp.Body)
			if got := resp.Header.Get("Content-Encoding"); err != nil || got != want || resp.Header.Get("Vary") != "Accept-Encoding" || !bytes.Equal(text, body) {
				t.Errorf("%s with %q: encoding %q, %d bytes, %v", path, accept, got, len(text), err)
			}
		}
	}
}
