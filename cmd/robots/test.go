package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/cmd/internal/suite"
	"github.com/robotskit/robots/crawlers"
	"github.com/spf13/cobra"
)

// testOptions are one run of robots test.
type testOptions struct {
	std    *screen.Streams
	args   []string
	output outputFlags
	site   siteFlags
	only   string // --run
	budget int
}

func newTestCommand(std *screen.Streams) *cobra.Command {
	o := &testOptions{std: std}
	cmd := &cobra.Command{Use: "test", RunE: runE(std, &o.args, o.run)}
	f := cmd.Flags()
	f.StringVar(&o.only, "run", "", "`RE` regular expression for the names of the tests to run")
	budgetFlag(cmd, &o.budget)
	o.site.register(cmd)
	o.output.registerFormat(cmd, render.FormatSARIF, render.FormatJUnit, render.FormatGitHub, formatMarkdown)
	o.output.registerColor(cmd)
	return cmd
}

// run runs the assertions of files.
func (o *testOptions) run(ctx context.Context) (int, error) {
	if len(o.args) == 0 {
		return exitBad, errors.New("no file of assertions given; name one such as robots.test.yaml")
	}
	suites, wrong := o.readSuites()
	if err := errors.Join(wrong...); err != nil {
		return exitBad, err
	}
	sources, err := o.open(ctx, suites)
	if err != nil {
		return exitBad, err
	}
	var results []*answer.AssertionResult
	for i, s := range suites {
		for _, test := range s.Tests {
			o.warnAgents(test)
			for r, err := range answer.Run(test, sources[i], o.budget) {
				if ctx.Err() != nil {
					err = screen.ErrInterrupted
				}
				if err != nil {
					return exitBad, err
				}
				results = append(results, r)
			}
		}
	}
	return o.write(results), nil
}

// warnAgents warns about misspelled names of known crawlers.
func (o *testOptions) warnAgents(test *answer.Test) {
	for _, token := range test.Agents {
		if near := ask.SimilarCrawler(token, crawlers.Names()); near != "" {
			o.std.WarnOnce("no "+token, "%s:%d: agent %s is not a known crawler%s", test.File, test.Line, strconv.Quote(ask.Clip(token)), near)
		}
	}
}

// readSuites reads all files, reports every mistake in them, and selects the tests of --run.
func (o *testOptions) readSuites() (suites []*suite.Suite, wrong []error) {
	chosen, err := regexp.Compile(o.only) //nolint:forbidigo // the user's choice of tests
	if err != nil {
		return nil, []error{fmt.Errorf("--run %q: %w", clip(o.only), err)}
	}
	if err := source.StdinOnce(o.args...); err != nil {
		return nil, []error{err}
	}
	tests := 0
	for _, name := range o.args {
		body, title, err := o.output.reader(o.std).Text(name)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		s := suite.Parse(title, filepath.Dir(name), body) // of -, the current folder
		wrong = append(wrong, s.Mistakes...)
		s.Tests = slices.DeleteFunc(s.Tests, func(one *answer.Test) bool { return !chosen.MatchString(one.Name) }) //nolint:forbidigo // likewise
		tests += len(s.Tests)
		suites = append(suites, s)
	}
	if tests == 0 && len(wrong) == 0 {
		wrong = append(wrong, fmt.Errorf("--run %q matches no test", clip(o.only)))
	}
	return suites, wrong
}

// open returns the robots.txt of each suite, nil for a suite without a test to run.
func (o *testOptions) open(ctx context.Context, suites []*suite.Suite) ([]answer.Source, error) {
	sources := make([]answer.Source, len(suites))
	var names []string
	var indexes []int // of the suites that have these names
	var dialects []robots.Dialect
	for i, s := range suites {
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
	files, err := o.site.known(ctx, o.output.reader(o.std), dialects, names...)
	for i, f := range files {
		sources[indexes[i]] = f.At(o.std.Now())
	}
	return sources, err
}

// write writes the results, and returns the exit status.
func (o *testOptions) write(results []*answer.AssertionResult) int {
	s := render.Suite{Results: results, Counts: answer.CountResults(results), Budget: o.budget}
	switch o.output.format {
	case formatText:
		s.Text(o.std.Out, o.output.palette(o.std))
	case formatJSON:
		for _, r := range results {
			o.std.EncodeAnswer(r)
		}
	default:
		s.Report(programVersion()).Write(o.std, o.output.format)
	}
	switch {
	case s.Counts.Failed > 0:
		return exitDisallowed
	case s.Counts.Undecided > 0:
		return exitUndecided
	}
	return exitAllowed
}
