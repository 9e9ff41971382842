package bulk

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"github.com/robotskit/robots/internal/campaign"
)

// TestParquetFault: parquet-go takes optional values from bit y of a 64-row word to bit 2y for a
// full word, and writes the zeros behind them as values, not as nulls. Where this test fails,
// that is mended, and parquetTable can be a parquet.GenericWriter of structs.
func TestParquetFault(t *testing.T) {
	type row struct {
		Line int32 `parquet:"line,optional"`
	}
	rows := make([]row, 64)
	rows[1].Line = 2
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	w.Write(rows)
	w.Close()
	if nulls := parquetCells(t, b.Bytes())[0].nulls(); nulls != 1 {
		t.Errorf("parquet-go writes %d of 63 nulls, and v0.32.0 writes 1", nulls)
	}
}

// A cells is the values of a column, each with a mark of its type before.
type cells struct {
	name   string
	values []string
}

const null = "null"

func (c *cells) nulls() (n int) {
	for _, v := range c.values {
		if v == null {
			n++
		}
	}
	return n
}

func (c *cells) String() string {
	distinct := map[string]bool{}
	for _, v := range c.values {
		distinct[v] = true
	}
	return fmt.Sprintf("%d rows, %d nulls, %d distinct", len(c.values), c.nulls(), len(distinct))
}

// parquetCells reads the columns of a Parquet file by definition levels, not through structs as
// it was written, and compares its statistics with them.
func parquetCells(t testing.TB, text []byte) (columns []cells) {
	t.Helper()
	file, err := parquet.OpenFile(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	var types []parquet.Type
	for _, path := range file.Schema().Columns() {
		leaf, _ := file.Schema().Lookup(path...)
		columns, types = append(columns, cells{name: path[0]}), append(types, leaf.Node.Type())
	}
	r := parquet.NewGenericReader[any](file)
	defer r.Close()
	rows := make([]parquet.Row, 100)
	for done := int64(0); done < r.NumRows(); {
		n, err := r.ReadRows(rows)
		if n == 0 {
			t.Fatal(err)
		}
		done += int64(n)
		for _, row := range rows[:n] {
			for i, v := range row {
				columns[i].values = append(columns[i].values, parquetCell(v, types[i].LogicalType()))
			}
		}
	}
	for i := range columns {
		stated := 0
		for _, group := range file.Metadata().RowGroups {
			stated += int(group.Columns[i].MetaData.Statistics.NullCount)
		}
		if nulls := columns[i].nulls(); stated != nulls {
			t.Errorf("%s: the statistics have %d nulls, the column %d", columns[i].name, stated, nulls)
		}
	}
	return columns
}

func parquetCell(v parquet.Value, logical *format.LogicalType) string {
	var is any
	if logical != nil {
		is = logical.Value
	}
	switch _, timestamp := is.(*format.TimestampType); {
	case v.IsNull():
		return null
	case timestamp:
		return `"` + time.UnixMilli(v.Int64()).UTC().Format(timeLayout)
	case v.Kind() == parquet.ByteArray && logical == nil:
		return `"` + base64.StdEncoding.EncodeToString(v.ByteArray())
	case v.Kind() == parquet.ByteArray:
		return `"` + string(v.ByteArray())
	case v.Kind() == parquet.Double:
		return strconv.FormatFloat(v.Double(), 'g', -1, 64)
	case v.Kind() == parquet.Boolean:
		return strconv.FormatBool(v.Boolean())
	}
	return strconv.FormatInt(v.Int64(), 10)
}

// lineCells reads the columns of JSON Lines.
func lineCells(t testing.TB, text []byte) (columns []cells) {
	t.Helper()
	rows := 0
	for d := jsontext.NewDecoder(bytes.NewReader(text)); ; rows++ {
		if _, err := d.ReadToken(); errors.Is(err, io.EOF) {
			return columns
		}
		for i := 0; d.PeekKind() != '}'; i++ {
			name, err := d.ReadToken()
			if err != nil {
				t.Fatal(err)
			}
			if rows == 0 {
				columns = append(columns, cells{name: name.String()})
			} else if name.String() != columns[i].name {
				t.Fatalf("row %d: %s, want %s", rows, name, columns[i].name)
			}
			value, err := d.ReadToken()
			if err != nil {
				t.Fatal(err)
			}
			cell := value.String()
			if value.Kind() == '"' {
				cell = `"` + cell
			}
			columns[i].values = append(columns[i].values, cell)
		}
		if _, err := d.ReadToken(); err != nil {
			t.Fatal(err)
		}
	}
}

// sameTable fails unless a table is the same in Parquet and in JSON Lines, and returns its columns.
func sameTable(t testing.TB, what string, parquets, lines []byte) []cells {
	t.Helper()
	one := parquetCells(t, parquets)
	two := lineCells(t, lines)
	for i := range two {
		if len(one) != len(two) || one[i].name != two[i].name || !slices.Equal(one[i].values, two[i].values) {
			t.Errorf("%s, column %s: Parquet has %v values, JSON Lines %v", what, two[i].name, &one[i], &two[i])
		}
	}
	return two
}

// A nullSample is snapshots of two crawls, in which every column that can be null is null for
// some sites, and URLs. Few sites of the first 64 have a rule.
type nullSample struct {
	crawls [2]string
	urls   string
}

const (
	nullSites    = 66
	nullCrawlers = 70
)

func newNullSample() (s nullSample) {
	random := rand.New(rand.NewPCG(43, 1))
	for site := range nullSites {
		url := fmt.Sprintf("https://s%02d.test/robots.txt", site)
		s.urls += fmt.Sprintf(`{"url":"https://s%02d.test/a?%d","at":"2026-05-01T11:00:00Z"}`+"\n", site, site)
		for i := range s.crawls {
			text := ""
			kind := random.IntN(10)
			if i == 0 && site < 60 {
				kind = 0
				if site == 1 {
					kind = 1
				}
			}
			switch kind {
			case 0:
				text = response(url, day, 200, "", "")
			case 1:
				text = response(url, day, 200, "", "User-agent: *\nDisallow: /\n")
			case 2:
				text = response(url, day, 404, "", "")
			case 3:
				text = response(url, day, 503, "", "")
			case 4:
				text = redirect(url, day, "https://s00.test/robots.txt")
			case 5:
				text = redirect(url, day, "https://nowhere.test/robots.txt")
			case 6:
				text = record("resource", url, day, "Allow: /\n")
			case 7: // not archived
			default:
				body := ""
				for range random.IntN(9) {
					body += fmt.Sprintf("User-agent: bot%02d\nCrawl-delay: %d\nDisallow: /%.*s\n\n", random.IntN(nullCrawlers), random.IntN(4), random.IntN(2), "a")
				}
				text = response(url, day, 200, "", body)
			}
			s.crawls[i] += text
		}
	}
	const address = "https://192.0.2.1/robots.txt" // has no registered domain
	s.crawls[0] += response(address, day, 404, "", "")
	s.crawls[1] += response(address, day, 200, "Content-Type: text/plain\r\n", "User-agent: *\n", "WARC-Identified-Payload-Type: text/plain")
	s.crawls[1] += response("https://t0.test/robots.txt", day, 200, "", "<html>") +
		response("https://t1.test/robots.txt", day, 200, "", "Sitemap: /map.xml\nSitemap: https://t1.test/map.xml\nUseragent: x\nUser-agent: 9\nAllow: /\nnovalue:\n"+
			"User-agent: GPTBot\nContent-Signal: /a search=yes, ai-train=no\nLicense: https://t1.test/license\n") +
		response("https://t2.test/robots.txt", day, 200, "", "Content-Signal: search=yes\n")
	s.urls += `{"url":"mailto:a@s99.test","at":"2026-05-01T11:00:00Z"}` + "\n"
	return s
}

// A nullTable is what one of the tables of a sample holds, in both formats.
type nullTable struct {
	name           string
	row            reflect.Type
	parquet, lines []byte
	again          func(crawlers int) (parquets, lines []byte) // the rows for the first crawlers
}

// nullTables makes all tables of a sample.
func nullTables(t *testing.T) (tables []nullTable) {
	t.Helper()
	sample := newNullSample()
	dir := t.TempDir()
	list := write(t, dir, map[string]string{"list.jsonl": sample.urls})
	formats := []string{Parquet, JSONL}
	var o EvaluationOptions
	for i := range nullCrawlers {
		o.Agents = append(o.Agents, []string{fmt.Sprintf("bot%02d", i)})
	}
	var made [2][]*Task
	for k, format := range formats {
		var snapshots [2]string
		for i, text := range sample.crawls {
			pack := PackOptions{Lint: true, Access: true}
			inputs, err := pack.ListInputs(write(t, dir, map[string]string{fmt.Sprint(i, ".warc"): text}))
			if err != nil {
				t.Fatal(err)
			}
			snapshots[i] = filepath.Join(dir, fmt.Sprint("snap-", i, "-", format))
			if err := Pack(t.Context(), snapshots[i], format, pack, inputs, RunOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		packed, err := readManifest(snapshots[1])
		if err != nil {
			t.Fatal(err)
		}
		ask, err := o.AskTask(filepath.Join(dir, "ask-"+format), format, snapshots[0])
		if err != nil {
			t.Fatal(err)
		}
		join, err := JoinOptions{EvaluationOptions: o}.JoinTask(filepath.Join(dir, "join-"+format), format, snapshots[0], list)
		if err != nil {
			t.Fatal(err)
		}
		diff, err := o.DiffTask(filepath.Join(dir, "diff-"+format), format, snapshots[0], snapshots[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range []*Task{ask, join, diff} {
			if err := Run(t.Context(), task, RunOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		made[k] = []*Task{packed, ask, join, diff}
	}
	part := func(k, task int, table string) []byte {
		m := made[k][task]
		text, err := os.ReadFile(m.partPath(table, m.PartName(m.Shards[0])))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	add := func(task int, table string, row reflect.Type, again func(crawlers int) (parquets, lines []byte)) {
		tables = append(tables, nullTable{table, row, part(0, task, table), part(1, task, table), again})
	}
	add(0, tableCaptures, reflect.TypeFor[Capture](), nil)
	add(0, tableBodies, reflect.TypeFor[Body](), nil)
	add(0, tableFiles, reflect.TypeFor[FileSummary](), nil)
	add(0, tableRules, reflect.TypeFor[FieldLine](), nil)
	add(0, tableAgents, reflect.TypeFor[NamedAgent](), nil)
	add(0, tableSignals, reflect.TypeFor[SignalValue](), nil)
	add(0, tableSitemaps, reflect.TypeFor[SitemapLine](), nil)
	add(0, tableFindings, reflect.TypeFor[FindingCount](), nil)
	add(1, tableVerdicts, reflect.TypeFor[Verdict](), firstCrawlers(t, part(1, 1, tableVerdicts), func(v *Verdict) string { return v.Agent }))
	add(2, tableJoined, reflect.TypeFor[JoinedVerdict](), firstCrawlers(t, part(1, 2, tableJoined), func(v *JoinedVerdict) string { return v.Agent }))
	add(3, tableChanges, reflect.TypeFor[AccessChange](), firstCrawlers(t, part(1, 3, tableChanges), func(v *AccessChange) string { return v.Agent }))
	return tables
}

// firstCrawlers returns what writes the rows of the first crawlers in a table of JSON Lines again.
func firstCrawlers[T any](t *testing.T, lines []byte, agent func(*T) string) func(crawlers int) (parquets, lines []byte) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(name, lines, 0o666); err != nil {
		t.Fatal(err)
	}
	var all []T
	for row, err := range readTable[T](name) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	return func(crawlers int) (parquets, lines []byte) {
		var rows []T
		for i := range all {
			if agent(&all[i]) < fmt.Sprintf("bot%02d", crawlers) {
				rows = append(rows, all[i])
			}
		}
		return written(t, Parquet, rows), written(t, JSONL, rows)
	}
}

// TestNulls: every table has the same nulls, values and rows in Parquet and in JSON Lines, for any
// number of crawlers, in a campaign also as DuckDB reads them.
func TestNulls(t *testing.T) {
	t.Parallel() // it waits for disks
	dir := t.TempDir()
	tables := 0
	keep := func(parquets, lines []byte) {
		if campaign.On() {
			write(t, dir, map[string]string{fmt.Sprint(tables, ".parquet"): string(parquets), fmt.Sprint(tables, ".jsonl"): string(lines)})
			tables++
		}
	}
	for _, table := range nullTables(t) {
		found := sameTable(t, table.name, table.parquet, table.lines)
		keep(table.parquet, table.lines)
		for i, c := range rowColumns(table.row) {
			if c.name == "lint" {
				continue // null in all rows, or in none
			}
			if optional := c.optional || table.row.FieldByIndex(c.field).Type.Kind() == reflect.Pointer; optional != (found[i].nulls() > 0) {
				t.Errorf("%s.%s: %v in the sample, can be null: %v", table.name, c.name, &found[i], optional)
			}
		}
		for n := 1; table.again != nil && n < nullCrawlers && !t.Failed(); n += campaign.Size(21, 21, 1) { // 64 is one of them: the bits of a word
			parquets, lines := table.again(n)
			sameTable(t, fmt.Sprint(table.name, " for ", n, " crawlers"), parquets, lines)
			if n%10 == 1 || n == 64 {
				keep(parquets, lines)
			}
		}
	}
	if tables > 0 {
		out, err := exec.CommandContext(t.Context(), "node", filepath.Join(duckDB(t), "law.mjs"), dir).CombinedOutput()
		if err != nil || string(out) != fmt.Sprint(tables, " tables\n") {
			t.Errorf("DuckDB: %v: %s", err, out)
		}
	}
}
