package render

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/crawlers"
)

// verdictIndent aligns what follows a verdict with the URL beside it.
const verdictIndent = "           "

// VerdictLines are the verdicts for one crawler on the URLs of a list. They keep the text around each URL, as few rules decide many
// URLs.
type VerdictLines struct {
	Colors Palette
	rules  *answer.RuleSet // that the texts are for
	texts  map[uint64]verdictText
}

// verdictKey returns what differs between the verdicts of one crawler in a file, as a number: maps find those fastest.
func verdictKey(v *robots.Verdict) uint64 {
	key := uint64(v.Rule.Span().Start)<<8 | uint64(v.Reason)<<3
	for i, flag := range [...]bool{v.Allowed, v.Undefined, v.Group.IsZero()} {
		if flag {
			key |= 1 << i
		}
	}
	return key
}

// A verdictText is the text before and after a URL.
type verdictText struct{ word, why string }

// Append appends a line, with the printable URL and spaces after it.
func (l *VerdictLines) Append(dst []byte, v *answer.Verdicts, printable string, padding int) []byte {
	if l.rules != v.Rules[0] {
		l.rules = v.Rules[0]
		l.texts = map[uint64]verdictText{}
	}
	verdict := &v.List[0]
	key := verdictKey(verdict)
	text, known := l.texts[key]
	if !known {
		text = verdictText{word: l.Colors.Verdict(*verdict) + "  ", why: "  " + reasonText(l.Colors, *verdict, true) + "\n"}
		l.texts[key] = text
	}
	dst = append(dst, text.word...)
	dst = append(dst, printable...)
	for range padding {
		dst = append(dst, ' ')
	}
	return append(dst, text.why...)
}

// VerdictColumns are the columns of verdicts in CSV, here and on the page.
var VerdictColumns = []string{"url", "crawler", "dialect", "verdict", "reason", "line", "rule", "group"}

// VerdictCells returns the row of a crawler in CSV. Cells that do not apply are empty.
func VerdictCells(v *answer.Verdicts, crawler int) []string {
	verdict := v.List[crawler]
	line := ""
	if n := verdict.Rule.Line(); n > 0 {
		line = strconv.Itoa(n)
	}
	return []string{
		robots.Printable(v.URL), v.Crawlers[crawler].Name, verdict.Dialect, verdict.Word(), verdict.Reason.String(),
		line, verdict.Rule.String(), robots.Printable(verdict.Group.Token()),
	}
}

// SiteLine writes a sentence about the robots.txt of a site below a verdict, unless it is "".
func SiteLine(w io.Writer, colors Palette, sentence string) {
	writeFaint(w, colors, verdictIndent, sentence)
}

// VerdictTable writes the verdicts on a URL as a row for each crawler or, if these are one crawler in several dialects, for each
// dialect.
func VerdictTable(w io.Writer, colors Palette, v *answer.Verdicts, byDialect bool, state string) {
	fmt.Fprintln(w, colors.Paint(Bold, robots.Printable(v.URL)))
	var rows [][]string
	for i, verdict := range v.List {
		why := reasonText(colors, verdict, false)
		if byDialect {
			if s := verdict.State; s != nil && s.Note != "" {
				why += "  " + colors.Paint(Faint, "("+robots.Printable(s.Note)+")")
			}
			rows = append(rows, []string{"  " + verdict.Dialect, colors.Verdict(verdict), why})
			continue
		}
		name := v.Crawlers[i].Name
		if e, ok := crawlers.Find(name); ok && CrawlerRemark(e, false) != "" {
			why += "  " + colors.Paint(Yellow, "["+CrawlerRemark(e, false)+"]")
		}
		if s := v.Fallback(i); s != "" {
			why += "  " + colors.Paint(Faint, "("+robots.Printable(s)+")")
		}
		rows = append(rows, []string{"  " + robots.Printable(name), verdict.Dialect, colors.Verdict(verdict), why})
	}
	Align(w, rows)
	writeFaint(w, colors, "  ", state)
}

// writeFaint writes a line of less importance, unless it is "".
func writeFaint(w io.Writer, colors Palette, indent, line string) {
	if line != "" {
		fmt.Fprintf(w, "%s%s\n", indent, colors.Paint(Faint, robots.Printable(line)))
	}
}

// reasonText returns in one line why a verdict is what it is: the reason, the group and, if wanted, a dialect other than RFC 9309.
func reasonText(colors Palette, v robots.Verdict, dialect bool) string {
	return answer.Reason(v) + inGroup(colors, v, dialect)
}

// inGroup names the group of a verdict and, if wanted, a dialect other than RFC 9309.
func inGroup(colors Palette, v robots.Verdict, dialect bool) string {
	var parts []string
	if dialect && v.Dialect != robots.RFC9309.Name && v.Dialect != "" {
		parts = append(parts, v.Dialect)
	}
	if !v.Group.IsZero() {
		parts = append(parts, "group "+cmp.Or(robots.Printable(v.Group.Token()), `""`), LineList(v.Group.Lines()))
	}
	if len(parts) == 0 {
		return ""
	}
	return "  " + colors.Paint(Faint, "("+strings.Join(parts, ", ")+")")
}
