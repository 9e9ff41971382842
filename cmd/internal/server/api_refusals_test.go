package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestRefusals: an invalid request is a problem that names the invalid part.
func TestRefusals(t *testing.T) {
	b := newBench(t, Parts{})
	many := `{"questions":[` + strings.Join(slices.Repeat([]string{"{}"}, 1001), ",") + `]}`
	const site, check, deep = `"url":"http://a.example/"`, "GET /v1/check?url=https://a.example/", "the body has lists and objects nested deeper than 32"
	for _, tt := range []struct {
		request, kind, body string
		want                ProblemType
		detail              string
	}{
		{"GET /nowhere", "", "", NotFound, "unknown path; /docs lists the operations"},
		{"GET /v1/", "", "", NotFound, "unknown path"},
		{"DELETE /v1/check", "", "", MethodNotAllowed, "this path accepts only GET, HEAD, POST"},
		{"GET /v1/check", "", "", BadURL, "url is missing"},
		{"GET /v1/check?url=/basket", "", "", BadURL, "url must be an absolute URL such as https://example.com/page"},
		{"GET /v1/check?url=nonsense", "", "", BadURL, `URL "nonsense": not an absolute URL such as https://example.com/page`},
		{"GET /v1/check?url=mailto:a@b.example", "", "", BadURL, ""},
		{check + "&url=https://b.example/", "", "", BadURL, "url is given more than once: give it once"},
		{check + "&agnet=x", "", "", BadParameter, "agnet is unknown (did you mean agent?)"},
		{check + "&x=1", "", "", BadParameter, "x is unknown (known: url, agent, dialect, user_initiated, wait, as)"},
		{check + "&dialect=gogle", "", "", BadParameter, `unknown dialect "gogle" (did you mean google?)`},
		{check + "&wait=31s", "", "", BadParameter, "wait must be a time such as 5s, from 0 s to 30 s"},
		{check + "&user_initiated=maybe", "", "", BadParameter, "user_initiated must be true or false"},
		{check + "&as=html", "", "", BadParameter, `as must be one of "status"`},
		{check + "&agent=A,B", "", "", BadParameter, "agent contains several tokens: send them separately, most specific first: A, then B"},
		{check + "&agent=" + strings.Repeat("x", 129), "", "", BadParameter, "agent has more than 128 bytes: use a product token such as MyBot"},
		{check + strings.Repeat("&agent=x", 21), "", "", BadParameter, "agent must have 20 entries or fewer"},
		{check + "%zz", "", "", BadParameter, "the query cannot be read: write special characters as %XX, a semicolon as %3B, and & between parameters"},
		{"GET /v1/check?url=ftp://a.example/", "", "", BadURL, "this service does not fetch ftp sites: use http or https"},
		{"GET /v1/robots?url=https://a.example/&body=2", "", "", BadParameter, `body must be one of "1"`},

		{"POST /v1/check", "", "", BadJSON, "the body is empty: it must be a JSON object"},
		{"POST /v1/check", "application/x-www-form-urlencoded", `[]`, BadParameter, "the body must be an object"}, // as curl -d
		{"POST /v1/check", "application/merge-patch+json", `[]`, BadParameter, "the body must be an object"},
		{"POST /v1/check", "", `{"questions":[`, BadJSON, "the body is not JSON: it ends too early"},
		{"POST /v1/check", "", `{"question":[]}`, BadParameter, "question is unknown (did you mean questions?)"},
		{"POST /v1/check", "", `{"questions":[],"questions":[]}`, BadJSON, "the body has the member questions twice"},
		{"POST /v1/check", "", `{}`, BadParameter, "the body must have the member questions, a list"},
		{"POST /v1/check", "", strings.Repeat("[", 33), BadJSON, deep},
		{"POST /v1/check", "", "{\"\xff\":1}", BadJSON, "the body is not UTF-8"},
		{"POST /v1/check", "", many, TooMany, "the body has 1001 questions; send at most 1000 at a time"},
		{"POST /v1/check", typeLines, strings.Repeat("{}\n", 1001), TooMany, "the body has 1001 lines; send at most 1000 at a time"},
		{"POST /v1/check", typeLines, strings.Repeat(" ", 8<<20+1), TooLarge, "the body has more than 8388608 bytes: send less at a time"},
		{"POST /v1/check", "text/csv", "a,b", UnsupportedType, "the Content-Type must be application/json or application/x-ndjson"},
		{"POST /v1/check", "", `{"defaults":{"agent":7},"questions":[]}`, BadParameter, "defaults.agent must be a string or a list of strings"},
		{"POST /v1/check", "", `{"defaults":{"dialect":"x"},"questions":[]}`, BadParameter, `unknown dialect "x" (known: `},
		{"POST /v1/check", "", `{"defaults":{"max_bytes":-1},"questions":[]}`, BadParameter, "defaults.max_bytes must be a number of bytes, 0 or more"},
		{"POST /v1/check", "", `{"defaults":{"at":"now"},"questions":[]}`, BadParameter, "defaults.at is not a time such as 2026-01-31T18:00:00Z"},
		{"POST /v1/check", "", `{"defaults":{"wait":"1h"},"questions":[]}`, BadParameter, "defaults.wait must be a time such as 5s, from 0 s to 30 s"},

		{"POST /v1/explain", "", `{"url":"/"}`, BadParameter, "the body must have the member robots or robots_b64, the file"},
		{"POST /v1/explain", "", `{"robots":"","url":"/","robots_b64":""}`, BadParameter, "robots_b64 excludes robots: send only one of them"},
		{"POST /v1/explain", "", `{"robots_b64":"!","url":"/"}`, BadParameter, "robots_b64 must be base64, padded"},
		{"POST /v1/explain", "", `{"robots":"","url":"/","agent":["a","b,c"]}`, BadParameter, "agent contains several tokens"},
		{"POST /v1/lint", "", `{"robots":""} x`, BadJSON, "the body is not JSON: invalid character 'x' after top-level value at byte 14"},
		{"POST /v1/lint", "", `{"robots":"","dialects":["x"]}`, BadParameter, `unknown dialect "x"`},
		{"POST /v1/lint", "", `{"robots":"","dialects":"x"}`, BadParameter, "dialects must be a list"},
		{"POST /v1/diff", "", `{"old":""}`, BadParameter, "new is missing"},
		{"POST /v1/diff", "", `{"old":"","new":"","old":""}`, BadJSON, `the body has the member "old" twice`},
		{"POST /v1/diff", "", `{"OLD":"","new":""}`, BadParameter, "OLD is unknown (did you mean old?)"},
		{"POST /v1/diff", "", strings.Repeat("[", 40), BadJSON, deep},

		{"POST /v1/permits", "", `{` + site + `,"within":"31s"}`, BadParameter, "within must be a time such as 5s, from 0 s to 30 s"},
		{"POST /v1/permits", "", `{` + site + `,"hold":"0s"}`, BadParameter, "hold must be a time such as 5s, from 1 s to 1 h"},
		{"POST /v1/permits", "", `{` + site + `,"hold":"2h"}`, BadParameter, "hold must be a time such as 5s, from 1 s to 1 h"},
		{"POST /v1/permits", "", `{` + site + `,"addr":"x"}`, BadParameter, "addr must be an IP address such as 192.0.2.7"},
		{"POST /v1/permits", "", `{` + site + `,"done":[{}]}`, BadParameter, "done[0].id is missing"},
		{"POST /v1/permits", "", `{` + site + `,"done":[{"id":"x","status":-1}]}`, BadParameter, "done[0].status must be from 0 to 999"},
		{"POST /v1/permits", "", `{` + site + `,"done":[{"id":"x","retry_after":1e300}]}`, BadParameter, "done[0].retry_after must be from 0 to 31536000"},
		{"POST /v1/permits/next", "", `{}`, BadParameter, "urls is missing"},
		{"POST /v1/permits/next", "", `{"urls":[]}`, BadParameter, "urls must not be empty"},
		{"POST /v1/permits/next", "", `{"urls":["x"],"most":0.5}`, BadParameter, "most must be a whole number"},
		{"POST /v1/permits/next", "", `{"urls":["x"],"most":0}`, BadParameter, "most must be from 1 to 1000"},
		{"POST /v1/permits/next", "", `{"urls":["x"],"dialect":"x"}`, BadParameter, `unknown dialect "x"`},

		{"POST /v1/robots/refresh", "", `{"url":7}`, BadURL, "url must be a string"},
		{"POST /v1/robots/refresh", "", `{` + site + `,"wait":"1h"}`, BadParameter, "wait must be a time"},
	} {
		method, path, _ := strings.Cut(tt.request, " ")
		var p Problem
		r := b.ask(method, path, tt.kind, tt.body)
		if err := json.Unmarshal([]byte(r.body), &p); err != nil || p.Type != "/problems/"+string(tt.want) || !strings.HasPrefix(p.Detail, tt.detail) {
			t.Errorf("%s %.200s: %s\nwant %s: %s", tt.request, tt.body, r.body, tt.want, tt.detail)
		}
	}
	req, _ := http.NewRequest(http.MethodGet, b.URL+"/v1/check?url=https://a.example/", nil)
	req.Header.Set("Accept", "text/html")
	if r := b.send(req); r.status != http.StatusNotAcceptable {
		t.Errorf("Accept text/html: %d %s", r.status, r.body)
	}
	req, _ = http.NewRequest(http.MethodGet, b.URL+"/openapi.json", nil)
	req.Header.Set("Accept", "application/json")
	if r := b.send(req); r.status != 200 {
		t.Errorf("Accept application/json: %d %s", r.status, r.body)
	}
	if r := b.ask(http.MethodPost, "/v1/check", typeLines, strings.Repeat(" ", 8<<20)); r.status != 200 {
		t.Errorf("8 MiB: %d %s", r.status, r.body)
	}
}
