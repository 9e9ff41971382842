package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/shapes"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/lint"
	"github.com/spf13/cobra"
)

// A tester is one run of robots test.
type tester struct {
	*command
	ruleFlags
	site   siteFlags
	only   string // --run
	budget int
	suites []*suite
}

func testCommand(std *streams) *cobra.Command {
	t := &tester{command: newCommand(std), ruleFlags: ruleFlags{maxBytes: noLimit}}
	cmd := &cobra.Command{Use: "test", RunE: t.run(t.test)}
	f := cmd.Flags()
	f.StringVar(&t.only, "run", "", "`RE` regular expression for the names of the tests to run")
	budgetFlag(cmd, &t.budget)
	t.site.register(cmd)
	t.formatFlag(cmd, formatSARIF, formatJUnit, formatGitHub, formatMarkdown)
	t.colorFlag(cmd)
	return cmd
}

// An outcome is the result of an assertion in one dialect, and a line of --format json: one of
// url, every and crawl_delay names the subject.
type outcome struct {
	Schema     int          `json:"schema"`
	File       string       `json:"file"`
	Line       int          `json:"line"`
	Name       string       `json:"name"`
	Agent      []string     `json:"agent"`
	Dialect    string       `json:"dialect"`
	URL        string       `json:"url,omitempty"`
	Every      string       `json:"every,omitempty"`
	CrawlDelay bool         `json:"crawl_delay,omitempty"`
	Want       string       `json:"want"`
	Got        string       `json:"got"`
	OK         bool         `json:"ok"`
	Rule       *shapes.Rule `json:"rule"`
	Witness    *string      `json:"witness"` // a URL for which every does not hold

	assertion *assertion
	undecided bool
	reason    string // of the verdict on the URL, or on the witness
	why       string // the derivation of the verdict
}

func (t *tester) test(ctx context.Context) (int, error) {
	if len(t.args) == 0 {
		return exitBad, errors.New("no file of assertions; name at least one, such as robots.test.yaml")
	}
	if err := t.readSuites(); err != nil {
		return exitBad, err
	}
	if err := t.openAll(ctx); err != nil {
		return exitBad, err
	}
	var all []*outcome
	for _, s := range t.suites {
		for _, test := range s.tests {
			for _, d := range test.dialects {
				if ctx.Err() != nil {
					return exitBad, errInterrupted
				}
				outcomes, err := t.runTest(s, test, d)
				if err != nil {
					return exitBad, err
				}
				all = append(all, outcomes...)
			}
		}
	}
	text, status := summary(all)
	t.write(all, text)
	return status, nil
}

// readSuites reads all files, reports every mistake in them, and selects the tests of --run.
func (t *tester) readSuites() error {
	chosen, err := regexp.Compile(t.only) //nolint:forbidigo // the user's choice of tests
	if err != nil {
		return fmt.Errorf("--run %q: %w", clip(t.only), err)
	}
	if err := stdinOnce(t.args...); err != nil {
		return err
	}
	var wrong []error
	tests := 0
	for _, name := range t.args {
		body, title, err := t.readNamed(name)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		s := parseSuite(title, filepath.Dir(name), body) // of -, the current folder
		wrong = append(wrong, s.list...)
		s.tests = slices.DeleteFunc(s.tests, func(one *suiteTest) bool { return !chosen.MatchString(one.name) }) //nolint:forbidigo // likewise
		tests += len(s.tests)
		t.suites = append(t.suites, s)
	}
	for i, err := range wrong {
		if i == len(wrong)-1 {
			return err
		}
		t.std.complain(err)
	}
	if tests == 0 {
		return fmt.Errorf("--run %q matches no test", clip(t.only))
	}
	return nil
}

// openAll reads the robots.txt of every suite that has a test to run.
func (t *tester) openAll(ctx context.Context) error {
	var names []string
	var named []*suite
	var dialects []robots.Dialect
	for _, s := range t.suites {
		for _, test := range s.tests {
			dialects = append(dialects, test.dialects...)
		}
		if s.source.File == nil && len(s.tests) > 0 {
			names, named = append(names, s.robots), append(named, s)
		}
	}
	files, err := t.known(ctx, &t.site, dialects, names...)
	for i, f := range files {
		named[i].source = f.Source
	}
	return err
}

// runTest checks the assertions of a test in one dialect.
func (t *tester) runTest(s *suite, test *suiteTest, d robots.Dialect) ([]*outcome, error) {
	rules := t.rules(s.source, d, t.std.now(), test.agents)
	var all []*outcome
	for _, a := range test.asserts {
		o := &outcome{
			Schema: 1, File: s.file, Line: a.at, Name: test.name, Agent: test.agents, Dialect: d.Name,
			URL: a.url, Every: a.every, CrawlDelay: a.url == "" && a.every == "", assertion: a,
		}
		switch {
		case o.CrawlDelay:
			o.checkDelay(rules)
		case a.url != "":
			o.checkURL(rules)
		default:
			if err := o.checkEvery(rules, t.budget); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", s.file, a.at, err)
			}
		}
		all = append(all, o)
	}
	return all, nil
}

// word is the verdict as assertions name it.
func word(allowed bool) string {
	if allowed {
		return "allow"
	}
	return "disallow"
}

// judge sets the verdict on a path, and if the assertion fails its derivation.
func (o *outcome) judge(rules *robots.Rules, path robots.Path) {
	v := rules.Match(path)
	o.Rule, o.reason = shapes.NewRule(v.Rule), reasonOf(v)
	if !o.OK {
		e := lint.Explain(rules, path)
		var b bytes.Buffer
		printDerivation(&b, palette{}, &e)
		o.why = b.String()
	}
}

func (o *outcome) checkURL(rules *robots.Rules) {
	a := o.assertion
	_, path, _ := ask.URL(rules.Dialect(), a.url, false) // valid: parseSuite has checked it
	v := rules.Match(path)
	o.Want, o.Got, o.OK = word(a.allowed), word(v.Allowed), v.Allowed == a.allowed
	if a.line > 0 {
		o.Want += " by line " + strconv.Itoa(a.line)
		o.OK = o.OK && v.Rule.Line() == a.line
	}
	if a.rule != "" {
		o.Want += " by " + a.rule
		o.OK = o.OK && !v.Rule.IsZero() && v.Rule.Directive() == a.directive && v.Rule.Path() == a.path
	}
	if (a.line > 0 || a.rule != "") && !v.Rule.IsZero() {
		o.Got += " by line " + strconv.Itoa(v.Rule.Line())
	}
	o.judge(rules, path)
}

func (o *outcome) checkEvery(rules *robots.Rules, budget int) error {
	steps, allowed := compare.Options{Steps: budget}, o.assertion.allowed
	o.Want = word(allowed)
	claim, err := compare.Every(rules, o.Every, allowed, steps)
	switch {
	case err != nil:
		return err
	case claim.Path != "":
		o.Got, o.Witness = word(!allowed), &claim.Path
		_, path, _ := ask.URL(rules.Dialect(), "https://example.com"+claim.Path, false)
		o.judge(rules, path)
	case !claim.Complete:
		o.Got, o.undecided = "undecided", true
	default:
		// If no URL matches the pattern, both it and its opposite hold.
		opposite, err := compare.Every(rules, o.Every, !allowed, steps)
		if err == nil && opposite.Holds {
			err = fmt.Errorf("pattern %q: matches no URL", clip(o.Every))
		}
		o.Got, o.OK = o.Want, err == nil
		return err
	}
	return nil
}

func (o *outcome) checkDelay(rules *robots.Rules) {
	o.Want, o.Got = "none", "none"
	if d := o.assertion.delay; d != nil {
		o.Want = strconv.FormatFloat(*d, 'f', -1, 64)
	}
	if seconds, ok := rules.CrawlDelay(); ok {
		o.Got = strconv.FormatFloat(seconds, 'f', -1, 64)
	}
	o.OK = o.Want == o.Got
}

// about names the subject of an assertion.
func (o *outcome) about() string {
	if o.Every != "" {
		return "every " + o.Every
	}
	return cmp.Or(o.URL, "crawl_delay")
}

// sentence compares what is wanted with the result, in some dialects.
func (o *outcome) sentence(dialects string, budget int) string {
	s := o.Agent[0] + " " + o.about() + ": want " + o.Want
	switch {
	case o.undecided:
		return s + ", undecided (" + dialects + "), " + helps(budget)
	case o.OK:
		return s + " (" + dialects + ")"
	}
	s += ", got " + o.Got
	if o.Witness != nil {
		s += " for " + *o.Witness
	}
	s += " (" + dialects + ")"
	if o.reason != "" {
		s += ", " + o.reason
	}
	return s
}

func (t *tester) write(all []*outcome, summary string) {
	switch t.format {
	case formatText:
		t.writeText(all)
		fmt.Fprintln(t.std.out, summary)
		return
	case formatJSON:
		for _, o := range all {
			t.std.encode(o)
		}
		return
	}
	r := &report{command: "robots test", summary: summary, rules: []object{
		{"id": "assertion", "shortDescription": sarifText("An assertion about a robots.txt fails.")},
		{"id": "undecided", "shortDescription": sarifText("A proof exceeded its budget.")},
	}}
	for _, o := range all {
		claim := o.Want + " " + o.about()
		if o.CrawlDelay {
			claim = "crawl_delay " + o.Want
		}
		f := Finding{
			File: o.File, Region: Region{StartLine: o.Line}, ID: "assertion", Case: o.Name + ": " + claim,
			Message: o.Name + ": " + o.sentence(o.Dialect, t.budget), Details: o.why, Dialects: []string{o.Dialect}, Undecided: o.undecided,
		}
		switch {
		case o.undecided:
			f.ID, f.Level = "undecided", "warning"
		case !o.OK:
			f.Level, f.Failed = "error", true
		}
		r.findings = append(r.findings, f)
	}
	r.write(t.std, t.format)
}

// summary counts the assertions that fail, and returns the exit status.
func summary(all []*outcome) (text string, status int) {
	failed, undecided := 0, 0
	for _, o := range all {
		if o.undecided {
			undecided++
		} else if !o.OK {
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
func (t *tester) writeText(all []*outcome) {
	type key struct {
		*assertion
		text string
	}
	dialects := map[key][]string{}
	keyOf := func(o *outcome) key { return key{o.assertion, o.sentence("", t.budget)} }
	for _, o := range all {
		dialects[keyOf(o)] = append(dialects[keyOf(o)], o.Dialect)
	}
	for _, o := range all {
		if o.OK || o.Dialect != dialects[keyOf(o)][0] {
			continue
		}
		lead := t.palette.paint(red, "FAIL")
		if o.undecided {
			lead = t.palette.paint(yellow, "OPEN")
		}
		sentence := o.sentence(strings.Join(dialects[keyOf(o)], ", "), t.budget)
		fmt.Fprintf(t.std.out, "%s %s:%d: %s\n     %s\n", lead, robots.Printable(o.File), o.Line, robots.Printable(o.Name), robots.Printable(sentence))
		for line := range strings.Lines(o.why) {
			fmt.Fprint(t.std.out, strings.TrimRight("     "+line, " \n")+"\n")
		}
		if o.why != "" {
			fmt.Fprintln(t.std.out)
		}
	}
}
