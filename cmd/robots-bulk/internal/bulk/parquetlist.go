package bulk

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

func readParquetList(f *os.File, name string, fn func(p rowPosition, l listedURL) (bool, error)) error {
	n := 0
	var failed error // that of fn names the row
	columns := []foreignColumn{{names: urlColumns}, {names: atColumns, isTime: true}, {names: keyColumns}}
	err := readForeignCells(f, columns, func(row []foreignCell) (bool, error) {
		n++
		p := rowPosition{name, "row", n}
		l := listedURL{row[0].text, row[1].time, row[2].text}
		if row[1].text != "" {
			var err error
			if l.at, err = listTime(row[1].text); err != nil {
				return false, fmt.Errorf("row %d: %w", n, err)
			}
		}
		l.setSiteKey()
		var more bool
		more, failed = fn(p, l)
		return more, failed
	})
	if err != nil && failed == nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return err
}

// A foreignCell is a value in a foreign Parquet file.
type foreignCell struct {
	text string
	time time.Time
}

// A foreignColumn is a column to read: the first of its names in the file, of text or, if it is one of
// times, of timestamps.
type foreignColumn struct {
	names  []string
	isTime bool
}

// readForeignCells yields some columns of a Parquet file by row. A missing one has empty cells, except
// the first, which is required. Cells are valid until the next row.
func readForeignCells(f *os.File, columns []foreignColumn, yield func(row []foreignCell) (bool, error)) error {
	return openParquet(f, func(file *parquet.File) error {
		found, read, err := findForeignColumns(file.Schema(), columns)
		if err != nil {
			return err
		}
		replaceLZ4(file.Root())
		r := parquet.NewReader(file, parquet.NewSchema("list", read))
		defer r.Close()
		rows := make([]parquet.Row, 128)
		cells := make([]foreignCell, len(columns))
		names := slices.Sorted(maps.Keys(read)) // as in the rows
		for {
			n, err := r.ReadRows(rows)
			for _, row := range rows[:n] {
				for k, name := range names {
					cell, err := newForeignCell(row[k], read[name].Type())
					if err != nil {
						return fmt.Errorf("column %s: %w", name, err)
					}
					cells[slices.Index(found, name)] = cell
				}
				if more, err := yield(cells); err != nil || !more {
					return err
				}
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
}

// findForeignColumns returns the name of the first of each of some columns, "" for a missing one, and
// the schema to read them.
func findForeignColumns(schema *parquet.Schema, columns []foreignColumn) (found []string, read parquet.Group, err error) {
	found = make([]string, len(columns))
	read = parquet.Group{}
	for i, c := range columns {
		for _, name := range c.names {
			leaf, ok := schema.Lookup(name)
			if !ok || found[i] != "" {
				continue
			}
			t := leaf.Node.Type()
			switch {
			case leaf.MaxRepetitionLevel > 0:
				return nil, nil, fmt.Errorf("column %s holds lists", name)
			case t.Kind() == parquet.ByteArray, c.isTime && isTimestamp(t):
			case c.isTime:
				return nil, nil, fmt.Errorf(
					"column %s is of type %v, not a time: cast it to a timestamp, or write RFC 3339 as text, such as 2026-01-31T18:00:00Z", name, t,
				)
			default:
				return nil, nil, fmt.Errorf("column %s is of type %v, not text", name, t)
			}
			found[i] = name
			read[name] = leaf.Node
		}
	}
	if found[0] == "" {
		return nil, nil, fmt.Errorf("it has no column %s", columns[0].names[0])
	}
	return found, read, nil
}

// isTimestamp reports whether the values of a type are points in time.
func isTimestamp(t parquet.Type) bool {
	if t.Kind() == parquet.Int96 {
		return true
	}
	logical := t.LogicalType()
	if logical == nil {
		return false
	}
	_, ok := logical.Value.(*format.TimestampType)
	return ok
}

func newForeignCell(v parquet.Value, t parquet.Type) (c foreignCell, err error) {
	const julian1970 = 2_440_588 // the day, as INT96 counts them
	switch {
	case v.IsNull():
	case t.Kind() == parquet.ByteArray:
		c.text = v.String()
	case t.Kind() == parquet.Int96: // used by old Spark
		n := v.Int96()
		c.time = time.Unix((int64(n[2])-julian1970)*86400, int64(uint64(n[1])<<32|uint64(n[0]))).UTC()
	default:
		err = t.AssignValue(reflect.ValueOf(&c.time).Elem(), v)
	}
	return c, err
}
