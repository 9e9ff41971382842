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
	"github.com/robotskit/robots/crawlers"
)

// CrawlerAccess writes the access of crawlers, or which of them may fetch a path unless that is "", how many were omitted, and
// the state of the robots.txt, "" for none.
func CrawlerAccess(w io.Writer, colors Palette, table []answer.CrawlerAccess, path string, omitted int, state string) {
	for from, to := range sections(table, func(r *answer.CrawlerAccess) crawlers.Purpose { return r.Purpose }) {
		var rows [][]string
		for _, r := range table[from:to] {
			word := accessWord(colors, r.Access)
			if r.Verdict != nil {
				word = colors.Verdict(r.AccessResult.Verdict)
			}
			rows = append(rows, []string{"  " + r.Name, r.Operator, word, accessReason(colors, r)})
		}
		title := accessSummary(purposeTitles.Replace(string(table[from].Purpose)), path, table[from:to])
		writeSection(w, colors, from == 0, robots.Printable(title), rows)
	}
	writeOmitted(w, colors, omitted)
	writeFaint(w, colors, "", state)
}

// CrawlerAccessCSV returns the cells of the access of crawlers, after a header.
func CrawlerAccessCSV(table []answer.CrawlerAccess) [][]string {
	cells := [][]string{append(slices.Clone(factColumns), "access", "verdict", "line", "rule", "group")}
	for _, r := range table {
		line := ""
		if r.Rule != nil {
			line = strconv.Itoa(r.Rule.Line)
		}
		v := r.AccessResult.Verdict
		access := []string{string(r.Access), answer.Text(r.Verdict), line, v.Rule.String(), robots.Printable(v.Group.Token())}
		cells = append(cells, append(factCells(r.CrawlerFacts), access...))
	}
	return cells
}

// accessWord is the access in the column of the table.
func accessWord(colors Palette, a answer.Access) string {
	style := map[answer.Access]string{answer.AccessAll: Green, answer.AccessNone: Red}[a]
	word := strings.Replace(string(a), string(answer.AccessNone), "nothing", 1)
	return colors.Paint(cmp.Or(style, Yellow), Fill(word, len(answer.AccessUndecided)))
}

// accessReason names the rule and the group, and adds remarks on the crawler.
func accessReason(colors Palette, r answer.CrawlerAccess) string {
	v := r.AccessResult.Verdict
	text := answer.Reason(v)
	if r.Others > 0 {
		text += fmt.Sprintf(", and %d more", r.Others)
	}
	text += inGroup(colors, v, false)
	e, _ := crawlers.Find(r.Name)
	remarks := CrawlerRemark(e, false)
	if e.Rival != "" && strings.EqualFold(v.Group.Token(), e.Rival) {
		remarks = strings.TrimSuffix("the group of another operator; "+remarks, "; ")
	}
	if remarks != "" {
		text += "  " + colors.Paint(Yellow, "["+remarks+"]")
	}
	return text
}

// accessSummary returns a sentence on the access of the crawlers of one purpose.
func accessSummary(title, path string, all []answer.CrawlerAccess) string {
	counts := map[answer.Access]int{}
	disallowed := 0
	var unnamed []string
	for _, r := range all {
		counts[r.Access]++
		if !r.AccessResult.Verdict.Allowed {
			disallowed++
		}
		if !r.Named() {
			unnamed = append(unnamed, r.Name)
		}
	}
	text := Count(len(all), title+" crawler")
	if path != "" {
		text = fmt.Sprintf("%d of %s may not fetch %s", disallowed, text, path)
	} else {
		text = shares(len(all), counts, text)
	}
	switch n := len(unnamed); {
	case n == 0 || all[0].NoFile:
	case n == len(all) && n == 1:
		text += "; the file does not name it"
	case n == len(all):
		text += "; the file names none of them"
	default:
		text += "; not named: " + Listed(unnamed, 3)
	}
	return text
}

// shares returns how many of n crawlers of a group have which access.
func shares(n int, counts map[answer.Access]int, group string) string {
	var parts []string
	for _, share := range []struct {
		access    answer.Access
		one, many string
	}{
		{answer.AccessNone, "has no access", "have no access"},
		{answer.AccessPart, "has access to a part", "have access to a part"},
		{answer.AccessAll, "has access to all", "have access to all"},
		{answer.AccessUndecided, "is undecided", "are undecided"},
		{answer.AccessUnknown, "has unknown access, as robots.txt is unreachable", "have unknown access, as robots.txt is unreachable"},
	} {
		k := counts[share.access]
		who := ""
		has := share.many
		if k == 1 {
			has = share.one
		}
		switch {
		case k == 0:
			continue
		case k == n && n > 1:
			who = "all " + group
		case k == n:
			who = group
		case len(parts) == 0:
			who = strconv.Itoa(k) + " of " + group
		default:
			who = strconv.Itoa(k)
		}
		parts = append(parts, who+" "+has)
	}
	return strings.Join(parts, ", ")
}
