package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robotskit/robots/lint"
	"go.yaml.in/yaml/v3"
)

// configName is the file that robots lint looks for in the folder of a file and above it.
const configName = ".robots-lint.yaml"

// maxConfig bounds what is read of one, in bytes.
const maxConfig = 1 << 20

// A lintConfig is what such a file says.
type lintConfig struct {
	lint.Options
	failOn lint.Severity // 0: it says nothing
}

// configs finds the configuration of files, and reads each once.
type configs struct {
	named string // of --config
	found map[string]lintConfig
}

// of returns the configuration of a file that was named.
func (c *configs) of(name string) (lintConfig, error) {
	if c.named != "" {
		return c.read(c.named)
	}
	if name == "-" {
		name = "."
	} else {
		name = filepath.Dir(name)
	}
	folder, err := filepath.Abs(name)
	if err != nil {
		return lintConfig{}, fmt.Errorf("cannot look for %s: %w", configName, err)
	}
	for {
		config, err := c.read(filepath.Join(folder, configName))
		above := filepath.Dir(folder)
		if !errors.Is(err, fs.ErrNotExist) || above == folder {
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return config, err
		}
		folder = above
	}
}

func (c *configs) read(path string) (lintConfig, error) {
	if config, ok := c.found[path]; ok {
		return config, nil
	}
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxConfig {
		err = errors.New("it is larger than 1 MiB")
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return lintConfig{}, fmt.Errorf("cannot read %s: %w", path, cause(err))
	}
	config, err := parseConfig(path, text)
	if err == nil {
		c.found[path] = config
	}
	return config, err
}

// parseConfig reads a configuration. What it does not know is an error with its place: a
// misspelt member would be obeyed by nobody.
func parseConfig(path string, text []byte) (config lintConfig, err error) {
	var doc, next yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&doc); err != nil {
		if len(bytes.TrimSpace(text)) == 0 || doc.Kind == 0 && err.Error() == "EOF" {
			return config, nil
		}
		return config, fmt.Errorf("%s: %w", path, err)
	}
	bad := func(n *yaml.Node, format string, args ...any) error {
		return fmt.Errorf("%s:%d:%d: %s", path, n.Line, n.Column, fmt.Sprintf(format, args...))
	}
	if d.Decode(&next) == nil {
		return config, bad(&next, "there is a second document")
	}
	if doc.Kind == yaml.DocumentNode {
		doc = *doc.Content[0]
	}
	if doc.Tag == "!!null" {
		return config, nil // comments alone
	}
	// members calls do for each member of a mapping.
	members := func(n *yaml.Node, what string, do func(name string, at, value *yaml.Node) error) error {
		if n.Kind != yaml.MappingNode {
			return bad(n, "%s is no mapping: write %s", what, "checks: {RT504: off}")
		}
		seen := map[string]bool{}
		for i := 0; i < len(n.Content); i += 2 {
			at, value := n.Content[i], n.Content[i+1]
			if at.Kind != yaml.ScalarNode {
				return bad(at, "a name is expected here")
			}
			if seen[at.Value] {
				return bad(at, "%q is there twice", clip(at.Value))
			}
			seen[at.Value] = true
			if err := do(at.Value, at, value); err != nil {
				return err
			}
		}
		return nil
	}
	severity := func(name string, at, value *yaml.Node) error {
		check := lint.Find(name)
		if check == nil {
			return bad(at, "there is no check %q", clip(name))
		}
		s, ok := lint.ParseSeverity(value.Value)
		if !ok || value.Kind != yaml.ScalarNode {
			return bad(value, "%q is no severity: it is off, note, warning or error", clip(value.Value))
		}
		if _, again := config.Severities[check.ID]; again {
			return bad(at, "%s is there twice", check.ID)
		}
		config.Severities[check.ID] = s
		return nil
	}
	return config, members(&doc, "the file", func(name string, at, value *yaml.Node) error {
		switch name {
		case "checks":
			config.Severities = map[string]lint.Severity{}
			return members(value, name, severity)
		case "dialects":
			if value.Kind != yaml.SequenceNode || len(value.Content) == 0 {
				return bad(value, "dialects is no list: write dialects: [google]")
			}
			for _, n := range value.Content {
				if _, err := dialectByName(n.Value); err != nil {
					return bad(n, "%s", err)
				}
				if slices.Contains(config.Dialects, n.Value) {
					return bad(n, "%q is there twice", n.Value)
				}
				config.Dialects = append(config.Dialects, n.Value)
			}
		case "fail-on":
			s, err := failOn(name, value.Value)
			if err != nil {
				return bad(value, "%s", err)
			}
			config.failOn = s
		default:
			return bad(at, "unknown member %q: there are checks, dialects and fail-on", clip(name))
		}
		return nil
	})
}

// A known finding is a line of a baseline: a check, and the text where it found something.
// The number of the line is not in it, so that lines may move.
type known struct {
	Schema int    `json:"schema"`
	File   string `json:"file"`
	ID     string `json:"id"`
	Text   string `json:"text"`
}

// baseline counts the findings that are known.
type baseline map[known]int

func knownOf(f *linted, d *lint.Diagnostic) known {
	return known{1, filepath.ToSlash(filepath.Clean(f.name)), d.Check.ID, strings.ToValidUTF8(strings.TrimSpace(f.lineOf(d)), "\uFFFD")}
}

// readBaseline reads a baseline. One that is about to be written may be missing.
func readBaseline(name string, written bool) (baseline, error) {
	b := baseline{}
	if name == "" || written {
		return b, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the baseline %s: %w", name, cause(err))
	}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		var k known
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&k); err != nil || k.Schema != 1 || lint.Find(k.ID) == nil {
			return nil, fmt.Errorf("%s:%d: this is no line of a baseline: write it anew with --write-baseline", name, number)
		}
		b[k]++
	}
	return b, nil
}

// without returns the findings of a file that are not known. Of several that look the
// same as many are known as the baseline has.
func (b baseline) without(f *linted) []lint.Diagnostic {
	return slices.DeleteFunc(f.Diagnostics, func(d lint.Diagnostic) bool {
		k := knownOf(f, &d)
		b[k]--
		return b[k] >= 0
	})
}

func writeBaseline(name string, files []*linted) error {
	var b bytes.Buffer
	for _, f := range files {
		for i := range f.Diagnostics {
			if err := encode(&b, knownOf(f, &f.Diagnostics[i])); err != nil {
				return err
			}
		}
	}
	if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
		return fmt.Errorf("cannot write the baseline %s: %w", name, cause(err))
	}
	return nil
}

// fingerprint says what a finding is about, wherever it stands.
func (k known) fingerprint() string {
	sum := sha256.Sum256([]byte(k.ID + "\x00" + k.Text))
	return hex.EncodeToString(sum[:8])
}
