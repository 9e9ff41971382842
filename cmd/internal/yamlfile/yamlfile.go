// Package yamlfile reads the YAML files that users write strictly, and reports mistakes with file and
// line.
package yamlfile

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

// A File collects the mistakes in a file.
type File struct {
	Name     string // as messages name it
	Mistakes []error
}

// Wrong adds a mistake at a node; nil is the file as a whole.
func (f *File) Wrong(n *yaml.Node, format string, args ...any) {
	line := 1
	if n != nil {
		line = n.Line
	}
	f.Mistakes = append(f.Mistakes, fmt.Errorf("%s:%d: %w", f.Name, line, fmt.Errorf(format, args...)))
}

// Read returns the fields of a file with one document, nil if it is empty or invalid.
func (f *File) Read(body []byte, known ...string) map[string]*yaml.Node {
	var document, second yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(body))
	err := d.Decode(&document)
	if err == nil {
		if err = d.Decode(&second); err == nil {
			f.Wrong(&second, "unexpected second document; write one document per file")
			return nil
		}
	}
	if !errors.Is(err, io.EOF) {
		position := f.Name
		text := strings.TrimPrefix(err.Error(), "yaml: ")
		if line, rest, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(line, "line ") {
			position = f.Name + ":" + line[len("line "):]
			text = rest
		}
		f.Mistakes = append(f.Mistakes, fmt.Errorf("%s: invalid YAML: %s", position, ask.Clip(text)))
		return nil
	}
	if document.IsZero() {
		return nil
	}
	resolve(&document)
	return f.Fields(document.Content[0], known...)
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

// Fields returns the values of a mapping, nil if n is not one. Repeated keys are mistakes, as are
// unknown ones if any are known: a misspelled one would be ignored silently.
func (f *File) Fields(n *yaml.Node, known ...string) map[string]*yaml.Node {
	if IsNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		f.Wrong(n, "not a mapping; write NAME: VALUE")
		return nil
	}
	values := map[string]*yaml.Node{}
	for i := 0; i < len(n.Content); i += 2 {
		switch key := n.Content[i]; {
		case known != nil && !slices.Contains(known, key.Value):
			f.Wrong(key, "unknown key %q%s", ask.Clip(key.Value), ask.Hint(key.Value, known))
		case values[key.Value] != nil:
			f.Wrong(key, "key %q is repeated", ask.Clip(key.Value))
		default:
			values[key.Value] = n.Content[i+1]
		}
	}
	return values
}

// Entries returns the entries of a list; a single value stands for a list of one.
func Entries(n *yaml.Node) []*yaml.Node {
	switch {
	case IsNull(n):
		return nil
	case n.Kind == yaml.SequenceNode:
		return n.Content
	}
	return []*yaml.Node{n}
}

// Text returns a text, number or date as it is written, "" for none.
func (f *File) Text(n *yaml.Node) string {
	if IsNull(n) {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		f.Wrong(n, "not a single value")
	}
	return n.Value // "" for a list and a mapping
}

// IsNull reports whether a value is absent or null.
func IsNull(n *yaml.Node) bool { return n == nil || n.ShortTag() == "!!null" }
