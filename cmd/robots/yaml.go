package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/robotskit/robots/cmd/internal/ask"
	"go.yaml.in/yaml/v3"
)

// mistakes are those in a YAML file, each with its line.
type mistakes struct {
	file string // as messages name it
	list []error
}

// wrong adds a mistake at a node; nil is the file as a whole.
func (m *mistakes) wrong(n *yaml.Node, format string, args ...any) {
	line := 1
	if n != nil {
		line = n.Line
	}
	m.list = append(m.list, fmt.Errorf("%s:%d: %w", m.file, line, fmt.Errorf(format, args...)))
}

// read returns the fields of a file with one document, nil if it is empty or invalid.
func (m *mistakes) read(body []byte, known ...string) map[string]*yaml.Node {
	var document, second yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(body))
	err := d.Decode(&document)
	if err == nil {
		if err = d.Decode(&second); err == nil {
			m.wrong(&second, "unexpected second document; write one document per file")
			return nil
		}
	}
	if !errors.Is(err, io.EOF) {
		at, text := yaml.Node{Line: 1}, strings.TrimPrefix(err.Error(), "yaml: ")
		if _, failed := fmt.Sscanf(text, "line %d:", &at.Line); failed == nil {
			_, text, _ = strings.Cut(text, ": ")
		}
		m.wrong(&at, "invalid YAML: %s", clip(text))
		return nil
	}
	if document.IsZero() {
		return nil
	}
	resolve(&document)
	return m.fields(document.Content[0], known...)
}

// resolve replaces the aliases below a node with the values they stand for.
func resolve(n *yaml.Node) {
	for i, value := range n.Content {
		if value.Kind == yaml.AliasNode {
			n.Content[i] = value.Alias
		} else {
			resolve(value)
		}
	}
}

// fields returns the values of a mapping, nil if n is none. Repeated keys are mistakes, as are
// unknown ones if any are known: a misspelled one would be ignored silently.
func (m *mistakes) fields(n *yaml.Node, known ...string) map[string]*yaml.Node {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		m.wrong(n, "not a mapping")
		return nil
	}
	values := map[string]*yaml.Node{}
	for i := 0; i < len(n.Content); i += 2 {
		switch key := n.Content[i]; {
		case known != nil && !slices.Contains(known, key.Value):
			m.wrong(key, "unknown key %q%s", clip(key.Value), ask.Hint(key.Value, known))
		case values[key.Value] != nil:
			m.wrong(key, "key %q is repeated", clip(key.Value))
		default:
			values[key.Value] = n.Content[i+1]
		}
	}
	return values
}

// entries returns the entries of a list; a single value stands for a list of one.
func entries(n *yaml.Node) []*yaml.Node {
	switch {
	case isNull(n):
		return nil
	case n.Kind == yaml.SequenceNode:
		return n.Content
	}
	return []*yaml.Node{n}
}

// text returns a text, number or date as it is written, "" for none.
func (m *mistakes) text(n *yaml.Node) string {
	if isNull(n) {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		m.wrong(n, "not a single value")
	}
	return n.Value // "" for a list and a mapping
}

// isNull reports whether a value is absent or null.
func isNull(n *yaml.Node) bool { return n == nil || n.ShortTag() == "!!null" }
