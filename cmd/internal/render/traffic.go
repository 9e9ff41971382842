package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/screen"
)

// A TrafficView is how a report on logs is written as text or Markdown.
type TrafficView struct {
	Report *answer.LogReport
	Title  string // of the logs
	File   string // title of the robots.txt that crawlers must obey, "" for none
	All    bool   // nothing is left out; else the text fits a screen of 24 lines
}

// A trafficTable is a part of a report on logs.
type trafficTable struct {
	title  string
	head   []string
	rows   [][]string
	least  int    // rows that are never left out
	plural string // what the rows are
	left   int    // rows that are left out
}

// Text writes the report as text.
func (v *TrafficView) Text(w io.Writer, colors Palette) {
	fmt.Fprintln(w, colors.Paint(Bold, robots.Printable(v.headline())))
	fmt.Fprintln(w, robots.Printable(v.summary()))
	for i, table := range v.tables() {
		if i > 0 {
			Heading(w, colors, table.title)
		} else {
			fmt.Fprintln(w)
			table.rows = slices.Concat([][]string{table.head}, table.rows)
			alignNumbers(table.rows, len(table.head)-1)
		}
		for k, row := range table.rows {
			row[0] = "  " + row[0]
			if i == 0 && k > 0 && strings.TrimSpace(row[faultyColumn]) != "0" {
				row[faultyColumn] = colors.Paint(Red, row[faultyColumn])
			}
		}
		Align(w, table.rows)
		if table.left > 0 {
			fmt.Fprintf(w, "  … %s more %s (use --all)\n", screen.Thousands(table.left), table.plural)
		}
	}
	if v.File != "" && len(v.forbidden().rows) == 0 {
		fmt.Fprintln(w, "\nNo request was disallowed by "+robots.Printable(v.File))
	}
}

// Markdown writes the report for a ticket.
func (v *TrafficView) Markdown(w io.Writer) {
	fmt.Fprintf(w, "### %s\n\n%s\n", mdText(v.headline()), mdText(v.summary()))
	for _, table := range v.tables() {
		if table.title != "" {
			fmt.Fprintf(w, "\n%s\n", mdText(table.title))
		}
		fmt.Fprintf(w, "\n| %s |\n|%s\n", strings.Join(table.head, " | "), strings.Repeat(" --- |", len(table.head)))
		for _, row := range table.rows {
			for i := range row {
				row[i] = strings.ReplaceAll(mdText(strings.TrimSpace(row[i])), "|", `\|`)
			}
			fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
		}
		if table.left > 0 {
			fmt.Fprintf(w, "\n… %s more %s (use --all)\n", screen.Thousands(table.left), table.plural)
		}
	}
}

// headline returns the most important finding and the period.
func (v *TrafficView) headline() string {
	text := v.finding()
	if period := v.period(); period != "" {
		text += ", " + period
	}
	return text
}

func (v *TrafficView) finding() string {
	f := v.Report.Finding
	if f == nil {
		return v.noFinding()
	}
	kind := map[string]string{"faked": "fake", "disallowed": "disallowed by robots.txt"}[f.Kind]
	verb := "are"
	if f.Requests == 1 {
		verb = "is"
	}
	of := Count(f.Of, f.Name+" request")
	text := fmt.Sprintf("%s of %s (%s) %s %s", screen.Thousands(f.Requests), of, percent(f.Requests, f.Of), verb, kind)
	if f.OtherCrawlers > 0 {
		text += fmt.Sprintf(", and %s of %s", screen.Thousands(f.OtherRequests), Count(f.OtherCrawlers, "other"))
	}
	return text
}

// noFinding is the headline of logs without a fake or disallowed request.
func (v *TrafficView) noFinding() string {
	requests := 0
	verified := 0
	for i := range v.Report.Crawlers {
		requests += v.Report.Crawlers[i].Requests
		verified += v.Report.Crawlers[i].Verified
	}
	all := Count(v.Report.Requests, "request")
	if requests == 0 {
		return "No crawler in " + all
	}
	text := fmt.Sprintf("%s of %s (%s) by crawlers", screen.Thousands(requests), all, percent(requests, v.Report.Requests))
	if v.File != "" {
		text += ", none disallowed by robots.txt"
	}
	if verified > 0 {
		return text + ", none known to be fake"
	}
	return text + ", none verified"
}

// summary counts the lines and requests.
func (v *TrafficView) summary() string {
	r := v.Report
	text := fmt.Sprintf("%s: %s, %s", v.Title, Count(r.Lines, "line"), Count(r.Requests, "request"))
	share := func(requests, programs int, what string) string {
		return fmt.Sprintf("%s (%s) by %s", screen.Thousands(requests), percent(requests, r.Requests), Count(programs, what))
	}
	known, requests := r.Known()
	text += ": " + share(requests, known, "known crawler")
	if programs, requests := r.Others(); programs > 0 {
		text += ", " + share(requests, programs, "other program")
	}
	return text
}

// period returns the days of the first and the last request, in the time zone of the log, "" if it has no times.
func (v *TrafficView) period() string {
	if v.Report.From == nil {
		return ""
	}
	from := *v.Report.From
	to := *v.Report.To
	const day = "2 January 2006"
	switch {
	case from.Format(day) == to.Format(day):
		return to.Format(day)
	case from.Format("January 2006") == to.Format("January 2006"):
		return from.Format("2") + " to " + to.Format(day)
	case from.Year() == to.Year():
		return from.Format("2 January") + " to " + to.Format(day)
	}
	return from.Format(day) + " to " + to.Format(day)
}

// percent formats a part of a whole. Only none is 0.0%, and only all is 100.0%.
func percent(part, whole int) string {
	share := 100 * float64(part) / float64(max(whole, 1))
	switch {
	case part > 0 && share < 0.05:
		return "<0.1%"
	case part < whole && share >= 99.95:
		return ">99.9%"
	}
	return fmt.Sprintf("%.1f%%", share)
}

// tables returns the parts of the report that are not empty, the crawlers first.
func (v *TrafficView) tables() (list []trafficTable) {
	for _, table := range []trafficTable{v.visitors(), v.fakes(), v.forbidden(), v.usedRules(), v.unusedRules()} {
		if len(table.rows) > 0 {
			list = append(list, table)
		}
	}
	if !v.All {
		fit(list)
	}
	return list
}

// fit leaves rows out so that all tables fit a screen. Each keeps its most important rows, and what is left of the screen
// goes to the tables in their order.
func fit(tables []trafficTable) {
	const screenLines = 24
	room := screenLines - 2 // without the headline and the summary
	for i := range tables {
		t := &tables[i]
		t.left = max(len(t.rows)-t.least, 0)
		room -= 2 + len(t.rows) - t.left + min(t.left, 1)
	}
	for i := range tables {
		t := &tables[i]
		switch {
		case t.left > 0 && t.left <= room+1: // the line with the number goes too
			room -= t.left - 1
			t.left = 0
		case t.left > 0 && room > 0:
			t.left -= room
			room = 0
		}
		t.rows = t.rows[:len(t.rows)-t.left]
	}
}

// alignNumbers aligns the columns after the first to the right.
func alignNumbers(rows [][]string, columns int) {
	for i := 1; i < columns; i++ {
		width := 0
		for _, row := range rows {
			width = max(width, Columns(row[i]))
		}
		for _, row := range rows {
			row[i] = strings.Repeat(" ", width-Columns(row[i])) + row[i]
		}
	}
}
