package bulk

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/batch"
	"github.com/robotskit/robots/internal/campaign"
)

// snapshotOf packs archives.
func snapshotOf(t *testing.T, archives ...string) string {
	t.Helper()
	files := map[string]string{}
	for i, a := range archives {
		files[fmt.Sprintf("%03d.warc", i)] = a
	}
	return pack(t, PackOptions{}, RunOptions{}, write(t, t.TempDir(), files)...).dir
}

// because adds to an error what failed.
func because(dir string, err error) error {
	if err == nil {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(dir, "errors", "*")) // none if it is another error
	for _, f := range files {
		text, _ := os.ReadFile(f)
		err = fmt.Errorf("%w\n%s", err, text)
	}
	return err
}

// rowsOf runs a task and returns the rows of its last table.
func rowsOf[T any](t testing.TB, task *Task, err error) []T {
	t.Helper()
	if err == nil {
		err = because(task.Dir, Run(context.Background(), task, RunOptions{Workers: 2}))
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []T
	for _, s := range task.Shards {
		for row, err := range readTable[T](task.partPath(task.Tables[len(task.Tables)-1], task.PartName(s))) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, row)
		}
	}
	return all
}

// TestAskTruth: verdicts for real files in an archive equal those of check --batch.
func TestAskTruth(t *testing.T) {
	agents := [][]string{{"GPTBot"}, {"Googlebot-Image", "Googlebot"}, {"nobody-knows-me"}}
	dialects := []string{"rfc9309", "google", "yandex"}
	paths := []string{"/", "/wp-admin/x.php?a=b"}
	part := campaign.Size(1000, 64, 1)
	bodies := map[string][]byte{} // by URL
	archives := make([]string, 3)
	campaign.Files(t, part, func(_ string, body []byte) {
		url := fmt.Sprintf("https://site-%d.example/robots.txt", len(bodies))
		archives[len(bodies)%3] += response(url, day, 200, "", string(body))
		bodies[url] = body
	})
	snapshot := snapshotOf(t, archives...)
	task, err := EvaluationOptions{Agents: agents, Dialects: dialects, Paths: paths}.AskTask(filepath.Join(t.TempDir(), "out"), Parquet, snapshot)
	rows := rowsOf[Verdict](t, task, err)
	if want := len(bodies) * len(agents) * len(dialects) * len(paths); len(rows) != want {
		t.Fatalf("%d rows, want %d", len(rows), want)
	}
	judge := batch.NewAnswerer(&batch.Defaults{Dialect: robots.RFC9309, MaxBytes: -1})
	long := 0
	for _, got := range rows {
		body := bodies[got.Origin+"/robots.txt"]
		if len(body) > 512_000 { // cut by the archive as by a fetch
			long++
			continue
		}
		line, _ := json.Marshal(map[string]any{"robots_b64": base64.StdEncoding.EncodeToString(body), "agent": strings.Fields(got.Agent), "dialect": got.Dialect, "url": got.Path})
		q := batch.Read(line)
		var want struct {
			Verdict, Reason string
			Rule            struct {
				Line               int32
				Directive, Pattern string
			}
			Group      struct{ Token string }
			CrawlDelay *float64 `json:"crawl_delay"`
		}
		answer := judge.Append(nil, &q)
		if err := json.Unmarshal(answer, &want); err != nil {
			t.Fatal(err)
		}
		row := got
		row.PathVerdict = PathVerdict{want.Verdict, want.Reason, want.Rule.Line, want.Rule.Directive, want.Rule.Pattern, want.Group.Token, got.Access}
		if row.CrawlDelay = want.CrawlDelay; !reflect.DeepEqual(got, row) {
			t.Fatalf("%+v\nof a batch: %s", got, answer)
		}
	}
	t.Logf("%d rows of %d files as check --batch has them, %d of files over the limit left out", len(rows)-long, len(bodies), long)
}

// TestAskOutcomes: verdicts for sites without a file; an unreachable site is never allowed.
func TestAskOutcomes(t *testing.T) {
	snapshot := snapshotOf(t,
		response("https://a.example/robots.txt", day, 200, "", "User-agent: GPTBot\nUser-agent: Caf\xe9\nDisallow: /\nCrawl-delay: 0\n")+
			response("https://b.example/robots.txt", day, 404, "", "")+
			response("https://c.example/robots.txt", day, 503, "", "")+
			redirect("https://d.example/robots.txt", day, "https://nowhere.example/robots.txt")+
			response("https://e.example/robots.txt", day, 429, "", "")+
			response("https://f.example/robots.txt", day, 200, "", "User-agent: *\nDisallow: /\xff\xfe$\nAllow: /\n"))
	o := EvaluationOptions{Agents: [][]string{{"GPTBot"}, {"x"}, {"GPTBot"}}, Dialects: []string{"rfc9309", "google-legacy"}}
	task, err := o.AskTask(filepath.Join(t.TempDir(), "out"), JSONL, snapshot)
	got := ""
	for _, r := range rowsOf[Verdict](t, task, err) {
		delay := "null"
		if r.CrawlDelay != nil {
			delay = fmt.Sprint(*r.CrawlDelay)
		}
		got += fmt.Sprintln(r.SURT, r.Agent, r.Dialect, r.Path, r.Outcome, cmp.Or(r.Verdict, "null"), cmp.Or(r.Reason, "null"), r.Line, r.Directive, r.Pattern, r.Group, r.Access, delay)
	}
	want := `example,a GPTBot rfc9309 / success disallow rule 3 disallow / gptbot none 0
example,a GPTBot google-legacy / success disallow rule 3 disallow / gptbot none 0
example,a x rfc9309 / success allow no-group 0    all null
example,a x google-legacy / success allow no-group 0    all null
example,b GPTBot rfc9309 / unavailable allow unavailable 0    all null
example,b GPTBot google-legacy / unavailable allow unavailable 0    all null
example,b x rfc9309 / unavailable allow unavailable 0    all null
example,b x google-legacy / unavailable allow unavailable 0    all null
example,c GPTBot rfc9309 / unreachable null unreachable 0    unknown null
example,c GPTBot google-legacy / unreachable null unreachable 0    unknown null
example,c x rfc9309 / unreachable null unreachable 0    unknown null
example,c x google-legacy / unreachable null unreachable 0    unknown null
example,d GPTBot rfc9309 / redirect-unresolved null null 0    unknown null
example,d GPTBot google-legacy / redirect-unresolved null null 0    unknown null
example,d x rfc9309 / redirect-unresolved null null 0    unknown null
example,d x google-legacy / redirect-unresolved null null 0    unknown null
example,e GPTBot rfc9309 / unreachable null unreachable 0    unknown null
example,e GPTBot google-legacy / unreachable allow unavailable 0    all null
example,e x rfc9309 / unreachable null unreachable 0    unknown null
example,e x google-legacy / unreachable allow unavailable 0    all null
example,f GPTBot rfc9309 / success allow rule 3 allow / * part null
example,f GPTBot google-legacy / success allow rule 3 allow / * part null
example,f x rfc9309 / success allow rule 3 allow / * part null
example,f x google-legacy / success allow rule 3 allow / * part null
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestReadAgents(t *testing.T) {
	got, err := ReadAgents(strings.NewReader("\ufeffGPTBot\n# no crawler\n\nGooglebot-Image, Googlebot  # two names\r\n"))
	if want := [][]string{{"GPTBot"}, {"Googlebot-Image", "Googlebot"}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("agents %q, %v", got, err)
	}
	if _, err := ReadAgents(strings.NewReader("# nobody\n")); err == nil {
		t.Error("an empty list of crawlers is accepted")
	}
}
