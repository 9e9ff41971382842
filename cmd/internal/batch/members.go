package batch

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// newDecoder returns a decoder that accepts what encoding/json accepts.
func newDecoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Members calls f with the name and the JSON text of each member of an object, in order, and
// reports whether the text is an object and whether it is JSON. Encoding/json would match names
// that differ in case, and read a line of 64 MiB three times.
func Members(text []byte, f func(name string, value []byte)) (object, valid bool) {
	d := newDecoder(text)
	if object = d.PeekKind() == '{'; !object {
		_, err := d.ReadValue()
		return false, err == nil && atEnd(d)
	}
	for _, err := d.ReadToken(); err == nil && d.PeekKind() == '"'; {
		var token jsontext.Token
		token, err = d.ReadToken()
		name := token.String() // holds until the next call
		value, failed := d.ReadValue()
		if err != nil || failed != nil {
			return true, false
		}
		f(name, value)
	}
	_, err := d.ReadToken()
	return true, err == nil && atEnd(d)
}

func atEnd(d *jsontext.Decoder) bool {
	_, err := d.ReadToken()
	return errors.Is(err, io.EOF)
}

// Elements calls f with the JSON text of each element of a list, and returns false if the
// text is not a list.
func Elements(text []byte, f func(value []byte)) bool {
	d := newDecoder(text)
	if open, err := d.ReadToken(); err != nil || open.Kind() != '[' {
		return false
	}
	for kind := d.PeekKind(); kind != ']' && kind != 0; kind = d.PeekKind() {
		value, err := d.ReadValue()
		if err != nil {
			return false
		}
		f(value)
	}
	return true
}

// decodeString returns the value of a JSON text, false if it is not a string. U+FFFD replaces
// bytes that are not UTF-8.
func decodeString(text []byte) (string, bool) {
	if text[0] != '"' {
		return "", false
	}
	value, _ := jsontext.AppendUnquote(nil, text) // an error says that bytes were replaced
	return string(value), true
}
