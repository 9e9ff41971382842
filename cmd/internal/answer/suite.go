package answer

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/crawlers"
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

// An Assertion is about a URL, about every URL that matches a pattern or, without either, about
// the crawl delay.
type Assertion struct {
	Line      int // in the file of assertions
	URL       string
	URLLine   int
	URLColumn int    // in characters from 1
	Every     string // a pattern
	Allowed   bool
	RuleLine  int      // of the rule that must decide, 0 for any
	Rule      string   // that must decide, as in "Allow: /path", "" for any
	Delay     *float64 // seconds, nil for no delay
}

// Validate returns the mistake in an assertion about a URL or a pattern, read as the dialects do.
func (a *Assertion) Validate(dialects []robots.Dialect) error {
	switch {
	case (a.URL == "") == (a.Every == ""):
		return errors.New("assertion without a subject; write a URL, or every with a pattern, not both")
	case a.Every != "" && (a.RuleLine > 0 || a.Rule != ""):
		return fmt.Errorf("every %q: several rules can decide; remove line and rule", clip(a.Every))
	case a.Every != "":
		return validatePattern(a.Every, dialects)
	}
	if directive, _, ok := a.cutRule(); a.Rule != "" && (!ok || directive != wordOf(true) && directive != wordOf(false)) {
		return fmt.Errorf("invalid rule %q; write Allow: /path or Disallow: /path", clip(a.Rule))
	}
	for _, d := range dialects {
		if _, err := Path(d, a.URL); err != nil {
			return err
		}
	}
	return nil
}

// cutRule returns the parts of the rule that must decide, ok if it has a colon.
func (a *Assertion) cutRule() (directive, pattern string, ok bool) {
	directive, pattern, ok = strings.Cut(a.Rule, ":")
	return strings.ToLower(strings.TrimSpace(directive)), strings.TrimSpace(pattern), ok
}

// validatePattern returns the mistake in the pattern of an assertion about every URL.
func validatePattern(pattern string, dialects []robots.Dialect) error {
	if pattern[0] != '/' && pattern[0] != '*' {
		return fmt.Errorf("pattern %q: matches no URL; begin it with / or *", clip(pattern))
	}
	for _, d := range dialects {
		if _, err := compare.Every(robots.Parse(nil).Rules(d), pattern, true, compare.Options{Steps: 1}); err != nil {
			return fmt.Errorf("pattern %s", strings.TrimPrefix(err.Error(), "compare: "))
		}
	}
	return nil
}

// An AssertionResult is the result of an assertion in one dialect.
type AssertionResult struct {
	File       string   `json:"file"`                  // of assertions
	Line       int      `json:"line"`                  // of the assertion
	Name       string   `json:"name"`                  // of the test
	Agent      []string `json:"agent"`                 // as given
	Dialect    string   `json:"dialect"`               // in which the file is read
	URL        string   `json:"url,omitempty"`         // that the assertion is about
	Every      string   `json:"every,omitempty"`       // the pattern that it is about
	CrawlDelay bool     `json:"crawl_delay,omitempty"` // true if it is about the delay
	Want       string   `json:"want"`                  // allow or disallow, with "by line 12" or "by Allow: /x" where that is asserted; a number or none for a delay
	Got        string   `json:"got"`                   // likewise, or undecided
	OK         bool     `json:"ok"`                    // whether the assertion holds
	Rule       *Rule    `json:"rule"`                  // that decides the URL or the witness
	Witness    *string  `json:"witness"`               // a shortest path for which every fails
	// Fallback is the token that the dialect auto added and whose group applies, or null.
	Fallback *crawlers.FurtherToken `json:"fallback"`
	// Binds is whom the file addresses: yes, not-by-star or no.
	Binds crawlers.Binds `json:"binds"`

	Assertion   *Assertion   `json:"-"`
	Undecided   bool         `json:"-"` // the proof exceeded its steps
	Explanation *Explanation `json:"-"` // of the verdict on the URL or the witness, nil unless the assertion fails
	Reason      string       `json:"-"` // the sentence of this explanation, "" without one
}

// About returns what the assertion is about in a sentence.
func (r *AssertionResult) About() string {
	switch {
	case r.URL != "":
		return r.URL
	case r.Every != "":
		return "every " + r.Every
	}
	return "crawl_delay"
}

// AssertionCounts are numbers of results.
type AssertionCounts struct{ All, Failed, Undecided int }

// CountResults counts results.
func CountResults(results []*AssertionResult) (n AssertionCounts) {
	n.All = len(results)
	for _, r := range results {
		if r.Undecided {
			n.Undecided++
		} else if !r.OK {
			n.Failed++
		}
	}
	return n
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
