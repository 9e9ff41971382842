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
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	zstdcodec "github.com/parquet-go/parquet-go/compress/zstd"
)

// The forms of a table. A row is a struct whose fields have a parquet tag; a field
// that is optional there is null where it has its zero value, in every form.
const (
	Parquet = "parquet"
	JSONL   = "jsonl"
	JSONLZ  = "jsonl.zst"
	CSV     = "csv"
)

// Formats lists them for messages.
var Formats = []string{Parquet, JSONL, JSONLZ, CSV}

// What a writer of Parquet holds: rows, and bytes of their long fields.
var (
	rowsPerGroup  = 64 << 10
	bytesPerGroup = 4 << 20
)

const rowsPerWrite = 256 // handed over to parquet-go at a time

// fast compresses at half the cost of the usual level, by a tenth less.
var fast = zstdcodec.Codec{Level: zstd.SpeedFastest}

// A table writes rows to a part.
type table[T any] struct {
	parquet *parquet.GenericWriter[T]
	columns []column
	out     *bufio.Writer
	csv     *csv.Writer
	zstd    *zstd.Encoder
	record  []string
	line    []byte
	rows    []T // not yet handed over
	held    int // rows of the group that is written
	blob    int // the field of bytes, -1 for none
	bytes   int // of it in the group
}

// writeTable returns a writer of rows of the type to w, in the given format. Sorted
// names the columns by which rows come in order, which readers of Parquet use.
func writeTable[T any](w io.Writer, format string, sorted ...string) (*table[T], error) {
	t := &table[T]{blob: -1}
	row := reflect.TypeFor[T]()
	for i := range row.NumField() {
		if row.Field(i).Type.Kind() == reflect.Slice {
			t.blob = i
		}
	}
	switch format {
	case Parquet:
		var order []parquet.SortingColumn
		for _, name := range sorted {
			order = append(order, parquet.Ascending(name))
		}
		options := []parquet.WriterOption{
			parquet.Compression(&fast),
			parquet.CreatedBy("robots", "1", "bulk"),
			parquet.SortingWriterConfig(parquet.SortingColumns(order...)),
		}
		if t.blob >= 0 { // nobody looks for a body by its bytes, and bounds keep those of each page in memory
			name := columnsOf(row)[t.blob].name
			options = append(options, parquet.SkipPageBounds(name), parquet.SkipPageStatistics(name))
		}
		t.parquet = parquet.NewGenericWriter[T](w, options...)
		return t, nil
	case JSONLZ:
		var err error
		if t.zstd, err = zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)); err != nil {
			return nil, err
		}
		w = t.zstd
	case JSONL, CSV:
	default:
		return nil, fmt.Errorf("format %q: it is one of %s", format, strings.Join(Formats, ", "))
	}
	t.columns = columnsOf(row)
	t.out = bufio.NewWriterSize(w, 64<<10)
	if format == CSV {
		t.csv = csv.NewWriter(t.out)
		for _, c := range t.columns {
			t.record = append(t.record, c.name)
		}
		return t, t.csv.Write(t.record)
	}
	return t, nil
}

// Write writes rows.
func (t *table[T]) Write(rows []T) error {
	if t.parquet != nil {
		for i := range rows {
			if err := t.hold(rows[i]); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range rows {
		v := reflect.ValueOf(&rows[i]).Elem()
		if t.csv != nil {
			for j := range t.columns {
				t.record[j] = t.columns[j].text(v)
			}
			if err := t.csv.Write(t.record); err != nil {
				return err
			}
			continue
		}
		t.line = t.line[:0]
		for j := range t.columns {
			t.line = append(t.line, t.columns[j].head...)
			t.line = t.columns[j].appendJSON(t.line, v)
		}
		if _, err := t.out.Write(append(t.line, '}', '\n')); err != nil {
			return err
		}
	}
	return nil
}

// hold takes a row of Parquet. Pages and groups end by what the rows hold, however
// they came: parquet-go ends a page after the call in which it is full.
func (t *table[T]) hold(row T) error {
	t.rows = append(t.rows, row)
	t.held++
	if t.blob >= 0 {
		t.bytes += reflect.ValueOf(&t.rows[len(t.rows)-1]).Elem().Field(t.blob).Len()
	}
	full := t.held >= rowsPerGroup || t.bytes >= bytesPerGroup
	if len(t.rows) < rowsPerWrite && !full {
		return nil
	}
	if err := t.handOver(); err != nil || !full {
		return err
	}
	t.held, t.bytes = 0, 0
	return t.parquet.Flush()
}

func (t *table[T]) handOver() error {
	_, err := t.parquet.Write(t.rows)
	clear(t.rows)
	t.rows = t.rows[:0]
	return err
}

// Close ends the table. It does not close what it was written to.
func (t *table[T]) Close() error {
	if t.parquet != nil {
		if err := t.handOver(); err != nil {
			return err
		}
		return t.parquet.Close()
	}
	if t.csv != nil {
		t.csv.Flush()
		if err := t.csv.Error(); err != nil {
			return err
		}
	}
	if err := t.out.Flush(); err != nil || t.zstd == nil {
		return err
	}
	return t.zstd.Close()
}

// A column is a field of a row.
type column struct {
	name     string
	head     string // what stands before its value in JSON
	field    int
	optional bool
}

var timeType = reflect.TypeFor[time.Time]()

func columnsOf(row reflect.Type) []column {
	var list []column
	for i := range row.NumField() {
		name, more, _ := strings.Cut(row.Field(i).Tag.Get("parquet"), ",")
		c := column{name: name, head: `,"` + name + `":`, field: i, optional: strings.Contains(","+more+",", ",optional,")}
		if i == 0 {
			c.head = "{" + c.head[1:]
		}
		list = append(list, c)
	}
	return list
}

// text returns the value of the column as CSV has it: nothing for null, bytes in
// base64.
func (c *column) text(row reflect.Value) string {
	v := row.Field(c.field)
	if c.optional && v.IsZero() {
		return ""
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
		return v.Interface().(time.Time).UTC().Format(timeForm)
	}
	panic("a column of type " + v.Type().String())
}

const timeForm = "2006-01-02T15:04:05.000Z"

// appendJSON appends the value of the column as JSON.
func (c *column) appendJSON(b []byte, row reflect.Value) []byte {
	v := row.Field(c.field)
	if c.optional && v.IsZero() {
		return append(b, "null"...)
	}
	switch v.Kind() {
	case reflect.String:
		s, _ := json.Marshal(v.String())
		return append(b, s...)
	case reflect.Slice, reflect.Struct:
		return append(append(append(b, '"'), c.text(row)...), '"')
	}
	return append(b, c.text(row)...)
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
		read := readParquet[T]
		if !strings.HasSuffix(path, "."+Parquet) {
			read = readLines[T]
		}
		err = read(f, func(row T) bool { more = yield(row, nil); return more })
		if more && err != nil {
			yield(none, fmt.Errorf("%s: %w", path, err))
		}
	}
}

func readParquet[T any](f *os.File, yield func(T) bool) (err error) {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	defer func() { // what the reader does with a file that is none
		if p := recover(); p != nil {
			err = fmt.Errorf("not a file of Parquet that can be read: %v", p)
		}
	}()
	file, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		return err
	}
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
		clear(rows[:n]) // of optional fields: a reader leaves what is null as it was
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func readLines[T any](f *os.File, yield func(T) bool) error {
	var in io.Reader = bufio.NewReaderSize(f, 64<<10)
	if strings.HasSuffix(f.Name(), ".zst") {
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return err
		}
		defer z.Close()
		in = z
	}
	columns := columnsOf(reflect.TypeFor[T]())
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

// parseRow reads a line of JSON into a row. Members that are no columns are ignored.
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
		if err := json.Unmarshal(value, row.Field(c.field).Addr().Interface()); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}
