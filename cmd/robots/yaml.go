package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readYAML decodes a file with one YAML document into v and returns its mistakes, each
// with its line. Unknown and repeated keys are mistakes: a misspelled one would be ignored
// without a word. An empty file leaves v as it is.
func readYAML(name string, body []byte, v any, keys ...string) (mistakes []error) {
	d := yaml.NewDecoder(bytes.NewReader(body))
	d.KnownFields(true)
	err := d.Decode(v)
	if err == nil {
		var second yaml.Node
		if err = d.Decode(&second); err == nil {
			return []error{fmt.Errorf("%s:%d: unexpected second document; write one document per file", name, second.Line)}
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	texts := []string{strings.TrimPrefix(err.Error(), "yaml: ")}
	syntax := "invalid YAML: "
	if several, ok := errors.AsType[*yaml.TypeError](err); ok {
		texts, syntax = several.Errors, ""
	}
	for _, text := range texts {
		line := "1"
		if m := yamlLine.FindStringSubmatch(text); m != nil {
			line, text = m[1], m[2]
		}
		if m := yamlUnknown.FindStringSubmatch(text); m != nil {
			text = unknownKey(m[1], keys)
		}
		text = yamlKind.ReplaceAllStringFunc(text, func(s string) string {
			m := yamlKind.FindStringSubmatch(s)
			return "unexpected " + yamlKinds[m[1]] + m[2]
		})
		mistakes = append(mistakes, fmt.Errorf("%s:%s: %s%s", name, line, syntax, clip(text)))
	}
	return mistakes
}

// The messages of the library that have a line, an unknown key, a value of a wrong kind.
var (
	yamlLine    = regexp.MustCompile(`(?s)^line (\d+): (.*)`)
	yamlUnknown = regexp.MustCompile(`^field (.*) not found in type `)
	yamlKind    = regexp.MustCompile("^cannot unmarshal !!([a-z]+)( `.*`)? into .*")
	yamlKinds   = map[string]string{"map": "mapping", "seq": "list", "str": "text", "int": "number", "float": "number", "bool": "boolean", "timestamp": "date", "binary": "binary data", "null": "null"}
)

func unknownKey(key string, known []string) string {
	if near := nearest(key, known); near != "" {
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
