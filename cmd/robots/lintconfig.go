package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/cmd/internal/yamlfile"
	"github.com/robotskit/robots/lint"
)

// configName is the file that lint searches for in the folder of a file and above.
const configName = ".robots-lint.yaml"

// A lintConfig is the content of such a file.
type lintConfig struct {
	lint.Options
	failOn lint.Severity // 0 if unset
}

// findConfig returns the configuration for a file; for others, that of the current folder.
func findConfig(name string) (lintConfig, error) {
	folder := "."
	if name != "-" && !ask.NamesSite(name) {
		folder = filepath.Dir(name)
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return lintConfig{}, fmt.Errorf("cannot search for %s: %w", configName, err)
	}
	for {
		config, err := readConfig(filepath.Join(folder, configName))
		if !errors.Is(err, fs.ErrNotExist) {
			return config, err
		}
		above := filepath.Dir(folder)
		if above == folder {
			return lintConfig{}, nil
		}
		folder = above
	}
}

func readConfig(path string) (lintConfig, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return lintConfig{}, fmt.Errorf("cannot read %s: %w", path, screen.Cause(err))
	}
	return parseConfig(path, text)
}

// parseConfig reads a configuration and returns its mistakes.
func parseConfig(path string, text []byte) (lintConfig, error) {
	m, config := yamlfile.File{Name: path}, lintConfig{}
	top := m.Read(text, "checks", "dialects", "fail-on")
	config.Severities = map[string]lint.Severity{}
	checks := m.Fields(top["checks"])
	inOrder := func(a, b string) int { return checks[a].Line - checks[b].Line }
	for _, id := range slices.SortedFunc(maps.Keys(checks), inOrder) {
		value, check := checks[id], lint.Find(id)
		severity, ok := lint.ParseSeverity(m.Text(value))
		switch {
		case check == nil:
			m.Wrong(value, "unknown check %q", clip(id))
		case !ok:
			m.Wrong(value, "unknown severity %q (known: off, note, warning, error)", clip(value.Value))
		default:
			if _, twice := config.Severities[check.ID]; twice {
				m.Wrong(value, "check %s is listed twice", check.ID)
			}
			config.Severities[check.ID] = severity
		}
	}
	for _, n := range yamlfile.Entries(top["dialects"]) {
		d, err := ask.Dialect(m.Text(n))
		if err != nil {
			m.Wrong(n, "%w", err)
		}
		config.Dialects = append(config.Dialects, d.Name)
	}
	if n, known := top["fail-on"], append(severities(), failNever); !yamlfile.IsNull(n) {
		if config.failOn = failLevel(m.Text(n)); !slices.Contains(known, n.Value) {
			m.Wrong(n, "unknown fail-on %q (known: %s)", clip(n.Value), strings.Join(known, ", "))
		}
	}
	return config, errors.Join(m.Mistakes...)
}

// A known finding is a line of a baseline: a check and the text of the line. It has no
// line number, so that lines can move.
type known struct {
	Schema int    `json:"schema"`
	File   string `json:"file"`
	ID     string `json:"id"`
	Text   string `json:"text"`
}

// baseline counts known findings.
type baseline map[known]int

func knownOf(f *linted, d *lint.Diagnostic) known {
	name := f.Name
	if !ask.NamesSite(name) {
		name = filepath.ToSlash(filepath.Clean(name))
	}
	return known{1, name, d.Check.ID, strings.ToValidUTF8(strings.TrimSpace(f.lineOf(d)), "\uFFFD")}
}

// fingerprint identifies a finding when its line moves.
func (k known) fingerprint() string {
	sum := sha256.Sum256([]byte(k.ID + "\x00" + k.Text))
	return hex.EncodeToString(sum[:8])
}

func readBaseline(name string) (baseline, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the baseline %s: %w", name, screen.Cause(err))
	}
	b, number := baseline{}, 0
	for line := range bytes.Lines(text) {
		number++
		var k known
		if err := json.Unmarshal(line, &k); err != nil || k.Schema != 1 || lint.Find(k.ID) == nil {
			return nil, fmt.Errorf("%s:%d: invalid baseline; write a new one with --write-baseline", name, number)
		}
		b[k]++
	}
	return b, nil
}

// remove removes known findings from those of a file: of several that look the same, as
// many as the baseline has.
func (b baseline) remove(f *linted) {
	f.Diagnostics = slices.DeleteFunc(f.Diagnostics, func(d lint.Diagnostic) bool {
		k := knownOf(f, &d)
		b[k]--
		return b[k] >= 0
	})
}

func writeBaseline(name string, files []*linted) error {
	var b bytes.Buffer
	for _, f := range files {
		for i := range f.Diagnostics {
			if err := screen.EncodeJSON(&b, knownOf(f, &f.Diagnostics[i])); err != nil {
				return err
			}
		}
	}
	return source.ReplaceFile(name, b.Bytes())
}
