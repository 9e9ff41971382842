package main

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/crawlers"
)

// This file has the answers of verify, and writes them.

// A verifiedAddress is whether an address belongs to a crawler.
type verifiedAddress struct {
	Address  string          `json:"address"`  // IPv4 or IPv6
	As       *string         `json:"as"`       // usual name of the crawler given with --as
	Result   crawlers.Result `json:"result"`   // verified, faked or unknown
	By       *string         `json:"by"`       // method that decided, null if the result is unknown
	Name     *string         `json:"name"`     // of the address, if it decided
	Crawlers []string        `json:"crawlers"` // that own the address or, if it is not verified, that it claims to be
	Why      string          `json:"why"`      // a phrase about the address

	advice string // for text: the flag that would help, "" if none would
}

func (c *verifyCall) newVerifiedAddress(address netip.Addr, id crawlers.Identity) *verifiedAddress {
	verified := &verifiedAddress{
		Address: address.String(), As: notEmpty(c.claimed.Name), Result: id.Result, By: notEmpty(id.By), Name: notEmpty(id.Name),
		Crawlers: []string{}, Why: id.Why, advice: c.advice(id),
	}
	for _, e := range id.Crawlers {
		verified.Crawlers = append(verified.Crawlers, e.Name)
	}
	return verified
}

// addressColumns are the columns of a verifiedAddress in CSV.
var addressColumns = []string{"address", "as", "result", "by", "name", "crawlers", "why"}

// row returns the cells in CSV. Names are chosen by the owners of addresses.
func (a *verifiedAddress) row() []string {
	return []string{
		a.Address, answer.Text(a.As), string(a.Result), answer.Text(a.By), robots.Printable(answer.Text(a.Name)),
		strings.Join(a.Crawlers, " "), robots.Printable(a.Why),
	}
}

// text returns a line for people.
func (a *verifiedAddress) text(colors render.Palette) string {
	style := map[crawlers.Result]string{crawlers.Verified: render.Green, crawlers.Faked: render.Red}[a.Result]
	result := colors.Paint(cmp.Or(style, render.Yellow), render.Fill(string(a.Result), len(crawlers.Verified)))
	who := ""
	if len(a.Crawlers) > 0 {
		who = render.Listed(a.Crawlers, 3) + ": "
	}
	return fmt.Sprintf("%s  %s  %s\n", render.Fill(a.Address, len("255.255.255.255")), result, robots.Printable(who+a.Why+a.advice))
}

// crawlerRequests are the requests of a crawler in access logs.
type crawlerRequests struct {
	Name     string           `json:"name"`     // usual name of the crawler
	Operator string           `json:"operator"` // or unknown
	Purpose  crawlers.Purpose `json:"purpose"`  // or unknown
	requestCounts
	Addresses int                 `json:"addresses"` // that sent the requests
	Why       *string             `json:"why"`       // reason why the first unknown address is unknown, null if none is
	Fakes     []fakeAddress       `json:"fakes"`     // those with most requests
	Forbidden []forbiddenRequests `json:"forbidden"` // lines of robots.txt that were not obeyed, most requests first; null without -f

	crawler crawlers.Crawler
	advice  string // for text: the flag that would help to verify unknown addresses, "" if none would
}

// requestCounts are numbers of requests by the result for their addresses.
type requestCounts struct {
	Requests int `json:"requests"` // number of all
	Verified int `json:"verified"` // from addresses that belong to the crawler
	Faked    int `json:"faked"`    // from addresses that do not
	Unknown  int `json:"unknown"`  // from other addresses
}

// A fakeAddress is an address that does not belong to the crawler it names.
type fakeAddress struct {
	Address  string `json:"address"`  // IPv4 or IPv6
	Requests int    `json:"requests"` // their number
	Why      string `json:"why"`      // a phrase about the address
}

// forbiddenRequests are the requests of a crawler that a line of robots.txt disallows.
type forbiddenRequests struct {
	Line int    `json:"line"` // from 1
	Rule string `json:"rule"` // with its directive
	requestCounts
	Sample string `json:"sample"` // the first request target
}

// add counts requests from addresses with a result.
func (n *requestCounts) add(requests int, result crawlers.Result) {
	n.Requests += requests
	switch result {
	case crawlers.Verified:
		n.Verified += requests
	case crawlers.Faked:
		n.Faked += requests
	case crawlers.Unknown:
		n.Unknown += requests
	}
}

// countColumns are the columns of requestCounts.
var countColumns = []string{"requests", "verified", "faked", "unknown"}

// cells formats the numbers.
func (n *requestCounts) cells(format func(int) string) (cells []string) {
	for _, number := range []int{n.Requests, n.Verified, n.Faked, n.Unknown} {
		cells = append(cells, format(number))
	}
	return cells
}

// byResult lists the results that are not 0.
func (n *requestCounts) byResult() string {
	var parts []string
	for i, number := range []int{n.Verified, n.Faked, n.Unknown} {
		if number > 0 {
			parts = append(parts, screen.Thousands(number)+" "+countColumns[1+i])
		}
	}
	return strings.Join(parts, ", ")
}

// write writes the report in the format of --format.
func (l *logReader) write(list []crawlerRequests) {
	switch l.call.format {
	case formatJSON:
		for i := range list {
			l.call.std.EncodeAnswer(&list[i])
		}
	case formatCSV:
		l.call.std.WriteCSV(l.rows(list)...)
	default:
		l.writeText(list)
	}
}

// rows returns the table for CSV. A line of robots.txt has no number of addresses.
func (l *logReader) rows(list []crawlerRequests) [][]string {
	head := slices.Concat([]string{"name", "operator", "purpose"}, countColumns, []string{"addresses"})
	var noLine []string
	if l.file != nil {
		head = append(head, "line", "rule", "sample")
		noLine = []string{"", "", ""}
	}
	rows := [][]string{head}
	for i := range list {
		r := &list[i]
		who := []string{r.Name, r.Operator, string(r.Purpose)}
		rows = append(rows, slices.Concat(who, r.cells(strconv.Itoa), []string{strconv.Itoa(r.Addresses)}, noLine))
		for _, line := range r.Forbidden {
			where := []string{"", strconv.Itoa(line.Line), robots.Printable(line.Rule), robots.Printable(line.Sample)}
			rows = append(rows, slices.Concat(who, line.cells(strconv.Itoa), where))
		}
	}
	return rows
}

// writeText writes the report for people.
func (l *logReader) writeText(list []crawlerRequests) {
	w := l.call.std.Out
	colors := l.call.palette
	total := 0
	for i := range list {
		total += list[i].Requests
	}
	title := (&source.Text{Name: l.call.logs[0]}).Title()
	if len(l.call.logs) > 1 {
		title = render.Count(len(l.call.logs), "log")
	}
	title += ": " + render.Count(int(l.read.Load()), "line") + ", " + render.Count(total, "request") + " by " + render.Count(len(list), "crawler")
	fmt.Fprintln(w, colors.Paint(render.Bold, robots.Printable(title)))
	if len(list) == 0 {
		return
	}
	render.Align(w, countRows(list, colors))
	if fakes := fakeRows(list); len(fakes) > 0 {
		render.Heading(w, colors, "Faked")
		render.Align(w, fakes)
	}
	file := robots.Printable((&source.Text{Name: l.call.fileName}).Title())
	if forbidden := forbiddenRows(list); len(forbidden) > 0 {
		render.Heading(w, colors, "Fetched although disallowed by "+file)
		render.Align(w, forbidden)
	} else if l.file != nil {
		fmt.Fprintln(w, "\nNo request was disallowed by "+file)
	}
}

// countRows returns a row for each crawler, after the head.
func countRows(list []crawlerRequests, colors render.Palette) [][]string {
	head := []string{"  crawler"}
	for _, name := range append(slices.Clone(countColumns), "addresses") {
		head = append(head, fmt.Sprintf("%9s", name))
	}
	rows := [][]string{append(head, "")}
	cell := func(n int) string { return fmt.Sprintf("%9s", screen.Thousands(n)) }
	for i := range list {
		r := &list[i]
		row := slices.Concat([]string{"  " + r.Name}, r.cells(cell), []string{cell(r.Addresses)})
		if r.Faked > 0 {
			row[3] = colors.Paint(render.Red, row[3])
		}
		rows = append(rows, append(row, colors.Paint(render.Faint, robots.Printable(answer.Text(r.Why)+r.advice))))
	}
	return rows
}

// fakeRows returns a row for each fake address.
func fakeRows(list []crawlerRequests) (rows [][]string) {
	for i := range list {
		for _, f := range list[i].Fakes {
			rows = append(rows, []string{"  " + list[i].Name, render.Fill(f.Address, 15), robots.Printable(render.Count(f.Requests, "request") + ": " + f.Why)})
		}
	}
	return rows
}

// forbiddenRows returns a row for each line of robots.txt that a crawler did not obey.
func forbiddenRows(list []crawlerRequests) (rows [][]string) {
	for i := range list {
		for _, line := range list[i].Forbidden {
			text := fmt.Sprintf("line %d: %s  %s (%s), such as %s", line.Line, line.Rule, render.Count(line.Requests, "request"), line.byResult(), line.Sample)
			if r := remark(list[i].crawler, false); r != "" {
				text += "  [" + r + "]"
			}
			rows = append(rows, []string{"  " + list[i].Name, robots.Printable(text)})
		}
	}
	return rows
}
