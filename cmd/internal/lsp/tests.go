package lsp

import (
	"github.com/robotskit/robots"
	"go.yaml.in/yaml/v3"
)

// A question is a URL in a file of assertions.
type question struct {
	tokens []string
	url    string
	path   robots.Path
	from   int // first line of its test, from 1
}

// questions returns the URLs in a file of assertions (docs/ci.md), without invalid lines, which robots test reports.
func questions(d *document) (list []question) {
	if d == nil || !d.holdsTests() {
		return nil
	}
	var suite struct {
		Tests []yaml.Node `yaml:"tests"`
	}
	if yaml.Unmarshal([]byte(d.text), &suite) != nil {
		return nil
	}
	for i := range suite.Tests {
		var test struct {
			Agent    yaml.Node   `yaml:"agent"`
			Allow    []yaml.Node `yaml:"allow"`
			Disallow []yaml.Node `yaml:"disallow"`
		}
		if suite.Tests[i].Decode(&test) != nil {
			continue
		}
		tokens := []string{"*"}
		if test.Agent.Kind == yaml.ScalarNode {
			tokens = []string{test.Agent.Value}
		} else if !test.Agent.IsZero() && (test.Agent.Decode(&tokens) != nil || len(tokens) == 0) {
			continue
		}
		for _, n := range append(test.Allow, test.Disallow...) {
			u := n.Value
			if n.Kind == yaml.MappingNode {
				var assertion struct {
					URL string `yaml:"url"`
				}
				_ = n.Decode(&assertion) // without a URL it is about a pattern
				u = assertion.URL
			}
			if p, err := robots.ParsePath(u); err == nil {
				list = append(list, question{tokens, u, p, suite.Tests[i].Line})
			}
		}
	}
	return list
}

// definitionOfTest returns, for a line of a test, the rule that decides its URL, or the group of its crawler, in every
// open robots.txt.
func (s *server) definitionOfTest(t *document, line int) (list []location) {
	var in []question
	for _, q := range questions(t) {
		if q.from <= line {
			if len(in) > 0 && in[0].from != q.from {
				in = nil
			}
			in = append(in, q)
		}
	}
	if len(in) == 0 {
		return nil
	}
	for _, d := range s.documents {
		if !d.holdsTests() {
			list = append(list, d.group(in[0].tokens)...)
		}
	}
	return list
}
