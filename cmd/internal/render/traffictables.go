package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/screen"
)

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
// number of addresses, no share and no requests for robots.txt.
func TrafficRows(r *answer.LogReport, withFile bool) [][]string {
	head := slices.Concat([]string{"name", "operator", "purpose"}, countColumns, []string{"addresses", "share", "robots_txt"})
	var noLine []string
	if withFile {
		head = append(head, "line", "rule", "sample")
		noLine = []string{"", "", ""}
	}
	rows := [][]string{head}
	for i := range r.Crawlers {
		c := &r.Crawlers[i]
		who := []string{robots.Printable(c.Name), c.Operator, string(c.Purpose)}
		share := strconv.FormatFloat(c.Share, 'f', 1, 64)
		all := []string{strconv.Itoa(c.Addresses), share, strconv.Itoa(c.RobotsTXT)}
		rows = append(rows, slices.Concat(who, countCells(&c.RequestCounts, strconv.Itoa), all, noLine))
		for _, line := range c.Forbidden {
			where := []string{"", "", "", strconv.Itoa(line.Line), robots.Printable(line.Rule), robots.Printable(line.Sample)}
			rows = append(rows, slices.Concat(who, countCells(&line.RequestCounts, strconv.Itoa), where))
		}
	}
	return rows
}

// RuleUseRows returns the use of rules in CSV.
func RuleUseRows(r *answer.LogReport) [][]string {
	rows := [][]string{{"line", "rule", "agents", "crawlers", "others"}}
	for _, u := range r.Rules {
		agents := robots.Printable(strings.Join(u.Agents, " "))
		rows = append(rows, []string{
			strconv.Itoa(u.Line), robots.Printable(u.Rule), agents, strconv.Itoa(u.Crawlers), strconv.Itoa(u.Others),
		})
	}
	return rows
}

// faultyColumn is that of faked requests in the table of visitors.
const faultyColumn = 4

// visitors returns a row for each crawler and other program.
func (v *TrafficView) visitors() trafficTable {
	t := trafficTable{plural: "crawlers", least: 8}
	t.head = []string{"crawler", "requests", "share", "verified", "faked", "unknown", "addresses", "robots.txt"}
	if v.File != "" {
		t.head = append(t.head, "disallowed")
	}
	t.head = append(t.head, "")
	for i := range v.Report.Crawlers {
		c := &v.Report.Crawlers[i]
		counts := countCells(&c.RequestCounts, screen.Thousands[int])
		row := []string{robots.Printable(c.Name), counts[0], percent(c.Requests, v.Report.Requests)}
		row = append(row, counts[1:]...)
		row = append(row, screen.Thousands(c.Addresses), screen.Thousands(c.RobotsTXT))
		if v.File != "" {
			row = append(row, screen.Thousands(c.Disallowed()))
		}
		t.rows = append(t.rows, append(row, robots.Printable(cmp.Or(c.Advice, answer.Text(c.Why)))))
	}
	return t
}

// fakes returns a row for each fake address, those with most requests first.
func (v *TrafficView) fakes() trafficTable {
	t := trafficTable{title: "Faked", plural: "addresses", least: 3, head: []string{"crawler", "address", "requests"}}
	type fake struct {
		answer.FakeAddress
		of *answer.CrawlerRequests
	}
	var list []fake
	for i := range v.Report.Crawlers {
		for _, f := range v.Report.Crawlers[i].Fakes {
			list = append(list, fake{f, &v.Report.Crawlers[i]})
		}
	}
	slices.SortStableFunc(list, func(a, b fake) int { return b.Requests - a.Requests })
	for _, f := range list {
		requests := fmt.Sprintf("%s (%s)", Count(f.Requests, "request"), percent(f.Requests, f.of.Requests))
		t.rows = append(t.rows, []string{f.of.Name, Fill(f.Address, 15), robots.Printable(requests + ": " + f.Why)})
	}
	return t
}

// forbidden returns a row for each line of robots.txt that a crawler did not obey, those with most requests first.
func (v *TrafficView) forbidden() trafficTable {
	t := trafficTable{
		title:  "Fetched although disallowed by " + robots.Printable(v.File),
		plural: "rules that crawlers did not obey",
		head:   []string{"crawler", "rule", "requests"},
		least:  2,
	}
	type forbidden struct {
		answer.ForbiddenRequests
		of *answer.CrawlerRequests
	}
	var list []forbidden
	for i := range v.Report.Crawlers {
		for _, line := range v.Report.Crawlers[i].Forbidden {
			list = append(list, forbidden{line, &v.Report.Crawlers[i]})
		}
	}
	slices.SortStableFunc(list, func(a, b forbidden) int { return b.Requests - a.Requests })
	for _, f := range list {
		share := percent(f.Requests, f.of.Requests)
		text := fmt.Sprintf("%s (%s; %s), such as %s", Count(f.Requests, "request"), share, byResult(&f.RequestCounts), f.Sample)
		if f.of.Remark != "" {
			text += "  [" + f.of.Remark + "]"
		}
		rule := robots.Printable(fmt.Sprintf("line %d: %s", f.Line, f.Rule))
		t.rows = append(t.rows, []string{robots.Printable(f.of.Name), rule, robots.Printable(text)})
	}
	return t
}

// usedRules returns a row for each rule that decided requests, those with most first.
func (v *TrafficView) usedRules() trafficTable {
	t := trafficTable{title: "Requests by deciding rule", plural: "rules", least: 10, head: []string{"rule", "group", "requests"}}
	for _, u := range v.Report.UsedRules() {
		requests := fmt.Sprintf("%s of crawlers, %s of others", Count(u.Crawlers, "request"), screen.Thousands(u.Others))
		t.rows = append(t.rows, append(ruleCells(&u), requests))
	}
	return t
}

// unusedRules returns a row for each rule that decided no request.
func (v *TrafficView) unusedRules() trafficTable {
	const title = "Rules that decided no request, because no URL in the log matches or because crawlers obey them"
	t := trafficTable{title: title, plural: "rules", least: 10, head: []string{"rule", "group"}}
	for _, u := range v.Report.UnusedRules() {
		t.rows = append(t.rows, ruleCells(&u))
	}
	return t
}

// ruleCells returns the rule and the crawlers of its group.
func ruleCells(u *answer.RuleUse) []string {
	rule := fmt.Sprintf("line %d: %s", u.Line, u.Rule)
	return []string{robots.Printable(rule), robots.Printable(Listed(u.Agents, 3))}
}
