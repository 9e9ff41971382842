package render

import (
	"fmt"
	"io"
	"strconv"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
)

// ExplanationOptions are what an explanation adds in a list.
type ExplanationOptions struct {
	Crawler  string // whose verdict it is, "" if there is only one
	Dialect  bool   // the dialects of one crawler are compared
	Fallback string // a sentence, "" for none
	State    string // of the robots.txt of a site, "" for none
}

// Explanation writes how a verdict is derived.
func Explanation(w io.Writer, colors Palette, e *answer.Explanation, o ExplanationOptions) {
	v := e.Decision
	fmt.Fprintf(w, "%s  %s\n", colors.Verdict(v), colors.Paint(Bold, robots.Printable(e.URL)))
	reason := reasonText(colors, v, !o.Dialect)
	switch {
	case o.Dialect:
		reason = v.Dialect + ": " + reason
	case o.Crawler != "":
		reason = robots.Printable(o.Crawler) + ": " + reason
	}
	fmt.Fprintf(w, "%s%s\n", verdictIndent, reason)
	writeFaint(w, colors, verdictIndent, o.Fallback)
	writeFaint(w, colors, verdictIndent, o.State)
	Derivation(w, colors, &e.Derivation)
	if len(e.Signals) > 0 {
		Heading(w, colors, "Signals")
		Align(w, signalRows(colors, e.Signals))
	}
}

// Derivation writes how a verdict is reached.
func Derivation(w io.Writer, colors Palette, d *answer.Derivation) {
	Heading(w, colors, "Steps")
	var steps, matches [][]string
	number := len(strconv.Itoa(len(d.Steps)))
	for i, s := range d.Steps {
		steps = append(steps, []string{fmt.Sprintf("  %*d", number, i+1), colors.Paint(Faint, colors.Link(s.Clause)), s.Text})
	}
	AlignWrapped(w, steps)

	for _, m := range d.Matches {
		result := "lost"
		style := Faint
		if m.Won {
			result = "won "
			style = Green
			if m.Directive != robots.FieldAllow.String() {
				style = Red
			}
		}
		if len(matches) == 0 {
			Heading(w, colors, "Rules that match")
			faint := func(text string) string { return colors.Paint(Faint, text) }
			matches = [][]string{{faint("  line"), faint("rule"), faint("bytes"), faint("result")}}
		}
		why := m.Why + " (" + colors.Link(m.Clause) + ")"
		line := fmt.Sprintf("  %4d", m.Line)
		matches = append(matches, []string{line, m.String(), fmt.Sprintf("%5d", m.Bytes), colors.Paint(style, result), why})
	}
	AlignWrapped(w, matches)

	writeNotes(w, colors, d.Notes, d.Dropped)
}

// writeNotes writes notes below a heading, if there are any.
func writeNotes(w io.Writer, colors Palette, notes []answer.Note, dropped int) {
	if len(notes) == 0 {
		return
	}
	Heading(w, colors, "Notes")
	var rows [][]string
	for _, n := range notes {
		where := "  file"
		if n.Line > 0 {
			where = "  line " + strconv.Itoa(n.Line)
		}
		rows = append(rows, []string{where, colors.Paint(Faint, colors.Link(n.Clause)), n.Text})
	}
	AlignWrapped(w, rows)
	if dropped > 0 {
		fmt.Fprintf(w, "  and %d more\n", dropped)
	}
}

// signalRows returns the columns of each value.
func signalRows(colors Palette, list []answer.Signal) (rows [][]string) {
	for _, s := range list {
		from := colors.Paint(Faint, s.Source.Document+", "+s.Source.Date)
		rows = append(rows, []string{"  " + LineList([]int{s.Line}), s.Title(), robots.Printable(s.Text()), s.Scope, from})
	}
	return rows
}
