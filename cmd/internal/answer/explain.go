package answer

import "github.com/robotskit/robots"

// A Step is a step of a derivation.
type Step struct {
	Clause string `json:"clause"`
	Text   string `json:"text"`
}

// A RuleMatch is a rule that matches.
type RuleMatch struct {
	Rule
	Bytes  int    `json:"bytes"`
	Won    bool   `json:"won"`
	Clause string `json:"clause"`
	Why    string `json:"why"`
}

// A Note is about a line.
type Note struct {
	Line   int    `json:"line"`
	Clause string `json:"clause"`
	Text   string `json:"text"`
}

// A Derivation is the derivation of a verdict.
type Derivation struct {
	Path    string      `json:"path"`
	Normal  string      `json:"normal"`
	Steps   []Step      `json:"steps"`
	Matches []RuleMatch `json:"matches"`
	Notes   []Note      `json:"notes"`
}

// NewDerivation returns the derivation in an explanation.
func NewDerivation(e *robots.Explanation) Derivation {
	d := Derivation{Path: e.Path, Normal: e.Normal, Steps: []Step{}, Matches: []RuleMatch{}, Notes: NewNotes(e.Notes)}
	for _, s := range e.Steps {
		d.Steps = append(d.Steps, Step{Clause: s.Clause, Text: s.Text})
	}
	for _, m := range e.Matches {
		d.Matches = append(d.Matches, RuleMatch{Rule: *NewRule(m.Rule), Bytes: m.Rule.Weight(), Won: m.Rule == e.Verdict.Rule, Clause: m.Clause, Why: m.Text})
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
