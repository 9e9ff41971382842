package main

import (
	"cmp"
	"errors"
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
	"github.com/robotskit/robots/compare"
	"go.yaml.in/yaml/v3"
)

// A suite is a file of assertions.
type suite struct {
	yamlfile.File
	robots string        // the file or site under test, unless the source is in the suite
	site   robots.Origin // of URLs, zero if none is named
	source ask.Source
	tests  []*suiteTest
}

// A suiteTest has assertions for one crawler.
type suiteTest struct {
	file     string
	name     string
	agents   []string
	crawlers []answer.Crawler // the one of the test, in each dialect
	dialects []robots.Dialect
	asserts  []*assertion
}

// An assertion is about a URL, about every URL of a pattern or, without either, about the crawl
// delay.
type assertion struct {
	test       *suiteTest
	at         int // line in the file
	url, every string
	allowed    bool
	line       int      // of the rule that must decide, 0 for any
	rule       string   // that must decide, "" for any
	delay      *float64 // nil: none

	directive, path string // of rule
}

// parseSuite reads assertions; relative names in them are relative to folder.
func parseSuite(title, folder string, body []byte) *suite {
	s := &suite{File: yamlfile.File{Name: title}}
	top := s.Read(body, "version", "robots", "text", "site", "dialect", "tests")
	if top == nil && len(s.Mistakes) > 0 {
		return s
	}
	if version := s.Text(top["version"]); version == "" {
		s.Wrong(top["version"], "no version; write version: 1")
	} else if version != "1" {
		s.Wrong(top["version"], "unsupported version %q; write version: 1", clip(version))
	}
	s.subject(top, folder)
	var dialects []robots.Dialect // none: that of each crawler
	for _, n := range yamlfile.Entries(top["dialect"]) {
		name := s.Text(n)
		d, err := ask.Dialect(name)
		switch {
		case name == ask.AutoDialect:
		case name == ask.AllDialects:
			dialects = append(dialects, robots.Dialects()...)
		case err != nil:
			s.Wrong(n, "%w", err)
		case slices.ContainsFunc(dialects, func(o robots.Dialect) bool { return o.Name == name }):
			s.Wrong(n, "dialect %s is listed twice", name)
		default:
			dialects = append(dialects, d)
		}
	}
	for i, n := range yamlfile.Entries(top["tests"]) {
		s.test(n, i+1, dialects)
	}
	if len(s.tests) == 0 {
		s.Wrong(nil, "no tests")
	}
	return s
}

// subject sets what is under test.
func (s *suite) subject(top map[string]*yaml.Node, folder string) {
	var err error
	if site := s.Text(top["site"]); site != "" {
		if s.site, err = siteOf(site); err != nil {
			s.Wrong(top["site"], "site: %w", err)
		}
	}
	n, name := top["robots"], s.Text(top["robots"])
	if text := top["text"]; !yamlfile.IsNull(text) {
		s.source.File = robots.Parse([]byte(s.Text(text)))
		if name != "" {
			s.Wrong(n, "both robots and text; remove one")
		}
		return
	}
	s.robots = name
	switch {
	case strings.Contains(name, "\n"):
		s.Wrong(n, "robots is a file or a site; write the lines of a robots.txt below text: |")
	case name == "-":
		s.Wrong(n, "robots cannot be standard input; name a file or a site")
	case isURL(name):
		origin, err := siteOf(name)
		if err != nil {
			s.Wrong(n, "robots: %w", err)
		} else if s.site.IsZero() {
			s.site = origin
		}
	case name == "" && !s.site.IsZero():
		s.robots = s.site.RobotsURL()
	case name == "" && yamlfile.IsNull(top["site"]):
		s.Wrong(nil, "no robots; name a file or a site, or write the lines below text: |")
	case name != "" && !filepath.IsAbs(name):
		s.robots = filepath.Join(folder, name)
	}
}

// test adds a test.
func (s *suite) test(n *yaml.Node, number int, dialects []robots.Dialect) {
	f := s.Fields(n, "name", "agent", "allow", "disallow", "crawl_delay")
	t := &suiteTest{file: s.Name, name: cmp.Or(s.Text(f["name"]), "test "+strconv.Itoa(number)), dialects: dialects}
	s.tests = append(s.tests, t)
	for _, n := range yamlfile.Entries(f["agent"]) {
		agent := s.Text(n)
		switch {
		case agent == "" && n.Kind == yaml.ScalarNode:
			s.Wrong(n, "empty agent")
		case ask.Listed(agent) != nil && !(len(dialects) == 1 && dialects[0].RawTokens):
			s.Wrong(n, "agent %q is a list; write one name per entry, most specific first", clip(agent))
		}
		t.agents = append(t.agents, agent)
	}
	if len(t.agents) == 0 {
		t.agents = []string{anyCrawler}
	}
	if len(dialects) == 0 {
		own := answer.Auto(t.agents[0], t.agents...)
		t.crawlers = []answer.Crawler{own}
		t.dialects = []robots.Dialect{own.Dialect}
	}
	for _, d := range dialects {
		t.crawlers = append(t.crawlers, answer.InDialect(d, t.agents[0], t.agents...))
	}
	for _, allowed := range []bool{true, false} {
		for _, n := range yamlfile.Entries(f[word(allowed)]) {
			t.asserts = append(t.asserts, s.assertion(n, t, allowed))
		}
	}
	if n := f["crawl_delay"]; n != nil {
		a := &assertion{test: t, at: n.Line}
		if !yamlfile.IsNull(n) {
			seconds, err := strconv.ParseFloat(n.Value, 64)
			if a.delay = &seconds; err != nil || n.ShortTag() == "!!str" || !(seconds >= 0 && seconds <= math.MaxFloat64) {
				s.Wrong(n, "invalid crawl_delay %q; write seconds, or null for none", clip(n.Value))
			}
		}
		t.asserts = append(t.asserts, a)
	}
	if len(t.asserts) == 0 && len(s.Mistakes) == 0 {
		s.Wrong(n, "%s: no assertion; write allow, disallow or crawl_delay", t.name)
	}
}

// assertion reads a URL, or a mapping with more.
func (s *suite) assertion(n *yaml.Node, t *suiteTest, allowed bool) *assertion {
	a, before := &assertion{test: t, at: n.Line, allowed: allowed}, len(s.Mistakes)
	if n.Kind == yaml.MappingNode {
		f := s.Fields(n, "url", "every", "line", "rule")
		a.url, a.every, a.rule = s.Text(f["url"]), s.Text(f["every"]), s.Text(f["rule"])
		if line := f["line"]; !yamlfile.IsNull(line) {
			if a.line, _ = strconv.Atoi(s.Text(line)); a.line < 1 {
				s.Wrong(line, "invalid line %s", clip(line.Value))
			}
		}
	} else {
		a.url = s.Text(n)
	}
	if len(s.Mistakes) == before {
		if err := s.check(a, t.dialects); err != nil {
			s.Wrong(n, "%w", err)
		}
	}
	return a
}

// check completes an assertion, and returns what is wrong with it.
func (s *suite) check(a *assertion, dialects []robots.Dialect) error {
	switch {
	case (a.url == "") == (a.every == ""):
		return errors.New("assertion without a subject; write a URL, or every with a pattern, not both")
	case a.every != "" && (a.line > 0 || a.rule != ""):
		return fmt.Errorf("every %q: several rules can decide; remove line and rule", clip(a.every))
	case a.every != "":
		return checkPattern(a.every, dialects)
	}
	if a.rule != "" {
		directive, path, colon := strings.Cut(a.rule, ":")
		a.directive, a.path = strings.ToLower(strings.TrimSpace(directive)), strings.TrimSpace(path)
		if !colon || a.directive != "allow" && a.directive != "disallow" {
			return fmt.Errorf("invalid rule %q; write Allow: /path or Disallow: /path", clip(a.rule))
		}
	}
	return s.checkURL(a.url, dialects)
}

// checkURL checks a URL, and that it belongs to the site under test.
func (s *suite) checkURL(text string, dialects []robots.Dialect) error {
	for _, d := range dialects {
		if _, _, err := ask.URL(d, text, false); err != nil {
			return err
		}
	}
	if strings.HasPrefix(text, "//") {
		text = s.site.Scheme() + ":" + text
	}
	if s.site.IsZero() || strings.HasPrefix(text, "/") {
		return nil
	}
	origin, _, err := robots.ParseURL(text)
	if err == nil && origin != s.site {
		err = fmt.Errorf("URL %q: not on %s", clip(text), s.site)
	}
	return err
}

// checkPattern checks the pattern of an assertion about every URL.
func checkPattern(text string, dialects []robots.Dialect) error {
	if text[0] != '/' && text[0] != '*' {
		return fmt.Errorf("pattern %q: matches no URL; begin it with / or *", clip(text))
	}
	for _, d := range dialects {
		if _, err := compare.Every(robots.Parse(nil).Rules(d), text, true, compare.Options{Steps: 1}); err != nil {
			return fmt.Errorf("pattern %s", strings.TrimPrefix(err.Error(), "compare: "))
		}
	}
	return nil
}
