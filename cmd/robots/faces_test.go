package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/server/page"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/internal/campaign"
)

// A faceQuestion is one question that all faces answer alike, with the answer that they share.
type faceQuestion struct {
	name, body, path string
	fallback         string // the further token whose group applies, "" for none
	want             answer.Explanation
	sentence         string // on the fallback, "" without one
}

// faceQuestions returns questions on every crawler of the directory whose answer depends on what it
// documents: further tokens, a dialect, delays, whom the group of * binds.
func faceQuestions() (all []faceQuestion) {
	add := func(name, body string, paths ...string) {
		for _, path := range paths {
			all = append(all, faceQuestion{name: name, body: body, path: path})
		}
	}
	for _, c := range crawlers.All() {
		for _, further := range c.FurtherTokens {
			add(c.Name, "User-agent: *\nAllow: /\n\nUser-agent: "+further.Token+"\nDisallow: /further\nCrawl-delay: 3\n", "/further")
			all[len(all)-1].fallback = further.Token
			add(c.Name, "User-agent: "+further.Token+"\nDisallow: /\n\nUser-agent: "+c.Name+"\nDisallow: /own\n", "/own", "/further")
		}
		if c.Dialect != crawlers.Unknown && c.Dialect != robots.RFC9309.Name {
			add(c.Name, "User-agent: *\nDisalow: /misspelled\nCrawl-delay: 7\n\nUser-agent: "+c.Name+"\nDisalow: /misspelled\nDisallow:\nAllow: /page\nDisallow: /page\nRequest-rate: 1/5\n",
				"/misspelled", "/page", "/PAGE", "/page/index.html")
		}
		if c.Binds() != crawlers.BindsYes {
			add(c.Name, "User-agent: *\nDisallow: /\n", "/star")
		}
	}
	for i := range all {
		q := &all[i]
		who := answer.Auto(q.name, q.name)
		rules := robots.Parse([]byte(q.body)).Rules(who.Dialect, who.Tokens...)
		path, _ := robots.ParsePath(q.path) // never an error
		q.want = answer.Explain(rules, &who, path, q.path, q.name, answer.ExplainLimits{})
		q.sentence = who.FallbackSentence(rules)
	}
	return all
}

// A faceAnswer has the members of JSON answers that the faces share.
type faceAnswer struct {
	Verdict  string                 `json:"verdict"`
	Rule     *answer.Rule           `json:"rule"`
	Group    *answer.Group          `json:"group"`
	Dialect  string                 `json:"dialect"`
	Fallback *crawlers.FurtherToken `json:"fallback"`
	Binds    crawlers.Binds         `json:"binds"`
	Delay    *float64               `json:"crawl_delay"`
	Rates    []answer.RequestRate   `json:"request_rates"`
}

// differs describes how an answer differs from the shared one, "" if it does not.
func (q *faceQuestion) differs(text []byte) string {
	encodedWant, _ := json.Marshal(q.want) // never an error
	var want, got faceAnswer
	if err := json.Unmarshal(encodedWant, &want); err != nil {
		return err.Error()
	}
	if err := json.Unmarshal(text, &got); err != nil {
		return err.Error() + ": " + string(text)
	}
	one, _ := json.Marshal(want)
	other, _ := json.Marshal(got)
	if bytes.Equal(one, other) {
		return ""
	}
	return fmt.Sprintf("%s, want %s", other, one)
}

// faceRun runs the program in this process with a file as its standard input.
func faceRun(stdin string, args ...string) string {
	var out, complaints bytes.Buffer
	run(context.Background(), args, strings.NewReader(stdin), &out, &complaints)
	if out.Len() == 0 {
		return complaints.String()
	}
	return out.String()
}

// TestFaces: every face gives one answer to one question.
func TestFaces(t *testing.T) {
	questions := faceQuestions()
	if len(questions) < 300 {
		t.Errorf("%d questions", len(questions))
	}
	for _, q := range questions {
		fallback := ""
		if q.want.Fallback != nil {
			fallback = q.want.Fallback.Token
		}
		if fallback != q.fallback || fallback != "" && (q.want.Allowed || !strings.Contains(q.sentence, fallback)) {
			t.Errorf("%s %s: fallback %q, %q, allowed %v, want %q", q.name, q.path, fallback, q.sentence, q.want.Allowed, q.fallback)
		}
	}
	t.Logf("%d questions", len(questions))
	faces := map[string]func(*testing.T, []faceQuestion){
		"check": faceCheck, "explain": faceExplain, "batch": faceBatch, "api": faceAPI, "engine": faceEngine, "test": faceTest, "diff": faceDiff,
		"page": facePage, "crawlers": faceCrawlers, "editor": faceEditor,
	}
	for name, ask := range faces {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask(t, questions)
		})
	}
}

// checkText checks that the text of an answer has the summary of the shared one.
func (q *faceQuestion) checkText(t *testing.T, text string) {
	t.Helper()
	words := []string{strings.TrimRight(q.want.Verdict, " "), q.want.Summary, q.sentence}
	if q.want.Dialect != robots.RFC9309.Name {
		words = append(words, q.want.Dialect)
	}
	joined := strings.Join(strings.Fields(text), " ") // lines are wrapped
	for _, word := range words {
		if !strings.Contains(joined, strings.Join(strings.Fields(word), " ")) {
			t.Errorf("%s %s: no %q in\n%s", q.name, q.path, word, text)
		}
	}
}

func faceCheck(t *testing.T, questions []faceQuestion) {
	for _, q := range questions {
		if d := q.differs([]byte(faceRun(q.body, "check", "-a", q.name, "-f", "-", "--format", "json", q.path))); d != "" {
			t.Errorf("%s %s: %s", q.name, q.path, d)
		}
		q.checkText(t, faceRun(q.body, "check", "-a", q.name, "-f", "-", q.path))
	}
}

func faceExplain(t *testing.T, questions []faceQuestion) {
	for _, q := range questions {
		text := faceRun(q.body, "explain", "-a", q.name, "-f", "-", "--format", "json", q.path)
		if d := q.differs([]byte(text)); d != "" || !strings.Contains(text, `"summary":`) {
			t.Errorf("%s %s: %s", q.name, q.path, d)
		}
		q.checkText(t, faceRun(q.body, "explain", "-a", q.name, "-f", "-", q.path))
	}
}

// lineOf returns the question as a line of a batch.
func (q *faceQuestion) lineOf() map[string]any {
	return map[string]any{"robots": q.body, "agent": q.name, "url": q.path, "dialect": "auto"}
}

func faceBatch(t *testing.T, questions []faceQuestion) {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for _, q := range questions {
		_ = encoder.Encode(q.lineOf()) // never an error
	}
	answers := strings.Split(strings.TrimSpace(faceRun(lines.String(), "check", "--batch")), "\n")
	if len(answers) != len(questions) {
		t.Fatalf("%d answers", len(answers))
	}
	for i, q := range questions {
		if d := q.differs([]byte(answers[i])); d != "" {
			t.Errorf("%s %s: %s", q.name, q.path, d)
		}
	}
}

func faceAPI(t *testing.T, questions []faceQuestion) {
	server := runServer(t, "--store", "memory")
	post := func(path string, body any) []byte {
		text, _ := json.Marshal(body) // never an error
		resp, err := http.Post(server.open+path, "application/json", bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: status %d, %v: %s", path, resp.StatusCode, err, answer)
		}
		return answer
	}
	for part := range slices.Chunk(questions, 100) {
		var lines []any
		for _, q := range part {
			lines = append(lines, q.lineOf())
		}
		var got struct{ Answers []json.RawMessage }
		if err := json.Unmarshal(post("/v1/check", map[string]any{"questions": lines}), &got); err != nil || len(got.Answers) != len(part) {
			t.Fatal(len(got.Answers), err)
		}
		for i, q := range part {
			if d := q.differs(got.Answers[i]); d != "" {
				t.Errorf("%s %s: %s", q.name, q.path, d)
			}
		}
	}
}

func faceEngine(t *testing.T, questions []faceQuestion) {
	for _, q := range questions {
		crawler := "auto\t" + q.name
		text := page.Ask("explain", q.body, crawler, q.path)
		var explained answer.Explanation
		if err := json.Unmarshal([]byte(text), &explained); err != nil || explained.Summary != q.want.Summary {
			t.Errorf("%s %s: %v %s", q.name, q.path, err, text)
		}
		var sentence struct {
			Text string `json:"fallback_reason"`
		}
		if err := json.Unmarshal([]byte(text), &sentence); err != nil || sentence.Text != q.sentence {
			t.Errorf("%s %s: %v, %q, want %q", q.name, q.path, err, sentence.Text, q.sentence)
		}
		if d := q.differs([]byte(text)); d != "" {
			t.Errorf("%s %s: %s", q.name, q.path, d)
		}
		q.checkColumn(t, page.Ask("matrix", q.body, crawler, q.path, ""))
	}
}

// checkColumn checks a table of one crawler and URL.
func (q *faceQuestion) checkColumn(t *testing.T, text string) {
	t.Helper()
	var got struct {
		Columns []struct {
			Dialect  string
			Group    *answer.Group
			Fallback *crawlers.FurtherToken
			Binds    crawlers.Binds
		}
		Rows []struct {
			Cells []struct {
				Verdict, Reason string
				Line            int
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Columns) != 1 || len(got.Rows) != 1 || len(got.Rows[0].Cells) != 1 {
		t.Fatalf("%s %s: %v %s", q.name, q.path, err, text)
	}
	line := 0
	if q.want.Rule != nil {
		line = q.want.Rule.Line
	}
	cell := got.Rows[0].Cells[0]
	column := got.Columns[0]
	group, _ := json.Marshal(column.Group)
	want, _ := json.Marshal(q.want.Group) // never an error
	fallback := ""
	if column.Fallback != nil {
		fallback = column.Fallback.Token
	}
	if cell.Verdict != q.want.Verdict || cell.Line != line || cell.Reason != q.want.Reason || column.Dialect != q.want.Dialect ||
		!bytes.Equal(group, want) || fallback != q.fallback || column.Binds != q.want.Binds {
		t.Errorf("%s %s: %s", q.name, q.path, text)
	}
}

func faceTest(t *testing.T, questions []faceQuestion) {
	dir := t.TempDir()
	args := []string{"test", "--format", "json"}
	for i, q := range questions {
		assertion := fmt.Sprintf("%s: [{url: %s", q.want.Verdict, q.path)
		if q.want.Rule != nil {
			assertion += fmt.Sprintf(", line: %d", q.want.Rule.Line)
		}
		text := fmt.Sprintf("version: 1\ntext: %q\ntests:\n- {name: n, agent: %q, %s}]}\n", q.body, q.name, assertion)
		name := filepath.Join(dir, fmt.Sprintf("%04d.yaml", i))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	results := strings.Split(strings.TrimSpace(faceRun("", args...)), "\n")
	if len(results) != len(questions) {
		t.Fatalf("%d results: %s", len(results), results[0])
	}
	for i, q := range questions {
		var got struct {
			OK      bool
			Dialect string
		}
		if err := json.Unmarshal([]byte(results[i]), &got); err != nil || !got.OK || got.Dialect != q.want.Dialect {
			t.Errorf("%s %s: %v %s", q.name, q.path, err, results[i])
		}
	}
}

func faceDiff(t *testing.T, questions []faceQuestion) {
	before := writeFile(t, "")
	for _, q := range questions {
		var got answer.CrawlerDifference
		text := faceRun(q.body, "diff", "-a", q.name, "--format", "json", before, "-")
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Dialect != q.want.Dialect {
			t.Errorf("%s %s: %v %s", q.name, q.path, err, text)
			continue
		}
		blocked := slices.ContainsFunc(got.NewlyBlocked, func(c answer.Change) bool {
			return q.want.Rule != nil && c.New.Rule != nil && c.New.Rule.Line == q.want.Rule.Line
		})
		if blocked != !q.want.Allowed {
			t.Errorf("%s %s: want %s: %s", q.name, q.path, q.want.Verdict, text)
		}
	}
}

func facePage(t *testing.T, questions []faceQuestion) {
	html := writeFile(t, "<p>page</p>")
	for _, q := range questions {
		var got struct {
			Dialect string
			Verdict json.RawMessage
		}
		text := faceRun(q.body, "page", "-a", q.name, "-f", "-", "--html", html, "--format", "json", q.path)
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Dialect != q.want.Dialect {
			t.Errorf("%s %s: %v %s", q.name, q.path, err, text)
			continue
		}
		var verdict faceAnswer
		if err := json.Unmarshal(got.Verdict, &verdict); err != nil || verdict.Verdict != q.want.Verdict || (verdict.Rule == nil) != (q.want.Rule == nil) {
			t.Errorf("%s %s: %v %s", q.name, q.path, err, got.Verdict)
		}
	}
}

func faceCrawlers(t *testing.T, questions []faceQuestion) {
	for i, q := range questions {
		if i%campaign.Size(50, 10, 1) != 0 { // each asks for all crawlers
			continue
		}
		found := false
		for line := range strings.Lines(faceRun(q.body, "crawlers", "--all", "-f", "-", "--path", q.path, "--format", "json")) {
			var got struct {
				Name string
				faceAnswer
			}
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatal(err, line)
			}
			if got.Name != q.name {
				continue
			}
			found = true
			rule, _ := json.Marshal(got.Rule)
			want, _ := json.Marshal(q.want.Rule)
			if got.Verdict != q.want.Verdict || got.Binds != q.want.Binds || !bytes.Equal(rule, want) {
				t.Errorf("%s %s: %s", q.name, q.path, line)
			}
		}
		if !found {
			t.Errorf("%s is missing", q.name)
		}
	}
}

// faceEditor asks robots lsp for the text that an editor shows at the URL of an assertion.
func faceEditor(t *testing.T, questions []faceQuestion) {
	serverIn, toServer := io.Pipe()
	fromServer, serverOut := io.Pipe()
	status := make(chan int, 1)
	go func() {
		var complaints bytes.Buffer
		status <- run(context.Background(), []string{"lsp"}, serverIn, serverOut, &complaints)
		_ = serverOut.Close() // never an error
	}()
	editor := jrpc2.NewClient(channel.LSP(fromServer, toServer), nil)
	call := func(method string, params, result any) {
		if err := editor.CallResult(t.Context(), method, params, result); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
	}
	notify := func(method string, params any) {
		if err := editor.Notify(t.Context(), method, params); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
	}
	call("initialize", map[string]any{"capabilities": map[string]any{}}, new(json.RawMessage))
	notify("initialized", map[string]any{})
	for i, q := range questions {
		uri := fmt.Sprintf("file:///site/%d.yaml", i)
		text := fmt.Sprintf("version: 1\ntext: %q\ntests:\n- agent: %s\n  disallow: %s\n", q.body, q.name, q.path)
		notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "robots", "version": 1, "text": text}})
		var hover struct {
			Contents struct{ Value string }
		}
		position := map[string]any{"line": 4, "character": len("  disallow: ")}
		call("textDocument/hover", map[string]any{"textDocument": map[string]any{"uri": uri}, "position": position}, &hover)
		want := fmt.Sprintf("**%s** for `%s` (%s): `%s`", q.want.Verdict, q.name, q.want.Dialect, q.want.Summary)
		if q.sentence != "" {
			want += "; " + q.sentence
		}
		for _, n := range q.want.Notes[:q.want.Near] {
			want += fmt.Sprintf("\n- line %d: `%s`", n.Line, n.Text)
		}
		if hover.Contents.Value != want {
			t.Errorf("%s %s: %q, want %q", q.name, q.path, hover.Contents.Value, want)
		}
	}
	call("shutdown", nil, new(json.RawMessage))
	notify("exit", nil)
	if got := <-status; got != exitAllowed {
		t.Errorf("exit status %d", got)
	}
	_ = editor.Close() // the server has ended
}
