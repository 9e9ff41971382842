package lsp

import (
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf16"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/suite"
	"github.com/robotskit/robots/lint"
)

// A document is the text of an open file. It is immutable: a change of the file makes a new one.
type document struct {
	uri     string
	version int
	text    string
	file    *robots.File
	lines   []robots.Line
	suite   *suite.Suite // of a file of assertions, else nil
	missing string       // why its robots.txt is unreadable, "" if it is not needed or readable
	onDisk  *document    // its robots.txt if no open one is it, else nil

	lintOnce  sync.Once
	linted    []lint.Diagnostic // by lintOnce
	isLinted  atomic.Bool
	fixOnce   sync.Once
	fixedText string // by fixOnce
}

func newDocument(d textDocument) *document {
	f := robots.Parse([]byte(d.Text))
	made := &document{uri: d.URI, version: d.Version, text: d.Text, file: f, lines: slices.Collect(f.Lines(robots.Dialect{}))}
	if ext := strings.ToLower(path.Ext(d.URI)); ext == ".yaml" || ext == ".yml" {
		made.suite = suite.Parse(path.Base(d.URI), filepath.Dir(fileName(d.URI)), []byte(d.Text))
	}
	return made
}

// fileName returns the name of the file with a URI, or the URI of a document that is no file.
func fileName(uri string) string {
	u, err := url.Parse(uri) //nolint:forbidigo // not the URL of a site
	if err != nil || u.Scheme != "file" {
		return uri
	}
	return filepath.FromSlash(path.Clean(u.Path))
}

// concerns reports whether a document is a robots.txt or a file of assertions: clients without a language for robots.txt
// send every text file, or every YAML file.
func (t textDocument) concerns() bool {
	return t.LanguageID != "plaintext" && t.LanguageID != "yaml" || strings.Contains(strings.ToLower(path.Base(t.URI)), "robots")
}

// holdsTests reports whether the document is a file of assertions instead of a robots.txt.
func (d *document) holdsTests() bool { return d.suite != nil }

// position converts an offset in bytes. The protocol and package robots have the same line ends: CR, LF and CRLF. Characters
// are counted in UTF-16, which every client knows.
func (d *document) position(offset int) position {
	i := sort.Search(len(d.lines), func(i int) bool { return d.lines[i].Span.Start > offset })
	if i == 0 {
		return position{}
	}
	line := d.lines[i-1].Span
	if offset >= len(d.text) && line.End < len(d.text) {
		return position{i, 0} // after the end of the last line
	}
	units := 0
	for _, r := range d.text[line.Start:min(offset, line.End)] {
		units += max(utf16.RuneLen(r), 1)
	}
	return position{i - 1, units}
}

// offset converts a position. A position after the end of its line is this end.
func (d *document) offset(p position) int {
	l := d.line(p.Line + 1)
	if l.Number == 0 {
		return len(d.text)
	}
	units := 0
	for i, r := range d.text[l.Span.Start:l.Span.End] {
		if units >= p.Character {
			return l.Span.Start + i
		}
		units += max(utf16.RuneLen(r), 1)
	}
	return l.Span.End
}

func (d *document) rangeOf(s robots.Span) textRange {
	return textRange{d.position(s.Start), d.position(s.End)}
}

// line returns a line by its number, from 1, and the zero value if there is none.
func (d *document) line(number int) (l robots.Line) {
	if number > 0 && number <= len(d.lines) {
		l = d.lines[number-1]
	}
	return l
}

// groupOf returns the user-agent lines of the group that a line belongs to, nil if it belongs to none.
func (d *document) groupOf(l robots.Line) (agents []robots.Line) {
	for _, a := range d.lines {
		if l.Number > 0 && l.Group >= 0 && a.Field == robots.FieldUserAgent && a.Group == l.Group {
			agents = append(agents, a)
		}
	}
	return agents
}
