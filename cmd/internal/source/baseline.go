package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/lint"
)

// A Baseline counts known findings.
type Baseline map[answer.KnownFinding]int

// ReadBaseline reads the known findings of a file.
func ReadBaseline(name string) (Baseline, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, screen.Cause(err))
	}
	b := Baseline{}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		var k answer.KnownFinding
		if err := json.Unmarshal(line, &k); err != nil || k.Schema != 1 || lint.Find(k.ID) == nil {
			return nil, fmt.Errorf("%s:%d: invalid baseline; write a new one with --write-baseline", name, number)
		}
		b[k]++
	}
	return b, nil
}

// baselineName returns the name of a file in a baseline.
func baselineName(name string) string {
	if ask.NamesSite(name) {
		return name
	}
	return filepath.ToSlash(filepath.Clean(name))
}

// Remove removes known findings from those of a file: of several that look the same, as
// many as the baseline has.
func (b Baseline) Remove(f *answer.LintedFile) {
	f.Diagnostics = slices.DeleteFunc(f.Diagnostics, func(d lint.Diagnostic) bool {
		k := f.Known(baselineName(f.Name), &d)
		b[k]--
		return b[k] >= 0
	})
}

// WriteBaseline replaces a baseline by the findings of files.
func WriteBaseline(name string, files []*answer.LintedFile) error {
	var b bytes.Buffer
	for _, f := range files {
		for i := range f.Diagnostics {
			if err := screen.EncodeJSON(&b, f.Known(baselineName(f.Name), &f.Diagnostics[i])); err != nil {
				return err
			}
		}
	}
	return ReplaceFile(name, b.Bytes())
}
