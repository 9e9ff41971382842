package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// hostile are values that are invalid for every member.
var hostile = []string{
	`null`, `true`, `-1`, `0`, `1e999`, `1e-999`, `99999999999999999999`, `0.5`, `""`, `" "`, `"\u0000"`, `"\ud800"`, `"\\"`, `"a\r\nb: c"`,
	`"http://[::1"`, `"http://127.0.0.1:99999/"`, `"//"`, `"/"`, `"javascript:alert(1)"`, `"<script>"`, `[]`, `{}`, `[[]]`, `[null]`, `{"a":{"b":[1]}}`,
	`"` + strings.Repeat("x", 9000) + `"`, `"2026-01-31T18:00:00Z"`, `"1s"`, `"-1s"`, `"9999999h"`, `"NaN"`, `NaN`, `'x'`, ``,
}

// TestEveryField puts invalid values into every parameter and member of every operation: each
// response is documented, or a problem other than an internal error.
func TestEveryField(t *testing.T) {
	b, s := newBench(t, Parts{}), newSite(t, shop)
	b.get("/v1/check?url=" + s.URL + "/")
	id := b.permit(fmt.Sprintf(`{"url":"%s/"}`, s.URL)).Permit.ID
	b.caller.Store(&Caller{Name: "hostile", Scopes: ScopeCheck | ScopePermit}) // no fetch leaves this machine
	n := 0
	for path, item := range b.judge.doc.Paths.Map() {
		at := strings.ReplaceAll(path, "{id}", id)
		if item.Get != nil {
			for _, p := range item.Get.Parameters {
				for _, v := range hostile {
					var text string
					if json.Unmarshal([]byte(v), &text) != nil {
						text = v
					}
					query := url.Values{"url": {s.URL + "/a"}}
					query.Set(p.Value.Name, text)
					b.get(at + "?" + query.Encode())
					n++
				}
			}
		}
		if item.Post == nil {
			continue
		}
		good := map[string]string{"url": `"` + s.URL + `/a"`, "robots": `"User-agent: *\nDisallow: /a"`, "old": `""`, "new": `""`}
		if path != "/v1/explain" && path != "/v1/lint" {
			delete(good, "robots")
		}
		var names []string
		for name := range item.Post.RequestBody.Value.Content[typeJSON].Schema.Value.Properties {
			names = append(names, name)
		}
		if path == "/v1/check" {
			names = []string{"id", "url", "agent", "dialect", "robots", "robots_b64", "max_bytes", "at", "wait", "user_initiated", "defaults", "questions"}
		}
		known := map[string]bool{}
		for _, name := range names {
			known[name] = true
		}

		for name := range known {
			for _, v := range hostile {
				var members []string
				for other, text := range good {
					if known[other] && other != name {
						members = append(members, fmt.Sprintf("%q:%s", other, text))
					}
				}
				body := "{" + strings.Join(append(members, fmt.Sprintf("%q:%s", name, v)), ",") + "}"
				if path == "/v1/check" {
					b.ask(http.MethodPost, at, typeLines, body)
					b.post(at, `{"defaults":`+body+`,"questions":[{"url":"/x"}]}`)
					b.post(at, `{"questions":[`+body+`]}`)
					n += 2
				}
				b.post(at, body)
				n++
			}
		}
	}
	t.Logf("%d requests, %d bodies judged", n, b.judge.bodies)
}

// TestHead: HEAD is GET without the body, for answers and for problems.
func TestHead(t *testing.T) {
	b, s := newBench(t, Parts{}), newSite(t, shop)
	for _, path := range []string{"/v1/check?url=" + s.URL + "/", "/version", "/docs"} {
		if r := b.ask(http.MethodHead, path, "", ""); r.status != 200 || r.body != "" {
			t.Errorf("HEAD %s: %d %q", path, r.status, r.body)
		}
	}
}
