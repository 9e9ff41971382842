// Package suite reads files of assertions about a robots.txt (docs/ci.md). Package answer runs them.
package suite

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/yamlfile"
	"go.yaml.in/yaml/v3"
)

// A Suite is a file of assertions.
type Suite struct {
	yamlfile.File
	Robots string       // name of the file or site under test, "" with Inline
	Inline *robots.File // the file under test if the suite contains it
	Tests  []*answer.Test

	site     robots.Origin    // of URLs, zero if none is named
	dialects []robots.Dialect // none: that of each crawler
}

// Parse reads assertions; relative names in them are relative to folder. Tests has what is valid
// of a file with mistakes.
func Parse(title, folder string, body []byte) *Suite {
	s := &Suite{File: yamlfile.File{Name: title}}
	top := s.Read(body, "version", "robots", "text", "site", "dialect", "tests")
	if top == nil && len(s.Mistakes) > 0 {
		return s
	}
	if version := s.Text(top["version"]); version == "" {
		s.Wrong(top["version"], "no version; write version: 1")
	} else if version != "1" {
		s.Wrong(top["version"], "unsupported version %q; write version: 1", ask.Clip(version))
	}
	s.readSubject(top, folder)
	for _, n := range yamlfile.Entries(top["dialect"]) {
		s.readDialect(n)
	}
	tests := yamlfile.Entries(top["tests"])
	for i, n := range tests {
		s.readTest(n, i+1)
	}
	if len(tests) == 0 {
		s.Wrong(nil, "no tests")
	}
	return s
}

// readDialect adds a dialect.
func (s *Suite) readDialect(n *yaml.Node) {
	name := s.Text(n)
	d, err := ask.Dialect(name)
	switch {
	case name == ask.AutoDialect:
	case name == ask.AllDialects:
		s.dialects = append(s.dialects, robots.Dialects()...)
	case err != nil:
		s.Wrong(n, "%w", err)
	case slices.ContainsFunc(s.dialects, func(o robots.Dialect) bool { return o.Name == name }):
		s.Wrong(n, "dialect %s is listed twice", name)
	default:
		s.dialects = append(s.dialects, d)
	}
}

// readSubject sets what is under test.
func (s *Suite) readSubject(top map[string]*yaml.Node, folder string) {
	var err error
	if site := s.Text(top["site"]); site != "" {
		if s.site, err = ask.Site(site); err != nil {
			s.Wrong(top["site"], "site: %w", err)
		}
	}
	n := top["robots"]
	name := s.Text(n)
	if text := top["text"]; !yamlfile.IsNull(text) {
		s.Inline = robots.Parse([]byte(s.Text(text)))
		if name != "" {
			s.Wrong(n, "both robots and text; remove one")
		}
		return
	}
	s.Robots = name
	switch {
	case strings.Contains(name, "\n"):
		s.Wrong(n, "robots is a file or a site; write the lines of a robots.txt below text: |")
	case name == "-":
		s.Wrong(n, "robots cannot be standard input; name a file or a site")
	case ask.NamesSite(name):
		origin, err := ask.Site(name)
		if err != nil {
			s.Wrong(n, "robots: %w", err)
		} else if s.site.IsZero() {
			s.site = origin
		}
	case name == "" && !s.site.IsZero():
		s.Robots = s.Text(top["site"]) // which can have a password
	case name == "" && yamlfile.IsNull(top["site"]):
		s.Wrong(nil, "no robots; name a file or a site, or write the lines below text: |")
	case name != "" && !filepath.IsAbs(name):
		s.Robots = filepath.Join(folder, name)
	}
}

// readTest adds a test, unless its crawler is invalid.
func (s *Suite) readTest(n *yaml.Node, number int) {
	f := s.Fields(n, "name", "agent", "allow", "disallow", "crawl_delay")
	t := &answer.Test{File: s.Name, Line: n.Line, Name: cmp.Or(s.Text(f["name"]), "test "+strconv.Itoa(number))}
	before := len(s.Mistakes)
	s.readAgents(t, yamlfile.Entries(f["agent"]))
	if len(s.Mistakes) == before {
		s.Tests = append(s.Tests, t)
	}
	dialects := t.Dialects()
	for _, n := range yamlfile.Entries(f["allow"]) {
		s.readAssertion(n, t, dialects, true)
	}
	for _, n := range yamlfile.Entries(f["disallow"]) {
		s.readAssertion(n, t, dialects, false)
	}
	if n := f["crawl_delay"]; n != nil {
		s.readDelay(n, t)
	}
	if len(t.Assertions) == 0 && len(s.Mistakes) == 0 {
		s.Wrong(n, "%s: no assertion; write allow, disallow or crawl_delay", t.Name)
	}
}

// readAgents sets the crawler of a test in each dialect.
func (s *Suite) readAgents(t *answer.Test, nodes []*yaml.Node) {
	for _, n := range nodes {
		agent := s.Text(n)
		switch {
		case agent == "" && n.Kind == yaml.ScalarNode:
			s.Wrong(n, "empty agent")
		case ask.Listed(agent) != nil && !(len(s.dialects) == 1 && s.dialects[0].RawTokens):
			s.Wrong(n, "agent %q is a list; write one name per entry, most specific first", ask.Clip(agent))
		}
		t.Agents = append(t.Agents, agent)
	}
	if len(t.Agents) == 0 {
		t.Agents = []string{answer.AnyCrawler}
	}
	if len(s.dialects) == 0 {
		t.Crawlers = []answer.Crawler{answer.Auto(t.Agents[0], t.Agents...)}
	}
	for _, d := range s.dialects {
		t.Crawlers = append(t.Crawlers, answer.InDialect(d, t.Agents[0], t.Agents...))
	}
}

// readDelay adds the assertion about the crawl delay.
func (s *Suite) readDelay(n *yaml.Node, t *answer.Test) {
	a := &answer.Assertion{Line: n.Line}
	if !yamlfile.IsNull(n) {
		seconds, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || n.ShortTag() == "!!str" || !(seconds >= 0 && seconds <= math.MaxFloat64) {
			s.Wrong(n, "invalid crawl_delay %q; write seconds, or null for none", ask.Clip(n.Value))
			return
		}
		a.Delay = &seconds
	}
	t.Assertions = append(t.Assertions, a)
}

// readAssertion adds an assertion, a URL or a mapping with more, unless it is invalid.
func (s *Suite) readAssertion(n *yaml.Node, t *answer.Test, dialects []robots.Dialect, allowed bool) {
	a := &answer.Assertion{Line: n.Line, Allowed: allowed}
	url := n
	before := len(s.Mistakes)
	if n.Kind == yaml.MappingNode {
		f := s.Fields(n, "url", "every", "line", "rule")
		url = f["url"]
		a.Every = s.Text(f["every"])
		a.Rule = s.Text(f["rule"])
		if line := f["line"]; !yamlfile.IsNull(line) {
			a.RuleLine, _ = strconv.Atoi(s.Text(line))
			if a.RuleLine < 1 {
				s.Wrong(line, "invalid line %s", ask.Clip(line.Value))
			}
		}
	}
	if url != nil {
		a.URL = s.Text(url)
		a.URLLine = url.Line
		a.URLColumn = url.Column
	}
	if len(s.Mistakes) == before {
		err := a.Validate(dialects)
		if err == nil {
			err = s.checkSite(a.URL)
		}
		if err != nil {
			s.Wrong(n, "%w", err)
		}
	}
	if len(s.Mistakes) == before {
		t.Assertions = append(t.Assertions, a)
	}
}

// checkSite checks that a URL belongs to the site under test.
func (s *Suite) checkSite(url string) error {
	if strings.HasPrefix(url, "//") {
		url = s.site.Scheme() + ":" + url
	}
	if s.site.IsZero() || url == "" || strings.HasPrefix(url, "/") {
		return nil
	}
	origin, _, err := robots.ParseURL(url)
	if err == nil && origin != s.site {
		err = fmt.Errorf("URL %q: not on %s", ask.Clip(url), s.site)
	}
	return err
}
