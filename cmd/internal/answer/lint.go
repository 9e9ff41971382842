package answer

import (
	"encoding/base64"
	"unicode/utf8"

	"github.com/robotskit/robots/lint"
)

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
