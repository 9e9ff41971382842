package main

import (
	"io"

	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
)

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
