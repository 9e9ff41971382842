package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/screen"
)

// A Suite is what is shown of the results of assertions.
type Suite struct {
	Results []*answer.AssertionResult
	Counts  answer.AssertionCounts
	Budget  int // steps of a proof
}

// Text writes what fails. Dialects in which an assertion fails in the same way share a
// paragraph.
func (s *Suite) Text(w io.Writer, colors Palette) {
	type key struct {
		*answer.Assertion
		text string
	}
	dialects := map[key][]string{}
	keyOf := func(r *answer.AssertionResult) key { return key{r.Assertion, s.sentence(r, "")} }
	for _, r := range s.Results {
		dialects[keyOf(r)] = append(dialects[keyOf(r)], r.Dialect)
	}
	for _, r := range s.Results {
		if r.OK || r.Dialect != dialects[keyOf(r)][0] {
			continue
		}
		lead := colors.Paint(Red, "FAIL")
		if r.Undecided {
			lead = colors.Paint(Yellow, "OPEN")
		}
		sentence := s.sentence(r, strings.Join(dialects[keyOf(r)], ", "))
		fmt.Fprintf(w, "%s %s:%d: %s\n     %s\n", lead, robots.Printable(r.File), r.Line, robots.Printable(r.Name), robots.Printable(sentence))
		derivation := s.derivation(r)
		for line := range strings.Lines(derivation) {
			fmt.Fprint(w, strings.TrimRight("     "+line, " \n")+"\n")
		}
		if derivation != "" {
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintln(w, assertionCounts(&s.Counts))
}

// sentence compares what is wanted with the result, in some dialects.
func (s *Suite) sentence(r *answer.AssertionResult, dialects string) string {
	text := r.Agent[0] + " " + r.About() + ": want " + r.Want
	if !r.OK {
		text += ", got " + r.Got
	}
	if r.Witness != nil {
		text += " for " + *r.Witness
	}
	text += " (" + dialects + ")"
	switch {
	case r.Undecided:
		text += ", " + BudgetHint(s.Budget)
	case r.Reason != "":
		text += ", " + r.Reason
	}
	return text
}

// derivation returns how the verdict on which an assertion fails is reached, "" for none.
func (s *Suite) derivation(r *answer.AssertionResult) string {
	if r.Explanation == nil {
		return ""
	}
	var b strings.Builder
	Derivation(&b, Palette{}, &r.Explanation.Derivation)
	return b.String()
}

// assertionCounts is the summary of a run.
func assertionCounts(n *answer.AssertionCounts) string {
	if n.Failed+n.Undecided == 0 {
		return screen.Thousands(n.All) + " passed"
	}
	text := screen.Thousands(n.Failed) + " of " + screen.Thousands(n.All) + " failed"
	if n.Undecided > 0 {
		text += ", " + screen.Thousands(n.Undecided) + " undecided"
	}
	return text
}

// Report returns the results for other programs.
func (s *Suite) Report(version string) *Report {
	r := &Report{Command: "robots test", Summary: assertionCounts(&s.Counts), Version: version, Rules: []Rule{
		NewRule("assertion", "An assertion about a robots.txt fails."),
		NewRule("undecided", "A proof exceeded its budget."),
	}}
	for _, result := range s.Results {
		r.Findings = append(r.Findings, s.finding(result))
	}
	return r
}

// finding returns a result for other programs.
func (s *Suite) finding(r *answer.AssertionResult) Finding {
	claim := r.Want + " " + r.About()
	if r.CrawlDelay {
		claim = r.About() + " " + r.Want
	}
	f := Finding{
		File: r.File, Region: Region{StartLine: r.Line}, ID: "assertion", Case: r.Name + ": " + claim,
		Message: r.Name + ": " + s.sentence(r, r.Dialect), Details: s.derivation(r), Dialects: []string{r.Dialect},
		Undecided: r.Undecided,
	}
	switch {
	case r.Undecided:
		f.ID = "undecided"
		f.Level = "warning"
	case !r.OK:
		f.Level = "error"
		f.Failed = true
	}
	return f
}
