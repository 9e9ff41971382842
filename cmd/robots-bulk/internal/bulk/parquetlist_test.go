package bulk

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

// writeParquetList writes rows to a Parquet file.
func writeParquetList[T any](t *testing.T, rows []T, options ...parquet.WriterOption) string {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, options...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "list.parquet")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLZ4Pages: LZ4_RAW pages are read whatever their ratio of compression. That of these URLs is
// less than 3, as in DuckDB's pages of 122,880 times.
func TestLZ4Pages(t *testing.T) {
	type row struct {
		URL string    `parquet:"url,optional"`
		At  time.Time `parquet:"at,optional,timestamp(microsecond)"`
	}
	rows := make([]row, 3_000)
	for i := range rows {
		sum := sha256.Sum256(fmt.Append(nil, i))
		rows[i] = row{fmt.Sprintf("https://a.example/%x", sum), day.Add(time.Duration(i*i*i) * time.Microsecond)}
	}
	path := writeParquetList(t, rows, parquet.Compression(&parquet.Lz4Raw), parquet.DataPageVersion(1))
	n := 0
	err := readList(path, func(int64) {}, func(_ rowPosition, l listedURL) (bool, error) {
		if l.url != rows[n].URL || !l.at.Equal(rows[n].At) {
			return false, fmt.Errorf("row %d is %s at %s", n, l.url, l.at)
		}
		n++
		return true, nil
	})
	if err != nil || n != len(rows) {
		t.Errorf("%d rows, %v", n, err)
	}
}

// TestParquetTimes: a column whose type is not that of a time, or of a URL, is an error that names a
// type that is.
func TestParquetTimes(t *testing.T) {
	type double struct {
		URL string  `parquet:"url"`
		At  float64 `parquet:"at"`
	}
	type seconds struct {
		URL string `parquet:"url"`
		At  int64  `parquet:"timestamp"`
	}
	type date struct {
		URL string    `parquet:"url"`
		At  time.Time `parquet:"at,date"`
	}
	type number struct {
		URL int32 `parquet:"url"`
	}
	for want, path := range map[string]string{
		"column at is of type DOUBLE, not a time: cast it to a timestamp, or write RFC 3339":       writeParquetList(t, []double{{"https://a.example/", 1.5}}),
		"column timestamp is of type INT(64,true), not a time: cast it to a timestamp, or":         writeParquetList(t, []seconds{{"https://a.example/", 1}}),
		"column at is of type DATE, not a time: cast it to a timestamp, or write RFC 3339 as text": writeParquetList(t, []date{{"https://a.example/", day}}),
		"column url is of type INT(32,true), not text":                                             writeParquetList(t, []number{{1}}),
	} {
		err := readList(path, func(int64) {}, func(rowPosition, listedURL) (bool, error) { return true, nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	for text, want := range map[string]string{
		`"2026-05-01"`:   `"2026-05-01" is a date without a time of day; write 2026-05-01T00:00:00Z for its beginning`,
		`1777593600`:     `1777593600 is a number, not a time such as 2026-01-31T18:00:00Z`,
		`"1777593600.5"`: `"1777593600.5" is a number, not a time such as 2026-01-31T18:00:00Z`,
		`"May 1"`:        `"May 1" is not a time such as 2026-01-31T18:00:00Z`,
	} {
		path := writeList(t, `{"url":"https://a.example/","at":`+text+"}\n")
		err := readList(path, func(int64) {}, func(rowPosition, listedURL) (bool, error) { return true, nil })
		if err == nil || !strings.HasSuffix(err.Error(), " line 1 is invalid: "+want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}
