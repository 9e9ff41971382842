package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
)

// hostileSites responds for each host with a robots.txt of its own, by the first label.
type hostileSites struct{ files map[string]string }

func (s hostileSites) RoundTrip(r *http.Request) (*http.Response, error) {
	kind, _, _ := strings.Cut(r.URL.Hostname(), "-")
	body := s.files[kind]
	return &http.Response{
		StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"text/plain"}}, Request: r,
		ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// budgetBench is a service with hostile sites, whose requests report their budgets.
func budgetBench(t *testing.T) (post func(path, kind, body string) (status int, answer string, b *budget.Budget)) {
	long := strings.Repeat("x", 400)
	s, err := New(Parts{Fetch: fetch.Options{Transport: hostileSites{map[string]string{
		"rates":   "User-agent: *\n" + manyLines(15_000, "Request-rate: 1/%d\n"),
		"windows": "User-agent: *\n" + manyLines(12_000, "Request-rate: 1/%[1]d %02[2]d%02[3]d-%02[3]d%02[2]d\n"),
		"maps":    "User-agent: *\n" + manyLines(19_000, "Sitemap: https://a.b/%d\n"),
		"long":    "User-agent: *\n" + manyLines(1_000, "Sitemap: https://a.b/"+long+"%d\n"),
		"lines":   strings.Repeat("User-agent:MyBot\n", 25_000),
		"pattern": "User-agent: *\nDisallow: /" + strings.Repeat("*", 400_000) + "\n",
		"rules":   "User-agent: *\n" + manyLines(30_000, "Disallow: /%d\n"),
		"stars":   "User-agent: *\n" + manyLines(20_000, "Disallow: /*a*b*c%d\n"),
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return func(path, kind, body string) (int, string, *budget.Budget) {
		v := &exchange{budget: budget.New(budget.Steps, budget.Bytes), files: budget.New(0, budget.FileBytes), Caller: Caller{Name: "local", Scopes: allScopes, limits: unlimited}}
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, v)))
		return w.Code, w.Body.String(), v.budget
	}
}

func manyLines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if strings.Contains(format, "[2]") {
			fmt.Fprintf(&b, format, i+1, i%24, i%60)
		} else {
			fmt.Fprintf(&b, format, i+1)
		}
	}
	return b.String()
}

// TestBudgets: whatever a thousand sites declare, a request uses its budget and hardly more, and
// answers each question with a verdict or with the code too-large.
func TestBudgets(t *testing.T) {
	post := budgetBench(t)
	kinds := []string{"rates", "windows", "maps", "long", "lines", "pattern", "rules", "stars"}
	const n = 1000
	for _, kind := range campaign.Size(kinds[:1], []string{"rates", "long", "rules"}, kinds) {
		for _, hosts := range campaign.Size([]int{200}, []int{200}, []int{1, 200}) {
			var urls []string
			var questions strings.Builder
			for i := range n {
				url := fmt.Sprintf("http://%s-%d.example/%s%d", kind, i%hosts, strings.Repeat("a", 100), i)
				urls = append(urls, url)
				fmt.Fprintf(&questions, `{"url":%q,"agent":"MyBot"}`+"\n", url)
			}
			list, _ := json.Marshal(map[string]any{"urls": urls, "agent": "MyBot", "wait": "30s"})
			for path, body := range map[string]string{"/v1/permits/next": string(list), "/v1/check?wait=30s": questions.String()} {
				media := typeJSON
				if path != "/v1/permits/next" {
					media = typeLines
				}
				status, answer, b := post(path, media, body)
				name := fmt.Sprintf("%s of %d hosts with %s", path, hosts, kind)
				verdicts, refused := strings.Count(answer, `"verdict":"`), strings.Count(answer, `"code":"too-large"`)
				if status != 200 || verdicts+refused != n || verdicts == 0 {
					t.Errorf("%s: status %d, %d verdicts, %d refused: %.300s", name, status, verdicts, refused, answer)
				}
				if len(answer) > budget.Bytes+budget.Bytes/8 || b.Used() > budget.Steps+1 {
					t.Errorf("%s: %d bytes, %d steps", name, len(answer), b.Used())
				}
				if hosts == 1 && refused > 0 && (kind == "rates" || kind == "windows" || kind == "maps" || kind == "lines" || kind == "rules") {
					t.Errorf("%s: %d of one site are refused", name, refused)
				}
			}
		}
	}
}

// TestAnswerLimits: an answer has at most a hundred rates, a thousand sitemaps and a thousand lines of
// its group, and counts the rest, in every operation that has them.
func TestAnswerLimits(t *testing.T) {
	post := budgetBench(t)
	type lists struct {
		Rates        []any `json:"request_rates"`
		RatesDropped int   `json:"request_rates_dropped"`
		Maps         []any `json:"sitemaps"`
		MapsDropped  int   `json:"sitemaps_dropped"`
		Group        *struct {
			Lines   []any `json:"lines"`
			Dropped int   `json:"lines_dropped"`
		}
	}
	rates := "User-agent: *\n" + manyLines(150, "Request-rate: 1/%d\n")
	for _, c := range []struct{ path, kind, body, member string }{
		{"/v1/check", typeLines, `{"url":"http://KIND-1.example/"` + agentMember, ""},
		{"/v1/permits", typeJSON, `{"url":"http://KIND-1.example/"` + agentMember, "verdict"},
		{"/v1/permits/next", typeJSON, `{"urls":["http://KIND-1.example/"]` + agentMember, "answers"},
		{"/v1/explain", typeJSON, `{"url":"/","robots":` + quoted(rates) + agentMember, ""},
		{"/v1/check", typeLines, `{"url":"/","robots":` + quoted(rates) + agentMember, ""},
	} {
		for kind, want := range map[string][6]int{"rates": {100, 14_900, 0, 0, 1, 0}, "maps": {0, 0, 1000, 18_000, 1, 0}, "lines": {0, 0, 0, 0, 1000, 24_000}} {
			if !strings.Contains(c.body, "KIND") {
				if kind != "rates" {
					continue
				}
				want[1] = 50
			}
			status, answer, _ := post(c.path, c.kind, strings.ReplaceAll(c.body, "KIND", kind))
			var got lists
			part := json.RawMessage(answer)
			var members map[string]json.RawMessage
			if c.member != "" {
				_ = json.Unmarshal(part, &members)
				part = members[c.member]
			}
			if c.member == "answers" {
				var all []struct{ Verdict json.RawMessage }
				_ = json.Unmarshal(part, &all)
				part = all[0].Verdict
			}
			if err := json.Unmarshal(part, &got); err != nil || status != 200 || got.Group == nil {
				t.Fatalf("%s: %d, %v: %.300s", c.path, status, err, answer)
			}
			have := [6]int{len(got.Rates), got.RatesDropped, len(got.Maps), got.MapsDropped, len(got.Group.Lines), got.Group.Dropped}
			if have != want {
				t.Errorf("%s of %s: %v, want %v", c.path, kind, have, want)
			}
		}
	}
}

// TestExplainLimits: an explanation lists a thousand matches and signals and counts the rest, and takes
// the steps of matching all rules from the budget.
func TestExplainLimits(t *testing.T) {
	post := budgetBench(t)
	for name, c := range map[string]struct {
		file, path string
		status     int
		want       [4]int // matches, those left out, signals, those left out
	}{
		"matches": {manyLines(1500, "Disallow: /%d\n"), "/1", 200, [4]int{1, 0, 0, 0}},
		"same":    {strings.Repeat("Disallow: /\n", 30_000), "/1", 200, [4]int{1000, 29_000, 0, 0}},
		"signals": {strings.Repeat("License: https://a.b/\n", 15_000), "/1", 200, [4]int{0, 0, 1000, 14_000}},
		"stars":   {strings.Repeat("Disallow: /"+strings.Repeat("*a", 9)+"*b\n", 15_000), "/" + strings.Repeat("a", 4000), 413, [4]int{}},
	} {
		text, _ := json.Marshal(map[string]string{"robots": "User-agent: *\n" + c.file, "url": c.path})
		status, answer, b := post("/v1/explain", typeJSON, string(text))
		var got struct {
			Matches        []any
			MatchesDropped int `json:"matches_dropped"`
			Signals        []any
			SignalsDropped int `json:"signals_dropped"`
		}
		_ = json.Unmarshal([]byte(answer), &got)
		if have := [4]int{len(got.Matches), got.MatchesDropped, len(got.Signals), got.SignalsDropped}; status != c.status || have != c.want || b.Used() > budget.Steps+1 {
			t.Errorf("%s: status %d, %v, %d steps, want %v", name, status, have, b.Used(), c.want)
		}
	}
}

const agentMember = `,"agent":"MyBot"}`

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// TestHostileBodies: a body whose cost is in what surrounds its questions is refused, or answered, within the budget.
func TestHostileBodies(t *testing.T) {
	post := budgetBench(t)
	const size = 1 << 20
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	long := `{"url":"/` + strings.Repeat("a", 8000) + `","robots":"User-agent: *\n` + repeat(`Disallow:/*a*b\n`) + `","max_bytes":9999999}`
	for name, c := range map[string]struct {
		media, body string
		status      int
		want        string
	}{
		"members":          {typeLines, "{" + repeat(`"robotxy":1,`) + `"url":"/","robots":""}`, 200, `"allowed":true`},
		"members outside":  {typeJSON, "{" + repeat(`"x":1,`) + `"questions":[]}`, 422, `x is unknown`},
		"empty lines":      {typeLines, repeat("\n"), 422, "1048576 lines"},
		"empty questions":  {typeJSON, `{"questions":[` + repeat("1,") + "1]}", 422, "524289 questions"},
		"product tokens":   {typeLines, `{"url":"/","robots":"","agent":[` + repeat(`"a",`) + `"a"]}`, 200, `"code":"bad-parameter"`},
		"a long token":     {typeLines, `{"url":"/","robots":"","agent":"` + repeat("a,") + `"}`, 200, `"code":"bad-parameter"`},
		"a long URL":       {typeLines, `{"robots":"","url":"/` + repeat("a") + `"}`, 200, `"code":"bad-url"`},
		"stars":            {typeLines, long, 200, `"code":"too-large"`},
		"an allowed match": {typeLines, `{"url":"/a","robots":"User-agent: *\n` + repeat(`Disallow:/*a*b\n`) + `"}`, 200, `"allowed":true`},
	} {
		status, answer, b := post("/v1/check", c.media, c.body)
		if status != c.status || !strings.Contains(answer, c.want) || b.Used() > budget.Steps+1 || b.Used() < size {
			t.Errorf("%s: status %d, %d steps: %.300s", name, status, b.Used(), answer)
		}
	}
}
