package batch

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// isJSON reports whether a text is JSON as encoding/json accepts it.
func isJSON(text []byte) bool {
	return jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Members calls f with the name and the JSON text of each member of an object, in order, and
// reports whether the text is an object and whether it is JSON. Encoding/json would match names
// that differ in case, and read a line of 64 MiB three times.
func Members(text []byte, f func(name string, value []byte)) (object, valid bool) {
	if !isJSON(text) {
		return false, false
	}
	return membersOf(text, f), true
}

// membersOf is Members of a text that is JSON.
func membersOf(text []byte, f func(name string, value []byte)) (object bool) {
	rest := afterSpace(text)
	if rest[0] != '{' {
		return false
	}
	for rest = afterSpace(rest[1:]); rest[0] != '}'; {
		name := rest[:sizeOf(rest)]
		rest = afterSpace(rest[len(name):])
		rest = afterSpace(rest[1:]) // a colon
		value := rest[:sizeOf(rest)]
		f(nameOf(name), value)
		rest = afterSpace(rest[len(value):])
		if rest[0] == ',' {
			rest = afterSpace(rest[1:])
		}
	}
	return true
}

// Elements calls f with the JSON text of each element of a list, and returns false for other JSON, or none.
// The text is part of one that Members has read.
func Elements(text []byte, f func(value []byte)) bool {
	rest := afterSpace(text)
	if len(rest) == 0 || rest[0] != '[' {
		return false
	}
	for rest = afterSpace(rest[1:]); rest[0] != ']'; {
		value := rest[:sizeOf(rest)]
		f(value)
		rest = afterSpace(rest[len(value):])
		if rest[0] == ',' {
			rest = afterSpace(rest[1:])
		}
	}
	return true
}

// afterSpace returns the part of JSON that begins with its next token.
func afterSpace(text []byte) []byte {
	i := 0
	for i < len(text) && text[i] <= ' ' {
		i++
	}
	return text[i:]
}

// sizeOf returns the size of the value with which a part of valid JSON begins.
func sizeOf(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			i += sizeOfString(text[i:]) - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 {
				continue
			}
			for i < len(text) && text[i] > ' ' && text[i] != ',' && text[i] != ']' && text[i] != '}' { // a number or a word
				i++
			}
			return i
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(text)
}

// sizeOfString returns the size of the string with which a part of valid JSON begins.
func sizeOfString(text []byte) int {
	for end := 1; ; end++ {
		end += bytes.IndexByte(text[end:], '"')
		before := end
		for text[before-1] == '\\' {
			before--
		}
		if (end-before)%2 == 0 {
			return end + 1
		}
	}
}

// nameOf returns the name in the JSON text of a member's name, without allocating for the known ones.
func nameOf(text []byte) string {
	for _, known := range memberNames {
		if string(text[1:len(text)-1]) == known {
			return known
		}
	}
	name, _ := decodeString(text)
	return name
}

// decodeString returns the value of a JSON text, false if it is not a string. U+FFFD replaces
// bytes that are not UTF-8.
func decodeString(text []byte) (string, bool) {
	if text[0] != '"' {
		return "", false
	}
	if inner := text[1 : len(text)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner), true
	}
	return string(decodeBytes(text)), true
}

// decodeBytes returns the bytes of a JSON string.
func decodeBytes(text []byte) []byte {
	value, _ := jsontext.AppendUnquote(make([]byte, 0, len(text)), text) // an error reports that bytes were replaced
	return value
}
