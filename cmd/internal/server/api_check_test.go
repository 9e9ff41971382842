package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestBatchSites: the sites of a batch are fetched concurrently, each once, and a slow one
// delays no other. A site that does not respond in time is reported as pending, and its fetch
// continues.
func TestBatchSites(t *testing.T) {
	b, slow := newBench(t, Parts{}), newSite(t, shop)
	slow.hold = make(chan struct{})
	var sites []*site
	var questions []string
	for i := range 5 {
		sites = append(sites, newSite(t, shop))
		questions = append(questions,
			fmt.Sprintf(`{"id":"a%d","url":"%s/basket"}`, i, sites[i].URL),
			fmt.Sprintf(`{"id":"b%d","url":"%s/x"}`, i, slow.URL),
			fmt.Sprintf(`{"id":"c%d","url":"%s/list","agent":"Googlebot"}`, i, sites[i].URL))
	}
	r := b.post("/v1/check", `{"defaults":{"agent":["MyBot"],"wait":"3s"},"questions":[`+strings.Join(questions, ",")+`]}`)
	got := decoded[struct {
		Answers []struct {
			ID, Code string
			Allowed  bool
			Status   int
			Fetched  string
			Agent    any
		}
	}](b, r)
	if len(got.Answers) != len(questions) {
		t.Fatalf("%d answers to %d questions", len(got.Answers), len(questions))
	}
	for i, a := range got.Answers {
		want := fmt.Sprintf("%c%d", "abc"[i%3], i/3)
		switch {
		case a.ID != want:
			t.Errorf("answer %d is that of %s, want %s", i, a.ID, want)
		case i%3 == 1 && a.Code != "pending":
			t.Errorf("%+v", a)
		case i%3 != 1 && (a.Code != "" || a.Allowed || a.Status != 200 || a.Fetched == ""):
			t.Errorf("%+v", a)
		case i%3 == 0 && a.Agent != "MyBot":
			t.Errorf("the agent of the defaults is %v", a.Agent)
		}
	}
	close(slow.hold)
	lines := b.ask(http.MethodPost, "/v1/check?wait=30s", typeLines, strings.Join(questions, "\n"))
	if lines.status != 200 || strings.Contains(lines.body, "error") || strings.Count(lines.body, "\n") != len(questions) {
		t.Errorf("%d %s", lines.status, lines.body)
	}
	for _, s := range append(sites, slow) {
		if n := s.asked.Load(); n != 1 {
			t.Errorf("%s was asked %d times", s.URL, n)
		}
	}
}

// TestBatchRights: a line whose site may not be fetched gets an error, and the others are
// answered.
func TestBatchRights(t *testing.T) {
	b, s := newBench(t, Parts{}), newSite(t, shop)
	b.caller.Store(&Caller{Name: "a", Scopes: ScopeCheck})
	r := b.ask(http.MethodPost, "/v1/check", typeLines, `{"id":1,"url":"`+s.URL+`/"}`+"\r\n"+`{"id":2,"url":"/x","robots":""}`+"\n")
	lines := strings.Split(r.body, "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `"code":"forbidden"`) || !strings.HasPrefix(lines[1], `{"id":2,"allowed":true`) || s.asked.Load() != 0 {
		t.Errorf("%s", r.body)
	}
}

// TestBatchDefaults: defaults apply to members that questions omit.
func TestBatchDefaults(t *testing.T) {
	b := newBench(t, Parts{})
	r := b.post("/v1/check", `{"defaults":{"agent":"MyBot","dialect":"google","robots":"User-agent: MyBot\nDisallow: /a","max_bytes":null,"at":"2026-01-31T18:00:00Z"},
		"questions":[{"url":"/a"},
		{"id":[1,
		2],"url":"/a","agent":"Other","dialect":"bing"}]}`)
	want := `{"answers":[{"id":null,"allowed":false,"verdict":"disallow","reason":"rule","rule":{"line":2,"directive":"disallow","pattern":"/a"},"group":{"token":"mybot","lines":[1]},"crawl_delay":null,"request_rates":[],"sitemaps":[],"dialect":"google","url":"/a","agent":"MyBot","fallback":null,"binds":"yes"},
{"id":[1,2],"allowed":true,"verdict":"allow","reason":"no-group","rule":null,"group":null,"crawl_delay":null,"request_rates":[],"sitemaps":[],"dialect":"bing","url":"/a","agent":"Other","fallback":null,"binds":"yes"}]}
`
	if r.body != want {
		t.Errorf("got  %s\nwant %s", r.body, want)
	}
	if r := b.post("/v1/check", `{"defaults":{"user_initiated":true,"robots":"User-agent: *\nDisallow: /"},"questions":[{"url":"/a"}]}`); !strings.Contains(r.body, `"reason":"user-initiated"`) {
		t.Errorf("%s", r.body)
	}
}

// TestBusy: fetches whose clients have gone are limited.
func TestBusy(t *testing.T) {
	b, slow, other := newBench(t, Parts{Fetches: 1}), newSite(t, shop), newSite(t, shop)
	slow.hold = make(chan struct{})
	if r := b.get("/v1/check?wait=10ms&url=" + slow.URL); r.status != 503 || !strings.Contains(r.body, "/problems/pending") {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if r := b.get("/v1/check?url=" + other.URL); r.status != 503 || !strings.Contains(r.body, "/problems/busy") {
		t.Errorf("%d %s", r.status, r.body)
	}
	close(slow.hold)
	if r := b.get("/v1/check?wait=30s&url=" + slow.URL); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	for i := 0; ; i++ { // the visit is left when its record is stored
		if r := b.get("/v1/check?url=" + other.URL); r.status == 200 {
			break
		} else if i == 10_000 {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
}

// TestAutoDialect: dialect auto is that of each crawler, in every operation that takes a dialect.
func TestAutoDialect(t *testing.T) {
	const typo = `User-agent: *\nDissallow: /\n` // Google accepts it, RFC 9309 does not
	for _, b := range []*bench{newBench(t, Parts{}), newBench(t, Parts{Dialect: "auto"})} {
		dialect := `"dialect":"auto",`
		if b.parts.Dialect == "auto" {
			dialect = ""
		}
		for _, tt := range []struct{ path, body, google, other string }{
			{"/v1/check", `{"defaults":{` + dialect + `"agent":"%s"},"questions":[{"url":"/","robots":"` + typo + `"}]}`, `"disallow"`, `"allow"`},
			{"/v1/explain", `{` + dialect + `"agent":"%s","url":"/","robots":"` + typo + `"}`, `"disallow"`, `"allow"`},
			{"/v1/diff", `{` + dialect + `"agent":["%s"],"old":"` + typo + `","new":""}`, `"dialect":"google","result":"differs"`, `"dialect":"rfc9309","result":"same"`},
		} {
			for agent, want := range map[string]string{"Googlebot": tt.google, "MyBot": tt.other} {
				if r := b.post(tt.path, fmt.Sprintf(tt.body, agent)); r.status != 200 || !strings.Contains(r.body, want) {
					t.Errorf("%s for %s: %d %s", tt.path, agent, r.status, r.body)
				}
			}
		}
		site, query := newSite(t, strings.ReplaceAll(typo, `\n`, "\n")), "&dialect=auto"
		if dialect == "" {
			query = ""
		}
		if r := b.get("/v1/check?agent=Googlebot&url=" + site.URL + query); !strings.Contains(r.body, `"dialect":"google"`) || !strings.Contains(r.body, `"disallow"`) {
			t.Error(r.body)
		}
	}
}
