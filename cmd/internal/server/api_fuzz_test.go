package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// hostile are values that are invalid for every member.
var hostile = []string{
	`null`, `true`, `-1`, `0`, `1e999`, `1e-999`, `99999999999999999999`, `0.5`, `""`, `" "`, `"\u0000"`, `"\ud800"`, `"\\"`, `"a\r\nb: c"`,
	`"http://[::1"`, `"http://127.0.0.1:99999/"`, `"//"`, `"/"`, `"javascript:alert(1)"`, `"<script>"`, `[]`, `{}`, `[[]]`, `[null]`, `{"a":{"b":[1]}}`,
	`"` + strings.Repeat("x", 9000) + `"`, `"2026-01-31T18:00:00Z"`, `"1s"`, `"-1s"`, `"9999999h"`, `"NaN"`, `NaN`, `'x'`, ``,
}

// FuzzRequests sends anything to every operation: each response is documented, or a problem
// other than an internal error that names the invalid part. It begins with invalid values in every
// parameter and member of the document. The client may cause no fetch, so nothing leaves this
// machine.
func FuzzRequests(f *testing.F) {
	b, s := newBench(f, Parts{Now: newTestClock().now}), newSite(f, shop)
	b.get("/v1/check?url=" + s.URL + "/")
	id := b.permit(fmt.Sprintf(`{"url":"%s/"}`, s.URL)).Permit.ID
	type operation struct{ method, path string }
	var operations []operation
	send := func(t testing.TB, o operation, query, kind, body string) {
		b := &bench{TB: t, Service: b.Service, judge: b.judge, URL: "http://localhost"}
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
	}
	// One value of each member is a seed.
	try := func(value, kind, query, body string) {
		last := len(operations) - 1
		if send(f, operations[last], query, kind, body); value == hostile[0] {
			f.Add(uint8(last), query, kind, body)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(b.judge.doc.Paths.Map())) {
		item := b.judge.doc.Paths.Value(path)
		at := strings.ReplaceAll(path, "{id}", id)
		if item.Get != nil {
			operations = append(operations, operation{"GET", at})
			for _, p := range item.Get.Parameters {
				for _, v := range hostile {
					var text string
					if json.Unmarshal([]byte(v), &text) != nil {
						text = v
					}
					query := url.Values{"url": {s.URL + "/a"}}
					query.Set(p.Value.Name, text)
					try(v, "", query.Encode(), "")
				}
			}
		}
		if item.Post == nil {
			continue
		}
		operations = append(operations, operation{"POST", at})
		good := map[string]string{"url": `"` + s.URL + `/a"`, "old": `""`, "new": `""`, "urls": `["` + s.URL + `/a","x"]`}
		if path == "/v1/explain" || path == "/v1/lint" {
			good["robots"] = `"User-agent: *\nDisallow: /a"`
		}
		names := slices.Collect(maps.Keys(item.Post.RequestBody.Value.Content[typeJSON].Schema.Value.Properties))
		if path == "/v1/check" {
			names = append(names, "id", "url", "agent", "dialect", "robots", "robots_b64", "max_bytes", "at", "wait", "user_initiated")
		}
		for _, name := range names {
			for _, v := range hostile {
				body := fmt.Sprintf("{%q:%s", name, v)
				for other, text := range good {
					if slices.Contains(names, other) && other != name {
						body += fmt.Sprintf(",%q:%s", other, text)
					}
				}
				body += "}"
				try(v, typeJSON, "", body)
				if path == "/v1/check" {
					try(v, typeLines, "", body)
					try(v, typeJSON, "", `{"defaults":`+body+`,"questions":[{"url":"/x"}]}`)
					try(v, typeJSON, "", `{"questions":[`+body+`]}`)
				}
			}
		}
	}
	f.Add(uint8(0), "url=%ff&agent=%00", "application/json; charset=x", strings.Repeat("[", 100))
	f.Fuzz(func(t *testing.T, op uint8, query, kind, body string) {
		send(t, operations[int(op)%len(operations)], query, kind, body)
	})
}
