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

// TestParquet: another implementation reads the same rows, with repeated and missing values.
func TestParquet(t *testing.T) {
	defer func(n int) { rowsPerGroup = n }(rowsPerGroup)
	rowsPerGroup = 700
	random := rand.New(rand.NewPCG(11, 12))
	at := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	some := func(n int) string { return []string{"", "a", "b", "é", strings.Repeat("long", 400)}[random.IntN(n)] }
	var rows []Joined
	var row Joined
	for i := range 3000 {
		if random.IntN(10) == 0 {
			row.SURT, row.Origin, row.Outcome, row.Input = some(4), some(5), some(2), some(3)
			row.Offset, row.Fetched = nil, nil
			if random.IntN(2) == 0 {
				offset, fetched := random.Int64()>>random.IntN(63), at.Add(time.Duration(random.IntN(1e9))*time.Millisecond)
				row.Offset, row.Fetched = &offset, &fetched
			}
		}
		if i > 1400 && i < 2100 { // a whole group that lacks most
			row.Outcome, row.Input, row.Fetched, row.Offset = "", "", nil, nil
		}
		row.URL, row.Path, row.At = fmt.Sprintf("https://a.test/%d/%s", i/7, some(5)), some(4), at.Add(time.Duration(i)*time.Second)
		row.AgeS = nil
		if age := int64(i - 100); i%3 > 0 {
			row.AgeS = &age
		}
		row.Agent, row.Dialect, row.Access, row.Engine = []string{"A", "B", "C"}[i%3], "google", some(2), "e"
		row.Verdict, row.Line, row.CrawlDelay = some(3), int32(random.IntN(3)), nil
		if delay := float64(random.IntN(3)) / 2; random.IntN(3) == 0 {
			row.CrawlDelay = &delay
		}
		rows = append(rows, row)
	}
	var whole bytes.Buffer
	w, err := writeTable[Joined](&whole, Parquet, "surt")
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
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := os.WriteFile(path, whole.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	n := 0
	for got, err := range readTable[Joined](path) {
		if err != nil {
			t.Fatal(err)
		}
		got.At = got.At.UTC()
		if got.Fetched != nil {
			utc := got.Fetched.UTC()
			got.Fetched = &utc
		}
		if !reflect.DeepEqual(got, rows[n]) {
			t.Fatalf("row %d: %+v\nwant %+v", n, got, rows[n])
		}
		n++
	}
	if n != len(rows) {
		t.Fatalf("%d rows, want %d", n, len(rows))
	}
	file, err := parquet.OpenFile(bytes.NewReader(whole.Bytes()), int64(whole.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range file.RowGroups() {
		part := rows[i*rowsPerGroup : min((i+1)*rowsPerGroup, len(rows))]
		var keys []string
		var ages []int64
		for _, r := range part {
			keys = append(keys, r.SURT)
			if r.AgeS != nil {
				ages = append(ages, *r.AgeS)
			}
		}
		for column, want := range map[string][2]string{
			"surt":  {slices.Min(keys), slices.Max(keys)},
			"age_s": {fmt.Sprint(slices.Min(ages)), fmt.Sprint(slices.Max(ages))},
		} {
			leaf, _ := file.Schema().Lookup(column)
			least, most, ok := g.ColumnChunks()[leaf.ColumnIndex].(*parquet.FileColumnChunk).Bounds()
			if !ok || least.String() != want[0] || most.String() != want[1] {
				t.Errorf("group %d: %s from %q to %q, want %q", i, column, least, most, want)
			}
		}
	}
}

// TestLongTexts: rows with long values (rules of 512,000 bytes, URLs of 16 MB) are written in
// bounded memory.
func TestLongTexts(t *testing.T) {
	for name, set := range map[string]func(*Joined, string){
		"pattern": func(row *Joined, s string) { row.Pattern = s },
		"url":     func(row *Joined, s string) { row.URL = s },
	} {
		var b bytes.Buffer
		w, err := writeTable[Joined](&b, Parquet)
		if err != nil {
			t.Fatal(err)
		}
		const rows, size = 40, 1 << 19
		long := strings.Repeat("*", size)
		for i := range rows {
			var row Joined
			set(&row, fmt.Sprint(i, long))
			for range 2 {
				if err := w.Write(&row); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		file, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if n, least := len(file.RowGroups()), 2*rows*size/(bytesPerGroup+size); n < least || file.NumRows() != 2*rows {
			t.Errorf("%s: %d rows of %d bytes in %d groups, want %d groups at least", name, file.NumRows(), size, n, least)
		}
	}
}
