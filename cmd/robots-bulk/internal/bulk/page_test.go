package bulk

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
)

var update = flag.Bool("update", false, "write the results for examples/bulk into docs/bulk.md")

const (
	examples = "../../../../examples/bulk"
	bulkPage = "../../../../docs/bulk.md"
)

// sampleMonths are those of the three crawls in examples/bulk, of invented sites. The label
// before .example stands for a country.
var sampleMonths = []time.Month{time.May, time.October, time.November}

// samplePath returns the archive of a crawl.
func samplePath(crawl int) string {
	return filepath.Join(examples, fmt.Sprintf("2026-%02d.warc.gz", sampleMonths[crawl]))
}

// block matches a query in the page: its name, its SQL and its result.
var block = regexp.MustCompile("(?s)<!-- question: ([a-z-]+) -->\n```sql\n(.*?)```\n\n```text\n(.*?)```\n")

// TestBulkPage: the results in the page are those of the sample, computed here, and by DuckDB from the
// queries of the page in a campaign.
func TestBulkPage(t *testing.T) {
	page, err := os.ReadFile(bulkPage)
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	tables := makeSample(t, work)
	duck := ""
	if campaign.On() {
		duck = duckDB(t)
	}
	asked := map[string]bool{}
	out := block.ReplaceAllStringFunc(string(page), func(text string) string {
		m := block.FindStringSubmatch(text)
		name, sql, shown := m[1], m[2], m[3]
		if sampleAnswers[name] == nil || asked[name] {
			t.Fatalf("question %s is computed by no function, or there twice", name)
		}
		asked[name] = true
		got := sampleAnswers[name](tables)
		if duck != "" {
			if want := query(t, duck, work, sql); got != want {
				t.Errorf("%s: DuckDB prints\n%s\nwant\n%s", name, want, got)
			}
		}
		if !*update && shown != got {
			t.Errorf("%s: the page shows\n%s\nwant\n%s", name, shown, got)
		}
		return strings.Replace(text, "```text\n"+shown, "```text\n"+got, 1)
	})
	if len(asked) != len(sampleAnswers) {
		t.Errorf("%d queries in the page, want %d", len(asked), len(sampleAnswers))
	}
	if *update {
		if err := os.WriteFile(bulkPage, []byte(out), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// makeSample makes the tables of the page in a folder, as its commands do.
func makeSample(t *testing.T, dir string) *sampleTables {
	t.Helper()
	var archives []string
	for crawl := range sampleMonths {
		archives = append(archives, samplePath(crawl))
	}
	packSample := func(folder string, o PackOptions, archives ...string) *Task {
		inputs, err := o.ListInputs(archives)
		if err != nil {
			t.Fatal(err)
		}
		folder = filepath.Join(dir, folder)
		if err := because(folder, Pack(t.Context(), folder, Parquet, o, inputs, RunOptions{})); err != nil {
			t.Fatal(err)
		}
		task, err := readManifest(folder)
		if err != nil {
			t.Fatal(err)
		}
		return task
	}
	run := func(task *Task, err error) *Task {
		if err == nil {
			err = because(task.Dir, Run(t.Context(), task, RunOptions{}))
		}
		if err != nil {
			t.Fatal(err)
		}
		return task
	}
	list, err := os.Open(filepath.Join(examples, "agents.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	agents, err := ReadAgents(list)
	if err != nil {
		t.Fatal(err)
	}
	both := EvaluationOptions{Agents: agents, Dialects: []string{"rfc9309", "google"}}
	one := EvaluationOptions{Agents: agents}
	snapshot := packSample("snap", PackOptions{Lint: true}, archives...)
	may := packSample("may", PackOptions{}, archives[0])
	october := packSample("october", PackOptions{}, archives[1])
	ask := run(both.AskTask(filepath.Join(dir, "verdicts"), Parquet, snapshot.Dir))
	join := run(JoinOptions{EvaluationOptions: one}.JoinTask(filepath.Join(dir, "joined"), Parquet, snapshot.Dir, []string{filepath.Join(examples, "urls.jsonl")}))
	diff := run(one.DiffTask(filepath.Join(dir, "changes"), Parquet, may.Dir, october.Dir))
	return readSample(t, snapshot, ask, join, diff)
}

// query runs a query of the page with DuckDB.
func query(t *testing.T, duck, folder, sql string) string {
	t.Helper()
	definitions, err := filepath.Abs("../../../../docs/bulk-duckdb.sql")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(duck, "query.mjs"), folder, definitions)
	cmd.Stdin = strings.NewReader(sql)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s\n%s", err, out, sql)
	}
	return strings.ReplaceAll(string(out), "\r", "")
}

// duckDB installs DuckDB, which is no dependency of the project, with npm, and returns its folder.
func duckDB(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/duckdb")); err != nil {
		t.Fatal(err)
	}
	npm := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("a campaign needs npm and its registry: %v: %s", err, out)
	}
	return dir
}
