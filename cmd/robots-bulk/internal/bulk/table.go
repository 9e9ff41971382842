package bulk

import (
	"bufio"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
)

// Formats of a table. A row is a struct whose fields have a parquet tag. An optional field is
// null if it is zero, a pointer if it is nil, in every format.
const (
	Parquet   = "parquet"
	JSONL     = "jsonl"
	JSONLZstd = "jsonl.zst"
	CSV       = "csv"
)

// Formats lists them for messages.
var Formats = []string{Parquet, JSONL, JSONLZstd, CSV}

// A tableWriter writes rows to a part.
type tableWriter[T any] struct {
	Write   func(row *T) error // the texts of a row must not change afterwards
	closers []func() error     // of what it writes through, the last one first
}

// newTableWriter returns a writer of rows of the type to w, in the given format. Sorted
// names the columns by which rows come in order, which readers of Parquet use; metadata goes into a
// file of Parquet.
func newTableWriter[T any](w io.Writer, format string, metadata []tableMetadata, sorted ...string) (*tableWriter[T], error) {
	t := &tableWriter[T]{}
	if format == JSONLZstd {
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		w = z
		t.closers = append(t.closers, z.Close)
	}
	out := bufio.NewWriterSize(w, 64<<10)
	t.closers = append(t.closers, out.Flush)
	columns := rowColumns(reflect.TypeFor[T]())
	switch format {
	case Parquet:
		p := newParquetTable(out, reflect.TypeFor[T](), columns, metadata, sorted)
		t.Write = func(row *T) error { return p.add(reflect.ValueOf(row).Elem()) }
		t.closers = append(t.closers, p.close)
	case CSV:
		c := csv.NewWriter(out)
		t.closers = append(t.closers, func() error { c.Flush(); return c.Error() })
		record := make([]string, len(columns))
		t.Write = func(row *T) error {
			for i := range columns {
				record[i] = columns[i].csvValue(reflect.ValueOf(row).Elem())
			}
			return c.Write(record)
		}
		for i := range columns {
			record[i] = columns[i].name
		}
		return t, c.Write(record)
	case JSONL, JSONLZstd:
		var line []byte
		t.Write = func(row *T) error {
			line = line[:0]
			for i := range columns {
				line = strconv.AppendQuote(append(line, "{,"[min(i, 1)]), columns[i].name)
				line = columns[i].appendJSON(append(line, ':'), reflect.ValueOf(row).Elem())
			}
			_, err := out.Write(append(line, '}', '\n'))
			return err
		}
	default:
		return nil, fmt.Errorf("unknown format %q (known: %s)", format, strings.Join(Formats, ", "))
	}
	return t, nil
}

// writeAll writes rows, none to a table that is nil.
func (t *tableWriter[T]) writeAll(rows []T) error {
	for i := range rows {
		if err := t.Write(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the table. It does not close what it was written to.
func (t *tableWriter[T]) Close() error {
	for _, end := range slices.Backward(t.closers) {
		if err := end(); err != nil {
			return err
		}
	}
	return nil
}

// A column is a field of a row.
type column struct {
	name     string
	field    []int
	optional bool
}

func rowColumns(row reflect.Type) []column {
	var list []column
	for _, f := range reflect.VisibleFields(row) {
		if !f.Anonymous {
			name, more, _ := strings.Cut(f.Tag.Get("parquet"), ",")
			list = append(list, column{name, f.Index, strings.Contains(","+more+",", ",optional,")})
		}
	}
	return list
}

// isNull reports whether a value of the column is null.
func (c *column) isNull(v reflect.Value) bool {
	return (c.optional || v.Kind() == reflect.Pointer) && v.IsZero()
}

// csvValue returns the value of the column in CSV: empty for null, bytes in base64.
func (c *column) csvValue(row reflect.Value) string {
	v := row.FieldByIndex(c.field)
	if c.isNull(v) {
		return ""
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case reflect.Slice:
		return base64.StdEncoding.EncodeToString(v.Bytes())
	case reflect.Struct:
		return v.Interface().(time.Time).UTC().Format(timeLayout)
	}
	panic("a column of type " + v.Type().String())
}

const timeLayout = "2006-01-02T15:04:05.000Z"

// A jsonText is a value that is JSON: JSON Lines have it as it is, other formats as text.
type jsonText string

// appendJSON appends the value of the column as JSON.
func (c *column) appendJSON(b []byte, row reflect.Value) []byte {
	v := row.FieldByIndex(c.field)
	if c.isNull(v) {
		return append(b, "null"...)
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[jsonText]() {
			return append(b, v.String()...)
		}
		s, _ := json.Marshal(v.String())
		return append(b, s...)
	case reflect.Slice, reflect.Struct:
		return append(append(append(b, '"'), c.csvValue(row)...), '"')
	}
	return append(b, c.csvValue(row)...)
}

// readTable yields the rows of a part of Parquet or JSON Lines, in order.
func readTable[T any](path string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		f, err := os.Open(path)
		if err != nil {
			yield(none, err)
			return
		}
		defer f.Close()
		more := true
		each := func(row T) bool { more = yield(row, nil); return more }
		if strings.HasSuffix(path, "."+Parquet) {
			err = readParquetRows(f, each)
		} else {
			err = readLineRows(f, each)
		}
		if more && err != nil {
			yield(none, fmt.Errorf("%s: %w", path, err))
		}
	}
}

// openParquet opens a file and calls read. A panic of the library on a malformed file
// becomes an error.
func openParquet(f *os.File, read func(*parquet.File) error) (err error) {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("malformed Parquet: %v", p)
		}
	}()
	file, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		return err
	}
	return read(file)
}

func readParquetRows[T any](f *os.File, yield func(T) bool) error {
	return openParquet(f, func(file *parquet.File) error {
		r := parquet.NewGenericReader[T](file)
		defer r.Close()
		rows := make([]T, 256)
		for {
			n, err := r.Read(rows)
			for i := range n {
				if !yield(rows[i]) {
					return nil
				}
			}
			clear(rows[:n]) // the reader does not set null fields
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
}

func readLineRows[T any](f *os.File, yield func(T) bool) error {
	var in io.Reader = bufio.NewReaderSize(f, 64<<10)
	if strings.HasSuffix(f.Name(), ".zst") {
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return err
		}
		defer z.Close()
		in = z
	}
	columns := rowColumns(reflect.TypeFor[T]())
	lines := bufio.NewReaderSize(in, 64<<10)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		var row T
		if err := parseRow(line, columns, reflect.ValueOf(&row).Elem()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if !yield(row) {
			return nil
		}
	}
}

// parseRow reads a line of JSON into a row. Unknown members are ignored.
func parseRow(line []byte, columns []column, row reflect.Value) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return err
	}
	for _, c := range columns {
		value, ok := members[c.name]
		if !ok || string(value) == "null" {
			continue
		}
		if err := json.Unmarshal(value, row.FieldByIndex(c.field).Addr().Interface()); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}
