package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/fetch"
)

// stateMembers describes the outcome of the fetch of a robots.txt.
func stateMembers(r *fetch.Record, note string) jsonObject {
	return jsonObject{{"robots_url", r.Origin.RobotsURL()}, {"outcome", r.Outcome.String()}, {"note", note}}
}

// A jsonObject is an object of JSON with its members in order; nil is null.
type jsonObject []jsonMember

type jsonMember struct {
	name  string
	value any
}

func (m jsonObject) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("null"), nil
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for _, one := range m {
		if one.value == (absent{}) {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:", one.name)
		if err := screen.EncodeJSON(&b, one.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// absent is the value of a member that is left out.
type absent struct{}

// onlyIf returns v as the value of a member that is left out unless ok.
func onlyIf(ok bool, v any) any {
	if !ok {
		return absent{}
	}
	return v
}

// A textAnswer is an answer that is written as text too.
type textAnswer interface {
	writeText(w io.Writer, colors render.Palette)
}

// writeAnswer writes an answer as a line of JSON, or as text.
func writeAnswer(std *screen.Streams, v textAnswer, format string, colors render.Palette) {
	if format == formatJSON {
		std.EncodeAnswer(v)
		return
	}
	v.writeText(std.Out, colors)
}

// notEmpty returns nil, which is null, for a zero value.
func notEmpty[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// valueOf returns the zero value for nil.
func valueOf[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func (c *command) writeAnswer(v textAnswer) { writeAnswer(c.std, v, c.format, c.palette) }
