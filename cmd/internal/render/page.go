package render

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/indexing"
)

// A pageLine is an answer of one line of text.
type pageLine struct {
	what string // can be done
	answer.PageAnswer
	why string
}

// pageLines returns the answers of an outlook, that on the crawl first.
func pageLines(colors Palette, c *answer.PageCheck) []pageLine {
	why := c.Crawl.Why
	if c.Outlook.Verdict != nil {
		why = reasonText(colors, *c.Outlook.Verdict, false)
	}
	if c.BlockedAt != "" {
		why = "redirects to " + robots.Printable(c.BlockedAt) + ": " + why
	}
	return []pageLine{
		{"crawl", c.Crawl, why},
		{"index", c.Index, c.Index.Why},
		{"follow", c.Follow, c.Follow.Why},
		{"snippet", c.Snippet, c.Snippet.Why},
	}
}

// mainReason explains the first answer that is not yes, or else the first that a directive limits.
func mainReason(lines []pageLine) string {
	for _, line := range lines {
		if line.Answer != indexing.Yes && line.Reason != indexing.NotAsked {
			return line.why
		}
	}
	for _, line := range lines {
		if line.Rule != nil {
			return line.why
		}
	}
	return lines[1].why // of the index
}

// Page writes the results for a page, which is given as local or was fetched, and the state of the robots.txt of its site, "" for
// none.
func Page(w io.Writer, colors Palette, checks []answer.PageCheck, local bool, state string) {
	first := &checks[0]
	title := cmp.Or(robots.Printable(answer.Text(first.URL)), "The page")
	one := len(checks) == 1
	if name := first.Title(); one && name != answer.AnyCrawler {
		title += ", for " + robots.Printable(name) + ", in " + first.Dialect
	}
	fmt.Fprintln(w, colors.Paint(Bold, title))
	writeContradictions(w, colors, checks, local)
	if one {
		writeOutlook(w, colors, first)
	} else {
		writeOutlooks(w, colors, checks)
	}
	writeFaint(w, colors, "  ", state)
	writeFaint(w, colors, "  ", pageFetchText(first.Page))
	if local || first.Page != nil && first.Page.Status != nil {
		writePageRules(w, colors, checks)
	}
}

// writeContradictions writes each contradiction once, with its crawlers if there are
// several.
func writeContradictions(w io.Writer, colors Palette, list []answer.PageCheck, local bool) {
	var texts []string
	names := map[string][]string{}
	blocked := !local
	for i := range list {
		r := &list[i]
		// A none against an all is two contradictions with one text.
		same := func(a, b answer.Contradiction) bool { return a.Text == b.Text }
		for _, c := range slices.CompactFunc(slices.Clone(r.Contradictions), same) {
			if names[c.Text] == nil {
				texts = append(texts, c.Text)
			}
			names[c.Text] = append(names[c.Text], r.Title())
		}
		blocked = blocked && r.Crawl.Answer == indexing.No
	}
	for _, text := range texts {
		if len(list) > 1 {
			text += " (" + robots.Printable(Listed(names[text], 3)) + ")"
		}
		Wrap(w, "  "+colors.Paint(Yellow, "contradiction")+": ", text)
	}
	if blocked {
		Wrap(w, "  note: ", "the page may not be fetched, so a noindex on it is unknown, and no crawler would read it")
	}
}

// answerWord colors an answer and pads it to the longest.
func answerWord(colors Palette, word indexing.Word) string {
	style := map[indexing.Word]string{indexing.Yes: Green, indexing.No: Red}[word]
	return colors.Paint(cmp.Or(style, Yellow), Fill(word.String(), len("unknown")))
}

// writeOutlook writes the result for one crawler, a line for each answer.
func writeOutlook(w io.Writer, colors Palette, r *answer.PageCheck) {
	for _, line := range pageLines(colors, r) {
		fmt.Fprintf(w, "  %-7s  %s  %s\n", line.what, answerWord(colors, line.Answer), line.why)
	}
	read := r.IfRead
	if read == nil {
		return
	}
	var parts []string
	for _, line := range []pageLine{
		{what: "index", PageAnswer: read.Index}, {what: "follow", PageAnswer: read.Follow}, {what: "snippet", PageAnswer: read.Snippet},
	} {
		text := line.what + " " + line.Answer.String()
		if line.Rule != nil {
			text += ", " + line.Rule.Cite()
		}
		parts = append(parts, text)
	}
	Wrap(w, "  if allowed: ", strings.Join(parts, "; "))
}

// writeOutlooks writes a row for each crawler.
func writeOutlooks(w io.Writer, colors Palette, list []answer.PageCheck) {
	var rows [][]string
	for i := range list {
		r := &list[i]
		row := []string{"  " + robots.Printable(r.Title()), r.Dialect}
		lines := pageLines(colors, r)
		for _, line := range lines {
			row = append(row, line.what+" "+answerWord(colors, line.Answer))
		}
		rows = append(rows, append(row, mainReason(lines)))
	}
	Align(w, rows)
}

// writePageRules writes the rules of the page in order, with their effect.
func writePageRules(w io.Writer, colors Palette, list []answer.PageCheck) {
	first := &list[0]
	Heading(w, colors, "Rules of the page")
	if len(first.Rules) == 0 {
		fmt.Fprintln(w, "  none")
	}
	var rows [][]string
	for i := range first.Rules {
		rule := &first.Rules[i]
		rows = append(rows, []string{"  " + rule.Place(), rule.String(), effectOf(i, list)})
	}
	for i := range first.Signals {
		s := &first.Signals[i]
		effect := "a preference, " + s.Source.Document
		if !s.Known {
			effect = "not defined by " + s.Source.Document
		}
		rows = append(rows, []string{"  header", robots.Printable(s.Text()), effect})
	}
	Align(w, rows)
	if first.Truncated || first.Page != nil && first.Page.Cut {
		fmt.Fprintln(w, "  the page is truncated; later rules are unknown")
	}
}

// effectOf describes the effect of a rule of the page on the crawlers.
func effectOf(i int, list []answer.PageCheck) string {
	effects := map[indexing.Effect]int{}
	for k := range list {
		effects[list[k].Rules[i].Effect]++
	}
	counts := effects[indexing.Counts]
	rule := &list[0].Rules[i]
	switch {
	case len(effects) > 1 || counts > 1:
		return "counts for " + strconv.Itoa(counts) + " of " + strconv.Itoa(len(list))
	case rule.Effect == indexing.NotRead && len(list) > 1: // by engines with different names
		return rule.Effect.Sentence()
	}
	return rule.Why
}

// pageFetchText describes the fetch of a page, "" for nil.
func pageFetchText(f *answer.PageFetch) string {
	if f == nil {
		return ""
	}
	var parts []string
	if f.Status != nil {
		parts = append(parts, "status "+strconv.Itoa(*f.Status))
	}
	if n := len(f.URLs) - 1; n > 0 {
		parts = append(parts, "redirected to "+ask.Clip(f.URLs[n]))
	}
	kind := answer.Text(f.Type)
	switch {
	case f.Status == nil:
		parts = append(parts, "unavailable: "+answer.Text(f.Error))
	case *f.Status/100 != 2:
	case !indexing.IsHTML(http.Header{"Content-Type": {kind}}):
		parts = append(parts, "not HTML, only headers read: "+ask.Clip(kind))
	default:
		parts = append(parts, Count(f.Bytes, "byte")+" of HTML read")
		if f.Error != nil {
			parts = append(parts, "truncated: "+*f.Error)
		}
	}
	return "page: " + strings.Join(parts, ", ")
}
