package urllist

import (
	"encoding/csv"
	"io"
	"slices"
	"strings"
)

// Columns returns the separator of a line of CSV, 0 if it has none, and the column of URLs if the line is a header with one,
// else -1.
func Columns(line string) (separator byte, column int) {
	if i := strings.IndexAny(line, ",;\t"); i >= 0 {
		separator = line[i]
	}
	if strings.Contains(line, "://") {
		return separator, -1
	}
	names := []string{line}
	if separator != 0 {
		names = strings.Split(line, string(separator))
	}
	for _, known := range []string{"url", "urls", "address", "loc", "page", "pages", "top pages", "landing page"} {
		column = slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(strings.Trim(name, ` "`), known) })
		if column >= 0 {
			break
		}
	}
	return separator, column
}

// NewCSV returns a reader of rows with any number of fields; without a separator they have one.
func NewCSV(r io.Reader, separator byte) *csv.Reader {
	rows := csv.NewReader(r)
	rows.Comma = rune(separator)
	if separator == 0 {
		rows.Comma = '\x1f'
	}
	rows.FieldsPerRecord = -1
	rows.LazyQuotes = true
	rows.ReuseRecord = true
	return rows
}

// A csvColumn is where a CSV text has its URLs.
type csvColumn struct {
	separator byte
	column    int
	header    bool // the first row has none
}

// mostGuessed limits the lines that guessColumn looks at.
const mostGuessed = 100

// guessColumn finds the column of URLs in lines that can be CSV with or without a header. A comma or semicolon can belong to a
// URL, so lines without a header are CSV only if all have as many fields, and one column has a URL in each, which another has not.
func guessColumn(lines []string) (c csvColumn, ok bool) {
	c.separator, c.column = Columns(lines[0])
	if c.column >= 0 {
		c.header = true
		return c, true
	}
	if c.separator == 0 || len(lines) == 1 {
		return c, false
	}
	r := NewCSV(strings.NewReader(strings.Join(lines[:min(len(lines), mostGuessed)], "\n")), c.separator)
	var rows [][]string
	for {
		row, err := r.Read()
		if err != nil {
			break
		}
		rows = append(rows, slices.Clone(row))
	}
	if len(rows) == 0 {
		return c, false
	}
	c.header = !slices.ContainsFunc(rows[0], IsURL)
	if c.header {
		rows = rows[1:]
	}
	if len(rows) == 0 {
		return c, false
	}
	var full, other int
	for i := range rows[0] {
		n := 0
		for _, row := range rows {
			if i < len(row) && IsURL(strings.TrimSpace(row[i])) {
				n++
			}
		}
		switch {
		case n == len(rows) && full == 0:
			c.column = i
			full++
		case n < len(rows):
			other++
		}
	}
	even := !slices.ContainsFunc(rows, func(row []string) bool { return len(row) != len(rows[0]) })
	return c, full > 0 && (c.header || even && other > 0)
}

// read returns the URLs of the column.
func (c csvColumn) read(text string) (urls []string) {
	r := NewCSV(strings.NewReader(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)), c.separator)
	for n := 0; ; n++ {
		row, err := r.Read()
		if err != nil {
			return urls
		}
		if (n > 0 || !c.header) && c.column < len(row) {
			urls = append(urls, strings.TrimSpace(row[c.column]))
		}
	}
}
