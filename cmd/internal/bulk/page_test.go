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

// share formats a fraction with four decimals, as the page does.
func share(part, whole int) string {
	return strconv.FormatFloat(float64(part)/float64(max(whole, 1)), 'f', 4, 64)
}

// answered reports whether the robots.txt of a row was reachable.
func answered(v Verdict) bool { return v.Outcome == "success" || v.Outcome == "unavailable" }

// counted returns a row for each count, sorted by key.
func counted(head string, counts map[string]int) [][]string {
	rows := [][]string{strings.Split(head, ",")}
	for key, n := range counts {
		rows = append(rows, append(strings.Split(key, "|"), strconv.Itoa(n)))
	}
	slices.SortFunc(rows[1:], slices.Compare)
	return rows
}

// questions are the queries of the page in Go, for machines without DuckDB.
var questions = map[string]func(t *tables) [][]string{
	"shut-out": func(t *tables) [][]string {
		type month struct{ sites, answered, shut int }
		months := map[string]*month{}
		for _, v := range t.verdicts {
			if v.Agent != "GPTBot" || v.Dialect != "rfc9309" {
				continue
			}
			key := v.Fetched.Format("2006-01")
			m := months[key]
			if m == nil {
				m = &month{}
				months[key] = m
			}
			m.sites++
			if answered(v) {
				m.answered++
				if v.Access == "none" {
					m.shut++
				}
			}
		}
		rows := [][]string{{"month", "captures", "without_answer", "shut_out", "of_answered", "of_all"}}
		for _, key := range slices.Sorted(maps.Keys(months)) {
			m := months[key]
			rows = append(rows, []string{key, strconv.Itoa(m.sites), strconv.Itoa(m.sites - m.answered), strconv.Itoa(m.shut), share(m.shut, m.answered), share(m.shut, m.sites)})
		}
		return rows
	},
	"named": func(t *tables) [][]string {
		all := map[string]*[4]int{}
		for _, v := range t.verdicts {
			if v.Dialect != "rfc9309" {
				continue
			}
			c := all[v.Agent]
			if c == nil {
				c = new([4]int)
				all[v.Agent] = c
			}
			c[0]++
			if named := v.Group != "" && v.Group != "*"; named {
				c[1]++
				if v.Access == "all" {
					c[2]++
				}
			}
			if !answered(v) {
				c[3]++
			}
		}
		rows := [][]string{{"agent", "captures", "named", "blocks_nothing", "without_answer"}}
		for _, agent := range slices.Sorted(maps.Keys(all)) {
			row := []string{agent}
			for _, n := range all[agent] {
				row = append(row, strconv.Itoa(n))
			}
			rows = append(rows, row)
		}
		return rows
	},
	"pages": func(t *tables) [][]string {
		counts := map[string]int{}
		for _, j := range t.joined {
			if j.Agent == "CCBot" {
				counts[cmp.Or(j.Verdict, "no answer")]++
			}
		}
		return counted("verdict,urls", counts)
	},
	"changed": func(t *tables) [][]string {
		counts := map[string]int{}
		for _, d := range t.changes {
			if d.Dialect == "rfc9309" && (d.Agent == "GPTBot" || d.Agent == "Googlebot") {
				counts[d.Agent+"|"+d.Change]++
			}
		}
		return counted("agent,change,sites", counts)
	},
	"disagree": func(t *tables) [][]string {
		type key struct {
			input  string
			offset int64
			agent  string
		}
		rfc := map[key]Verdict{}
		for _, v := range t.verdicts {
			if v.Dialect == "rfc9309" {
				rfc[key{v.Input, v.Offset, v.Agent}] = v
			}
		}
		counts := map[string]int{}
		for _, v := range t.verdicts {
			if r := rfc[key{v.Input, v.Offset, v.Agent}]; v.Dialect == "google" && (v.Access != r.Access || v.Access == "unknown") {
				counts[v.Agent+"|"+r.Access+"|"+v.Access]++
			}
		}
		return counted("agent,rfc9309,google,captures", counts)
	},
	"delay": func(t *tables) [][]string {
		type country struct {
			captures, without, delay int
			sum                      float64
		}
		all := map[string]*country{}
		for _, v := range t.verdicts {
			if v.Agent != "GPTBot" || v.Dialect != "rfc9309" {
				continue
			}
			name := strings.Split(v.SURT, ",")[1]
			c := all[name]
			if c == nil {
				c = &country{}
				all[name] = c
			}
			c.captures++
			if !answered(v) {
				c.without++
			}
			if v.CrawlDelay != nil {
				c.delay++
				c.sum += *v.CrawlDelay
			}
		}
		rows := [][]string{{"country", "captures", "without_answer", "with_delay", "mean"}}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			c := all[name]
			rows = append(rows, []string{name, strconv.Itoa(c.captures), strconv.Itoa(c.without), strconv.Itoa(c.delay), strconv.FormatFloat(c.sum/float64(c.delay), 'f', 1, 64)})
		}
		return rows
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
