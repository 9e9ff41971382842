package bulk

import (
	"io"
	"reflect"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// Limits of a row group: rows, and bytes of text in them before encoding. A reader that
// looks for one site skips the other row groups.
var rowsPerGroup = 128 << 10

const (
	bytesPerGroup = 32 << 20
	pageBytes     = 4 << 20
	maxBatch      = 256 // rows between calls of parquet-go
)

// A parquetTable collects rows for a parquet.GenericWriter, which is slow row by row.
type parquetTable[T any] struct {
	writer *parquet.GenericWriter[T]
	batch  []T
	texts  [][]int // fields of T with text or bytes
	rows   int     // in the row group
	bytes  int
}

func newParquetTable[T any](out io.Writer, fields []column, sorted []string) *parquetTable[T] {
	columns := make([]parquet.SortingColumn, len(sorted))
	for i, name := range sorted {
		columns[i] = parquet.Ascending(name)
	}
	t := &parquetTable[T]{writer: parquet.NewGenericWriter[T](out,
		parquet.CreatedBy("robots", "1", "bulk"),
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedBetterCompression}),
		parquet.PageBufferSize(pageBytes),
		parquet.SortingWriterConfig(parquet.SortingColumns(columns...)),
		parquet.SkipPageBounds("body"))}
	for _, c := range fields {
		if kind := reflect.TypeFor[T]().FieldByIndex(c.field).Type.Kind(); kind == reflect.String || kind == reflect.Slice {
			t.texts = append(t.texts, c.field)
		}
	}
	return t
}

// add keeps what the row refers to until the batch is written.
func (t *parquetTable[T]) add(row *T) error {
	t.batch = append(t.batch, *row)
	v := reflect.ValueOf(row).Elem()
	for _, i := range t.texts {
		t.bytes += v.FieldByIndex(i).Len()
	}
	t.rows++
	full := t.rows >= rowsPerGroup || t.bytes >= bytesPerGroup
	if len(t.batch) < maxBatch && !full {
		return nil
	}
	if err := t.write(); err != nil || !full {
		return err
	}
	t.rows, t.bytes = 0, 0
	return t.writer.Flush()
}

func (t *parquetTable[T]) write() error {
	_, err := t.writer.Write(t.batch)
	clear(t.batch)
	t.batch = t.batch[:0]
	return err
}

func (t *parquetTable[T]) close() error {
	if err := t.write(); err != nil {
		return err
	}
	return t.writer.Close()
}
