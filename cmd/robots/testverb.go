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

func testCommand(std *streams, status *int) *cobra.Command {
	t := &tester{command: newCommand(std, formatSARIF, formatJUnit, formatGitHub, formatMarkdown), ruleFlags: ruleFlags{maxBytes: noLimit}}
	cmd := &cobra.Command{
		Use:   "test [--run RE] FILE.yaml...",
		Short: "Run assertions about a robots.txt",
		Long: `Check that a robots.txt allows and disallows what files of assertions list, and
explain each difference:

  version: 1
  robots: public/robots.txt      # relative to this file, or a URL; or text: |
  site: https://www.example.com  # of /paths; alone, its robots.txt is fetched
  dialect: google                # or a list, or all; default that of the agent
  tests:
    - name: products stay open
      agent: [Googlebot-Image, Googlebot]  # most specific first; default *
      allow: [/products/1, {every: "/products/*"}]
      disallow: [/cart, {url: /pay, line: 12}, {url: /x, rule: "Disallow: /x"}]
      crawl_delay: 10            # seconds; null for none

An assertion about every URL of a pattern is proved, /robots.txt excluded.

Exit status: 0 all assertions hold; 1 some fail; 2 invalid usage or input (mistakes
are reported with file and line, and nothing is tested), or an unreachable site;
3 the others hold, but a proof exceeded --budget.`,
		Example: `  robots test robots.test.yaml
  robots test --run cart --format junit robots.test.yaml > report.xml`,
		DisableFlagsInUseLine: true,
		RunE:                  t.run(status, t.test),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&t.only, "run", "", "`RE` regular expression for the names of the tests to run")
	budgetFlag(cmd, &t.budget)
	t.site.register(cmd)
	registerFormat(cmd, &t.format, t.formats...)
	t.colorFlag(cmd)
	return cmd
}

// An outcome is the result of an assertion in one dialect.
type outcome struct {
	suite *suite
	test  *suiteTest
	*assertion
	dialect   string
	want, got string
	ok        bool
	undecided bool
	verdict   robots.Verdict // of the URL, or of the witness
	witness   string         // a URL for which every does not hold
	why       string         // the derivation of the verdict
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
		for i := range s.Tests {
			for _, d := range s.Tests[i].dialects {
				if ctx.Err() != nil {
					return exitBad, errInterrupted
				}
				outcomes, err := t.runTest(s, &s.Tests[i], d)
				if err != nil {
					return exitBad, err
				}
				all = append(all, outcomes...)
			}
		}
	}
	if err := t.write(all); err != nil {
		return exitBad, err
	}
	status := exitAllowed
	for _, o := range all {
		switch {
		case o.undecided:
			status = max(status, exitUndecided)
		case !o.ok:
			return exitDisallowed, nil
		}
	}
	return status, nil
}

// readSuites reads all files, reports every mistake in them, and selects the tests of --run.
func (t *tester) readSuites() error {
	chosen, err := regexp.Compile(t.only) //nolint:forbidigo // the user's choice of tests
	if err != nil {
		return fmt.Errorf("--run %q: %w", clip(t.only), err)
	}
	if err := readOnce(t.args...); err != nil {
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
		s.Tests = slices.DeleteFunc(s.Tests, func(one suiteTest) bool { return !chosen.MatchString(one.Name) }) //nolint:forbidigo // likewise
		tests += len(s.Tests)
		t.suites = append(t.suites, s)
	}
	for i, err := range wrong {
		if i == len(wrong)-1 {
			return err
		}
		complain(t.std, t.name, err)
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
		for _, test := range s.Tests {
			dialects = append(dialects, test.dialects...)
		}
		if s.Text != nil {
			s.source = source{File: robots.Parse([]byte(*s.Text))}
		} else if len(s.Tests) > 0 {
			names, named = append(names, s.robots), append(named, s)
		}
	}
	sources, live, err := t.known(ctx, &t.site, dialects, noLimit, names...)
	if err != nil {
		return err
	}
	defer live.close()
	for i, s := range named {
		s.source = sources[i]
	}
	return nil
}

// runTest checks the assertions of a test in one dialect.
func (t *tester) runTest(s *suite, test *suiteTest, d robots.Dialect) ([]*outcome, error) {
	rules := t.rules(s.source, d, t.std.now(), test.agents)
	var all []*outcome
	for _, a := range test.asserts {
		o := &outcome{suite: s, test: test, assertion: a, dialect: d.Name}
		var err error
		switch {
		case a.URL != "":
			o.checkURL(rules)
		case a.Every != "":
			err = o.checkEvery(rules, t.budget)
		default:
			o.checkDelay(rules)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", s.file, a.at, err)
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
	o.verdict = rules.Match(path)
	if !o.ok {
		e := lint.Explain(rules, path)
		var b bytes.Buffer
		printDerivation(&b, palette{}, &e)
		o.why = b.String()
	}
}

func (o *outcome) checkURL(rules *robots.Rules) {
	_, path, _ := split(rules.Dialect(), o.URL, false) // valid: parseSuite has checked it
	v := rules.Match(path)
	o.want, o.got, o.ok = word(o.allowed), word(v.Allowed), v.Allowed == o.allowed
	if o.Line != nil {
		o.want += " by line " + strconv.Itoa(*o.Line)
		o.ok = o.ok && !v.Rule.IsZero() && v.Rule.Line() == *o.Line
	}
	if o.Rule != "" {
		o.want += " by " + o.Rule
		o.ok = o.ok && !v.Rule.IsZero() && v.Rule.Directive() == o.directive && v.Rule.Path() == o.path
	}
	if (o.Line != nil || o.Rule != "") && !v.Rule.IsZero() {
		o.got += " by line " + strconv.Itoa(v.Rule.Line())
	}
	o.judge(rules, path)
}

func (o *outcome) checkEvery(rules *robots.Rules, budget int) error {
	steps := compare.Options{Steps: budget}
	o.want = word(o.allowed)
	claim, err := compare.Every(rules, o.Every, o.allowed, steps)
	switch {
	case err != nil:
		return err
	case claim.Path != "":
		o.got, o.witness = word(!o.allowed), claim.Path
		_, path, _ := split(rules.Dialect(), "https://example.com"+claim.Path, false)
		o.judge(rules, path)
	case !claim.Complete:
		o.got, o.undecided = "undecided", true
	default:
		// If no URL matches the pattern, both it and its opposite hold.
		opposite, err := compare.Every(rules, o.Every, !o.allowed, steps)
		if err == nil && opposite.Holds {
			err = fmt.Errorf("pattern %q: matches no URL", clip(o.Every))
		}
		o.got, o.ok = o.want, err == nil
		return err
	}
	return nil
}

func (o *outcome) checkDelay(rules *robots.Rules) {
	o.want, o.got = "none", "none"
	if o.delay != nil {
		o.want = strconv.FormatFloat(*o.delay, 'f', -1, 64)
	}
	if seconds, ok := rules.CrawlDelay(); ok {
		o.got = strconv.FormatFloat(seconds, 'f', -1, 64)
	}
	o.ok = o.want == o.got
}

// isDelay reports whether an assertion is about the crawl delay.
func (a *assertion) isDelay() bool { return a.URL == "" && a.Every == "" }

// about names the subject of an assertion.
func (a *assertion) about() string {
	if a.Every != "" {
		return "every " + a.Every
	}
	return cmp.Or(a.URL, "crawl_delay")
}

// sentence compares what is wanted with the result, in some dialects.
func (o *outcome) sentence(dialects string, budget int) string {
	s := o.test.agents[0] + " " + o.about() + ": want " + o.want
	switch {
	case o.undecided:
		return s + ", undecided (" + dialects + "), " + helps(budget)
	case o.ok:
		return s + " (" + dialects + ")"
	}
	s += ", got " + o.got
	if o.witness != "" {
		s += " for " + o.witness
	}
	s += " (" + dialects + ")"
	if !o.isDelay() {
		s += ", " + reasonOf(o.verdict)
	}
	return s
}

func (t *tester) write(all []*outcome) error {
	switch t.format {
	case formatText:
		t.writeText(all)
		return nil
	case formatJSON:
		for _, o := range all {
			if err := encode(t.std.out, o.json()); err != nil {
				return err
			}
		}
		return nil
	}
	r := &report{command: "robots test", summary: summary(all), rules: []sarifRule{
		{ID: "assertion", ShortDescription: sarifText{"An assertion about a robots.txt fails."}},
		{ID: "undecided", ShortDescription: sarifText{"A proof exceeded its budget."}},
	}}
	for _, o := range all {
		claim := o.want + " " + o.about()
		if o.isDelay() {
			claim = "crawl_delay " + o.want
		}
		f := Finding{
			File: o.suite.file, Region: Region{StartLine: o.at}, ID: "assertion", Case: o.test.Name + ": " + claim, Class: o.dialect,
			Message: o.test.Name + ": " + o.sentence(o.dialect, t.budget), Details: o.why, Dialects: []string{o.dialect}, Undecided: o.undecided,
		}
		switch {
		case o.undecided:
			f.ID, f.Level = "undecided", "warning"
		case !o.ok:
			f.Level, f.Failed = "error", true
		}
		r.findings = append(r.findings, f)
	}
	return r.write(t.std.out, t.format, t.std.now())
}

// summary counts the assertions that hold.
func summary(all []*outcome) string {
	failed, undecided := 0, 0
	for _, o := range all {
		switch {
		case o.undecided:
			undecided++
		case !o.ok:
			failed++
		}
	}
	if failed+undecided == 0 {
		return thousands(len(all)) + " passed"
	}
	text := thousands(failed) + " of " + thousands(len(all)) + " failed"
	if undecided > 0 {
		text += ", " + thousands(undecided) + " undecided"
	}
	return text
}

// writeText writes what fails. Dialects in which an assertion fails in the same way share a
// paragraph.
func (t *tester) writeText(all []*outcome) {
	type failure struct {
		*outcome
		dialects []string
	}
	type key struct {
		*assertion
		text string
	}
	var failed []*failure
	made := map[key]*failure{}
	for _, o := range all {
		if o.ok {
			continue
		}
		k := key{o.assertion, o.sentence("", t.budget)}
		if made[k] == nil {
			made[k] = &failure{outcome: o}
			failed = append(failed, made[k])
		}
		made[k].dialects = append(made[k].dialects, o.dialect)
	}
	for _, o := range failed {
		lead := t.palette.paint(red, "FAIL")
		if o.undecided {
			lead = t.palette.paint(yellow, "OPEN")
		}
		fmt.Fprintf(t.std.out, "%s %s:%d: %s\n     %s\n", lead, robots.Printable(o.suite.file), o.at, robots.Printable(o.test.Name), robots.Printable(o.sentence(strings.Join(o.dialects, ", "), t.budget)))
		for line := range strings.Lines(o.why) {
			fmt.Fprint(t.std.out, strings.TrimRight("     "+line, " \n")+"\n")
		}
		if o.why != "" {
			fmt.Fprintln(t.std.out)
		}
	}
	fmt.Fprintln(t.std.out, summary(all))
}

// A jsonOutcome is a line of --format json: one of url, every and crawl_delay names the
// subject.
type jsonOutcome struct {
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
	Witness    *string      `json:"witness"`
}

func (o *outcome) json() jsonOutcome {
	return jsonOutcome{
		Schema: 1, File: o.suite.file, Line: o.at, Name: o.test.Name, Agent: o.test.agents, Dialect: o.dialect,
		URL: o.URL, Every: o.Every, CrawlDelay: o.isDelay(), Want: o.want, Got: o.got, OK: o.ok, Rule: shapes.NewRule(o.verdict.Rule), Witness: notEmpty(o.witness),
	}
}
