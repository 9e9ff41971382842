package bulk

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

const analysesPage = "../../../../docs/analyses.md"

// analysis matches a query in the page: its name, its SQL, and how its answer relates to the published
// definition.
var analysis = regexp.MustCompile("(?s)<!-- analysis: ([a-z]+) -->\n```sql\n(.*?)```\n\n```text\n(.*?)```\n")

// TestAnalyses: of four months of real files the queries in docs/analyses.md compute what a plain script in
// the way of the published programs does, but for classes of lines that it names and counts.
func TestAnalyses(t *testing.T) {
	campaign.Only(t)
	page, err := os.ReadFile(analysesPage)
	if err != nil {
		t.Fatal(err)
	}
	archives := makeMonths(t)
	duck := duckDB(t)
	work := t.TempDir()
	packMonths(t, work, archives)
	for _, m := range analysis.FindAllStringSubmatch(string(page), -1) {
		if err := os.WriteFile(filepath.Join(work, m[1]+".csv"), []byte(query(t, duck, work, m[2])), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "python3", append([]string{"testdata/analyses.py", work}, archives...)...)
	cmd.Stderr = t.Output()
	relations, err := cmd.Output()
	if err != nil {
		t.Fatalf("figures that no class explains: %v", err)
	}
	out := analysis.ReplaceAllStringFunc(string(page), func(text string) string {
		m := analysis.FindStringSubmatch(text)
		_, relation, _ := strings.Cut(string(relations), "== "+m[1]+"\n")
		relation, _, _ = strings.Cut(relation, "== ")
		t.Logf("%s: %s", m[1], relation)
		if !*update && m[3] != relation {
			t.Errorf("%s: the page has\n%s", m[1], m[3])
		}
		return strings.Replace(text, "```text\n"+m[3], "```text\n"+relation, 1)
	})
	if *update {
		if err := os.WriteFile(analysesPage, []byte(out), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// packMonths makes the tables of the queries in a folder, as the commands of the page do.
func packMonths(t *testing.T, dir string, archives []string) {
	t.Helper()
	var options PackOptions
	inputs, err := options.ListInputs(archives)
	if err != nil {
		t.Fatal(err)
	}
	snapshot := filepath.Join(dir, "snap")
	if err := because(snapshot, Pack(t.Context(), snapshot, Parquet, options, inputs, RunOptions{Workers: 2})); err != nil {
		t.Fatal(err)
	}
	o := EvaluationOptions{Dialects: []string{"google-cpp"}}
	for agent := range strings.FieldsSeq("GPTBot CCBot Google-Extended ChatGPT-User anthropic-ai ClaudeBot Claude-Web PerplexityBot Bytespider omgili") {
		o.Agents = append(o.Agents, []string{agent})
	}
	task, err := o.AskTask(filepath.Join(dir, "verdicts"), Parquet, snapshot)
	if err == nil {
		err = because(task.Dir, Run(t.Context(), task, RunOptions{Workers: 2}))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// makeMonths writes crawls of four months, made of real files, and returns the archives.
func makeMonths(t *testing.T) (archives []string) {
	t.Helper()
	corpus := os.Getenv("ROBOTS_CORPUS")
	if corpus == "" {
		t.Skip("ROBOTS_CORPUS does not name a folder of real robots.txt files")
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "python3", "testdata/months.py", corpus, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for month := 6; month < 10; month++ {
		archives = append(archives, filepath.Join(dir, fmt.Sprintf("2026-%02d.warc.gz", month)))
	}
	return archives
}
