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

// fields are the fields that completion offers, with the sentence that hover shows.
var fields = []struct{ name, about string }{ // Host is only explained, as lint rejects it
	{"User-agent", "Starts a group, or adds a crawler to it. `*` is the group for all crawlers that no other group names."},
	{
		"Disallow",
		"Blocks paths that start with this value. `*` matches any characters, `$` the end of the URL. The longest matching rule decides.",
	},
	{"Allow", "Allows paths that start with this value. It wins against a Disallow of the same length."},
	{"Sitemap", "The absolute URL of a sitemap. It belongs to no group."},
	{"Crawl-delay", "Seconds between requests. Bing respects it; Google and Yandex ignore it."},
	{"Request-rate", "Documents per period, as in `1/30s 1800-1900`. Seznam respects it."},
	{"Visit-time", "The part of the day, in UTC, in which crawlers may visit, as in `0600-0845`."},
	{"Clean-param", "Query parameters that do not change the page (Yandex)."},
	{"Host", "The main host name of the site. Yandex has retired it."},
	{"Content-Signal", "How the content may be used, as in `search=yes, ai-train=no`. It changes no verdict."},
	{"Content-Usage", "How the content may be used (IETF AI Preferences). It changes no verdict."},
	{"License", "The URL of a license (RSL). It changes no verdict."},
}

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

// definition returns, for a rule, the user-agent lines of its group and, for the name of a crawler in a robots.txt or in a
// file of assertions, those of the group that applies to it.
func (s *server) definition(_ context.Context, p positionParams) ([]location, error) {
	d, line := s.at(p)
	switch {
	case d == nil:
		if t := s.documents[p.TextDocument.URI]; t != nil {
			return s.definitionOfTest(t, p.Position.Line+1), nil
		}
		return nil, nil
	case line.Field == robots.FieldUserAgent:
		return d.group(line.Names), nil
	}
	return d.locations(d.groupOf(line)), nil
}

// group returns the user-agent lines of the group that applies to a crawler.
func (d *document) group(tokens []string) []location {
	if len(tokens) == 0 {
		return nil
	}
	c := answer.Auto(tokens[0], tokens...)
	return d.userAgentLines(d.file.Rules(c.Dialect, c.Tokens...).Group().Lines())
}

// userAgentLines returns the locations of lines.
func (d *document) userAgentLines(numbers []int) []location {
	var lines []robots.Line
	for _, n := range numbers {
		lines = append(lines, d.line(n))
	}
	return d.locations(lines)
}

func (d *document) locations(lines []robots.Line) (list []location) {
	for _, l := range lines {
		list = append(list, location{d.uri, d.rangeOf(l.Span)})
	}
	return list
}

// completion offers field names at the start of a line, and the tokens of known crawlers as the value of a user-agent line.
func (s *server) completion(_ context.Context, p positionParams) ([]completionItem, error) {
	d, line := s.at(p)
	if d == nil {
		return []completionItem{}, nil
	}
	at := d.offset(p.Position)
	start := at
	if line.Number > 0 {
		start = line.Span.Start
	}
	before := d.text[start:at]
	name, value, hasColon := strings.Cut(before, ":")
	items := []completionItem{}
	switch {
	case strings.Contains(before, "#"):
	case !hasColon:
		replaced := textRange{d.position(start), p.Position}
		for _, f := range fields {
			if f.name == "Host" {
				continue
			}
			items = append(
				items,
				completionItem{
					Label: f.name, Kind: 5,
					Documentation: strings.ReplaceAll(f.about, "`", ""),
					TextEdit:      &textEdit{replaced, f.name + ": "},
				},
			)
		}
	case strings.EqualFold(strings.TrimSpace(name), "user-agent"):
		replaced := textRange{d.position(at - len(strings.TrimLeft(value, " \t"))), p.Position}
		items = append(
			items,
			completionItem{Label: "*", Kind: 12, Detail: "all crawlers that no other group names", TextEdit: &textEdit{replaced, "*"}},
		)
		for _, c := range crawlers.All() {
			if c.Status == crawlers.Used && !rejected()[c.Name] {
				items = append(
					items,
					completionItem{Label: c.Name, Kind: 12, Detail: c.Operator + ", " + string(c.Purpose), TextEdit: &textEdit{replaced, c.Name}},
				)
			}
		}
		slices.SortStableFunc(items[1:], func(a, b completionItem) int {
			return strings.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label))
		})
	}
	return items, nil
}
