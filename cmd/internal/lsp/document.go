package lsp

import (
	"path"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/robotskit/robots"
)

// A document is the text of an open file. It is immutable: a change of the file makes a new one.
type document struct {
	uri     string
	version int
	text    string
	utf8    bool // the encoding of positions; UTF-16 if false
	file    *robots.File
	lines   []robots.Line
}

func newDocument(d textDocument, utf8 bool) *document {
	f := robots.Parse([]byte(d.Text))
	return &document{uri: d.URI, version: d.Version, text: d.Text, utf8: utf8, file: f, lines: slices.Collect(f.Lines(robots.Dialect{}))}
}

// concerns reports whether a document is a robots.txt or a file of assertions: clients without a language for robots.txt
// send every text file, or every YAML file.
func (t textDocument) concerns() bool {
	return t.LanguageID != "plaintext" && t.LanguageID != "yaml" || strings.Contains(path.Base(t.URI), "robots")
}

// holdsTests reports whether the document is a file of assertions instead of a robots.txt.
func (d *document) holdsTests() bool {
	ext := path.Ext(d.uri)
	return ext == ".yaml" || ext == ".yml"
}

// position converts an offset in bytes. The protocol and package robots have the same line ends: CR, LF and CRLF.
func (d *document) position(offset int) position {
	i, _ := slices.BinarySearchFunc(d.lines, offset, func(l robots.Line, offset int) int {
		if l.Span.Start <= offset {
			return -1
		}
		return 1
	})
	if i == 0 {
		return position{}
	}
	line := d.lines[i-1].Span
	if offset >= len(d.text) && line.End < len(d.text) {
		return position{i, 0} // after the end of the last line
	}
	before := d.text[line.Start:min(offset, line.End)]
	if d.utf8 {
		return position{i - 1, len(before)}
	}
	units := 0
	for _, r := range before {
		units += max(utf16.RuneLen(r), 1)
	}
	return position{i - 1, units}
}

// offset converts a position. A position after the end of its line is this end.
func (d *document) offset(p position) int {
	if p.Line < 0 || p.Line >= len(d.lines) {
		return len(d.text)
	}
	span := d.lines[p.Line].Span
	if d.utf8 {
		return min(span.Start+max(p.Character, 0), span.End)
	}
	at := span.Start
	for units := 0; at < span.End && units < p.Character; {
		r, size := utf8.DecodeRuneInString(d.text[at:span.End])
		units += max(utf16.RuneLen(r), 1)
		at += size
	}
	return at
}

func (d *document) rangeOf(s robots.Span) textRange {
	return textRange{d.position(s.Start), d.position(s.End)}
}

// line returns a line by its number, from 1, and whether it exists.
func (d *document) line(number int) (robots.Line, bool) {
	if number < 1 || number > len(d.lines) {
		return robots.Line{}, false
	}
	return d.lines[number-1], true
}

// groupOf returns the user-agent lines of the group that a line belongs to, nil if it belongs to none.
func (d *document) groupOf(l robots.Line) (agents []robots.Line) {
	for _, a := range d.lines {
		if l.Group >= 0 && a.Field == robots.FieldUserAgent && a.Group == l.Group {
			agents = append(agents, a)
		}
	}
	return agents
}
