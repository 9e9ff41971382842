package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/lint"
	"github.com/rogpeppe/go-internal/diff"
)

// A Lint is what is shown of files with findings.
type Lint struct {
	Files  []*answer.LintedFile
	Counts answer.LintCounts
	Diff   bool // the fixes are shown instead of the findings
	All    bool // these include fixes that change verdicts
}

// Text writes the findings or the fixes.
func (l *Lint) Text(std *screen.Streams) {
	for _, f := range l.Files {
		title := robots.Printable(f.Title)
		for i := range f.Changes {
			d := &f.Changes[i]
			fmt.Fprintf(std.Out, "%s:%d:%d: change %s %s: %s\n", title, d.Line, d.Column, d.Check.ID, d.Check.Name, robots.Printable(advice(d)))
		}
		switch {
		case l.Diff && f.IsFixed():
			FileDiff(std, f.Title, f.Body, f.Fixed)
		case f.NoFix && l.All:
			fmt.Fprintf(std.Out, "%s: no fix\n", title)
		case f.NoFix:
			fmt.Fprintf(std.Out, "%s: no safe fix\n", title)
		}
		for i := range f.Diagnostics {
			lintFinding(std.Out, f, &f.Diagnostics[i])
		}
	}
	if text := lintCounts(&l.Counts); text != "" {
		fmt.Fprintln(std.Out, text)
	}
}

// FileDiff writes the changes of a file.
func FileDiff(std *screen.Streams, title string, before, after []byte) {
	title = robots.Printable(title)
	text := string(diff.Diff(title, before, title, after))
	if std.Terminal {
		text = PrintableLines(text)
	}
	_, _ = io.WriteString(std.Out, text)
}

// lintCounts writes the number of findings by severity, "" if there are none.
func lintCounts(n *answer.LintCounts) string {
	var parts []string
	more := ""
	for s := lint.Error; s > lint.Off; s-- {
		if n.Shown[s] > 0 {
			parts = append(parts, Count(n.Shown[s], s.String()))
		} else if n.Hidden[s] > 0 {
			parts = append(parts, Count(n.Hidden[s], s.String())+" not shown")
			more = " (--severity " + s.String() + " shows them)"
		}
	}
	return strings.Join(parts, ", ") + more
}

// maxShown limits how much of a long line is shown, in characters.
const maxShown = 100

// lintFinding writes a finding with its line.
func lintFinding(w io.Writer, f *answer.LintedFile, d *lint.Diagnostic) {
	fmt.Fprintf(w, "%s:%d:%d: %s %s %s: %s\n", robots.Printable(f.Title), d.Line, d.Column, d.Severity, d.Check.ID, d.Check.Name, d.Message)
	about := dialectsText(d.Dialects)
	if text := advice(d); text != "" {
		about = text + "; " + about
	}
	about = robots.Printable(about)
	line := f.LineOf(d)
	number := fmt.Sprintf("%3d", d.Line)
	gap := strings.Repeat(" ", len(number))
	if line == "" {
		fmt.Fprintf(w, "%s | %s\n", gap, about)
		return
	}
	start := d.Column - 1
	end := start + d.Span.End - d.Span.Start
	before := oneColumn(line[:start])
	marked := oneColumn(line[start:end])
	after := oneColumn(line[end:])
	if n := utf8.RuneCountInString(before); n > maxShown/2 {
		before = "…" + string([]rune(before)[n-maxShown/2:])
	}
	marked = cutText(marked, maxShown/2)
	after = cutText(after, max(0, maxShown-utf8.RuneCountInString(before+marked)))
	fmt.Fprintf(w, "%s | %s\n", number, strings.TrimRight(before+marked+after, " "))
	carets := strings.Repeat("^", max(1, utf8.RuneCountInString(marked)))
	fmt.Fprintf(w, "%s | %s%s %s\n", gap, strings.Repeat(" ", utf8.RuneCountInString(before)), carets, about)
}

// oneColumn writes a part of a line with one column for each character.
func oneColumn(s string) string { return robots.Printable(strings.ReplaceAll(s, "\t", " ")) }

// cutText returns at most some characters of a text.
func cutText(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// advice returns what to do, and what a fix that is not safe changes.
func advice(d *lint.Diagnostic) string {
	if d.Fix == nil || d.Fix.Change == "" {
		return d.Advice
	}
	return strings.TrimLeft(d.Advice+" ("+d.Fix.Change+")", " ")
}

// dialectsText names dialects, or if they are most of all those that are missing.
func dialectsText(names []string) string {
	all := ask.DialectNames()
	if len(names) == len(all) {
		return "all dialects"
	}
	if len(names) <= len(all)/2 {
		return strings.Join(names, ", ")
	}
	return "all but " + strings.Join(slices.DeleteFunc(all, func(n string) bool { return slices.Contains(names, n) }), ", ")
}

// LintCheck describes a check.
func LintCheck(w io.Writer, c *lint.Check) {
	fmt.Fprintf(w, "%s %s (%s, fix: %s)\n\n", c.ID, c.Name, c.Severity, c.Fix)
	Wrap(w, "", c.What+" "+c.Why)
	if c.Instead != "" {
		fmt.Fprintln(w)
		Wrap(w, "Write instead: ", c.Instead)
	}
	for _, example := range [][2]string{{"Before", c.Before}, {"After", c.After}} {
		title := example[0]
		text := example[1]
		if text != "" {
			fmt.Fprintf(w, "\n%s:\n\n", title)
		}
		for line := range strings.Lines(text) {
			fmt.Fprintln(w, strings.TrimRight("    "+robots.Printable(strings.TrimSuffix(line, "\n")), " "))
		}
	}
	if c.Clause != "" {
		fmt.Fprintf(w, "\nSee robots clause %s.\n", c.Clause)
	}
}
