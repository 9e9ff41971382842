package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/lint"
)

// hover returns an explanation of the line at a position.
func (s *server) hover(_ context.Context, p positionParams) (any, error) {
	if t := s.documents[p.TextDocument.URI]; t != nil && t.holdsTests() {
		return s.hoverURL(t, p.Position), nil
	}
	d, line := s.at(p)
	var parts []string
	for _, f := range fields {
		if strings.EqualFold(f.name, line.Field.String()) {
			parts = append(parts, f.about)
		}
	}
	switch line.Field {
	case robots.FieldUserAgent:
		parts = append(parts, d.aboutCrawler(line)...)
	case robots.FieldAllow, robots.FieldDisallow:
		parts = append(parts, d.aboutRule(line)...)
		parts = append(parts, s.decided(d, line)...)
	}
	if len(parts) == 0 {
		parts = d.aboutUnknown(line)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	return hover{markup{"markdown", strings.Join(parts, "\n\n")}, d.rangeOf(line.Span)}, nil
}

// aboutUnknown explains a line with a misspelled or unknown field: who reads it, and which field was probably meant.
func (d *document) aboutUnknown(line robots.Line) []string {
	if line.Number == 0 {
		return nil // d is possibly nil
	}
	name, _, ok := strings.Cut(d.text[line.Span.Start:line.Span.End], ":")
	name = strings.TrimSpace(name)
	if !ok || name == "" || strings.Contains(name, "#") {
		return nil
	}
	text := code(name) + " is an unknown field, and crawlers ignore the line."
	read := robots.FieldUnknown
	var dialects []string
	for _, dialect := range robots.Dialects() {
		for l := range d.file.Lines(dialect) {
			if l.Number == line.Number && l.Field > robots.FieldUnknown {
				read = l.Field
				dialects = append(dialects, dialect.Name)
			}
		}
	}
	if dialects != nil {
		text = fmt.Sprintf("%s is an unknown field, which only %s read as %s.", code(name), strings.Join(dialects, ", "), read)
	}
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	parts := []string{text}
	if near := ask.Nearest(name, names); near != "" {
		parts[0] += " Did you mean " + near + "?"
		for _, f := range fields {
			if f.name == near {
				parts = append(parts, f.about)
			}
		}
	}
	return parts
}

// rejected names the crawlers that lint has a finding about, as some engines do not read their names: completion does not offer them.
var rejected = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, c := range crawlers.All() {
		file := robots.Parse([]byte("User-agent: " + c.Name + "\nDisallow: /x\n"))
		names[c.Name] = len(lint.File(file, lint.Options{}).Diagnostics) > 0
	}
	return names
})

// aboutCrawler describes the crawler that a user-agent line names.
func (d *document) aboutCrawler(line robots.Line) (parts []string) {
	for _, token := range line.Names {
		if c, ok := crawlers.Find(token); ok && token != "*" {
			about := fmt.Sprintf("**%s**: %s, %s.", c.Name, c.Operator, c.Purpose)
			if c.Note != "" {
				about += " " + c.Note
			}
			if c.Dialect != crawlers.Unknown {
				about += " It reads robots.txt as `" + c.Dialect + "`."
			}
			return append(parts, about)
		}
	}
	return parts
}

// aboutRule names the crawlers of a rule.
func (d *document) aboutRule(line robots.Line) []string {
	agents := d.groupOf(line)
	if agents == nil {
		return []string{"The line precedes the first User-agent line, so it applies to no crawler."}
	}
	var names []string
	for _, a := range agents {
		name := "`" + d.file.Text(a.Value) + "`"
		if name == "`*`" {
			name = "all crawlers that no other group names"
		}
		names = append(names, name)
		if len(names) == 10 {
			names = append(names, "…")
			break
		}
	}
	return []string{fmt.Sprintf("Applies to %s (line %d).", strings.Join(names, ", "), agents[0].Number)}
}

// decided lists the URLs in open files of assertions that the rule of a line decides.
func (s *server) decided(d *document, line robots.Line) []string {
	const most = 10
	var list []string
	for _, t := range s.documents {
		if !t.holdsTests() || !slices.Contains(s.tested(t), d) {
			continue
		}
		for _, test := range t.suite.Tests {
			for _, a := range test.Assertions {
				if text := d.decidedBy(line, test, a); text != "" && len(list) < most {
					list = append(list, text)
				}
			}
		}
	}
	if list == nil {
		return nil
	}
	return []string{"Decides in the open tests:\n" + strings.Join(list, "\n")}
}

// decidedBy returns the verdict on the URL of an assertion if the rule of a line decides it in
// some dialect of the test, else "".
func (d *document) decidedBy(line robots.Line, test *answer.Test, a *answer.Assertion) string {
	var verdict robots.Verdict
	var dialects []string
	for i := range test.Crawlers {
		c := &test.Crawlers[i]
		path, err := answer.Path(c.Dialect, a.URL)
		if err != nil || a.URL == "" {
			continue
		}
		if v := d.file.Rules(c.Dialect, c.Tokens...).Match(path); v.Rule.Line() == line.Number {
			verdict = v
			dialects = append(dialects, c.Dialect.Name)
		}
	}
	if dialects == nil {
		return ""
	}
	result := verdict.Word()
	if len(dialects) < len(test.Crawlers) {
		result += " in " + strings.Join(dialects, ", ")
	}
	return fmt.Sprintf("- %s for %s (%s): %s", a.URL, strings.Join(test.Agents, ", "), result, code(answer.Reason(verdict)))
}
