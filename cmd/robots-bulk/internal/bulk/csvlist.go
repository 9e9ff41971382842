package bulk

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// readCSVList reads CSV. An unclosed quote makes the rest of the file one record, so a record is
// limited to maxLine bytes.
func readCSVList(in io.Reader, name string, fn func(p rowPosition, l listedURL) (bool, error)) error {
	r := newCSVList(in, name)
	head, _, err := r.next()
	if err != nil {
		return err
	}
	url := columnOf(head, urlColumns)
	at := columnOf(head, atColumns)
	key := columnOf(head, keyColumns)
	if url < 0 {
		return fmt.Errorf("%s is not a list of URLs: the first line is not JSON, CDXJ, or a CSV header with a column url", name)
	}
	for {
		row, line, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p := rowPosition{name, "line", line}
		l := listedURL{url: row[url]}
		if key >= 0 {
			l.siteKey = row[key]
		}
		if at >= 0 && row[at] != "" {
			if l.at, err = listTime(row[at]); err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
		}
		l.setSiteKey()
		if more, err := fn(p, l); err != nil || !more {
			return err
		}
	}
}

// A csvList reads records of bounded size.
type csvList struct {
	name string
	text *io.LimitedReader // of the current record, as package csv reports only where one begins
	csv  *csv.Reader
}

// newCSVList returns a list with a name for errors.
func newCSVList(in io.Reader, name string) *csvList {
	text := &io.LimitedReader{R: in}
	r := csv.NewReader(bufio.NewReaderSize(text, 64<<10))
	r.ReuseRecord = true
	return &csvList{name, text, r}
}

// next returns the next record, which is valid until the next call, and its line.
func (l *csvList) next() (row []string, line int, err error) {
	l.text.N = maxLineBytes
	row, err = l.csv.Read()
	if wrong := (*csv.ParseError)(nil); errors.As(err, &wrong) {
		line = wrong.StartLine
	} else if err == nil {
		line, _ = l.csv.FieldPos(0)
	}
	switch {
	case l.text.N <= 0:
		err = fmt.Errorf("%s: record on line %d: %w: check for an unclosed quote; write a quote inside a value twice",
			l.name, max(line, 1), errLongLine)
	case err != nil && !errors.Is(err, io.EOF):
		err = fmt.Errorf("%s: %w", l.name, err)
	}
	return row, line, err
}

// columnOf returns the column with the first of some names that a header has, -1 without one.
func columnOf(head, names []string) int {
	for _, name := range names {
		i := slices.IndexFunc(head, func(title string) bool { return strings.EqualFold(strings.TrimSpace(title), name) })
		if i >= 0 {
			return i
		}
	}
	return -1
}
