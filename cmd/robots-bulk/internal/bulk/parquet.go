package bulk

import (
	"io"
	"reflect"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// Limits of a row group: rows, and bytes of text in them before encoding. A reader that
// looks for one site skips the other row groups.
var rowsPerGroup = 128 << 10

const (
	bytesPerGroup = 32 << 20
	pageBytes     = 4 << 20
	// Limits of a batch of rows: those that parquet-go takes at once, and bytes, as a page ends only after one.
	rowsPerBatch  = 64
	bytesPerBatch = pageBytes / 4
)

// pageCompression is one for all tables: each has encoders of its own, of 20 MB.
var pageCompression = &zstd.Codec{Level: zstd.SpeedBetterCompression}

// A parquetTable collects rows for a parquet.GenericWriter, which is slow row by row. It passes
// values with their definition levels, as parquet-go v0.32.0 writes zero for some of the null
// fields of structs (TestParquetFault).
type parquetTable struct {
	writer  *parquet.GenericWriter[any]
	columns []parquetColumn
	batch   []parquet.Row
	// Bytes of text in the batch, and rows and bytes in the row group.
	batchBytes int
	rows       int
	bytes      int
}

// A parquetColumn is a column and its place in the file.
type parquetColumn struct {
	column
	index int
	level int // definition level of a value that is not null
}

func newParquetTable(out io.Writer, row reflect.Type, columns []column, metadata []tableMetadata, sorted []string) *parquetTable {
	sorting := make([]parquet.SortingColumn, len(sorted))
	for i, name := range sorted {
		sorting[i] = parquet.Ascending(name)
	}
	schema := parquet.SchemaOf(reflect.New(row).Interface())
	options := []parquet.WriterOption{
		schema,
		parquet.CreatedBy("robots", "1", "bulk"),
		parquet.Compression(pageCompression),
		parquet.PageBufferSize(pageBytes),
		parquet.SortingWriterConfig(parquet.SortingColumns(sorting...)),
		parquet.SkipPageBounds("body"),
	}
	for _, entry := range metadata {
		options = append(options, parquet.KeyValueMetadata(entry.key, entry.value))
	}
	t := &parquetTable{writer: parquet.NewGenericWriter[any](out, options...)}
	t.columns = make([]parquetColumn, len(columns))
	for _, c := range columns {
		leaf, _ := schema.Lookup(c.name)
		t.columns[leaf.ColumnIndex] = parquetColumn{c, leaf.ColumnIndex, leaf.MaxDefinitionLevel}
	}
	return t
}

// add keeps what the row refers to until the batch is written.
func (t *parquetTable) add(row reflect.Value) error {
	n := len(t.batch)
	if n < cap(t.batch) {
		t.batch = t.batch[:n+1] // with the memory of an earlier row
	} else {
		t.batch = append(t.batch, nil)
	}
	values := t.batch[n][:0]
	for i := range t.columns {
		value := t.columns[i].value(row)
		if value.Kind() == parquet.ByteArray {
			t.batchBytes += len(value.ByteArray())
		}
		values = append(values, value)
	}
	t.batch[n] = values
	t.rows++
	full := t.rows >= rowsPerGroup || t.bytes+t.batchBytes >= bytesPerGroup
	if len(t.batch) < rowsPerBatch && t.batchBytes < bytesPerBatch && !full {
		return nil
	}
	if err := t.write(); err != nil || !full {
		return err
	}
	t.rows = 0
	t.bytes = 0
	return t.writer.Flush()
}

func (t *parquetTable) write() error {
	_, err := t.writer.WriteRows(t.batch)
	for _, row := range t.batch {
		clear(row)
	}
	t.batch = t.batch[:0]
	t.bytes += t.batchBytes
	t.batchBytes = 0
	return err
}

func (t *parquetTable) close() error {
	if err := t.write(); err != nil {
		return err
	}
	return t.writer.Close()
}

// value returns the value of the column in a row.
func (c *parquetColumn) value(row reflect.Value) parquet.Value {
	v := row.FieldByIndex(c.field)
	if c.isNull(v) {
		return parquet.NullValue().Level(0, 0, c.index)
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	var value parquet.Value
	switch v.Kind() {
	case reflect.String:
		value = parquet.ValueOf(v.String())
	case reflect.Bool:
		value = parquet.BooleanValue(v.Bool())
	case reflect.Int32:
		value = parquet.Int32Value(int32(v.Int()))
	case reflect.Int64:
		value = parquet.Int64Value(v.Int())
	case reflect.Float64:
		value = parquet.DoubleValue(v.Float())
	case reflect.Slice:
		value = parquet.ByteArrayValue(v.Bytes())
	case reflect.Struct:
		value = parquet.Int64Value(v.Interface().(time.Time).UnixMilli())
	default:
		panic("a column of type " + v.Type().String())
	}
	return value.Level(0, c.level, c.index)
}
