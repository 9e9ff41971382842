package screen

import (
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/robotskit/robots"
)

// JSON returns a writer of JSON texts, each in one Write, that escapes what robots.Printable
// replaces in other texts: characters that control a terminal, or hide or reorder text. Package
// encoding/json escapes only those below U+0020.
func JSON(w io.Writer) io.Writer { return jsonWriter{w} }

type jsonWriter struct{ w io.Writer }

func (j jsonWriter) Write(p []byte) (int, error) {
	if _, err := j.w.Write(escapeJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// escapeJSON returns a JSON text in which no character is a control besides spaces. They occur only
// in its strings.
func escapeJSON(text []byte) []byte {
	const hex = "0123456789abcdef"
	var escaped []byte
	from := 0
	for i := 0; i < len(text); {
		if text[i] < 0x7F {
			i++
			continue
		}
		u, size := utf8.DecodeRune(text[i:])
		if s := string(text[i : i+size]); robots.Printable(s) != s {
			escaped = append(escaped, text[from:i]...)
			for _, unit := range utf16.AppendRune(nil, u) {
				escaped = append(escaped, '\\', 'u', hex[unit>>12], hex[unit>>8&15], hex[unit>>4&15], hex[unit&15])
			}
			from = i + size
		}
		i += size
	}
	if from == 0 {
		return text
	}
	return append(escaped, text[from:]...)
}
