package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"go.yaml.in/yaml/v3"
)

// mistakes are those in a YAML file, each with its line.
type mistakes struct {
	file string // as messages name it
	list []error
}

func (m *mistakes) wrong(line int, format string, args ...any) {
	m.list = append(m.list, fmt.Errorf("%s:%d: %w", m.file, line, fmt.Errorf(format, args...)))
}

// read decodes a file with one document into v. Unknown and repeated keys are mistakes: a
// misspelled one would be ignored silently. An empty file leaves v as it is.
func (m *mistakes) read(body []byte, v any, keys ...string) {
	d := yaml.NewDecoder(bytes.NewReader(body))
	d.KnownFields(true)
	err := d.Decode(v)
	if err == nil {
		var second yaml.Node
		if err = d.Decode(&second); err == nil {
			m.wrong(second.Line, "unexpected second document; write one document per file")
			return
		}
	}
	if errors.Is(err, io.EOF) {
		return
	}
	texts, syntax := []string{strings.TrimPrefix(err.Error(), "yaml: ")}, "invalid YAML: "
	if several, ok := errors.AsType[*yaml.TypeError](err); ok {
		texts, syntax = several.Errors, ""
	}
	for _, text := range texts {
		line := 1
		if m := yamlLine.FindStringSubmatch(text); m != nil {
			line, _ = strconv.Atoi(m[1])
			text = m[2]
		}
		if m := yamlUnknown.FindStringSubmatch(text); m != nil {
			text = unknownKey(m[1], keys)
		}
		if m := yamlKind.FindStringSubmatch(text); m != nil {
			text = "unexpected " + yamlKinds[m[1]] + m[2]
		}
		m.wrong(line, "%s%s", syntax, clip(text))
	}
}

// addDialect adds a dialect by its name.
func (m *mistakes) addDialect(all []robots.Dialect, name yamlText) []robots.Dialect {
	d, err := ask.Dialect(name.value)
	switch {
	case err != nil:
		m.wrong(name.line, "%w", err)
	case slices.ContainsFunc(all, func(o robots.Dialect) bool { return o.Name == d.Name }):
		m.wrong(name.line, "dialect %s is listed twice", d.Name)
	default:
		all = append(all, d)
	}
	return all
}

// The messages of the library that have a line, an unknown key, a value of a wrong kind.
var (
	yamlLine    = regexp.MustCompile(`(?s)^line (\d+): (.*)`)
	yamlUnknown = regexp.MustCompile(`^field (.*) not found in type `)
	yamlKind    = regexp.MustCompile("^cannot unmarshal !!([a-z]+)( `.*`)? into .*$")
	yamlKinds   = map[string]string{"map": "mapping", "seq": "list", "str": "text", "int": "number", "float": "number", "bool": "boolean", "timestamp": "date", "binary": "binary data", "null": "null"}
)

func unknownKey(key string, known []string) string {
	if near := ask.Nearest(key, known); near != "" {
		return fmt.Sprintf("unknown key %q (did you mean %s?)", clip(key), near)
	}
	return fmt.Sprintf("unknown key %q (known: %s)", clip(key), strings.Join(known, ", "))
}

// yamlError returns a mistake at a node, as yaml collects them.
func yamlError(n *yaml.Node, format string, args ...any) error {
	return &yaml.TypeError{Errors: []string{"line " + strconv.Itoa(n.Line) + ": " + fmt.Sprintf(format, args...)}}
}

// yamlText is a text that is not empty, with its line.
type yamlText struct {
	value string
	line  int
}

func (t *yamlText) UnmarshalYAML(n *yaml.Node) error {
	t.line = n.Line
	if err := n.Decode(&t.value); err != nil || t.value != "" {
		return err
	}
	return yamlError(n, "empty value")
}

// yamlList is a list, or a single value that stands for a list of one.
type yamlList[T any] []T

func (l *yamlList[T]) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		for _, entry := range n.Content {
			if entry.ShortTag() == "!!null" { // which Decode leaves out
				return yamlError(entry, "empty entry")
			}
		}
		return n.Decode((*[]T)(l))
	}
	*l = make([]T, 1)
	return n.Decode(&(*l)[0])
}
