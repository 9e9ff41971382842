package lint

import (
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// maxNotes limits the notes of an explanation, as in package robots.
const maxNotes = 50

// A nearly is a reason why a rule does not match although it seems to.
type nearly struct {
	clause, why string
	dialect     robots.Dialect
	path        string
	rule        func(pattern, value string) string // the rule that would match, or ""
}

// Explain is Rules.Explain with additional notes on the crawler's rules that can never match,
// or nearly match p.
func Explain(r *robots.Rules, p robots.Path) robots.Explanation {
	e := r.Explain(p)
	if e.Verdict.Reason == robots.ReasonInvalid {
		return e
	}
	var rules []robots.Rule
	matches := map[robots.Rule]bool{}
	for _, m := range e.Matches {
		matches[m.Rule] = true
	}
	for rule := range r.All() {
		if !matches[rule] {
			rules = append(rules, rule)
		}
	}
	list := ways(r.Dialect(), e)
	way := make([]*nearly, len(rules)) // in which each would match
	for i := range list {
		for at := range list[i].matches(rules) {
			if way[at] == nil {
				way[at] = &list[i]
			}
		}
	}
	for i, rule := range rules {
		clause, why := "D-09", " can never match, because paths start with /; did you mean /"+robots.Printable(rule.Path())+"?"
		switch pattern := rule.Pattern().String(); {
		case way[i] != nil:
			clause, why = way[i].clause, way[i].why
		case pattern == "$" || pattern[0] == '/' || pattern[0] == '*':
			continue
		case strings.Contains(pattern, "://"):
			why = " can never match: use the path of the URL"
		}
		if len(e.Notes) == maxNotes {
			e.Dropped++
			continue
		}
		e.Notes = append(e.Notes, robots.Note{Line: rule.Line(), Clause: clause, Text: rule.String() + why})
	}
	slices.SortStableFunc(e.Notes, func(a, b robots.Note) int { return a.Line - b.Line })
	return e
}

// ways returns the reasons that apply in a dialect, most specific first.
func ways(d robots.Dialect, e robots.Explanation) []nearly {
	d.MaxFileBytes, d.MaxLineBytes = 0, 0
	rfc := robots.RFC9309
	rfc.MaxFileBytes = 0
	list := []nearly{
		{"RULE-04", " would match if paths were case-insensitive", d, strings.ToLower(e.Normal), func(pattern, _ string) string { return strings.ToLower(pattern) }},
		{"MATCH-03", " matches only URLs that end there", d, e.Normal, func(pattern, _ string) string {
			if text, ok := strings.CutSuffix(pattern, "$"); ok {
				return text
			}
			return ""
		}},
		{"MATCH-05", " matches only paths below that directory", d, e.Normal + "/", func(pattern, _ string) string {
			if strings.HasSuffix(pattern, "/") {
				return pattern + "$"
			}
			return ""
		}},
		{"C-15", " would match under RFC 9309's percent-encoding rules", rfc, e.Path, func(_, value string) string { return value }},
	}
	if d.Escapes == robots.EscapesRFC {
		return list[:3]
	}
	return list
}

// matches returns the indexes of the rules that match the path when changed.
func (n *nearly) matches(rules []robots.Rule) map[int]bool {
	var body strings.Builder
	body.WriteString("User-agent: *\n")
	for _, rule := range rules {
		if path := n.rule(rule.Pattern().String(), rule.Path()); path != "" {
			body.WriteString("Disallow: " + path)
		}
		body.WriteByte('\n')
	}
	_, path, err := robots.ParseURL("http://host.example" + n.path)
	if err != nil {
		return nil
	}
	found := map[int]bool{}
	for _, m := range robots.Parse([]byte(body.String())).Rules(n.dialect).Explain(path).Matches {
		found[m.Line-2] = true
	}
	return found
}
