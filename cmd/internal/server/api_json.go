package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/robotskit/robots/cmd/internal/ask"
)

// mostNested is how deep lists and objects of a body may lie in each other.
const mostNested = 32

// jsonFormat reads and writes bodies: what encoding/json would let through and another
// reader might take differently is an error (RFC 8259 section 4, RFC 7493).
var jsonFormat = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(v)
	},
	Unmarshal: func(data []byte, v any) error {
		if _, first := v.(*any); first { // huma reads a body twice, this is the first time
			if err := strictJSON(data); err != nil {
				return err
			}
		}
		return json.Unmarshal(data, v)
	},
}

// strictJSON returns what is wrong with a text: the end of a sentence about the body.
func strictJSON(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	// Of each object that is open the names that it has, nil for a list.
	var open []map[string]bool
	atName := false
	for tokens := 0; ; tokens++ {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF) && len(open) == 0 && tokens > 0:
			return nil
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return errors.New("is not JSON: it ends too early")
		case err != nil:
			if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
				return fmt.Errorf("is not JSON: %w at byte %d", err, syntax.Offset)
			}
			return fmt.Errorf("is not JSON: %w", err)
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if len(open) == mostNested {
				return errTooDeep
			}
			var names map[string]bool
			if token == json.Delim('{') {
				names = map[string]bool{}
			}
			open = append(open, names)
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		default:
			if atName {
				name := token.(string)
				names := open[len(open)-1]
				if names[name] {
					return fmt.Errorf("has the member %s twice", strconv.Quote(ask.Clip(name)))
				}
				names[name] = true
				atName = false
				continue
			}
		}
		atName = len(open) > 0 && open[len(open)-1] != nil
		if len(open) == 0 && d.More() {
			return fmt.Errorf("has something behind the JSON text, at byte %d", d.InputOffset())
		}
	}
}

// shallow returns what is wrong with a text that is nested too deep, or no UTF-8.
func shallow(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("is not UTF-8")
	}
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > mostNested {
				return errTooDeep
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

var errTooDeep = fmt.Errorf("has lists and objects nested deeper than %d", mostNested)
