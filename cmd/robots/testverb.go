package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/lint"
	"github.com/spf13/cobra"
)

// A tester is one run of robots test.
type tester struct {
	*command
	site   siteFlags
	only   string // --run
	budget int
	suites []*suite
}

func testCommand(std *streams) *cobra.Command {
	t := &tester{command: newCommand(std)}
	cmd := &cobra.Command{Use: "test", RunE: t.run(t.test)}
	f := cmd.Flags()
	f.StringVar(&t.only, "run", "", "`RE` regular expression for the names of the tests to run")
	budgetFlag(cmd, &t.budget)
	t.site.register(cmd)
	t.formatFlag(cmd, formatSARIF, formatJUnit, formatGitHub, formatMarkdown)
	t.colorFlag(cmd)
	return cmd
}

// An outcome is the result of an assertion in one dialect.
type outcome struct {
	*assertion
	crawler   *answer.Crawler
	dialect   string
	fallback  *crawlers.FurtherToken
	about     string     // its subject in a sentence
	subject   jsonMember // and in JSON
	want, got string
	ok        bool
	undecided bool
	by        robots.Rule // that decides the URL, or the witness
	reason    string      // why the assertion fails
	witness   string      // a URL for which every does not hold
	why       string      // the derivation of the verdict, likewise
}

func (t *tester) test(ctx context.Context) (int, error) {
	if len(t.args) == 0 {
		return exitBad, errors.New("no file of assertions; name at least one, such as robots.test.yaml")
	}
	if err := errors.Join(t.readSuites()...); err != nil {
		return exitBad, err
	}
	if err := t.openAll(ctx); err != nil {
		return exitBad, err
	}
	var all []*outcome
	for _, s := range t.suites {
		for _, test := range s.tests {
			for i := range test.crawlers {
				if ctx.Err() != nil {
					return exitBad, errInterrupted
				}
				outcomes, err := t.runTest(s.source, test, &test.crawlers[i])
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
func (t *tester) readSuites() (wrong []error) {
	chosen, err := regexp.Compile(t.only) //nolint:forbidigo // the user's choice of tests
	if err != nil {
		return []error{fmt.Errorf("--run %q: %w", clip(t.only), err)}
	}
	if err := stdinOnce(t.args...); err != nil {
		return []error{err}
	}
	tests := 0
	for _, name := range t.args {
		body, title, err := t.readNamed(name)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		s := parseSuite(title, filepath.Dir(name), body) // of -, the current folder
		wrong = append(wrong, s.Mistakes...)
		s.tests = slices.DeleteFunc(s.tests, func(one *suiteTest) bool { return !chosen.MatchString(one.name) }) //nolint:forbidigo // likewise
		tests += len(s.tests)
		t.suites = append(t.suites, s)
	}
	if tests == 0 && len(wrong) == 0 {
		wrong = append(wrong, fmt.Errorf("--run %q matches no test", clip(t.only)))
	}
	return wrong
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

// runTest checks the assertions of a test for its crawler in one dialect.
func (t *tester) runTest(source ask.Source, test *suiteTest, c *answer.Crawler) (all []*outcome, err error) {
	rules := source.Obey(c.Dialect, 0, t.std.now(), c.Tokens)
	for _, a := range test.asserts {
		o := &outcome{assertion: a, dialect: c.Dialect.Name, crawler: c, fallback: c.Fallback(rules)}
		switch {
		case a.url != "":
			o.about, o.subject = a.url, jsonMember{"url", a.url}
			o.checkURL(rules)
		case a.every != "":
			o.about, o.subject = "every "+a.every, jsonMember{"every", a.every}
			err = o.checkEvery(rules, t.budget)
		default:
			o.about, o.subject = "crawl_delay", jsonMember{"crawl_delay", true}
			o.checkDelay(rules)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", test.file, a.at, err)
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
	o.by = v.Rule
	if !o.ok {
		o.reason = answer.Reason(v)
		if s := o.crawler.FallbackSentence(rules); s != "" {
			o.reason += "; " + s
		}
		e := lint.Explain(rules, path)
		var b strings.Builder
		printDerivation(&b, palette{}, new(answer.NewDerivation(&e)))
		o.why = b.String()
	}
}

func (o *outcome) checkURL(rules *robots.Rules) {
	_, path, _ := ask.URL(rules.Dialect(), o.url, false) // valid: parseSuite has checked it
	v := rules.Match(path)
	o.want, o.got, o.ok = word(o.allowed), word(v.Allowed), v.Allowed == o.allowed
	if o.line > 0 {
		o.want += " by line " + strconv.Itoa(o.line)
		o.ok = o.ok && v.Rule.Line() == o.line
	}
	if o.rule != "" {
		o.want += " by " + o.rule
		o.ok = o.ok && !v.Rule.IsZero() && v.Rule.Directive() == o.directive && v.Rule.Path() == o.path
	}
	if (o.line > 0 || o.rule != "") && !v.Rule.IsZero() {
		o.got += " by line " + strconv.Itoa(v.Rule.Line())
	}
	o.judge(rules, path)
}

func (o *outcome) checkEvery(rules *robots.Rules, budget int) error {
	steps := compare.Options{Steps: budget}
	o.want = word(o.allowed)
	claim, err := compare.Every(rules, o.every, o.allowed, steps)
	switch {
	case err != nil:
		return err
	case claim.Path != "":
		o.got, o.witness = word(!o.allowed), claim.Path
		_, path, _ := ask.URL(rules.Dialect(), "https://example.com"+claim.Path, false)
		o.judge(rules, path)
	case !claim.Complete:
		o.got, o.undecided, o.reason = "undecided", true, helps(budget)
	default:
		// If no URL matches the pattern, both it and its opposite hold.
		opposite, err := compare.Every(rules, o.every, !o.allowed, steps)
		if err == nil && opposite.Holds {
			err = fmt.Errorf("pattern %q: matches no URL", clip(o.every))
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

// sentence compares what is wanted with the result, in some dialects.
func (o *outcome) sentence(dialects string) string {
	s := o.test.agents[0] + " " + o.about + ": want " + o.want
	if !o.ok {
		s += ", got " + o.got
	}
	if o.witness != "" {
		s += " for " + o.witness
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
			t.std.encode(jsonObject{
				{"schema", 1}, {"file", o.test.file}, {"line", o.at}, {"name", o.test.name}, {"agent", o.test.agents}, {"dialect", o.dialect},
				o.subject, {"want", o.want}, {"got", o.got}, {"ok", o.ok}, {"rule", answer.NewRule(o.by)}, {"witness", notEmpty(o.witness)},
				{"fallback", o.fallback}, {"binds", o.crawler.Binds()},
			})
		}
		return
	}
	r := &report{command: "robots test", summary: summary, rules: []object{
		{"id": "assertion", "shortDescription": sarifText("An assertion about a robots.txt fails.")},
		{"id": "undecided", "shortDescription": sarifText("A proof exceeded its budget.")},
	}}
	for _, o := range all {
		claim := o.want + " " + o.about
		if o.url == "" && o.every == "" {
			claim = "crawl_delay " + o.want
		}
		f := Finding{
			File: o.test.file, Region: Region{StartLine: o.at}, ID: "assertion", Case: o.test.name + ": " + claim,
			Message: o.test.name + ": " + o.sentence(o.dialect), Details: o.why, Dialects: []string{o.dialect}, Undecided: o.undecided,
		}
		switch {
		case o.undecided:
			f.ID, f.Level = "undecided", "warning"
		case !o.ok:
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
		} else if !o.ok {
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
	keyOf := func(o *outcome) key { return key{o.assertion, o.sentence("")} }
	for _, o := range all {
		dialects[keyOf(o)] = append(dialects[keyOf(o)], o.dialect)
	}
	for _, o := range all {
		if o.ok || o.dialect != dialects[keyOf(o)][0] {
			continue
		}
		lead := t.palette.paint(red, "FAIL")
		if o.undecided {
			lead = t.palette.paint(yellow, "OPEN")
		}
		sentence := o.sentence(strings.Join(dialects[keyOf(o)], ", "))
		fmt.Fprintf(t.std.out, "%s %s:%d: %s\n     %s\n", lead, robots.Printable(o.test.file), o.at, robots.Printable(o.test.name), robots.Printable(sentence))
		for line := range strings.Lines(o.why) {
			fmt.Fprint(t.std.out, strings.TrimRight("     "+line, " \n")+"\n")
		}
		if o.why != "" {
			fmt.Fprintln(t.std.out)
		}
	}
}
