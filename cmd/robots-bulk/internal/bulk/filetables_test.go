package bulk

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/robotskit/robots/internal/campaign"
)

// tableLines returns the rows of a part of a table in JSON Lines, without the hash of the file.
func tableLines(t *testing.T, task *Task, table string) string {
	t.Helper()
	text, err := os.ReadFile(task.partPath(table, task.PartName(task.Shards[0])))
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for line := range strings.Lines(string(text)) {
		_, row, _ := strings.Cut(line, `",`)
		rows.WriteString("{" + row)
	}
	return rows.String()
}

// packLines packs one body, in a record with some headers, into JSON Lines.
func packLines(t *testing.T, o PackOptions, body string, headers ...string) *Task {
	t.Helper()
	p := newPacking(t, o, write(t, t.TempDir(), map[string]string{"a.warc": response("https://a.test/robots.txt", day, 200, "", body, headers...)})...)
	if err := Pack(t.Context(), p.dir, JSONL, o, p.inputs, RunOptions{}); err != nil {
		t.Fatal(err)
	}
	task, err := readManifest(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func TestFileTables(t *testing.T) {
	task := packLines(t, PackOptions{Lint: true, Access: true}, "\uFEFF# comment\r\nUser-agent: AI2Bot # twice\nCrawl-delay: 5\nuser-agent: GPTBot\n"+
		"useragent: \xff\nContent-Signal: /a ai-train=no, search=maybe\nDisallow: /\nDisalow: /b\nX-Y: z\n\nUser-agent: AI2Bot\nAllow:\nSitemap: https://b.test/a.xml\nSitemap:\nno field")
	for table, want := range map[string]string{
		tableFiles: `{"bytes":238,"truncated":false,"kind":"text","other_format":null,"bom":true,"line_ends":"mixed","lines":15,"longest_line":44,` +
			`"comments":2,"groups":2,"user_agents":3,"rules":2,"sitemaps":1,"unknown_fields":3,"lint":"complete","blank_lines":1,"other_lines":1}` + "\n",
		tableRules: `{"line":2,"field":"user-agent","known":true,"group_number":1,"group_tokens":"ai2bot","value":"AI2Bot"}
{"line":3,"field":"crawl-delay","known":true,"group_number":1,"group_tokens":"ai2bot","value":"5"}
{"line":4,"field":"user-agent","known":true,"group_number":1,"group_tokens":"gptbot","value":"GPTBot"}
{"line":5,"field":"useragent","known":false,"group_number":null,"group_tokens":null,"value":"` + "\uFFFD" + `"}
{"line":6,"field":"content-signal","known":true,"group_number":1,"group_tokens":"gptbot","value":"/a ai-train=no, search=maybe"}
{"line":7,"field":"disallow","known":true,"group_number":1,"group_tokens":"ai2bot gptbot","value":"/"}
{"line":8,"field":"Disalow","known":false,"group_number":null,"group_tokens":null,"value":"/b"}
{"line":9,"field":"X-Y","known":false,"group_number":null,"group_tokens":null,"value":"z"}
{"line":11,"field":"user-agent","known":true,"group_number":2,"group_tokens":"ai2bot","value":"AI2Bot"}
{"line":12,"field":"allow","known":true,"group_number":2,"group_tokens":"ai2bot","value":null}
{"line":13,"field":"sitemap","known":true,"group_number":null,"group_tokens":null,"value":"https://b.test/a.xml"}
{"line":14,"field":"sitemap","known":true,"group_number":null,"group_tokens":null,"value":null}
`,
		tableAgents: `{"name":"AI2Bot","rfc9309":"ai2bot","google":"ai","line":2,"lines":2,"crawler":"AI2Bot","operator":"Allen Institute for AI","purpose":"ai-training","access":"none"}
{"name":"GPTBot","rfc9309":"gptbot","google":"gptbot","line":4,"lines":1,"crawler":"GPTBot","operator":"OpenAI","purpose":"ai-training","access":"none"}
{"name":"` + "\uFFFD" + `","rfc9309":null,"google":null,"line":5,"lines":1,"crawler":null,"operator":null,"purpose":null,"access":null}
`,
		tableSignals: `{"line":6,"field":"content-signal","name":"ai-train","value":"no","path":"/a","scope":"group","known":true,"group_tokens":"gptbot"}
{"line":6,"field":"content-signal","name":"search","value":"maybe","path":"/a","scope":"group","known":false,"group_tokens":"gptbot"}
`,
		tableSitemaps: `{"line":13,"url":"https://b.test/a.xml","origin":"https://b.test"}` + "\n",
	} {
		if got := tableLines(t, task, table); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", table, got, want)
		}
	}
	if got := tableLines(t, task, tableFindings); !strings.Contains(got, `"severity":"error"`) {
		t.Errorf("findings:\n%s", got)
	}
}

// TestTextsAreUTF8: DuckDB and Spark refuse a Parquet file with another text.
func TestTextsAreUTF8(t *testing.T) {
	const file = "User-agent: ha\xA2\nDisallow: /\xA2\nContent-Signal: \xA2=\xA2\nx\xA2: \xA2\n"
	p := newPacking(t, PackOptions{}, write(t, t.TempDir(), map[string]string{"a.warc": response("https://a.test/robots.txt", day, 200, "", file)})...)
	if err := Pack(t.Context(), p.dir, Parquet, p.PackOptions, p.inputs, RunOptions{}); err != nil {
		t.Fatal(err)
	}
	task, err := readManifest(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(tableRows[FieldLine](t, task, tableRules), tableRows[NamedAgent](t, task, tableAgents), tableRows[SignalValue](t, task, tableSignals))
	if !strings.Contains(text, "ha\uFFFD") || !utf8.ValidString(text) {
		t.Errorf("%q", text)
	}
}

// TestOtherFormats: the lines of a page are no fields, and a truncated body has no partial last line.
func TestOtherFormats(t *testing.T) {
	page := packLines(t, PackOptions{Access: true}, "<style>\na: b\nSitemap: https://a.test/x\n</style>")
	const want = `{"bytes":47,"truncated":false,"kind":"html","other_format":"HTML or XML","bom":false,"line_ends":"lf","lines":4,"longest_line":25,` +
		`"comments":null,"groups":null,"user_agents":null,"rules":null,"sitemaps":null,"unknown_fields":null,"lint":null,"blank_lines":null,"other_lines":null}` + "\n"
	if got := tableLines(t, page, tableFiles); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := tableLines(t, page, tableRules) + tableLines(t, page, tableSitemaps); got != "" {
		t.Errorf("rules of a page:\n%s", got)
	}
	long := packLines(t, PackOptions{Access: true}, "User-agent: a\n"+strings.Repeat("#\n", 300_000)+"Disallow: /")
	if got, want := tableLines(t, long, tableFiles), `{"bytes":600025,"truncated":true,`; !strings.HasPrefix(got, want) || !strings.Contains(got, `"lines":255994,`) {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestTruncatedLines: a body that the archive truncated has all its complete lines.
func TestTruncatedLines(t *testing.T) {
	task := packLines(t, PackOptions{}, "User-agent: a\nDisallow: /b\nDisallow: /c", "WARC-Truncated: length")
	if got := tableLines(t, task, tableRules); strings.Count(got, "\n") != 2 || !strings.Contains(got, `"/b"`) {
		t.Errorf("the rules of two complete lines are\n%s", got)
	}
}

// TestGroupTokens: lines have the tokens to which package robots applies them.
func TestGroupTokens(t *testing.T) {
	files := []string{
		"Crawl-delay: 1\nUser-agent: a\nUser-agent: b\nCrawl-delay: 2\nVisit-time: 0000-0100\nUser-agent: c\nUser-agent: a\nContent-Signal: search=no\nDisallow: /\nLicense: x://y\nCrawl-delay: 3\n\nUser-agent: b\nRequest-rate: 1/5\n",
		"User-agent:\nCrawl-delay: 1\nUser-agent: a b/1 (c)\nCrawl-delay: 2\nUser-agent: *\nCrawl-delay: 3\n",
	}
	if os.Getenv("ROBOTS_CORPUS") != "" {
		campaign.Files(t, 20, func(_ string, body []byte) { files = append(files, string(body)) })
	}
	for _, text := range files {
		sameTokens(t, text)
	}
}

// sameTokens compares the tokens of the lines of a file with the records and rules of each token.
func sameTokens(t *testing.T, text string) {
	t.Helper()
	r := newFileReader(PackOptions{})
	if err := r.read(&storedBody{Body: Body{Body: []byte(text)}}); err != nil {
		t.Fatal(err)
	}
	first := r.file.Crawlers(r.rfc9309)
	for line := range r.file.Lines(r.rfc9309) {
		if len(line.Names) > 1 && slices.ContainsFunc(line.Names[1:], func(name string) bool { return slices.Contains(first, name) }) {
			return // a full header, whose further names the tables do not have
		}
	}
	applies := map[string]bool{} // line and token
	for _, token := range append(first, "*") {
		rules := r.file.Rules(r.rfc9309, token)
		if rules.Group().Token() != token {
			continue
		}
		for rule := range rules.All() {
			applies[fmt.Sprint(rule.Line(), " ", token)] = true
		}
		for record := range rules.Records() {
			if record.Group {
				applies[fmt.Sprint(record.Line, " ", token)] = true
			}
		}
		for _, line := range rules.Group().Lines() {
			applies[fmt.Sprint(line, " ", token)] = true
		}
	}
	got := map[string]bool{}
	for _, line := range r.lines {
		if line.Value == "" && (line.Field == "allow" || line.Field == "disallow") {
			continue // it has no rule
		}
		for token := range strings.FieldsSeq(line.GroupTokens) {
			got[fmt.Sprint(line.Line, " ", token)] = true
		}
	}
	for _, pair := range []struct {
		what string
		a, b map[string]bool
	}{{"missing", applies, got}, {"too many", got, applies}} {
		for key := range pair.a {
			if !pair.b[key] {
				t.Errorf("%s: %s in\n%.300s", pair.what, key, text)
				return
			}
		}
	}
}

// TestMetadata: a Parquet file states the command, the engine, the options and the dialects.
func TestMetadata(t *testing.T) {
	snapshot := pack(t, PackOptions{Access: true}, RunOptions{}, write(t, t.TempDir(), map[string]string{"a.warc": response("https://a.test/robots.txt", day, 200, "", "")})...)
	packed, err := readManifest(snapshot.dir)
	if err != nil {
		t.Fatal(err)
	}
	o := EvaluationOptions{Agents: [][]string{{"GPTBot"}}, Dialects: []string{"bing", "auto"}}
	ask, err := o.AskTask(t.TempDir(), Parquet, snapshot.dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), ask, RunOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		task                     *Task
		table, options, dialects string
	}{
		{packed, tableAgents, `{"redirect_window":86400000000000,"access":true}`, "rfc9309,google"},
		{ask, tableVerdicts, `{"agents":[["GPTBot"]],"dialects":["bing","auto"],"paths":["/"],"steps":20000000}`, "bing,auto"},
	} {
		f, err := os.Open(part.task.partPath(part.table, part.task.PartName(part.task.Shards[0])))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		err = openParquet(f, func(file *parquet.File) error {
			for key, want := range map[string]string{"command": part.task.Verb, "engine": Engine(), "options": part.options, "dialects": part.dialects} {
				if got, ok := file.Lookup("robots-bulk." + key); got != want || !ok {
					t.Errorf("%s: %s is %q, want %q", part.table, key, got, want)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
