package answer

import (
	"encoding/base64"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/lint"
)

// Findings are the mistakes in a file.
type Findings struct {
	Findings  []Finding `json:"findings"`  // in file order
	Undecided bool      `json:"undecided"` // a proof needs more steps than the limit
	Dropped   int       `json:"dropped"`   // findings beyond the limits
}

// Lint returns the mistakes in a file, of which it keeps at most most, or all for 0. It takes its steps
// and bytes from a budget and returns the error of that.
func Lint(b *budget.Budget, file *robots.File, o lint.Options, most int) (Findings, error) {
	o.MaxSteps = b.Left(o.MaxSteps)
	found := lint.File(file, o)
	if err := b.Work(found.Steps); err != nil {
		return Findings{}, err
	}
	kept := found.Diagnostics
	if most > 0 {
		kept = kept[:min(len(kept), most)]
	}
	f := Findings{Findings: []Finding{}, Undecided: found.Undecided, Dropped: found.Dropped + len(found.Diagnostics) - len(kept)}
	for i := range kept {
		if err := b.Hold(sizeOfFinding(&kept[i])); err != nil {
			return Findings{}, err
		}
		f.Findings = append(f.Findings, NewFinding(&kept[i]))
	}
	return f, nil
}

// sizeOfFinding returns the bytes that a finding takes. A byte of text can take eight in JSON, but few do; it is written once and
// copied once.
func sizeOfFinding(d *lint.Diagnostic) int {
	const entry = 1 << 10
	text := len(d.Message) + len(d.Advice)
	if d.Fix != nil {
		text += len(d.Fix.Change)
		for _, e := range d.Fix.Edits {
			text += len(e.Text)
		}
	}
	return entry + 2*text
}

// A Finding is a mistake in a robots.txt. Lines and columns count from 1, columns in bytes.
type Finding struct {
	Line      int      `json:"line"`       // where it begins
	Column    int      `json:"column"`     // likewise
	EndLine   int      `json:"end_line"`   // where it ends
	EndColumn int      `json:"end_column"` // after its last byte
	ID        string   `json:"id"`         // of the check ([lint.md](lint.md))
	Name      string   `json:"name"`       // likewise
	Severity  string   `json:"severity"`   // note, warning or error
	Message   string   `json:"message"`    // one sentence
	Advice    string   `json:"advice"`     // what to do, can be empty
	Dialects  []string `json:"dialects"`   // in which it is a mistake
	Fix       *Fix     `json:"fix"`        // if one is known
}

// NewFinding returns a finding of lint.
func NewFinding(d *lint.Diagnostic) Finding {
	return Finding{
		Line: d.Line, Column: d.Column, EndLine: d.EndLine, EndColumn: d.EndColumn, ID: d.Check.ID, Name: d.Check.Name,
		Severity: d.Severity.String(), Message: d.Message, Advice: d.Advice, Dialects: append([]string{}, d.Dialects...), Fix: NewFix(d.Fix),
	}
}

// A Fix changes a file.
type Fix struct {
	Safe   bool   `json:"safe"`   // all safe fixes of the file together change no verdict in any dialect
	Change string `json:"change"` // what a fix that is not safe changes, can be empty
	Edits  []Edit `json:"edits"`  // that do not overlap
}

// NewFix returns nil, in JSON null, for no fix.
func NewFix(f *lint.Fix) *Fix {
	if f == nil {
		return nil
	}
	return &Fix{Safe: f.Safe, Change: f.Change, Edits: newEdits(f)}
}

// An Edit replaces bytes of a file.
type Edit struct {
	Start   int    `json:"start"`              // in bytes
	End     int    `json:"end"`                // likewise
	Text    string `json:"text"`               // that replaces them
	TextB64 string `json:"text_b64,omitempty"` // in base64 if it is not UTF-8
}

// newEdits returns the edits of a fix.
func newEdits(f *lint.Fix) []Edit {
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
