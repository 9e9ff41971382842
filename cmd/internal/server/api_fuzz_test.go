package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzRequests sends anything to every operation: each response is documented, or a problem
// other than an internal error that names the invalid part. The client may cause no fetch, so
// nothing leaves this machine.
func FuzzRequests(f *testing.F) {
	b, s := newBench(f, Parts{}), newSite(f, shop)
	b.get("/v1/check?url=" + s.URL + "/")
	id := b.permit(fmt.Sprintf(`{"url":"%s/"}`, s.URL)).Permit.ID
	operations := []struct{ method, path string }{
		{"GET", "/v1/check"}, {"POST", "/v1/check"}, {"POST", "/v1/permits"}, {"POST", "/v1/permits/" + id + "/done"},
		{"GET", "/v1/robots"}, {"POST", "/v1/robots/refresh"}, {"GET", "/v1/schedule"},
		{"POST", "/v1/explain"}, {"POST", "/v1/lint"}, {"POST", "/v1/diff"}, {"GET", "/version"}, {"POST", "/v1/permits/x/done"}, {"POST", "/v1/permits/next"},
	}
	for _, seed := range []struct {
		op          uint8
		query, kind string
		body        string
	}{
		{0, "url=" + s.URL + "/basket&agent=MyBot&dialect=google&user_initiated=true&wait=1s&as=status", "", ""},
		{0, "url=%ff&agent=%00&wait=-1&wait=x", "", ""}, {0, "\n", "", ""},
		{1, "wait=0s", typeLines, `{"id":1,"url":"` + s.URL + `/x","at":"2026-01-31T18:00:00Z","max_bytes":1}` + "\n{}\n[]"},
		{1, "", typeJSON, `{"defaults":{"agent":["a"],"dialect":"bing","max_bytes":1,"at":"x","robots":"","user_initiated":true,"wait":"1s"},"questions":[{"url":"/a"},7]}`},
		{2, "", typeJSON, `{"url":"` + s.URL + `/x","agent":"MyBot","addr":"192.0.2.7","within":"5s","hold":"1s","wait":"0s","dialect":"google","done":[{"id":"` + id + `","status":200,"retry_after":1,"timeout":true,"unused":true}]}`},
		{3, "", typeJSON, `{"status":503,"retry_after":1.5,"timeout":false,"unused":false}`},
		{4, "url=" + s.URL + "&body=1&wait=0s", "", ""},
		{5, "", typeJSON, `{"url":"` + s.URL + `","wait":"0s"}`},
		{6, "url=" + s.URL + "&agent=a&agent=b&dialect=yandex&wait=0s", "", ""},
		{7, "", typeJSON, `{"robots":"User-agent: *\nDisallow: /a","url":"/a","agent":["x"],"dialect":"seznam"}`},
		{7, "", typeJSON, `{"robots_b64":"VXNlci1hZ2VudDogKgpEaXNhbGxvdzogL/8=","url":"/a"}`},
		{8, "", typeJSON, `{"robots":"Disalow: /a\n","dialects":["google"]}`},
		{9, "", typeJSON, `{"old":"User-agent: a\nDisallow: /a","new":"User-agent: b\nDisallow: /*b$","agent":["a"],"dialect":"google-2019"}`},
		{12, "", typeJSON, `{"urls":["` + s.URL + `/x","x","` + s.URL + `/basket"],"agent":"MyBot","most":1,"hold":"1s","wait":"0s","dialect":"google","done":[{"id":"` + id + `","unused":true}]}`},
		{11, "", "application/json; charset=x", strings.Repeat("[", 100)},
	} {
		f.Add(seed.op, seed.query, seed.kind, seed.body)
	}
	f.Fuzz(func(t *testing.T, op uint8, query, kind, body string) {
		b := &bench{TB: t, Service: b.Service, judge: b.judge, URL: "http://localhost"}
		o := operations[int(op)%len(operations)]
		req, err := http.NewRequest(o.method, b.URL+o.path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.URL.RawQuery = query
		req.Header["Content-Type"] = []string{kind}
		req = req.WithContext(context.WithValue(req.Context(), exchangeKey{}, &exchange{Caller: Caller{Name: "fuzz", Scopes: ScopeCheck | ScopePermit, limits: unlimited}}))
		w := httptest.NewRecorder()
		b.Handler().ServeHTTP(w, req)
		b.judgeReply(req, reply{w.Code, w.Header(), w.Body.String()})
	})
}
