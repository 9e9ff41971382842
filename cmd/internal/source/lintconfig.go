package source

import (
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
	"github.com/robotskit/robots/cmd/internal/yamlfile"
	"github.com/robotskit/robots/lint"
)

// configName is the file that lint searches for in the folder of a file and above.
const configName = ".robots-lint.yaml"

// A LintConfig is the content of a configuration of lint.
type LintConfig struct {
	lint.Options
	FailOn lint.Severity // 0 if unset
}

// FindLintConfig returns the configuration for a file; for others, that of the current folder.
func FindLintConfig(name string) (LintConfig, error) {
	folder := "."
	if name != "-" && !ask.NamesSite(name) {
		folder = filepath.Dir(name)
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return LintConfig{}, fmt.Errorf("cannot search for %s: %w", configName, err)
	}
	for {
		config, err := ReadLintConfig(filepath.Join(folder, configName))
		if !errors.Is(err, fs.ErrNotExist) {
			return config, err
		}
		above := filepath.Dir(folder)
		if above == folder {
			return LintConfig{}, nil
		}
		folder = above
	}
}

// ReadLintConfig reads a configuration of lint.
func ReadLintConfig(path string) (LintConfig, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return LintConfig{}, fmt.Errorf("cannot read %s: %w", path, screen.Cause(err))
	}
	return ParseLintConfig(path, text)
}

// ParseLintConfig reads a configuration and returns its mistakes.
func ParseLintConfig(path string, text []byte) (LintConfig, error) {
	m := yamlfile.File{Name: path}
	config := LintConfig{}
	top := m.Read(text, "checks", "dialects", "fail-on")
	config.Severities = map[string]lint.Severity{}
	checks := m.Fields(top["checks"])
	inOrder := func(a, b string) int { return checks[a].Line - checks[b].Line }
	for _, id := range slices.SortedFunc(maps.Keys(checks), inOrder) {
		value := checks[id]
		check := lint.Find(id)
		severity, ok := lint.ParseSeverity(m.Text(value))
		switch {
		case check == nil:
			m.Wrong(value, "unknown check %q", ask.Clip(id))
		case !ok:
			m.Wrong(value, "unknown severity %q (known: off, note, warning, error)", ask.Clip(value.Value))
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
	if n := top["fail-on"]; !yamlfile.IsNull(n) {
		config.FailOn = ask.FailLevel(m.Text(n))
		known := append(ask.Severities(), ask.NeverFail)
		if !slices.Contains(known, n.Value) {
			m.Wrong(n, "unknown fail-on %q (known: %s)", ask.Clip(n.Value), strings.Join(known, ", "))
		}
	}
	return config, errors.Join(m.Mistakes...)
}
