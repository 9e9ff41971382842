package bulk

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
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

// tables are the input of the queries in the page.
type tables struct {
	verdicts []Verdict
	joined   []Joined
	changes  []Diff
}

// share formats a fraction with some decimals, as the page does.
func share(part, whole float64, decimals int) string {
	return strconv.FormatFloat(part/max(whole, 1), 'f', decimals, 64)
}

// answered reports whether the robots.txt of a row was reachable.
func answered(v Verdict) bool { return v.Outcome == "success" || v.Outcome == "unavailable" }

// grouped returns sums by group, sorted: of returns the group of a row, with | between its
// columns, or "" for none, and what the row adds to its sums. Shown returns the columns of sums.
func grouped[T any](head string, all []T, of func(row T) (group string, add []float64), shown func(sums []float64) []string) [][]string {
	groups := map[string][]float64{}
	for _, row := range all {
		group, add := of(row)
		if group == "" {
			continue
		}
		if groups[group] == nil {
			groups[group] = make([]float64, len(add))
		}
		for i, n := range add {
			groups[group][i] += n
		}
	}
	rows := [][]string{strings.Split(head, ",")}
	for _, group := range slices.SortedFunc(maps.Keys(groups), func(a, b string) int { return slices.Compare(strings.Split(a, "|"), strings.Split(b, "|")) }) {
		rows = append(rows, append(strings.Split(group, "|"), shown(groups[group])...))
	}
	return rows
}

// counts formats sums as whole numbers.
func counts(sums []float64) (columns []string) {
	for _, n := range sums {
		columns = append(columns, strconv.Itoa(int(n)))
	}
	return columns
}

// is is 1 for true.
func is(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// questions are the queries of the page in Go, for machines without DuckDB.
var questions = map[string]func(t *tables) [][]string{
	"shut-out": func(t *tables) [][]string {
		return grouped("month,captures,without_answer,shut_out,of_answered,of_all", t.verdicts, func(v Verdict) (string, []float64) {
			if v.Agent != "GPTBot" || v.Dialect != "rfc9309" {
				return "", nil
			}
			return v.Fetched.Format("2006-01"), []float64{1, is(!answered(v)), is(answered(v) && v.Access == "none")}
		}, func(n []float64) []string { return append(counts(n), share(n[2], n[0]-n[1], 4), share(n[2], n[0], 4)) })
	},
	"named": func(t *tables) [][]string {
		return grouped("agent,captures,named,blocks_nothing,without_answer", t.verdicts, func(v Verdict) (string, []float64) {
			if v.Dialect != "rfc9309" {
				return "", nil
			}
			named := v.Group != "" && v.Group != "*"
			return v.Agent, []float64{1, is(named), is(named && v.Access == "all"), is(!answered(v))}
		}, counts)
	},
	"pages": func(t *tables) [][]string {
		return grouped("verdict,urls", t.joined, func(j Joined) (string, []float64) {
			if j.Agent != "CCBot" {
				return "", nil
			}
			return cmp.Or(j.Verdict, "no answer"), []float64{1}
		}, counts)
	},
	"changed": func(t *tables) [][]string {
		return grouped("agent,change,sites", t.changes, func(d Diff) (string, []float64) {
			if d.Dialect != "rfc9309" || d.Agent != "GPTBot" && d.Agent != "Googlebot" {
				return "", nil
			}
			return d.Agent + "|" + d.Change, []float64{1}
		}, counts)
	},
	"disagree": func(t *tables) [][]string {
		key := func(v Verdict) string { return fmt.Sprint(v.Input, v.Offset, v.Agent) }
		rfc := map[string]Verdict{}
		for _, v := range t.verdicts {
			if v.Dialect == "rfc9309" {
				rfc[key(v)] = v
			}
		}
		return grouped("agent,rfc9309,google,captures", t.verdicts, func(v Verdict) (string, []float64) {
			r := rfc[key(v)]
			if v.Dialect != "google" || v.Access == r.Access && v.Access != "unknown" {
				return "", nil
			}
			return v.Agent + "|" + r.Access + "|" + v.Access, []float64{1}
		}, counts)
	},
	"delay": func(t *tables) [][]string {
		return grouped("country,captures,without_answer,with_delay,mean", t.verdicts, func(v Verdict) (string, []float64) {
			if v.Agent != "GPTBot" || v.Dialect != "rfc9309" {
				return "", nil
			}
			sums := []float64{1, is(!answered(v)), is(v.CrawlDelay != nil), 0}
			if v.CrawlDelay != nil {
				sums[3] = *v.CrawlDelay
			}
			return strings.Split(v.SURT, ",")[1], sums
		}, func(n []float64) []string { return append(counts(n[:3]), share(n[3], n[2], 1)) })
	},
}

// block matches a query in the page: its name, its SQL and its result.
var block = regexp.MustCompile("(?s)<!-- question: ([a-z-]+) -->\n```sql\n(.*?)```\n\n```text\n(.*?)```\n")

// TestBulkPage: the results in the page are those of the sample, also by DuckDB where it is
// installed.
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
		snapshots[name] = packedOf(t, names...)
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
	var all tables
	task, err := o.AskTask(filepath.Join(work, "verdicts"), Parquet, snapshots["snap"])
	all.verdicts = rowsOf[Verdict](t, task, err)
	one := AskOptions{Agents: agents}
	task, err = JoinOptions{AskOptions: one}.JoinTask(filepath.Join(work, "joined"), Parquet, snapshots["snap"], []string{filepath.Join(examples, "urls.jsonl")})
	all.joined = rowsOf[Joined](t, task, err)
	task, err = one.DiffTask(filepath.Join(work, "changes"), Parquet, snapshots["may"], snapshots["october"])
	all.changes = rowsOf[Diff](t, task, err)
	for i := range all.verdicts {
		all.verdicts[i].Fetched = all.verdicts[i].Fetched.UTC()
	}

	duck, noDuck := exec.LookPath("duckdb")
	seen := map[string]bool{}
	out := block.ReplaceAllStringFunc(string(page), func(text string) string {
		m := block.FindStringSubmatch(text)
		name, sql, shown := m[1], m[2], m[3]
		seen[name] = true
		ask := questions[name]
		if ask == nil {
			t.Errorf("unknown query %s in the page", name)
			return text
		}
		rows := ask(&all)
		if len(rows) < 2 {
			t.Errorf("%s: no rows", name)
		}
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		if err := w.WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		if noDuck == nil {
			cmd := exec.CommandContext(t.Context(), duck, "-csv", "-c", sql)
			cmd.Dir = work
			if got, err := cmd.CombinedOutput(); err != nil || strings.ReplaceAll(string(got), "\r", "") != b.String() {
				t.Errorf("%s: DuckDB prints\n%s%v\nwant\n%s", name, got, err, b.String())
			}
		}
		if !*update && shown != b.String() {
			t.Errorf("%s: the page shows\n%s\nwant\n%s", name, shown, b.String())
		}
		return strings.Replace(text, "```text\n"+shown, "```text\n"+b.String(), 1)
	})
	for name := range questions {
		if !seen[name] {
			t.Errorf("the page has no query %s", name)
		}
	}
	if *update {
		if err := os.WriteFile(bulkPage, []byte(out), 0o666); err != nil {
			t.Fatal(err)
		}
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
