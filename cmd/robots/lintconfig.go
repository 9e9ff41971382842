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
	r := configReader{yamlReader{name: path}}
	if doc := r.document(text); doc != nil && doc.ShortTag() != "!!null" { // else there are comments alone
		m := r.members(doc, "the file", "checks", "dialects", "fail-on")
		if v := m["checks"]; v != nil {
			config.Severities = r.severities(v)
		}
		if v := m["dialects"]; v != nil {
			config.Dialects = r.dialects(v)
		}
		if v := m["fail-on"]; v != nil {
			if config.failOn, err = failOn("fail-on", v.Value); err != nil {
				r.wrong(v, "%s", err)
			}
		}
	}
	if len(r.mistakes) > 0 {
		return config, r.mistakes[0]
	}
	return config, nil
}

type configReader struct{ yamlReader }

// severities reads those of checks, which are given by id or name.
func (r *configReader) severities(n *yaml.Node) map[string]lint.Severity {
	all := map[string]lint.Severity{}
	r.pairs(n, "checks", "ids of checks, as in checks: {RT504: off}", func(key, value *yaml.Node) {
		check := lint.Find(key.Value)
		if check == nil {
			r.wrong(key, "there is no check %q", clip(key.Value))
			return
		}
		s, ok := lint.ParseSeverity(value.Value)
		if !ok || value.Kind != yaml.ScalarNode {
			r.wrong(value, "%q is no severity: it is off, note, warning or error", clip(value.Value))
		}
		if _, again := all[check.ID]; again {
			r.wrong(key, "%s is there twice", check.ID)
		}
		all[check.ID] = s
	})
	return all
}

func (r *configReader) dialects(n *yaml.Node) (names []string) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		r.wrong(n, "dialects is no list: write dialects: [google]")
	}
	for _, m := range n.Content {
		if _, err := dialectByName(m.Value); err != nil {
			r.wrong(m, "%s", err)
		}
		if slices.Contains(names, m.Value) {
			r.wrong(m, "%q is there twice", m.Value)
		}
		names = append(names, m.Value)
	}
	return names
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
