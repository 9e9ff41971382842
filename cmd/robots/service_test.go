package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/robotskit/robots/cmd/internal/server"
	"github.com/robotskit/robots/internal/campaign"
)

// realQuestions returns a question about each of some real files.
func realQuestions(t *testing.T) []string {
	agents := []any{"Googlebot", "GPTBot", []string{"Googlebot-Image", "Googlebot"}, "*", "Mozilla/5.0 (compatible; bingbot/2.0)"}
	dialects := []any{"rfc9309", "google", "bing", "yandex", nil, "google-cpp", "seznam"}
	urls := []any{"https://example.com/search?q=1", "/wp-admin/", "https://example.com/a/b.html", "/", "nonsense"}
	var list []string
	campaign.Files(t, campaign.Size(60, 6, 6), func(_ string, body []byte) {
		n := len(list)
		q := map[string]any{"id": n, "agent": agents[n%len(agents)], "dialect": dialects[n%len(dialects)], "url": urls[n%len(urls)]}
		if utf8.Valid(body) {
			q["robots"] = string(body)
		} else {
			q["robots_b64"] = base64.StdEncoding.EncodeToString(body)
		}
		text, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(text))
	})
	return list
}

// isLimited reports whether an answer of the API is that of a batch but for the entries beyond its limits.
func isLimited(got, want string) bool {
	var limited, whole struct {
		Allowed      bool
		Reason       string
		Rule         any
		Sitemaps     []string
		RatesDropped int `json:"request_rates_dropped"`
		Dropped      int `json:"sitemaps_dropped"`
	}
	if json.Unmarshal([]byte(got), &limited) != nil || json.Unmarshal([]byte(want), &whole) != nil || limited.Dropped+limited.RatesDropped == 0 {
		return false
	}
	return limited.Allowed == whole.Allowed && limited.Reason == whole.Reason && reflect.DeepEqual(limited.Rule, whole.Rule) &&
		len(limited.Sitemaps)+limited.Dropped == len(whole.Sitemaps)
}

// TestServiceBatch: robots check --batch and POST /v1/check return the same bytes, as lines and
// as one object.
func TestServiceBatch(t *testing.T) {
	service, err := server.New(server.Parts{})
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	post := func(kind, body string) string {
		r := httptest.NewRequest("POST", "/v1/check", strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		service.Handler().ServeHTTP(w, r)
		if w.Code != 200 {
			t.Fatalf("%s: %d %s", kind, w.Code, w.Body)
		}
		return w.Body.String()
	}
	compare := func(t *testing.T, questions []string) {
		in := strings.Join(questions, "\n") + "\n"
		cmd := exec.Command("robots", "check", "--batch")
		cmd.Stdin = strings.NewReader(in)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var lines, objects bytes.Buffer
		for begin := 0; begin < len(questions); {
			end, size := begin, 0
			for end < len(questions) && end-begin < 1000 && size < 7<<20 {
				size += len(questions[end]) + 1
				end++
			}
			part := questions[begin:end]
			begin = end
			lines.WriteString(post("application/x-ndjson", strings.Join(part, "\n")))
			text := post("application/json", `{"questions":[`+strings.Join(part, ",\n")+`]}`)
			text = strings.TrimSuffix(strings.TrimPrefix(text, `{"answers":[`), "]}\n")
			objects.WriteString(strings.ReplaceAll(text, "},\n{", "}\n{") + "\n")
		}
		for kind, got := range map[string]string{"lines": lines.String(), "object": objects.String()} {
			want, answers := strings.Split(string(out), "\n"), strings.Split(got, "\n")
			for i := range want {
				if i < len(answers) && isLimited(answers[i], want[i]) {
					continue
				}
				if i >= len(answers) || answers[i] != want[i] {
					t.Fatalf("%s: answer %d of %d differs\ngot  %.500s\nwant %.500s", kind, i+1, len(want), strings.Join(answers[min(i, len(answers)):min(i+1, len(answers))], ""), want[i])
				}
			}
		}
		t.Logf("%d answers are the same bytes", len(questions))
	}
	t.Run("Examples", func(t *testing.T) {
		text, err := os.ReadFile(filepath.Join("..", "..", "examples", "questions.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		compare(t, strings.Split(strings.TrimSpace(string(text)), "\n"))
	})
	t.Run("Mistakes", func(t *testing.T) {
		compare(t, []string{
			`{"url":"/a"}`, `{"id":"x"}`, `{"id":1,"URL":"/a","robots":""}`, `{"robots":"","robots_b64":"","url":"/"}`,
			`{"robots":"","url":"/","agent":"A,B"}`, `{"robots":"","url":"/","dialect":"x","id":[1, 2]}`, `[]`, `7`,
		})
	})
	t.Run("RealFiles", func(t *testing.T) { compare(t, realQuestions(t)) })
}
