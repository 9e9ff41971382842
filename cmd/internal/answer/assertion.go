package answer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/crawlers"
)

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
