package main

import "github.com/robotskit/robots"

// maxRuleColumn is the widest column of text from a file: a longer cell moves only its own row
// to the right.
const maxRuleColumn = 40

// leads returns the aligned beginning of each row of a table, which ends in a space.
func leads(rows [][]string) []string {
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], min(columns(cell), maxRuleColumn))
		}
	}
	list := make([]string, len(rows))
	for k, row := range rows {
		list[k] = "  "
		for i, cell := range row {
			list[k] += fill(robots.Printable(cell), widths[i]) + "  "
		}
	}
	return list
}
