package server

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/robotskit/robots/cmd/internal/ask"
	"go.yaml.in/yaml/v3"
)

// maxConfig bounds a file of settings, in bytes.
const maxConfig = 1 << 20

// A fileValue is what a file says of a setting.
type fileValue struct {
	texts []string
	line  int
}

// readFile reads a file of settings: a mapping of names to values in YAML. What is
// not understood is an error with its line, as a misspelt name would be obeyed by
// nobody. Nodes are walked, and no struct is decoded, because the lines are part of
// the answer.
func readFile(path string) (map[string]fileValue, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		if at, ok := errors.AsType[*os.PathError](err); ok {
			err = at.Err
		}
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	if len(text) > maxConfig {
		return nil, fmt.Errorf("cannot read %s: it is larger than 1 MiB", path)
	}
	return parseFile(path, text)
}

func parseFile(path string, text []byte) (map[string]fileValue, error) {
	var doc, next yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&doc); err != nil {
		if doc.Kind == 0 && err.Error() == "EOF" {
			return nil, nil // comments alone
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	wrong := func(n *yaml.Node, format string, args ...any) error {
		return fmt.Errorf("%s:%d: %s", path, n.Line, fmt.Sprintf(format, args...))
	}
	if d.Decode(&next) == nil {
		return nil, wrong(&next, "a second document begins here: a file has one")
	}
	root := doc.Content[0]
	if root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, wrong(root, "this is no list of names and values such as listen: 127.0.0.1:8780")
	}
	found := map[string]fileValue{}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		at := slices.IndexFunc(settings, func(s Setting) bool { return s.Name == key.Value })
		switch {
		case at < 0 || key.Kind != yaml.ScalarNode:
			var names []string
			for j := range settings {
				names = append(names, settings[j].Name)
			}
			if near := ask.Nearest(key.Value, names); near != "" {
				return nil, wrong(key, "unknown setting %q, did you mean %s?", ask.Clip(key.Value), near)
			}
			return nil, wrong(key, "unknown setting %q; robots config print lists them", ask.Clip(key.Value))
		case settings[at].Secret:
			return nil, wrong(key, "%s does not belong into this file: set %s, or name a file in %s-file", key.Value, settings[at].Env(), key.Value)
		}
		if before, twice := found[key.Value]; twice {
			return nil, wrong(key, "%s is there twice, first in line %d", key.Value, before.line)
		}
		v := fileValue{line: key.Line}
		nodes := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode && settings[at].List() {
			nodes = value.Content
		}
		for _, n := range nodes {
			if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
				return nil, wrong(n, "%s has no plain value", key.Value)
			}
			v.texts = append(v.texts, n.Value)
		}
		found[key.Value] = v
	}
	return found, nil
}
