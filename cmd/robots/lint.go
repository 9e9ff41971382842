package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/lint"
	"github.com/spf13/cobra"
)

// The values of --fix.
const (
	fixSafe = "safe"
	fixAll  = "all"
)

// linting is one run of robots lint.
type linting struct {
	*command
	site siteFlags

	severity, failOn string
	least, fail      lint.Severity // of --severity and --fail-on
	fix              string
	diff             bool
	config, baseline string
	writeBaseline    bool
	explain          string

	shown, hidden [lint.Error + 1]int // findings by severity
}

// A linted file has its findings.
type linted struct {
	source.Text
	lint.Result
	fail    lint.Severity
	checked []byte            // the text of the findings
	lines   []robots.Line     // of this text
	fixed   []byte            // with the fixes of --fix
	changes []lint.Diagnostic // made by --fix=all
	unfixed bool              // --diff has nothing to show
}

func lintCommand(std *screen.Streams) *cobra.Command {
	l := &linting{command: newCommand(std)}
	cmd := &cobra.Command{Use: "lint", RunE: l.run(l.lint)}
	f := cmd.Flags()
	choiceFlag(cmd, &l.severity, "severity", lint.Warning.String(), "`SEVERITY` lowest severity shown: note, warning or error (formats other than text: note)", severities()...)
	failOnFlag(cmd, &l.failOn, lint.Warning.String())
	choiceFlag(cmd, &l.fix, "fix", "", "write safe fixes to the file; --fix=all also writes fixes that change verdicts", fixSafe, fixAll)
	f.Lookup("fix").NoOptDefVal = fixSafe
	f.BoolVar(&l.diff, "diff", false, "show what --fix would change, and write nothing")
	f.StringVar(&l.baseline, "baseline", "", "`FILE` known findings to hide, whatever their line")
	f.BoolVar(&l.writeBaseline, "write-baseline", false, "write the findings to the --baseline file")
	f.StringVar(&l.config, "config", "", "`FILE` configuration file instead of .robots-lint.yaml")
	f.StringVar(&l.explain, "explain", "", "`ID` check to describe, by ID or name")
	l.formatFlag(cmd, render.FormatSARIF, render.FormatJUnit, render.FormatGitHub, formatMarkdown)
	l.site.register(cmd)
	return cmd
}

func (l *linting) lint(ctx context.Context) (int, error) {
	if l.explain != "" {
		if len(l.args) > 0 {
			return exitBad, fmt.Errorf("unexpected argument %q: --explain takes no file", clip(l.args[0]))
		}
		return exitAllowed, l.explainCheck()
	}
	if err := l.check(); err != nil {
		return exitBad, err
	}
	files, err := l.read(ctx)
	if err != nil {
		return exitBad, err
	}
	if l.writeBaseline {
		return exitAllowed, writeBaseline(l.baseline, files)
	}
	if l.baseline != "" {
		known, err := readBaseline(l.baseline)
		if err != nil {
			return exitBad, err
		}
		for _, f := range files {
			known.remove(f)
		}
	}
	status := exitAllowed
	for _, f := range files {
		if slices.ContainsFunc(f.Diagnostics, func(d lint.Diagnostic) bool { return d.Severity >= f.fail }) {
			status = exitDisallowed
		}
		if l.fix != "" && !l.diff && !bytes.Equal(f.fixed, f.Body) {
			if err := source.ReplaceFile(f.Name, f.fixed); err != nil {
				return exitBad, err
			}
		}
		if l.diff && !bytes.Equal(f.fixed, f.Body) {
			f.Diagnostics = nil // the fixes are shown instead
		}
		f.unfixed = l.diff && len(f.Diagnostics) > 0
		f.Diagnostics = slices.DeleteFunc(f.Diagnostics, func(d lint.Diagnostic) bool {
			if d.Severity < l.least {
				l.hidden[d.Severity]++
			} else {
				l.shown[d.Severity]++
			}
			return d.Severity < l.least
		})
	}
	switch l.format {
	case formatText:
		l.printText(files)
	case formatJSON:
		l.printJSON(files)
	default:
		l.report(files).Write(l.std, l.format)
	}
	return status, nil
}

// check checks the flags before anything is read.
func (l *linting) check() error {
	l.least, l.fail = failLevel(l.severity), failLevel(l.failOn)
	if l.format != formatText && !l.given("severity") {
		l.least = lint.Note
	}
	switch {
	case l.diff && l.format != formatText:
		return errors.New("--diff writes text; remove --format")
	case l.writeBaseline && l.baseline == "":
		return errors.New("--write-baseline needs --baseline FILE")
	case l.writeBaseline && (l.fix != "" || l.diff):
		return errors.New("--write-baseline does not fix anything; remove --fix and --diff")
	}
	return nil
}

// read reads and checks the files.
func (l *linting) read(ctx context.Context) (files []*linted, err error) {
	read, err := l.readFiles(ctx, &l.site)
	if err != nil {
		return nil, err
	}
	for _, f := range read {
		if !f.InPlace() && l.fix != "" && !l.diff {
			return nil, fmt.Errorf("--fix cannot write %s; add --diff to see the fixes", f.Title())
		}
		var config lintConfig
		if l.config != "" {
			config, err = readConfig(l.config)
		} else {
			config, err = findConfig(f.Name)
		}
		if err != nil {
			return nil, err
		}
		one := &linted{Text: f, fail: l.fail, checked: f.Body, fixed: f.Body}
		if config.failOn != 0 && !l.given("fail-on") {
			one.fail = config.failOn
		}
		l.lintFile(one, config.Options)
		files = append(files, one)
	}
	return files, nil
}

// lintFile finds the mistakes in a file, or those left after the fixes that will be written.
func (l *linting) lintFile(f *linted, o lint.Options) {
	if l.fix != "" || l.diff {
		f.fixed, f.changes, f.Result = lint.ApplyFixes(f.Body, o, l.fix == fixAll)
		f.checked = f.fixed
	}
	if l.fix == "" || l.diff {
		f.Result = lint.File(robots.Parse(f.Body), o)
		f.checked = f.Body
	}
	if f.Undecided {
		l.warn("%s: the proofs exceeded their limit, so findings RT502, RT503, RT504 and safe fixes might be missing", f.Title())
	}
	if f.Dropped > 0 {
		l.warn("%s: %s omitted, beyond %s per check", f.Title(), render.Count(f.Dropped, "finding"), screen.Thousands(lint.MaxFindings))
	}
}

// lineOf returns the line where a finding begins, "" for one about the whole file.
func (f *linted) lineOf(d *lint.Diagnostic) string {
	if d.Span.Start == d.Span.End {
		return ""
	}
	line := f.checked[d.Span.Start-(d.Column-1):]
	if i := bytes.IndexAny(line, "\r\n"); i >= 0 {
		line = line[:i]
	}
	return string(line)
}

// printText writes the findings, or with --diff the fixes.
func (l *linting) printText(files []*linted) {
	for _, f := range files {
		title := robots.Printable(f.Title())
		for i := range f.changes {
			d := &f.changes[i]
			fmt.Fprintf(l.std.Out, "%s:%d:%d: change %s %s: %s\n", title, d.Line, d.Column, d.Check.ID, d.Check.Name, robots.Printable(advice(d)))
		}
		switch {
		case l.diff && !bytes.Equal(f.Body, f.fixed):
			printDiff(l.std, f.Title(), f.Body, f.fixed)
		case f.unfixed && l.fix == fixAll:
			fmt.Fprintf(l.std.Out, "%s: no fix\n", title)
		case f.unfixed:
			fmt.Fprintf(l.std.Out, "%s: no safe fix\n", title)
		}
		for i := range f.Diagnostics {
			l.printFinding(f, &f.Diagnostics[i])
		}
	}
	if text := l.counts(); text != "" {
		fmt.Fprintln(l.std.Out, text)
	}
}

// counts writes the number of findings by severity, "" if there are none.
func (l *linting) counts() string {
	var parts []string
	more := ""
	for s := lint.Error; s > lint.Off; s-- {
		if l.shown[s] > 0 {
			parts = append(parts, render.Count(l.shown[s], s.String()))
		} else if l.hidden[s] > 0 {
			parts = append(parts, render.Count(l.hidden[s], s.String())+" not shown")
			more = " (--severity " + s.String() + " shows them)"
		}
	}
	return strings.Join(parts, ", ") + more
}

// maxShown limits how much of a long line is shown, in characters.
const maxShown = 100

// printFinding writes a finding with its line.
func (l *linting) printFinding(f *linted, d *lint.Diagnostic) {
	w := l.std.Out
	fmt.Fprintf(w, "%s:%d:%d: %s %s %s: %s\n", robots.Printable(f.Title()), d.Line, d.Column, d.Severity, d.Check.ID, d.Check.Name, d.Message)
	about := dialectsText(d.Dialects)
	if text := advice(d); text != "" {
		about = text + "; " + about
	}
	about = robots.Printable(about)
	line, number := f.lineOf(d), fmt.Sprintf("%3d", d.Line)
	gap := strings.Repeat(" ", len(number))
	if line == "" {
		fmt.Fprintf(w, "%s | %s\n", gap, about)
		return
	}
	start, end := d.Column-1, d.Column-1+d.Span.End-d.Span.Start
	before, marked, after := oneColumn(line[:start]), oneColumn(line[start:end]), oneColumn(line[end:])
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

// explainCheck describes a check.
func (l *linting) explainCheck() error {
	c := cmp.Or(lint.Find(l.explain), lint.Find(strings.ToUpper(l.explain)))
	if c == nil {
		return fmt.Errorf("unknown check %q; docs/lint.md lists them", clip(l.explain))
	}
	w := l.std.Out
	fmt.Fprintf(w, "%s %s (%s, fix: %s)\n\n", c.ID, c.Name, c.Severity, c.Fix)
	render.Wrap(w, "", c.What+" "+c.Why)
	for _, example := range [][2]string{{"Before", c.Before}, {"After", c.After}} {
		title, text := example[0], example[1]
		if text != "" {
			fmt.Fprintf(w, "\n%s:\n\n", title)
		}
		for line := range strings.Lines(text) {
			fmt.Fprintln(w, strings.TrimRight("    "+robots.Printable(line[:len(line)-1]), " "))
		}
	}
	if c.Clause != "" {
		fmt.Fprintf(w, "\nSee robots clause %s.\n", c.Clause)
	}
	return nil
}

// A fileFinding is a finding in a file.
type fileFinding struct {
	File string `json:"file"`
	answer.Finding
}

func (l *linting) printJSON(files []*linted) {
	for _, f := range files {
		for i := range f.Diagnostics {
			l.std.EncodeAnswer(fileFinding{f.Name, answer.NewFinding(&f.Diagnostics[i])})
		}
	}
}
