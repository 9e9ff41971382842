package bulk

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

// written returns a part with rows.
func written[T any](t *testing.T, format string, rows []T, sorted ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := newTableWriter[T](&b, format, nil, sorted...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if err := w.Write(&rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// comesBack writes rows in every format that can be read, reads them, and returns the part in
// Parquet. Utc puts times in UTC, as Parquet has no zone.
func comesBack[T any](t *testing.T, rows []T, utc func(*T)) (file []byte) {
	for _, format := range []string{JSONL, JSONLZstd, Parquet} {
		file = written(t, format, rows, "surt")
		if !bytes.Equal(file, written(t, format, rows, "surt")) {
			t.Errorf("%s: the same rows give other bytes", format)
		}
		path := filepath.Join(t.TempDir(), "00000-x."+format)
		if err := os.WriteFile(path, file, 0o666); err != nil {
			t.Fatal(err)
		}
		n := 0
		for row, err := range readTable[T](path) {
			if utc(&row); err != nil || !reflect.DeepEqual(row, rows[n]) {
				t.Fatalf("%s row %d: %+v, %v\nwant %+v", format, n, row, err, rows[n])
			}
			n++
		}
		if n != len(rows) {
			t.Errorf("%s: %d rows, want %d", format, n, len(rows))
		}
		if err := os.WriteFile(path, file[:len(file)/2], 0o666); err != nil {
			t.Fatal(err)
		}
		var failed error
		for _, err := range readTable[T](path) {
			failed = err
		}
		if failed == nil || !strings.Contains(failed.Error(), path) {
			t.Errorf("%s, half a file: %v", format, failed)
		}
	}
	return file
}

// TestTable: rows with repeated and missing values come back in every format, and the same rows
// give the same bytes. Each row group has the bounds of its columns.
func TestTable(t *testing.T) {
	defer func(n int) { rowsPerGroup = n }(rowsPerGroup)
	rowsPerGroup = 700
	random := rand.New(rand.NewPCG(11, 12))
	some := func(n int) string {
		return []string{"", "a", "b\"\n", "é", strings.Repeat("long", 400)}[random.IntN(n)]
	}
	var captures []Capture
	var rows []JoinedVerdict
	var row JoinedVerdict
	for i := range 3000 {
		if random.IntN(10) == 0 {
			row.SURT, row.Origin, row.Outcome, row.Input, row.Offset, row.Fetched = some(4), some(5), some(2), some(3), nil, nil
			if random.IntN(2) == 0 {
				offset, fetched := random.Int64()>>random.IntN(63), day.Add(time.Duration(random.IntN(1e9))*time.Millisecond)
				row.Offset, row.Fetched = &offset, &fetched
			}
		}
		if i > 1400 && i < 2100 { // a whole group that lacks most
			row.Outcome, row.Input, row.Fetched, row.Offset = "", "", nil, nil
		}
		row.URL, row.Path, row.At = fmt.Sprintf("https://a.test/%d/%s", i/7, some(5)), some(4), day.Add(time.Duration(i)*time.Second)
		row.AgeS, row.CrawlDelay = nil, nil
		if age, delay := int64(i-100), float64(random.IntN(3))/2; i%3 > 0 {
			row.AgeS, row.CrawlDelay = &age, &delay
		}
		row.Agent, row.Dialect, row.Access, row.Engine = []string{"A", "B", "C"}[i%3], "google", some(2), "e"
		row.Verdict, row.Line = some(3), int32(random.IntN(3))
		rows = append(rows, row)
		captures = append(captures, Capture{SURT: row.SURT, Origin: row.Origin, Fetched: row.At, Status: row.Line, Location: row.Path, Truncated: i%2 == 0, Bytes: int64(i), Offset: int64(i) << 20})
	}
	comesBack(t, captures, func(c *Capture) { c.Fetched = c.Fetched.UTC() })
	whole := comesBack(t, rows, func(j *JoinedVerdict) {
		j.At = j.At.UTC()
		if j.Fetched != nil {
			utc := j.Fetched.UTC()
			j.Fetched = &utc
		}
	})
	file, err := parquet.OpenFile(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range slices.Collect(slices.Chunk(rows, rowsPerGroup)) {
		var keys []string
		for _, r := range part {
			keys = append(keys, r.SURT)
		}
		leaf, _ := file.Schema().Lookup("surt")
		least, most, ok := file.RowGroups()[i].ColumnChunks()[leaf.ColumnIndex].(*parquet.FileColumnChunk).Bounds()
		if !ok || least.String() != slices.Min(keys) || most.String() != slices.Max(keys) {
			t.Errorf("group %d: from %q to %q", i, least, most)
		}
	}
	const want = "surt,origin,url,fetched,outcome,cause,status,location,hops,resolved_from,sha256,bytes,truncated,kind,input,warc_offset,site,content_type,identified_type\n" +
		"\"com,a\",,\"x\"\"\n\",2026-05-01T10:00:00.123Z,,,301,,0,,,0,true,,,0,,,\n,,,2026-05-01T10:00:00.000Z,,,,,0,,,0,false,,,0,,,\n"
	if got := written(t, CSV, []Capture{{SURT: "com,a", URL: "x\"\n", Fetched: day.Add(123 * time.Millisecond), Status: 301, Truncated: true}, {Fetched: day}}); string(got) != want {
		t.Errorf("%s", got)
	}
	if _, err := newTableWriter[Capture](nil, "xml", nil); err == nil {
		t.Error("xml: no error")
	}
}

// TestLongTexts: rows with long values (rules of 512,000 bytes, URLs of 16 MB) are written in
// bounded memory.
func TestLongTexts(t *testing.T) {
	for name, row := range map[string]func(string) JoinedVerdict{
		"pattern": func(s string) JoinedVerdict { return JoinedVerdict{PathVerdict: PathVerdict{Pattern: s}} },
		"url":     func(s string) JoinedVerdict { return JoinedVerdict{URL: s} },
	} {
		const count, size = 40, 1 << 19
		long := strings.Repeat("*", size)
		var rows []JoinedVerdict
		for i := range 2 * count {
			rows = append(rows, row(fmt.Sprint(i/2, long)))
		}
		b := written(t, Parquet, rows)
		file, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		if n, least := len(file.RowGroups()), 2*count*size/(bytesPerGroup+size); n < least || file.NumRows() != 2*count {
			t.Errorf("%s: %d rows of %d bytes in %d groups, want %d groups at least", name, file.NumRows(), size, n, least)
		}
	}
}
