package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/crawlers"
)

// AddressColumns are the columns of an address in CSV.
var AddressColumns = []string{"address", "as", "result", "by", "name", "crawlers", "why"}

// AddressCells returns the cells in CSV. Names are chosen by the owners of addresses.
func AddressCells(a *answer.VerifiedAddress) []string {
	return []string{
		a.Address, answer.Text(a.As), string(a.Result), answer.Text(a.By), robots.Printable(answer.Text(a.Name)),
		strings.Join(a.Crawlers, " "), robots.Printable(a.Why),
	}
}

// Address writes an address as text.
func Address(w io.Writer, colors Palette, a *answer.VerifiedAddress) {
	style := map[crawlers.Result]string{crawlers.Verified: Green, crawlers.Faked: Red}[a.Result]
	result := colors.Paint(cmp.Or(style, Yellow), Fill(string(a.Result), len(crawlers.Verified)))
	who := ""
	if len(a.Crawlers) > 0 {
		who = Listed(a.Crawlers, 3) + ": "
	}
	fmt.Fprintf(w, "%s  %s  %s\n", Fill(a.Address, len("255.255.255.255")), result, robots.Printable(who+a.Why+a.Advice))
}

// countColumns are the columns of answer.RequestCounts.
var countColumns = []string{"requests", "verified", "faked", "unknown"}

// countCells formats the numbers.
func countCells(n *answer.RequestCounts, format func(int) string) (cells []string) {
	for _, number := range []int{n.Requests, n.Verified, n.Faked, n.Unknown} {
		cells = append(cells, format(number))
	}
	return cells
}

// byResult lists the results that are not 0.
func byResult(n *answer.RequestCounts) string {
	var parts []string
	for i, number := range []int{n.Verified, n.Faked, n.Unknown} {
		if number > 0 {
			parts = append(parts, screen.Thousands(number)+" "+countColumns[1+i])
		}
	}
	return strings.Join(parts, ", ")
}

// TrafficRows returns the requests in CSV, with the lines of a robots.txt if there is one. A line has no
// number of addresses.
func TrafficRows(list []answer.CrawlerRequests, withFile bool) [][]string {
	head := slices.Concat([]string{"name", "operator", "purpose"}, countColumns, []string{"addresses"})
	var noLine []string
	if withFile {
		head = append(head, "line", "rule", "sample")
		noLine = []string{"", "", ""}
	}
	rows := [][]string{head}
	for i := range list {
		r := &list[i]
		who := []string{r.Name, r.Operator, string(r.Purpose)}
		rows = append(rows, slices.Concat(who, countCells(&r.RequestCounts, strconv.Itoa), []string{strconv.Itoa(r.Addresses)}, noLine))
		for _, line := range r.Forbidden {
			where := []string{"", strconv.Itoa(line.Line), robots.Printable(line.Rule), robots.Printable(line.Sample)}
			rows = append(rows, slices.Concat(who, countCells(&line.RequestCounts, strconv.Itoa), where))
		}
	}
	return rows
}

// Traffic writes the requests in logs as text, under a title. file is the title of the robots.txt that
// crawlers must obey, "" for none.
func Traffic(w io.Writer, colors Palette, list []answer.CrawlerRequests, title, file string) {
	total := 0
	for i := range list {
		total += list[i].Requests
	}
	title += ", " + Count(total, "request") + " by " + Count(len(list), "crawler")
	fmt.Fprintln(w, colors.Paint(Bold, robots.Printable(title)))
	if len(list) == 0 {
		return
	}
	Align(w, countRows(list, colors))
	if fakes := fakeRows(list); len(fakes) > 0 {
		Heading(w, colors, "Faked")
		Align(w, fakes)
	}
	file = robots.Printable(file)
	if forbidden := forbiddenRows(list); len(forbidden) > 0 {
		Heading(w, colors, "Fetched although disallowed by "+file)
		Align(w, forbidden)
	} else if file != "" {
		fmt.Fprintln(w, "\nNo request was disallowed by "+file)
	}
}

// countRows returns a row for each crawler, after the head.
func countRows(list []answer.CrawlerRequests, colors Palette) [][]string {
	head := []string{"  crawler"}
	for _, name := range append(slices.Clone(countColumns), "addresses") {
		head = append(head, fmt.Sprintf("%9s", name))
	}
	rows := [][]string{append(head, "")}
	cell := func(n int) string { return fmt.Sprintf("%9s", screen.Thousands(n)) }
	for i := range list {
		r := &list[i]
		row := slices.Concat([]string{"  " + r.Name}, countCells(&r.RequestCounts, cell), []string{cell(r.Addresses)})
		if r.Faked > 0 {
			row[3] = colors.Paint(Red, row[3])
		}
		rows = append(rows, append(row, colors.Paint(Faint, robots.Printable(answer.Text(r.Why)+r.Advice))))
	}
	return rows
}

// fakeRows returns a row for each fake address.
func fakeRows(list []answer.CrawlerRequests) (rows [][]string) {
	for i := range list {
		for _, f := range list[i].Fakes {
			text := robots.Printable(Count(f.Requests, "request") + ": " + f.Why)
			rows = append(rows, []string{"  " + list[i].Name, Fill(f.Address, 15), text})
		}
	}
	return rows
}

// forbiddenRows returns a row for each line of robots.txt that a crawler did not obey.
func forbiddenRows(list []answer.CrawlerRequests) (rows [][]string) {
	for i := range list {
		for _, line := range list[i].Forbidden {
			requests := Count(line.Requests, "request") + " (" + byResult(&line.RequestCounts) + ")"
			text := fmt.Sprintf("line %d: %s  %s, such as %s", line.Line, line.Rule, requests, line.Sample)
			if remark := list[i].Remark; remark != "" {
				text += "  [" + remark + "]"
			}
			rows = append(rows, []string{"  " + list[i].Name, robots.Printable(text)})
		}
	}
	return rows
}
