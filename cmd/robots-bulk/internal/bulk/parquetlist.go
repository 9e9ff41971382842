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
	err := readForeignCells(f, [][]string{urlColumns, atColumns, keyColumns}, func(row []foreignCell) (bool, error) {
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

// readForeignCells yields some columns of a Parquet file by row. A column is the first of its names in
// the file; a missing one has empty cells, except the first, which is required. Cells are valid
// until the next row.
func readForeignCells(f *os.File, columns [][]string, yield func(row []foreignCell) (bool, error)) error {
	return openParquet(f, func(file *parquet.File) error {
		found := make([]string, len(columns))
		read := parquet.Group{}
		for i, names := range columns {
			for _, name := range names {
				if leaf, ok := file.Schema().Lookup(name); ok && found[i] == "" {
					if leaf.MaxRepetitionLevel > 0 {
						return fmt.Errorf("column %s holds lists", name)
					}
					found[i], read[name] = name, leaf.Node
				}
			}
		}
		if found[0] == "" {
			return fmt.Errorf("it has no column %s", columns[0][0])
		}
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

func newForeignCell(v parquet.Value, t parquet.Type) (c foreignCell, err error) {
	const julian1970 = 2_440_588 // the day, as INT96 counts them
	switch logical := t.LogicalType(); {
	case v.IsNull():
	case t.Kind() == parquet.ByteArray:
		c.text = v.String()
	case t.Kind() == parquet.Int96: // used by old Spark
		n := v.Int96()
		c.time = time.Unix((int64(n[2])-julian1970)*86400, int64(uint64(n[1])<<32|uint64(n[0]))).UTC()
	case logical != nil:
		if _, ok := logical.Value.(*format.TimestampType); ok {
			err = t.AssignValue(reflect.ValueOf(&c.time).Elem(), v)
		}
	}
	return c, err
}
