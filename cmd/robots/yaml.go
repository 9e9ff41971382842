package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A yamlReader reads a file of YAML strictly, and collects its mistakes, each with its
// place.
type yamlReader struct {
	name     string // of the file, as messages have it
	mistakes []error
}

func (r *yamlReader) wrong(n *yaml.Node, format string, args ...any) {
	place := fmt.Sprintf("%s:%d:%d: ", r.name, n.Line, n.Column)
	r.mistakes = append(r.mistakes, errors.New(place+fmt.Sprintf(format, args...)))
}

// document returns what the file holds, nil if that is nothing or a mistake.
func (r *yamlReader) document(body []byte) *yaml.Node {
	d := yaml.NewDecoder(bytes.NewReader(body))
	var doc, second yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		r.syntax(err)
		return nil
	}
	switch err := d.Decode(&second); {
	case err == nil:
		r.wrong(&second, "a second document begins here: write one document a file")
		return nil
	case !errors.Is(err, io.EOF):
		r.syntax(err)
		return nil
	}
	return doc.Content[0]
}

// syntax reports what is no YAML. The library knows the line of most faults.
func (r *yamlReader) syntax(err error) {
	n, text := yaml.Node{Line: 1, Column: 1}, strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if number, what, ok := strings.Cut(rest, ": "); ok {
			if line, err := strconv.Atoi(number); err == nil {
				n.Line, text = line, what
			}
		}
	}
	r.wrong(&n, "this is no YAML: %s", clip(text))
}

// plain refuses what makes a short file long or means other things than it seems to.
func (r *yamlReader) plain(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.wrong(n, "anchors and aliases are not read: write the value itself, in quotes if it begins with * or &")
		return
	case n.Style&yaml.TaggedStyle != 0:
		r.wrong(n, "tags such as %s are not read: write the value itself", clip(n.Tag))
		return
	}
	for _, m := range n.Content {
		r.plain(m)
	}
}

// kindOf says what a node is, for messages.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!str":
		return "text"
	case "!!null":
		return "nothing"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	case "!!timestamp":
		return "a date"
	}
	return "something else"
}

// pairs calls do for each pair of a mapping, in order; of says in messages what it has.
// Names that stand twice are mistakes.
func (r *yamlReader) pairs(n *yaml.Node, what, of string, do func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.wrong(n, "%s is %s, not a mapping with %s", what, kindOf(n), of)
		return
	}
	first := map[string]int{} // lines
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch line := first[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			r.wrong(key, "the key is %s, not one of %s", kindOf(key), of)
		case line > 0:
			r.wrong(key, "the key %s stands twice, first in line %d", strconv.Quote(clip(key.Value)), line)
		default:
			do(key, n.Content[i+1])
			first[key.Value] = key.Line
		}
	}
}

// members returns the values of a mapping, nil if it is none. Names that are not known
// are mistakes.
func (r *yamlReader) members(n *yaml.Node, what string, known ...string) (values map[string]*yaml.Node) {
	if n.Kind == yaml.MappingNode {
		values = map[string]*yaml.Node{}
	}
	list := strings.Join(known, ", ")
	r.pairs(n, what, list, func(key, value *yaml.Node) {
		if slices.Contains(known, key.Value) {
			values[key.Value] = value
			return
		}
		hint := ": " + what + " has " + list
		if near := nearest(key.Value, known); near != "" {
			hint = ", did you mean " + near + "?"
		}
		r.wrong(key, "unknown key %s%s", strconv.Quote(clip(key.Value)), hint)
	})
	return values
}

// str returns a text that is not empty.
func (r *yamlReader) str(n *yaml.Node, what string) (string, bool) {
	switch {
	case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str":
		hint := ""
		if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
			hint = ": write it in quotes"
		}
		r.wrong(n, "%s is %s, not text%s", what, kindOf(n), hint)
	case n.Value == "":
		r.wrong(n, "%s is empty", what)
	default:
		return n.Value, true
	}
	return "", false
}

// each calls fn for the entries of a list, or for a value that stands alone.
func (r *yamlReader) each(n *yaml.Node, what string, fn func(*yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		fn(n)
		return
	}
	if len(n.Content) == 0 {
		r.wrong(n, "the list of %s is empty", what)
	}
	for _, m := range n.Content {
		fn(m)
	}
}
