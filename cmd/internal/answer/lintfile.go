package answer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/lint"
)

// A LintedFile is a file with its findings.
type LintedFile struct {
	lint.Result
	Name    string            // as named by the user
	Title   string            // in messages
	Body    []byte            // as read
	Fixed   []byte            // with the fixes
	Checked []byte            // the text of the findings: Body or Fixed
	Changes []lint.Diagnostic // by fixes that are not safe
	Fail    lint.Severity     // lowest that fails
	NoFix   bool              // a fix was wanted, and there is none
}

// LintFixes are the fixes that LintFile applies.
type LintFixes struct {
	Apply bool // safe fixes
	All   bool // also fixes that change verdicts
	Show  bool // the findings are those before the fixes, not those left after them
}

// LintFile finds the mistakes in a file, and applies fixes.
func LintFile(body []byte, o lint.Options, fixes LintFixes) *LintedFile {
	f := &LintedFile{Body: body, Fixed: body, Checked: body}
	if fixes.Apply {
		f.Fixed, f.Changes, f.Result = lint.ApplyFixes(body, o, fixes.All)
		f.Checked = f.Fixed
	}
	if !fixes.Apply || fixes.Show {
		f.Result = lint.File(robots.Parse(body), o)
		f.Checked = body
	}
	return f
}

// IsFixed reports whether fixes have changed the file.
func (f *LintedFile) IsFixed() bool { return !bytes.Equal(f.Fixed, f.Body) }

// Fails reports whether a finding fails.
func (f *LintedFile) Fails() bool {
	return slices.ContainsFunc(f.Diagnostics, func(d lint.Diagnostic) bool { return d.Severity >= f.Fail })
}

// LineOf returns the line where a finding begins, "" for one about the whole file.
func (f *LintedFile) LineOf(d *lint.Diagnostic) string {
	if d.Span.Start == d.Span.End {
		return ""
	}
	line := f.Checked[d.Span.Start-(d.Column-1):]
	if i := bytes.IndexAny(line, "\r\n"); i >= 0 {
		line = line[:i]
	}
	return string(line)
}

// A KnownFinding is a line of a baseline: a check and the text of the line. It has no
// line number, so that lines can move.
type KnownFinding struct {
	Schema int    `json:"schema"`
	File   string `json:"file"`
	ID     string `json:"id"`
	Text   string `json:"text"`
}

// Known returns a finding as a baseline has it, with the name of the file there.
func (f *LintedFile) Known(name string, d *lint.Diagnostic) KnownFinding {
	return KnownFinding{1, name, d.Check.ID, strings.ToValidUTF8(strings.TrimSpace(f.LineOf(d)), "\uFFFD")}
}

// Fingerprint identifies a finding when its line moves.
func (k KnownFinding) Fingerprint() string {
	sum := sha256.Sum256([]byte(k.ID + "\x00" + k.Text))
	return hex.EncodeToString(sum[:8])
}

// LintCounts are numbers of findings by severity.
type LintCounts struct{ Shown, Hidden [lint.Error + 1]int }

// Hide counts the findings of a file, and removes those below a severity.
func (n *LintCounts) Hide(f *LintedFile, least lint.Severity) {
	f.Diagnostics = slices.DeleteFunc(f.Diagnostics, func(d lint.Diagnostic) bool {
		if d.Severity < least {
			n.Hidden[d.Severity]++
			return true
		}
		n.Shown[d.Severity]++
		return false
	})
}

// A FileFinding is a finding in a file.
type FileFinding struct {
	File string `json:"file"`
	Finding
}

// Findings returns the findings for JSON.
func (f *LintedFile) Findings() (list []FileFinding) {
	for i := range f.Diagnostics {
		list = append(list, FileFinding{f.Name, NewFinding(&f.Diagnostics[i])})
	}
	return list
}
