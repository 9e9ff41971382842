package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/shapes"
	"github.com/robotskit/robots/lint"
	"github.com/spf13/cobra"
)

// formatSARIF is the third value of --format of lint.
const formatSARIF = "sarif"

// The values of --fix.
const (
	fixSafe = "safe"
	fixAll  = "all"
)

// linting is a call of robots lint.
type linting struct {
	std  *streams
	name string

	severity, failOn, format string
	fix                      string
	diff                     bool
	config                   string
	baseline                 string
	writeBaseline            bool
	explain                  string
}

// A linted file is one that was read, how it was to be looked at, and what was found.
type linted struct {
	textFile
	config lintConfig
	lint.Result
	checked []byte            // the text that Result is about
	mended  []byte            // with the fixes of --fix
	changes []lint.Diagnostic // that --fix=all made
}

func lintCommand(std *streams, status *int) *cobra.Command {
	l := &linting{std: std}
	cmd := &cobra.Command{
		Use:   "lint [--fix] [--diff] FILE...",
		Short: "Find mistakes in a robots.txt, and mend them",
		Long: `Lint finds mistakes in robots.txt files: lines that crawlers do not read as they
look, rules that match nothing or change nothing, groups that fall together. Each
finding says in which dialects it matters. --explain says more of a check.

A fix is safe if it is proved that no crawler gets another verdict in any dialect.
--fix makes these and writes the file; --fix=all makes those too that change what
the file says, and lists them.

A comment with a reason silences a check: "# lint:ignore RT504 the reason" at the
end of its line or alone on the line before, "# lint:ignore-file RT309 the reason"
for the file. .robots-lint.yaml in the folder of the file or above it may hold
checks: {RT504: off}, dialects: [google] and fail-on: error. --baseline leaves out
what was found earlier, as --write-baseline has kept it.

Exit status: 0; 1 if something is found, of the severity --fail-on or above; 2 for
bad use, or a file that cannot be read or written.`,
		Example: `  robots lint robots.txt
  robots lint --fix --diff robots.txt
  robots lint --format sarif public/robots.txt > lint.sarif
  robots lint --write-baseline --baseline lint.jsonl robots.txt
  robots lint --explain RT307`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			l.name = cmd.CommandPath()
			*status, err = l.run(cmd, args)
			return err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	severities := []string{lint.Note.String(), lint.Warning.String(), lint.Error.String()}
	f.StringVar(&l.severity, "severity", lint.Warning.String(), "show findings of this `SEVERITY` and above, note, warning or error; json\nand sarif have all unless it is given")
	f.StringVar(&l.failOn, "fail-on", lint.Warning.String(), "exit with 1 for findings of this `SEVERITY` and above, or never")
	f.StringVar(&l.fix, "fix", "", "write the file with the safe fixes made; `WHICH` is safe or all")
	f.Lookup("fix").NoOptDefVal = fixSafe
	f.BoolVar(&l.diff, "diff", false, "show what --fix would change instead of what is found, or what is\nfound where that is nothing, and write no file")
	f.StringVar(&l.baseline, "baseline", "", "leave out what this `FILE` has, whatever lines it stands in now")
	f.BoolVar(&l.writeBaseline, "write-baseline", false, "write what is found to the file of --baseline")
	f.StringVar(&l.config, "config", "", "take this `FILE` and look for no .robots-lint.yaml")
	f.StringVar(&l.explain, "explain", "", "print the page of a check, by its `ID` or its name")
	f.StringVar(&l.format, "format", formatText, "answer in this `FORMAT`: text, json (one object per finding) or sarif")
	complete(cmd, "severity", severities)
	complete(cmd, "fail-on", append(severities, failNever))
	complete(cmd, "fix", []string{fixSafe, fixAll})
	complete(cmd, "format", []string{formatText, formatJSON, formatSARIF})
	return cmd
}

func (l *linting) run(cmd *cobra.Command, names []string) (int, error) {
	if l.explain != "" {
		if len(names) > 0 {
			return exitBad, fmt.Errorf("unexpected argument %q: --explain takes no file", clip(names[0]))
		}
		return exitAllowed, l.explainCheck()
	}
	least, err := severityNamed("--severity", l.severity)
	if err != nil {
		return exitBad, err
	}
	if _, err := failOn("--fail-on", l.failOn); err != nil {
		return exitBad, err
	}
	switch {
	case l.format != formatText && l.format != formatJSON && l.format != formatSARIF:
		return exitBad, fmt.Errorf("unknown --format %q: it is text, json or sarif", clip(l.format))
	case l.fix != "" && l.fix != fixSafe && l.fix != fixAll:
		return exitBad, fmt.Errorf("unknown --fix %q: it is safe or all", clip(l.fix))
	case l.diff && l.format != formatText:
		return exitBad, errors.New("--diff is text: leave out --format")
	case l.writeBaseline && l.baseline == "":
		return exitBad, errors.New("--write-baseline needs --baseline FILE, which it writes")
	case l.writeBaseline && (l.fix != "" || l.diff):
		return exitBad, errors.New("--write-baseline changes no robots.txt: leave out --fix and --diff")
	}
	if l.format != formatText && !cmd.Flags().Changed("severity") {
		least = lint.Note
	}
	files, err := l.read(names)
	if err != nil {
		return exitBad, err
	}
	known, err := readBaseline(l.baseline, l.writeBaseline)
	if err != nil {
		return exitBad, err
	}
	status := exitAllowed
	for _, f := range files {
		l.look(f)
		if !l.writeBaseline {
			f.Diagnostics = known.without(f)
		}
		fail := f.config.failOn
		if cmd.Flags().Changed("fail-on") || fail == 0 {
			fail, _ = failOn("--fail-on", l.failOn)
		}
		if slices.ContainsFunc(f.Diagnostics, func(d lint.Diagnostic) bool { return d.Severity >= fail }) {
			status = exitDisallowed
		}
	}
	if l.writeBaseline {
		return exitAllowed, writeBaseline(l.baseline, files)
	}
	for _, f := range files {
		if l.fix != "" && !l.diff && !bytes.Equal(f.mended, f.body) {
			if err := replaceFile(f.name, f.mended); err != nil {
				return exitBad, err
			}
		}
	}
	return status, l.print(files, least)
}

// read reads the files and what is said of how to look at them.
func (l *linting) read(names []string) ([]*linted, error) {
	read, err := readFiles(l.std, names)
	if err != nil {
		return nil, err
	}
	configs := configs{named: l.config, found: map[string]lintConfig{}}
	var files []*linted
	for _, f := range read {
		if f.name == "-" && l.fix != "" && !l.diff {
			return nil, errors.New("--fix cannot write standard input: add --diff to see what it would change")
		}
		config, err := configs.of(f.name)
		if err != nil {
			return nil, err
		}
		files = append(files, &linted{textFile: f, config: config})
	}
	return files, nil
}

// look finds what is wrong with a file. What --fix mends is not found any more, unless
// nothing is written.
func (l *linting) look(f *linted) {
	o := f.config.Options
	f.checked, f.mended = f.body, f.body
	if l.fix != "" || l.diff {
		f.mended, f.changes, f.Result = lint.ApplyFixes(f.body, o, l.fix == fixAll)
		f.checked = f.mended
	}
	if l.fix == "" || l.diff { // nothing is written, so all of it is still to be found
		f.Result = lint.File(robots.Parse(f.body), o)
		f.checked = f.body
	}
	if f.Undecided {
		warn(l.std, l.name, "%s: the proofs ran out of steps, so there may be more of RT502, RT503 and RT504, and more safe fixes", f.title())
	}
	if f.Dropped > 0 {
		warn(l.std, l.name, "%s: %s left out, over %s of a check", f.title(), count(f.Dropped, "finding"), thousands(lint.MaxFindings))
	}
}

// lineOf returns the text of the line where a finding begins, "" for one on the file.
func (f *linted) lineOf(d *lint.Diagnostic) string {
	if d.Span.Start == d.Span.End {
		return ""
	}
	start := d.Span.Start - (d.Column - 1)
	line := f.checked[start:]
	if i := bytes.IndexAny(line, "\r\n"); i >= 0 {
		line = line[:i]
	}
	return string(line)
}

// print writes what is found, and what --fix=all has changed.
func (l *linting) print(files []*linted, least lint.Severity) error {
	if l.format == formatSARIF {
		return printSARIF(l.std.out, files, least)
	}
	var shown, hidden [lint.Error + 1]int
	for _, f := range files {
		for i := range f.changes {
			d := &f.changes[i]
			if l.format == formatText {
				fmt.Fprintf(l.std.out, "%s:%d:%d: change %s %s: %s\n", robots.Printable(f.title()), d.Line, d.Column, d.Check.ID, d.Check.Name, robots.Printable(advice(d)))
			}
		}
		if l.diff && !bytes.Equal(f.body, f.mended) {
			l.std.printDiff(f.title(), f.body, f.mended)
			continue
		}
		if l.diff && len(f.Diagnostics) > 0 {
			kind := "safe fix"
			if l.fix == fixAll {
				kind = "fix"
			}
			fmt.Fprintf(l.std.out, "%s: no %s\n", robots.Printable(f.title()), kind)
		}
		for i := range f.Diagnostics {
			d := &f.Diagnostics[i]
			if d.Severity < least {
				hidden[d.Severity]++
				continue
			}
			shown[d.Severity]++
			if l.format == formatJSON {
				if err := encode(l.std.out, newJSONFinding(f, d)); err != nil {
					return err
				}
				continue
			}
			l.printFinding(f, d)
		}
	}
	if l.format == formatText {
		l.printCounts(shown, hidden)
	}
	return nil
}

// printCounts writes how many findings there are, nothing if there are none.
func (l *linting) printCounts(shown, hidden [lint.Error + 1]int) {
	var parts []string
	least := lint.Off
	for s := lint.Error; s > lint.Off; s-- {
		switch {
		case shown[s] > 0:
			parts = append(parts, count(shown[s], s.String()))
		case hidden[s] > 0:
			parts = append(parts, count(hidden[s], s.String())+" not shown")
			least = s
		}
	}
	if len(parts) == 0 {
		return
	}
	show := ""
	if least > lint.Off {
		show = " (--severity " + least.String() + " shows them)"
	}
	fmt.Fprintf(l.std.out, "%s%s\n", strings.Join(parts, ", "), show)
}

// mostShown is how much of a long line is shown, in characters.
const mostShown = 100

// printFinding writes a finding with its line.
func (l *linting) printFinding(f *linted, d *lint.Diagnostic) {
	w := l.std.out
	fmt.Fprintf(w, "%s:%d:%d: %s %s %s: %s\n", robots.Printable(f.title()), d.Line, d.Column, d.Severity, d.Check.ID, d.Check.Name, d.Message)
	line := f.lineOf(d)
	number := fmt.Sprintf("%3d", d.Line)
	gap := strings.Repeat(" ", len(number))
	about := robots.Printable(joinNotEmpty("; ", advice(d), dialectsText(d.Dialects)))
	if line == "" {
		fmt.Fprintf(w, "%s | %s\n", gap, about)
		return
	}
	before, marked, after := line[:d.Column-1], line[d.Column-1:d.Column-1+d.Span.End-d.Span.Start], line[d.Column-1+d.Span.End-d.Span.Start:]
	before, marked, after = shownText(before), shownText(marked), shownText(after)
	if n := utf8.RuneCountInString(before); n > mostShown/2 {
		before = "…" + string([]rune(before)[n-mostShown/2:])
	}
	marked = cutText(marked, mostShown/2)
	after = cutText(after, max(0, mostShown-utf8.RuneCountInString(before+marked)))
	fmt.Fprintf(w, "%s | %s\n", number, strings.TrimRight(before+marked+after, " "))
	carets := strings.Repeat("^", max(1, utf8.RuneCountInString(marked)))
	fmt.Fprintf(w, "%s | %s%s %s\n", gap, strings.Repeat(" ", utf8.RuneCountInString(before)), carets, about)
}

// shownText writes a part of a line so that it takes one column for each character.
func shownText(s string) string { return robots.Printable(strings.ReplaceAll(s, "\t", " ")) }

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

func joinNotEmpty(between string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), between)
}

// dialectsText names dialects, of most of them those that are missing.
func dialectsText(names []string) string {
	all := dialectNames()
	if len(names) == len(all) {
		return "all dialects"
	}
	if len(names) <= len(all)/2 {
		return strings.Join(names, ", ")
	}
	return "all but " + strings.Join(slices.DeleteFunc(all, func(n string) bool { return slices.Contains(names, n) }), ", ")
}

// explainCheck prints the page of a check.
func (l *linting) explainCheck() error {
	c := lint.Find(l.explain)
	if c == nil {
		c = lint.Find(strings.ToUpper(l.explain))
	}
	if c == nil {
		return fmt.Errorf("there is no check %q: docs/lint.md lists them", clip(l.explain))
	}
	w := l.std.out
	fmt.Fprintf(w, "%s %s (%s, fix: %s)\n\n", c.ID, c.Name, c.Severity, c.Fix)
	wrap(w, textWidth, "", c.What+" "+c.Why)
	for _, example := range []struct{ title, text string }{{"Found in", c.Before}, {"Written right", c.After}} {
		if example.text == "" {
			continue
		}
		fmt.Fprintf(w, "\n%s:\n\n", example.title)
		for line := range strings.Lines(example.text) {
			fmt.Fprintln(w, strings.TrimRight("    "+robots.Printable(line[:len(line)-1]), " "))
		}
	}
	if c.Clause != "" {
		fmt.Fprintf(w, "\nSee robots clause %s.\n", c.Clause)
	}
	return nil
}

// severityNamed returns the severity that a flag or a member names.
func severityNamed(what, name string) (lint.Severity, error) {
	s, ok := lint.ParseSeverity(name)
	if !ok || s == lint.Off {
		return 0, fmt.Errorf("%s %q is no severity: it is note, warning or error", what, clip(name))
	}
	return s, nil
}

// failOn returns the least severity that fails.
func failOn(what, name string) (lint.Severity, error) {
	if name == failNever {
		return lint.Error + 1, nil
	}
	s, err := severityNamed(what, name)
	if err != nil {
		err = fmt.Errorf("%w, or never", err)
	}
	return s, err
}

// jsonFinding is a line of --format json.
type jsonFinding struct {
	Schema    int      `json:"schema"`
	File      string   `json:"file"`
	Line      int      `json:"line"`
	Column    int      `json:"column"`
	EndLine   int      `json:"end_line"`
	EndColumn int      `json:"end_column"`
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Severity  string   `json:"severity"`
	Message   string   `json:"message"`
	Dialects  []string `json:"dialects"`
	Fix       *jsonFix `json:"fix"`
}

type jsonFix struct {
	Safe  bool          `json:"safe"`
	Edits []shapes.Edit `json:"edits"`
}

func newJSONFinding(f *linted, d *lint.Diagnostic) jsonFinding {
	j := jsonFinding{
		Schema: 1, File: f.name, Line: d.Line, Column: d.Column, EndLine: d.EndLine, EndColumn: d.EndColumn,
		ID: d.Check.ID, Name: d.Check.Name, Severity: d.Severity.String(), Message: d.Message, Dialects: d.Dialects,
	}
	if d.Fix != nil {
		j.Fix = &jsonFix{Safe: d.Fix.Safe, Edits: shapes.NewEdits(d.Fix)}
	}
	return j
}
