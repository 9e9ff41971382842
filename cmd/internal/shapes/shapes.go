// Package shapes has the parts of JSON answers that the program and its service have in
// common: the deciding rule, the derivation of a verdict, the fix of a finding. Their members are
// a contract (openapi.yaml describes them).
package shapes

import (
	"encoding/base64"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/lint"
)

// A Rule is a deciding rule.
type Rule struct {
	Line       int    `json:"line"`
	Directive  string `json:"directive"`
	Pattern    string `json:"pattern"`
	PatternB64 string `json:"pattern_b64,omitempty"`
}

// NewRule returns nil, in JSON null, for no rule.
func NewRule(r robots.Rule) *Rule {
	if r.IsZero() {
		return nil
	}
	rule := &Rule{Line: r.Line(), Directive: r.Directive(), Pattern: r.Path()}
	if !utf8.ValidString(rule.Pattern) {
		rule.PatternB64 = base64.StdEncoding.EncodeToString([]byte(rule.Pattern))
	}
	return rule
}

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

// A Fix changes a file.
type Fix struct {
	Safe   bool   `json:"safe"`
	Change string `json:"change"`
	Edits  []Edit `json:"edits"`
}

// NewFix returns nil, in JSON null, for no fix.
func NewFix(f *lint.Fix) *Fix {
	if f == nil {
		return nil
	}
	return &Fix{Safe: f.Safe, Change: f.Change, Edits: NewEdits(f)}
}

// An Edit replaces bytes of a file.
type Edit struct {
	Start   int    `json:"start"`
	End     int    `json:"end"`
	Text    string `json:"text"`
	TextB64 string `json:"text_b64,omitempty"`
}

// NewEdits returns the edits of a fix.
func NewEdits(f *lint.Fix) []Edit {
	edits := []Edit{}
	for _, e := range f.Edits {
		edit := Edit{Start: e.Start, End: e.End, Text: e.Text}
		if !utf8.ValidString(e.Text) {
			edit.TextB64 = base64.StdEncoding.EncodeToString([]byte(e.Text))
		}
		edits = append(edits, edit)
	}
	return edits
}
