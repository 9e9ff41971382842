package lsp

import (
	"slices"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/yamlfile"
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
	var file yamlfile.File
	for _, n := range yamlfile.Entries(file.Read([]byte(d.text))["tests"]) {
		test := file.Fields(n)
		var tokens []string
		for _, agent := range yamlfile.Entries(test["agent"]) {
			tokens = append(tokens, file.Text(agent))
		}
		if len(tokens) == 0 {
			tokens = []string{"*"}
		}
		if slices.Contains(tokens, "") {
			continue
		}
		for _, url := range slices.Concat(yamlfile.Entries(test["allow"]), yamlfile.Entries(test["disallow"])) {
			if url.Kind == yaml.MappingNode {
				url = file.Fields(url)["url"] // without one it is about a pattern
			}
			if p, err := robots.ParsePath(file.Text(url)); err == nil {
				list = append(list, question{tokens, file.Text(url), p, n.Line})
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
