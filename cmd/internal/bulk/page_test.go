package bulk

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the results for examples/bulk into docs/bulk.md")

const (
	examples = "../../../examples/bulk"
	bulkPage = "../../../docs/bulk.md"
)

// sampleMonths are those of the two crawls in examples/bulk, of invented sites. The label
// before .example stands for a country.
var sampleMonths = []time.Month{time.May, time.October}

// samplePath returns the archive of a crawl.
func samplePath(crawl int) string {
	return filepath.Join(examples, fmt.Sprintf("2026-%02d.warc.gz", sampleMonths[crawl]))
}

// block matches a query in the page: its name, its SQL and its result.
var block = regexp.MustCompile("(?s)<!-- question: ([a-z-]+) -->\n```sql\n(.*?)```\n\n```text\n(.*?)```\n")

// TestBulkPage: the results in the page are those of its queries of the sample, by the database
// in Python, and by DuckDB where it is installed.
func TestBulkPage(t *testing.T) {
	page, err := os.ReadFile(bulkPage)
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	snapshots := map[string]string{}
	for name, crawls := range map[string][]int{"snap": {0, 1}, "may": {0}, "october": {1}} {
		var names []string
		for _, crawl := range crawls {
			names = append(names, samplePath(crawl))
		}
		snapshots[name] = pack(t, PackOptions{}, RunOptions{}, names...).dir
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
	o := AskOptions{Agents: agents, Dialects: []string{"rfc9309", "google"}}
	task, err := o.AskTask(filepath.Join(work, "verdicts"), Parquet, snapshots["snap"])
	inCSV(t, work, rowsOf[Verdict](t, task, err), task)
	one := AskOptions{Agents: agents}
	task, err = JoinOptions{AskOptions: one}.JoinTask(filepath.Join(work, "joined"), Parquet, snapshots["snap"], []string{filepath.Join(examples, "urls.jsonl")})
	inCSV(t, work, rowsOf[Joined](t, task, err), task)
	task, err = one.DiffTask(filepath.Join(work, "changes"), Parquet, snapshots["may"], snapshots["october"])
	inCSV(t, work, rowsOf[Diff](t, task, err), task)

	run := func(dir, sql, program string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(sql)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s\n%s", err, out, sql)
		}
		return strings.ReplaceAll(string(out), "\r", "")
	}
	duck, noDuck := exec.LookPath("duckdb")
	n := 0
	out := block.ReplaceAllStringFunc(string(page), func(text string) string {
		n++
		m := block.FindStringSubmatch(text)
		name, sql, shown := m[1], m[2], m[3]
		got := run(".", sql, "python3", "testdata/query.py", work)
		if noDuck == nil {
			if want := run(work, "", duck, "-csv", "-c", sql); got != want {
				t.Errorf("%s: DuckDB prints\n%s\nPython\n%s", name, want, got)
			}
		}
		if !*update && shown != got {
			t.Errorf("%s: the page shows\n%s\nwant\n%s", name, shown, got)
		}
		return strings.Replace(text, "```text\n"+shown, "```text\n"+got, 1)
	})
	if n != 6 {
		t.Errorf("%d queries in the page", n)
	}
	if *update {
		if err := os.WriteFile(bulkPage, []byte(out), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// inCSV writes the rows of the last table of a task to TABLE.csv.
func inCSV[T any](t *testing.T, dir string, rows []T, task *Task) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, task.Tables[0]+".csv"), written(t, CSV, rows), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestColumns: the page lists the columns of each table, in their order.
func TestColumns(t *testing.T) {
	page, err := os.ReadFile(bulkPage)
	if err != nil {
		t.Fatal(err)
	}
	for name, columns := range map[string][]column{
		"captures": namesOf[Capture](), "bodies": namesOf[Body](), "verdicts": namesOf[Verdict](), "joined": namesOf[Joined](), "changes": namesOf[Diff](),
	} {
		var names []string
		for _, c := range columns {
			names = append(names, "`"+c.name+"`")
		}
		if want := fmt.Sprintf("| `%s` | %s |", name, strings.Join(names, ", ")); !strings.Contains(string(page), want) {
			t.Errorf("docs/bulk.md has no line\n%s", want)
		}
	}
}

func namesOf[T any]() []column { return columnsOf(reflect.TypeFor[T]()) }
