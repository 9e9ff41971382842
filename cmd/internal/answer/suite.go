package answer

import (
	"fmt"
	"iter"
	"strconv"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
)

// A Test is assertions about the access of one crawler.
type Test struct {
	File       string // of assertions, as results name it
	Line       int    // where the test begins
	Name       string
	Agents     []string  // product tokens as given
	Crawlers   []Crawler // the crawler in each dialect
	Assertions []*Assertion
}

// Dialects returns the dialect of each of Crawlers.
func (t *Test) Dialects() (list []robots.Dialect) {
	for _, c := range t.Crawlers {
		list = append(list, c.Dialect)
	}
	return list
}

// Run yields the results of a test for each of its crawlers. steps limits each proof. An error
// is that of an assertion that can neither hold nor fail.
func Run(t *Test, source Source, steps int) iter.Seq2[*AssertionResult, error] {
	return func(yield func(*AssertionResult, error) bool) {
		for i := range t.Crawlers {
			run := testRun{crawler: &t.Crawlers[i], agents: t.Agents, steps: steps}
			run.rules = source.Rules(run.crawler.Dialect, run.crawler.Tokens...)
			for _, a := range t.Assertions {
				r := &AssertionResult{
					File: t.File, Line: a.Line, Name: t.Name, Agent: t.Agents, Dialect: run.crawler.Dialect.Name, URL: a.URL, Every: a.Every,
					CrawlDelay: a.URL == "" && a.Every == "", Fallback: run.crawler.Fallback(run.rules), Binds: run.crawler.Binds(), Assertion: a,
				}
				err := run.check(r)
				if err != nil {
					err = fmt.Errorf("%s:%d: %w", t.File, a.Line, err)
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
}

// A testRun is the run of a test in one dialect.
type testRun struct {
	rules   *robots.Rules
	crawler *Crawler
	agents  []string
	steps   int
}

func (t *testRun) check(r *AssertionResult) error {
	switch {
	case r.URL != "":
		return t.checkURL(r)
	case r.Every != "":
		return t.checkEvery(r)
	}
	t.checkDelay(r)
	return nil
}

func (t *testRun) checkURL(r *AssertionResult) error {
	path, err := Path(t.crawler.Dialect, r.URL)
	if err != nil {
		return err
	}
	a := r.Assertion
	v := t.rules.Match(path)
	r.Want = wordOf(a.Allowed)
	r.Got = wordOf(v.Allowed)
	r.OK = v.Allowed == a.Allowed
	if a.RuleLine > 0 {
		r.Want += " by line " + strconv.Itoa(a.RuleLine)
		r.OK = r.OK && v.Rule.Line() == a.RuleLine
	}
	if a.Rule != "" {
		directive, pattern, _ := a.cutRule()
		r.Want += " by " + a.Rule
		r.OK = r.OK && !v.Rule.IsZero() && v.Rule.Directive() == directive && v.Rule.Path() == pattern
	}
	if (a.RuleLine > 0 || a.Rule != "") && !v.Rule.IsZero() {
		r.Got += " by line " + strconv.Itoa(v.Rule.Line())
	}
	t.explain(r, v, path, r.URL)
	return nil
}

// explain sets the rule that decides a URL and, if the assertion fails, the explanation.
func (t *testRun) explain(r *AssertionResult, v robots.Verdict, path robots.Path, url string) {
	r.Rule = NewRule(v.Rule)
	if r.OK {
		return
	}
	r.Explanation = new(Explain(t.rules, t.crawler, path, url, t.agents, ExplainLimits{}))
	r.Reason = r.Explanation.Summary
	if s := t.crawler.FallbackSentence(t.rules); s != "" {
		r.Reason += "; " + s
	}
}

func (t *testRun) checkEvery(r *AssertionResult) error {
	options := compare.Options{Steps: t.steps}
	allowed := r.Assertion.Allowed
	r.Want = wordOf(allowed)
	claim, err := compare.Every(t.rules, r.Every, allowed, options)
	switch {
	case err != nil:
		return err
	case claim.Path != "":
		r.Got = wordOf(!allowed)
		r.Witness = &claim.Path
		path, err := Path(t.crawler.Dialect, "https://example.com"+claim.Path)
		if err != nil {
			return err
		}
		t.explain(r, t.rules.Match(path), path, claim.Path)
	case !claim.Complete:
		r.Got = "undecided"
		r.Undecided = true
	default:
		// If no URL matches the pattern, both it and its opposite hold.
		opposite, err := compare.Every(t.rules, r.Every, !allowed, options)
		if err != nil {
			return err
		}
		if opposite.Holds {
			return fmt.Errorf("pattern %q: matches no URL", clip(r.Every))
		}
		r.Got = r.Want
		r.OK = true
	}
	return nil
}

func (t *testRun) checkDelay(r *AssertionResult) {
	r.Want = "none"
	r.Got = "none"
	if delay := r.Assertion.Delay; delay != nil {
		r.Want = strconv.FormatFloat(*delay, 'f', -1, 64)
	}
	if seconds, ok := t.rules.CrawlDelay(); ok {
		r.Got = strconv.FormatFloat(seconds, 'f', -1, 64)
	}
	r.OK = r.Want == r.Got
}

// wordOf is the verdict as assertions name it.
func wordOf(allowed bool) string {
	if allowed {
		return "allow"
	}
	return "disallow"
}
