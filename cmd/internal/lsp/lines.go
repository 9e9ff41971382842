package lsp

import (
	"context"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/crawlers"
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
