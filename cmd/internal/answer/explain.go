package answer

import (
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/lint"
)

// An Explanation is a verdict with the steps that led to it.
type Explanation struct {
	Check
	Derivation
	Signals []Signal `json:"signals"` // those that apply to the URL
}

// A Derivation is how a verdict is reached.
type Derivation struct {
	Summary string      `json:"summary"` // one sentence: the deciding rule, or the reason without a rule
	Path    string      `json:"path"`    // as given
	Normal  string      `json:"normal"`  // as the dialect compares it
	Steps   []Step      `json:"steps"`   // that lead to the verdict, in order
	Matches []RuleMatch `json:"matches"` // every rule that matches, the winner first
	Notes   []Note      `json:"notes"`   // lines that almost apply
	Dropped int         `json:"dropped"` // notes beyond the limit
}

// A Step is a step towards a verdict, with the clause behind it.
type Step struct {
	Clause string `json:"clause"` // of [clauses.md](clauses.md)
	Text   string `json:"text"`   // a sentence
}

// A RuleMatch is a rule that matches.
type RuleMatch struct {
	Rule
	Bytes  int    `json:"bytes"`  // that count for precedence
	Won    bool   `json:"won"`    // the rule decides
	Clause string `json:"clause"` // of [clauses.md](clauses.md)
	Why    string `json:"why"`    // it won or lost
}

// A Note is about a line, or about the whole file if the line is 0.
type Note struct {
	Line   int    `json:"line"`   // from 1, 0 for the whole file
	Clause string `json:"clause"` // of [clauses.md](clauses.md)
	Text   string `json:"text"`   // a sentence
}

// Explain returns the verdict on a path of rules for a crawler, with the steps that led to it. The URL and the
// agent are as given. Lists of the check are limited.
func Explain(r *robots.Rules, c *Crawler, path robots.Path, url string, agent any, limits robots.JSONLimits) Explanation {
	e := lint.Explain(r, path)
	return Explanation{Check: NewCheck(r, c, path, url, agent, limits), Derivation: NewDerivation(&e), Signals: signalsOf(r, &path)}
}

// NewDerivation returns the derivation in an explanation.
func NewDerivation(e *robots.Explanation) Derivation {
	d := Derivation{
		Summary: Reason(e.Verdict), Path: e.Path, Normal: e.Normal, Steps: []Step{}, Matches: []RuleMatch{}, Notes: NewNotes(e.Notes), Dropped: e.Dropped,
	}
	for _, s := range e.Steps {
		d.Steps = append(d.Steps, Step{Clause: s.Clause, Text: s.Text})
	}
	for _, m := range e.Matches {
		match := RuleMatch{Rule: *NewRule(m.Rule), Bytes: m.Rule.Weight(), Won: m.Rule == e.Verdict.Rule, Clause: m.Clause, Why: m.Text}
		d.Matches = append(d.Matches, match)
	}
	return d
}

// NewNotes returns notes, not nil.
func NewNotes(notes []robots.Note) []Note {
	all := []Note{}
	for _, n := range notes {
		all = append(all, Note{Line: n.Line, Clause: n.Clause, Text: n.Text})
	}
	return all
}
