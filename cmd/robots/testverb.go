package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/shapes"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/lint"
	"github.com/spf13/cobra"
)

// A tester is one run of the verb test.
type tester struct {
	*call
	only   string // --run
	budget int
	suites []*suite
}

func testCommand(std *streams, status *int) *cobra.Command {
	t := &tester{call: newCall(std)}
	t.formats = []string{formatGitHub, formatJUnit}
	cmd := &cobra.Command{
		Use:   "test [--run RE] FILE.yaml...",
		Short: "Say whether a robots.txt does what a file of assertions says",
		Long: `Test asks a robots.txt what files of assertions say of it, and explains what is
otherwise:

  version: 1
  robots: public/robots.txt      # beside this file, or a URL; or text: |
  site: https://www.example.com  # for /paths; alone, its robots.txt is asked
  dialect: google                # or a list, or all; default rfc9309
  tests:
    - name: products stay open
      agent: [Googlebot-Image, Googlebot]  # most wanted first; default *
      allow: [/products/1, {every: "/products/*"}]
      disallow: [/cart, {url: /pay, line: 12}, {url: /x, rule: "Disallow: /x"}]
      crawl_delay: 10            # seconds, null: none

What is said of every URL of a pattern is proved; /robots.txt itself is left out.

Exit status: 0 all holds, 1 something does not, 2 bad use, a mistake in a file
(each is named by file:line:column, and nothing is asked), or a site out of reach,
3 all else holds, but a proof took more than --budget.`,
		Example: `  robots test robots.test.yaml
  robots test --run cart --format junit robots.test.yaml > report.xml`,
		DisableFlagsInUseLine: true,
		RunE:                  t.run(status, t.test),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&t.only, "run", "", "ask only the tests whose name this regular expression `RE` matches")
	budgetFlag(cmd, &t.budget)
	t.site.register(cmd)
	registerFormat(cmd, &t.format, t.formats...)
	t.colourFlag(cmd)
	return cmd
}

// An outcome is what came of an assertion in one dialect.
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
		return exitBad, errors.New("no file of assertions given: name at least one, such as robots.test.yaml")
	}
	if err := t.readSuites(); err != nil {
		return exitBad, err
	}
	if err := t.open(ctx); err != nil {
		return exitBad, err
	}
	var all []*outcome
	for _, s := range t.suites {
		for i := range s.tests {
			for _, d := range s.dialects {
				if ctx.Err() != nil {
					return exitBad, errInterrupted
				}
				answers, err := t.ask(s, &s.tests[i], d)
				if err != nil {
					return exitBad, err
				}
				all = append(all, answers...)
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

// readSuites reads all files, names every mistake in them, and takes the tests of
// --run.
func (t *tester) readSuites() error {
	chosen, err := regexp.Compile(t.only) //nolint:forbidigo // the user's choice of tests
	if err != nil {
		return fmt.Errorf("--run %s is no regular expression: %w", strconv.Quote(clip(t.only)), err)
	}
	var mistakes []error
	stdin, tests := 0, 0
	for _, name := range t.args {
		if name == "-" {
			stdin++
		}
		if stdin > 1 {
			return errors.New("standard input can be read only once")
		}
		if name == "" {
			return errors.New("the name of a file is empty")
		}
		s, wrong := t.readSuite(name)
		if mistakes = append(mistakes, wrong...); len(wrong) > 0 {
			continue
		}
		var kept []suiteTest
		for _, one := range s.tests {
			if chosen.MatchString(one.name) { //nolint:forbidigo // likewise
				kept = append(kept, one)
			}
		}
		s.tests = kept
		tests += len(kept)
		t.suites = append(t.suites, s)
	}
	for i, wrong := range mistakes {
		if i == len(mistakes)-1 {
			return wrong
		}
		complain(t.std, t.name, wrong)
	}
	if tests == 0 {
		return fmt.Errorf("no test has a name that --run %s matches", strconv.Quote(clip(t.only)))
	}
	return nil
}

// open reads the robots.txt of every suite of which a test is asked.
func (t *tester) open(ctx context.Context) error {
	var names []string
	var named []*suite
	seen := map[string]bool{}
	for _, s := range t.suites {
		for _, d := range s.dialects {
			if !seen[d.Name] {
				seen[d.Name] = true
				t.dialects = append(t.dialects, d)
			}
		}
		switch {
		case len(s.tests) == 0:
		case s.text != nil:
			s.source = source{File: robots.Parse([]byte(*s.text))}
		default:
			names, named = append(names, s.robots), append(named, s)
		}
	}
	sources, err := t.sources(ctx, names)
	if err != nil {
		return err
	}
	for i, s := range named {
		s.source = sources[i]
	}
	return nil
}

// ask asks what a test asserts in one dialect.
func (t *tester) ask(s *suite, test *suiteTest, d robots.Dialect) ([]*outcome, error) {
	rules := t.compile(s.source, d, t.maxBytes, t.std.now(), test.agents).Rules
	var all []*outcome
	for i := range test.asserts {
		o := &outcome{suite: s, test: test, assertion: &test.asserts[i], dialect: d.Name}
		var err error
		switch o.kind {
		case aboutURL:
			o.askURL(rules)
		case aboutEvery:
			err = t.askEvery(o, rules)
		case aboutDelay:
			o.askDelay(rules)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d:1: %w", s.file, o.line, err)
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

// explain takes the verdict on a path and how it came to be.
func (o *outcome) explain(rules *robots.Rules, path robots.Path) {
	o.verdict = rules.Match(path)
	if !o.ok {
		e := lint.Explain(rules, path)
		var b bytes.Buffer
		printDerivation(&b, palette{}, &e)
		o.why = b.String()
	}
}

func (o *outcome) askURL(rules *robots.Rules) {
	_, path, _ := split(rules.Dialect(), o.subject, false) // read before
	v := rules.Match(path)
	o.want, o.got, o.ok = word(o.allowed), word(v.Allowed), v.Allowed == o.allowed
	if w := o.rule; w != nil {
		if w.line > 0 {
			o.want += " by line " + strconv.Itoa(w.line)
			o.ok = o.ok && !v.Rule.IsZero() && v.Rule.Line() == w.line
		}
		if w.written != "" {
			o.want += " by " + w.written
			o.ok = o.ok && !v.Rule.IsZero() && v.Rule.Directive() == w.directive && v.Rule.Path() == w.path
		}
		if !v.Rule.IsZero() {
			o.got += " by line " + strconv.Itoa(v.Rule.Line())
		}
	}
	o.explain(rules, path)
}

func (t *tester) askEvery(o *outcome, rules *robots.Rules) error {
	steps := compare.Options{Steps: t.budget}
	o.want = word(o.allowed)
	claim, err := compare.Every(rules, o.subject, o.allowed, steps)
	switch {
	case err != nil:
		return err
	case claim.Path != "":
		o.got, o.witness = word(!o.allowed), claim.Path
		_, path, _ := split(rules.Dialect(), "https://example.com"+claim.Path, false)
		o.explain(rules, path)
	case !claim.Complete:
		o.got, o.undecided = "undecided", true
	default:
		// Of a pattern that no URL matches anything holds, also the opposite.
		opposite, err := compare.Every(rules, o.subject, !o.allowed, steps)
		if err == nil && opposite.Holds {
			err = fmt.Errorf("no URL matches %s, so nothing is said by it", strconv.Quote(clip(o.subject)))
		}
		o.got, o.ok = o.want, err == nil
		return err
	}
	return nil
}

func (o *outcome) askDelay(rules *robots.Rules) {
	written := func(seconds float64, ok bool) string {
		if !ok {
			return "none"
		}
		return strconv.FormatFloat(seconds, 'f', -1, 64)
	}
	o.want, o.got = "none", written(rules.CrawlDelay())
	if o.delay != nil {
		o.want = written(*o.delay, true)
	}
	o.ok = o.want == o.got
}

// about names what an assertion is about.
func (o *outcome) about() string {
	switch o.kind {
	case aboutEvery:
		return "every " + o.subject
	case aboutDelay:
		return "crawl_delay"
	}
	return o.subject
}

// claim is what an assertion says.
func (o *outcome) claim() string {
	if o.kind == aboutDelay {
		return "crawl_delay " + o.want
	}
	return o.want + " " + o.about()
}

// said says in one line what is wanted and what is the case.
func (o *outcome) said(budget int) string {
	s := o.test.agents[0] + " " + o.about() + ": want " + o.want
	switch {
	case o.undecided:
		return s + ", undecided (" + o.dialect + "), " + helps(budget)
	case o.ok:
		return s + " (" + o.dialect + ")"
	}
	s += ", got " + o.got
	if o.witness != "" {
		s += " of " + o.witness
	}
	s += " (" + o.dialect + ")"
	if o.kind != aboutDelay {
		s += ", " + reasonOf(o.verdict)
	}
	return s
}

func (t *tester) write(all []*outcome) error {
	switch t.format {
	case formatJSON:
		for _, o := range all {
			if err := encode(t.std.out, o.json()); err != nil {
				return err
			}
		}
	case formatGitHub:
		for _, o := range all {
			level := "error"
			if o.undecided {
				level = "warning"
			}
			if !o.ok {
				annotate(t.std.out, annotation{level, inRepository(o.suite.file), o.line, robots.Printable(o.test.name), robots.Printable(o.said(t.budget))})
			}
		}
		fmt.Fprintln(t.std.out, "robots test: "+summary(all))
	case formatJUnit:
		return writeJUnit(t.std.out, "robots test", t.std.now(), t.junit(all))
	default:
		t.writeText(all)
	}
	return nil
}

// summary says how many assertions hold.
func summary(all []*outcome) string {
	failed, open := 0, 0
	for _, o := range all {
		switch {
		case o.undecided:
			open++
		case !o.ok:
			failed++
		}
	}
	switch n := thousands(len(all)); {
	case failed > 0 && open > 0:
		return thousands(failed) + " of " + n + " failed, " + thousands(open) + " undecided"
	case failed > 0:
		return thousands(failed) + " of " + n + " failed"
	case open > 0:
		return thousands(open) + " of " + n + " undecided"
	default:
		return n + " passed"
	}
}

func (t *tester) writeText(all []*outcome) {
	for _, o := range all {
		if o.ok {
			continue
		}
		lead := t.palette.paint(red, "FAIL")
		if o.undecided {
			lead = t.palette.paint(yellow, "OPEN")
		}
		fmt.Fprintf(t.std.out, "%s %s:%d: %s\n     %s\n", lead, robots.Printable(o.suite.file), o.line, robots.Printable(o.test.name), robots.Printable(o.said(t.budget)))
		for line := range strings.Lines(o.why) {
			fmt.Fprint(t.std.out, strings.TrimRight("     "+line, " \n")+"\n")
		}
		if o.why != "" {
			fmt.Fprintln(t.std.out)
		}
	}
	fmt.Fprintln(t.std.out, summary(all))
}

// A jsonOutcome is a line of test: one of url, every and crawl_delay says what the
// assertion is about.
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
	j := jsonOutcome{
		Schema: 1, File: o.suite.file, Line: o.line, Name: o.test.name, Agent: o.test.agents, Dialect: o.dialect,
		Want: o.want, Got: o.got, OK: o.ok, Rule: shapes.NewRule(o.verdict.Rule), Witness: notEmpty(o.witness),
	}
	switch o.kind {
	case aboutEvery:
		j.Every = o.subject
	case aboutDelay:
		j.CrawlDelay = true
	default:
		j.URL = o.subject
	}
	return j
}

// junit makes a suite of each file and a case of each assertion.
func (t *tester) junit(all []*outcome) []junitSuite {
	var suites []junitSuite
	var last *suite
	for _, o := range all {
		if o.suite != last {
			suites = append(suites, junitSuite{Name: robots.Printable(o.suite.file)})
			last = o.suite
		}
		c := junitCase{
			Name:  robots.Printable(o.test.name + ": " + o.claim()),
			Class: o.dialect,
		}
		place := fmt.Sprintf("\n%s:%d\n", robots.Printable(o.suite.file), o.line)
		problem := &junitProblem{"assertion", robots.Printable(o.said(t.budget)), place + o.why}
		switch {
		case o.undecided:
			problem.Type = "undecided"
			c.Error = problem
		case !o.ok:
			c.Failure = problem
		}
		s := &suites[len(suites)-1]
		s.Cases = append(s.Cases, c)
	}
	return suites
}
