package lsp

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
)

// tested returns the robots.txt files that the assertions in a document are about: the one that it names, in its own folder,
// open or on the disk, else all open ones.
func (s *server) tested(t *document) (list []*document) {
	if t.suite.Inline != nil {
		return nil
	}
	for _, d := range s.documents {
		if d.holdsTests() {
			continue
		}
		if fileName(d.uri) == t.suite.Robots {
			t.missing = ""
			return []*document{d}
		}
		list = append(list, d)
	}
	if t.suite.Robots != "" && !ask.NamesSite(t.suite.Robots) && filepath.IsAbs(t.suite.Robots) {
		return t.readTested()
	}
	slices.SortFunc(list, func(a, b *document) int { return cmp.Compare(a.uri, b.uri) })
	return list
}

// readTested reads the robots.txt that a file of assertions names, once for each of its versions.
func (d *document) readTested() []*document {
	if d.onDisk == nil && d.missing == "" {
		text, err := os.ReadFile(d.suite.Robots)
		if err != nil {
			d.missing = fmt.Sprintf("cannot read robots: %v", screen.Cause(err))
			return nil
		}
		d.onDisk = newDocument(textDocument{URI: (&url.URL{Scheme: "file", Path: filepath.ToSlash(d.suite.Robots)}).String(), Text: string(text)})
	}
	if d.onDisk == nil {
		return nil
	}
	return []*document{d.onDisk}
}

// hoverURL explains the verdicts on the URL at a position in a file of assertions, nil without one.
func (s *server) hoverURL(t *document, at position) any {
	test, a := t.urlAt(at)
	if a == nil {
		return nil
	}
	var parts []string
	if t.suite.Inline != nil {
		parts = explain(t.suite.Inline, test, a, "")
	}
	files := s.tested(t)
	for _, d := range files {
		title := ""
		if len(files) > 1 {
			title = " in " + code(d.uri)
		}
		parts = append(parts, explain(d.file, test, a, title)...)
	}
	if len(parts) == 0 {
		return nil
	}
	return hover{markup{"markdown", strings.Join(parts, "\n\n")}, t.rangeOf(t.urlSpan(a))}
}

// explain returns a paragraph for each verdict on the URL of an assertion.
func explain(f *robots.File, test *answer.Test, a *answer.Assertion, title string) (parts []string) {
	for i := range test.Crawlers {
		c := &test.Crawlers[i]
		p, err := answer.Path(c.Dialect, a.URL)
		if err != nil {
			continue
		}
		rules := f.Rules(c.Dialect, c.Tokens...)
		e := answer.Explain(rules, c, p, a.URL, test.Agents, answer.ExplainLimits{})
		text := fmt.Sprintf("**%s** for %s (%s)%s: %s", e.Verdict, code(strings.Join(test.Agents, ", ")), e.Dialect, title, code(e.Summary))
		if sentence := c.FallbackSentence(rules); sentence != "" {
			text += "; " + sentence
		}
		for _, n := range e.Notes[:e.Near] {
			text += fmt.Sprintf("\n- line %d: %s", n.Line, code(n.Text))
		}
		parts = append(parts, text)
	}
	return parts
}

// urlAt returns the assertion whose URL begins last before a position in its line, or is the
// first of the line, nil if the line has no URL.
func (d *document) urlAt(at position) (test *answer.Test, found *answer.Assertion) {
	offset := d.offset(at)
	first := 0 // where the URL of found begins
	for _, t := range d.suite.Tests {
		for _, a := range t.Assertions {
			if a.URL == "" || a.URLLine != at.Line+1 {
				continue
			}
			start := d.urlSpan(a).Start
			if found == nil || start <= offset && start > first || start < first && first > offset {
				test = t
				found = a
				first = start
			}
		}
	}
	return test, found
}

// urlSpan returns where the URL of an assertion is written, up to the end of the line if it has
// escapes there.
func (d *document) urlSpan(a *answer.Assertion) robots.Span {
	span := d.line(a.URLLine).Span
	for range a.URLColumn - 1 {
		_, size := utf8.DecodeRuneInString(d.text[span.Start:span.End])
		span.Start += size
	}
	if i := strings.Index(d.text[span.Start:span.End], a.URL); i >= 0 {
		span.Start += i
		span.End = span.Start + len(a.URL)
	}
	return span
}

// code writes text as code in Markdown.
func code(s string) string {
	fence := "`"
	pad := ""
	for strings.Contains(s, fence) {
		fence += "`"
		pad = " "
	}
	return fence + pad + s + pad + fence
}

// definitionOfTest returns, for a line of a test, the group of its crawler in every open
// robots.txt that it is about.
func (s *server) definitionOfTest(t *document, line int) (list []location) {
	var in *answer.Test
	for _, test := range t.suite.Tests {
		if test.Line <= line {
			in = test
		}
	}
	if in == nil {
		return nil
	}
	for _, d := range s.tested(t) {
		var lines []int
		for _, c := range in.Crawlers {
			lines = append(lines, d.file.Rules(c.Dialect, c.Tokens...).Group().Lines()...)
		}
		slices.Sort(lines)
		list = append(list, d.userAgentLines(slices.Compact(lines))...)
	}
	return list
}
