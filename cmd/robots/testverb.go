package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/cmd/internal/suite"
	"github.com/spf13/cobra"
)

// A tester is one run of robots test.
type tester struct {
	*command
	site   siteFlags
	only   string // --run
	budget int
	suites []*suite.Suite
}

func testCommand(std *screen.Streams) *cobra.Command {
	t := &tester{command: newCommand(std)}
	cmd := &cobra.Command{Use: "test", RunE: t.run(t.test)}
	f := cmd.Flags()
	f.StringVar(&t.only, "run", "", "`RE` regular expression for the names of the tests to run")
	budgetFlag(cmd, &t.budget)
	t.site.register(cmd)
	t.formatFlag(cmd, render.FormatSARIF, render.FormatJUnit, render.FormatGitHub, formatMarkdown)
	t.colorFlag(cmd)
	return cmd
}

func (t *tester) test(ctx context.Context) (int, error) {
	if len(t.args) == 0 {
		return exitBad, errors.New("no file of assertions; name at least one, such as robots.test.yaml")
	}
	if err := errors.Join(t.readSuites()...); err != nil {
		return exitBad, err
	}
	sources, err := t.openAll(ctx)
	if err != nil {
		return exitBad, err
	}
	var all []*answer.AssertionResult
	for i, s := range t.suites {
		for _, test := range s.Tests {
			for r, err := range answer.Run(test, sources[i], t.budget) {
				if ctx.Err() != nil {
					err = screen.ErrInterrupted
				}
				if err != nil {
					return exitBad, err
				}
				all = append(all, r)
			}
		}
	}
	text, status := summary(all)
	t.write(all, text)
	return status, nil
}

// readSuites reads all files, reports every mistake in them, and selects the tests of --run.
func (t *tester) readSuites() (wrong []error) {
	chosen, err := regexp.Compile(t.only) //nolint:forbidigo // the user's choice of tests
	if err != nil {
		return []error{fmt.Errorf("--run %q: %w", clip(t.only), err)}
	}
	if err := source.StdinOnce(t.args...); err != nil {
		return []error{err}
	}
	tests := 0
	for _, name := range t.args {
		body, title, err := t.reader().Text(name)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		s := suite.Parse(title, filepath.Dir(name), body) // of -, the current folder
		wrong = append(wrong, s.Mistakes...)
		s.Tests = slices.DeleteFunc(s.Tests, func(one *answer.Test) bool { return !chosen.MatchString(one.Name) }) //nolint:forbidigo // likewise
		tests += len(s.Tests)
		t.suites = append(t.suites, s)
	}
	if tests == 0 && len(wrong) == 0 {
		wrong = append(wrong, fmt.Errorf("--run %q matches no test", clip(t.only)))
	}
	return wrong
}

// openAll returns the robots.txt of each suite, nil for a suite without a test to run.
func (t *tester) openAll(ctx context.Context) ([]answer.Source, error) {
	sources := make([]answer.Source, len(t.suites))
	var names []string
	var indexes []int // of the suites that have these names
	var dialects []robots.Dialect
	for i, s := range t.suites {
		for _, test := range s.Tests {
			dialects = append(dialects, test.Dialects()...)
		}
		if s.Inline != nil {
			sources[i] = s.Inline
		} else if len(s.Tests) > 0 {
			names = append(names, s.Robots)
			indexes = append(indexes, i)
		}
	}
	files, err := t.known(ctx, &t.site, dialects, names...)
	for i, f := range files {
		sources[indexes[i]] = f.At(t.std.Now())
	}
	return sources, err
}

// sentence compares what is wanted with the result, in some dialects.
func (t *tester) sentence(r *answer.AssertionResult, dialects string) string {
	s := r.Agent[0] + " " + r.About() + ": want " + r.Want
	if !r.OK {
		s += ", got " + r.Got
	}
	if r.Witness != nil {
		s += " for " + *r.Witness
	}
	s += " (" + dialects + ")"
	switch {
	case r.Undecided:
		s += ", " + render.BudgetHint(t.budget)
	case r.Reason != "":
		s += ", " + r.Reason
	}
	return s
}

// derivationOf returns how the verdict on which an assertion fails is reached, "" for none.
func derivationOf(r *answer.AssertionResult) string {
	if r.Explanation == nil {
		return ""
	}
	var b strings.Builder
	printDerivation(&b, render.Palette{}, &r.Explanation.Derivation)
	return b.String()
}

func (t *tester) write(all []*answer.AssertionResult, summary string) {
	switch t.format {
	case formatText:
		t.writeText(all)
		fmt.Fprintln(t.std.Out, summary)
		return
	case formatJSON:
		for _, result := range all {
			t.std.EncodeAnswer(result)
		}
		return
	}
	r := &render.Report{Command: "robots test", Summary: summary, Version: programVersion(), Rules: []render.Rule{
		render.NewRule("assertion", "An assertion about a robots.txt fails."),
		render.NewRule("undecided", "A proof exceeded its budget."),
	}}
	for _, result := range all {
		claim := result.Want + " " + result.About()
		if result.CrawlDelay {
			claim = result.About() + " " + result.Want
		}
		f := render.Finding{
			File: result.File, Region: render.Region{StartLine: result.Line}, ID: "assertion", Case: result.Name + ": " + claim,
			Message: result.Name + ": " + t.sentence(result, result.Dialect), Details: derivationOf(result), Dialects: []string{result.Dialect},
			Undecided: result.Undecided,
		}
		switch {
		case result.Undecided:
			f.ID = "undecided"
			f.Level = "warning"
		case !result.OK:
			f.Level = "error"
			f.Failed = true
		}
		r.Findings = append(r.Findings, f)
	}
	r.Write(t.std, t.format)
}

// summary counts the assertions that fail, and returns the exit status.
func summary(all []*answer.AssertionResult) (text string, status int) {
	failed, undecided := 0, 0
	for _, r := range all {
		if r.Undecided {
			undecided++
		} else if !r.OK {
			failed++
		}
	}
	text = screen.Thousands(failed) + " of " + screen.Thousands(len(all)) + " failed"
	if undecided > 0 {
		text += ", " + screen.Thousands(undecided) + " undecided"
	}
	switch {
	case failed > 0:
		return text, exitDisallowed
	case undecided > 0:
		return text, exitUndecided
	}
	return screen.Thousands(len(all)) + " passed", exitAllowed
}

// writeText writes what fails. Dialects in which an assertion fails in the same way share a
// paragraph.
func (t *tester) writeText(all []*answer.AssertionResult) {
	type key struct {
		*answer.Assertion
		text string
	}
	dialects := map[key][]string{}
	keyOf := func(r *answer.AssertionResult) key { return key{r.Assertion, t.sentence(r, "")} }
	for _, r := range all {
		dialects[keyOf(r)] = append(dialects[keyOf(r)], r.Dialect)
	}
	for _, r := range all {
		if r.OK || r.Dialect != dialects[keyOf(r)][0] {
			continue
		}
		lead := t.palette.Paint(render.Red, "FAIL")
		if r.Undecided {
			lead = t.palette.Paint(render.Yellow, "OPEN")
		}
		sentence := t.sentence(r, strings.Join(dialects[keyOf(r)], ", "))
		fmt.Fprintf(t.std.Out, "%s %s:%d: %s\n     %s\n", lead, robots.Printable(r.File), r.Line, robots.Printable(r.Name), robots.Printable(sentence))
		derivation := derivationOf(r)
		for line := range strings.Lines(derivation) {
			fmt.Fprint(t.std.Out, strings.TrimRight("     "+line, " \n")+"\n")
		}
		if derivation != "" {
			fmt.Fprintln(t.std.Out)
		}
	}
}
