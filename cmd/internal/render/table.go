package render

import (
	"fmt"
	"io"
	"strings"
)

// The widest columns of URLs, and of other text from a file.
const (
	MaxURLColumn  = 60
	maxRuleColumn = 40
)

// pad makes the cells of each column but the last as wide as its widest cell. A cell wider than
// most pushes only the rest of its own row to the right.
func pad(rows [][]string, most int) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], min(Columns(cell), most))
		}
	}
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			row[i] += strings.Repeat(" ", max(0, widths[i]-Columns(cell)))
		}
	}
}

// Align writes rows with their cells in columns.
func Align(w io.Writer, rows [][]string) {
	pad(rows, MaxURLColumn)
	for _, row := range rows {
		fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "  "), " "))
	}
}

// AlignWrapped is align for narrower columns with wrapped text in the last.
func AlignWrapped(w io.Writer, rows [][]string) {
	pad(rows, maxRuleColumn)
	for _, row := range rows {
		last := len(row) - 1
		Wrap(w, strings.Join(row[:last], "  ")+"  ", row[last])
	}
}
