// Package shapes has the parts of JSON answers that the program and its service have in
// common: the deciding rule, how a verdict came to be, the edits of a fix. Their members are
// a contract; other tags than json are for the description of the service.
package shapes

import (
	"encoding/base64"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/lint"
)

// A Rule is one that decided.
type Rule struct {
	_          struct{} `additionalProperties:"true"`
	Line       int      `json:"line" minimum:"1"`
	Directive  string   `json:"directive" enum:"allow,disallow"`
	Pattern    string   `json:"pattern" doc:"as written, without blanks around it and comment"`
	PatternB64 string   `json:"pattern_b64,omitempty" doc:"the bytes of a pattern that is no UTF-8"`
}

// NewRule returns nil, which is null, for no rule.
func NewRule(r robots.Rule) *Rule {
	if r.IsZero() {
		return nil
	}
	return &Rule{Line: r.Line(), Directive: r.Directive(), Pattern: r.Path(), PatternB64: noText(r.Path())}
}

// noText returns in base64 what is no UTF-8, and nothing for what is.
func noText(s string) string {
	if utf8.ValidString(s) {
		return ""
	}
	return base64.StdEncoding.EncodeToString([]byte(s))
}

// A Step is one of a derivation.
type Step struct {
	_      struct{} `additionalProperties:"true"`
	Clause string   `json:"clause" doc:"the statement behind it, see docs/clauses.md"`
	Text   string   `json:"text"`
}

// A RuleMatch is a rule that matches.
type RuleMatch struct {
	_          struct{} `additionalProperties:"true"`
	Line       int      `json:"line"`
	Directive  string   `json:"directive" enum:"allow,disallow"`
	Pattern    string   `json:"pattern"`
	PatternB64 string   `json:"pattern_b64,omitempty" doc:"the bytes of a pattern that is no UTF-8"`
	Bytes      int      `json:"bytes" doc:"its weight"`
	Won        bool     `json:"won"`
	Clause     string   `json:"clause"`
	Why        string   `json:"why"`
}

// A Note is about a line.
type Note struct {
	_      struct{} `additionalProperties:"true"`
	Line   int      `json:"line" doc:"0 for the file as a whole"`
	Clause string   `json:"clause"`
	Text   string   `json:"text"`
}

// A Derivation is how a verdict came to be.
type Derivation struct {
	Path    string      `json:"path" doc:"as given"`
	Normal  string      `json:"normal" doc:"in the form in which it is compared"`
	Steps   []Step      `json:"steps"`
	Matches []RuleMatch `json:"matches" doc:"every rule of the crawler that matches, the deciding one first"`
	Notes   []Note      `json:"notes" doc:"lines that look as if they counted"`
}

// NewDerivation returns that of an explanation.
func NewDerivation(e *robots.Explanation) Derivation {
	d := Derivation{Path: e.Path, Normal: e.Normal, Steps: []Step{}, Matches: []RuleMatch{}, Notes: NewNotes(e)}
	for _, s := range e.Steps {
		d.Steps = append(d.Steps, Step{Clause: s.Clause, Text: s.Text})
	}
	for _, m := range e.Matches {
		d.Matches = append(d.Matches, RuleMatch{
			Line: m.Rule.Line(), Directive: m.Rule.Directive(), Pattern: m.Rule.Path(), PatternB64: noText(m.Rule.Path()),
			Bytes: m.Rule.Weight(), Won: m.Won, Clause: m.Clause, Why: m.Why,
		})
	}
	return d
}

// NewNotes returns the notes of an explanation.
func NewNotes(e *robots.Explanation) []Note {
	notes := []Note{}
	for _, n := range e.Notes {
		notes = append(notes, Note{Line: n.Line, Clause: n.Clause, Text: n.Text})
	}
	return notes
}

// An Edit replaces bytes of a file.
type Edit struct {
	_     struct{} `additionalProperties:"true"`
	Start int      `json:"start" doc:"in bytes from 0"`
	End   int      `json:"end"`
	Text  string   `json:"text"`
}

// NewEdits returns the edits of a fix.
func NewEdits(f *lint.Fix) []Edit {
	edits := []Edit{}
	for _, e := range f.Edits {
		edits = append(edits, Edit{Start: e.Start, End: e.End, Text: e.Text})
	}
	return edits
}
