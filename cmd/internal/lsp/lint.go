package lsp

import (
	"context"
	"slices"
	"strings"

	"github.com/creachadair/jrpc2"
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/lint"
)

// checksPage has a section for each check, with its id as the anchor.
const checksPage = "https://github.com/robotskit/robots/blob/main/docs/lint.md#"

const (
	kindQuickFix = "quickfix"
	kindFixAll   = "source.fixAll"
)

func convert(d *document, f lint.Diagnostic) diagnostic {
	severity := map[lint.Severity]int{lint.Error: 1, lint.Warning: 2, lint.Note: 3}[f.Severity]
	message := f.Message
	if f.Advice != "" {
		message += "; " + f.Advice
	}
	if len(f.Dialects) < len(robots.Dialects()) {
		message += " (" + strings.Join(f.Dialects, ", ") + ")"
	}
	out := diagnostic{
		Range: d.rangeOf(f.Span), Severity: severity, Code: f.Check.ID, Source: "robots", Message: message,
		Data: answer.NewFinding(&f),
	}
	out.CodeDescription.Href = checksPage + strings.ToLower(f.Check.ID)
	return out
}

// codeAction offers the fixes of the findings in the lines of a range, and all safe fixes of the file.
func (s *server) codeAction(_ context.Context, p codeActionParams) ([]codeAction, error) {
	d := s.robots(p.TextDocument.URI)
	if d == nil {
		return []codeAction{}, nil
	}
	wants := func(kind string) bool {
		return len(p.Context.Only) == 0 ||
			slices.ContainsFunc(p.Context.Only, func(only string) bool { return kind == only || strings.HasPrefix(kind, only+".") })
	}
	actions := []codeAction{}
	if len(p.Context.Only) == 0 && !d.isLinted.Load() {
		return actions, nil // editors ask at each movement of the cursor, which must not wait
	}
	if wants(kindQuickFix) {
		for _, f := range d.findings() {
			if f.Fix == nil || d.position(f.Span.Start).Line > p.Range.End.Line || d.position(f.Span.End).Line < p.Range.Start.Line {
				continue
			}
			a := codeAction{
				Title: "Fix " + f.Check.ID + ": " + f.Message, Kind: kindQuickFix, Diagnostics: []diagnostic{convert(d, f)},
				IsPreferred: f.Fix.Safe,
			}
			if !f.Fix.Safe {
				a.Title += " (changes verdicts"
				if f.Fix.Change != "" {
					a.Title += ": " + f.Fix.Change
				}
				a.Title += ")"
			}
			edits := []textEdit{}
			for _, e := range f.Fix.Edits {
				edits = append(edits, textEdit{d.rangeOf(robots.Span{Start: e.Start, End: e.End}), e.Text})
			}
			a.Edit.Changes = map[string][]textEdit{d.uri: edits}
			actions = append(actions, a)
		}
	}
	if wants(kindFixAll) {
		if d.fixed() != d.text {
			a := codeAction{Title: "Fix all that changes no verdict", Kind: kindFixAll}
			a.Edit.Changes = map[string][]textEdit{d.uri: d.replaced(d.fixed())}
			actions = append(actions, a)
		}
	}
	return actions, nil
}

// formatting returns the edit to the layout of robots fmt.
func (s *server) formatting(_ context.Context, p documentParams) ([]textEdit, error) {
	d := s.robots(p.TextDocument.URI)
	if d == nil {
		return []textEdit{}, nil
	}
	formatted, err := lint.Format([]byte(d.text))
	if err != nil {
		return nil, jrpc2.Errorf(jrpc2.Code(-32803), "cannot format: %v", err) // RequestFailed
	}
	return d.replaced(string(formatted)), nil
}

// replaced returns the edit that replaces the document by a text.
func (d *document) replaced(text string) []textEdit {
	if text == d.text {
		return []textEdit{}
	}
	return []textEdit{{d.rangeOf(robots.Span{End: len(d.text)}), text}}
}
