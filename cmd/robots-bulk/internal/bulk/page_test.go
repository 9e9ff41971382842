package bulk

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
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

// sampleMonths are those of the two crawls in examples/bulk, of invented sites. The label
// before .example stands for a country.
var sampleMonths = []time.Month{time.May, time.October}

// samplePath returns the archive of a crawl.
func samplePath(crawl int) string {
	return filepath.Join(examples, fmt.Sprintf("2026-%02d.warc.gz", sampleMonths[crawl]))
}

// block matches a query in the page: its name, its SQL and its result.
var block = regexp.MustCompile("(?s)<!-- question: ([a-z-]+) -->\n```sql\n(.*?)```\n\n```text\n(.*?)```\n")

// TestBulkPage: the results in the page are those of its queries of the sample, in Parquet and in
// JSON Lines, by the database in Python, and by DuckDB in a campaign.
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
	formats := []string{Parquet, JSONL}
	for _, format := range formats {
		dir := filepath.Join(work, format)
		o := EvaluationOptions{Agents: agents, Dialects: []string{"rfc9309", "google"}}
		one := EvaluationOptions{Agents: agents}
		task, err := o.AskTask(filepath.Join(dir, "verdicts"), format, snapshots["snap"])
		inLines(t, dir, task, err)
		task, err = JoinOptions{EvaluationOptions: one}.JoinTask(filepath.Join(dir, "joined"), format, snapshots["snap"], []string{filepath.Join(examples, "urls.jsonl")})
		inLines(t, dir, task, err)
		task, err = one.DiffTask(filepath.Join(dir, "changes"), format, snapshots["may"], snapshots["october"])
		inLines(t, dir, task, err)
	}

	run := func(sql, program string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Stdin = strings.NewReader(sql)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s\n%s", err, out, sql)
		}
		return strings.ReplaceAll(string(out), "\r", "")
	}
	duck := ""
	if campaign.On() {
		duck = duckDB(t)
	}
	n := 0
	out := block.ReplaceAllStringFunc(string(page), func(text string) string {
		n++
		m := block.FindStringSubmatch(text)
		name, sql, shown := m[1], m[2], m[3]
		got := ""
		for i, format := range formats {
			dir := filepath.Join(work, format)
			sql := strings.ReplaceAll(sql, "."+Parquet, "."+format)
			answer := run(sql, "python3", "testdata/query.py", dir)
			if i == 0 {
				got = answer
			}
			if answer != got {
				t.Errorf("%s: Parquet gives\n%s\n%s\n%s", name, got, format, answer)
			}
			if duck == "" {
				continue
			}
			if want := run(sql, "node", filepath.Join(duck, "query.mjs"), dir); got != want {
				t.Errorf("%s: DuckDB prints for %s\n%s\nPython\n%s", name, format, want, got)
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

// inLines runs a task and writes its table to TABLE.jsonl, with the nulls that its files have.
func inLines(t *testing.T, dir string, task *Task, err error) {
	t.Helper()
	if err == nil {
		err = because(task.Dir, Run(t.Context(), task, RunOptions{}))
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(task.partPath(task.Tables[0], task.PartName(task.Shards[0])))
	if err != nil || len(task.Shards) != 1 {
		t.Fatalf("%d shards, %v", len(task.Shards), err)
	}
	if task.Format == Parquet {
		columns := parquetCells(t, text)
		text = nil
		for row := range columns[0].values {
			for i, c := range columns {
				text = strconv.AppendQuote(append(text, "{,"[min(i, 1)]), c.name)
				text = append(text, ':')
				if s, ok := strings.CutPrefix(c.values[row], `"`); ok {
					quoted, _ := json.Marshal(s)
					text = append(text, quoted...)
				} else {
					text = append(text, c.values[row]...)
				}
			}
			text = append(text, '}', '\n')
		}
	}
	if err := os.WriteFile(filepath.Join(dir, task.Tables[0]+".jsonl"), text, 0o666); err != nil {
		t.Fatal(err)
	}
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
