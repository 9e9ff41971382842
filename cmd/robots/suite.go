package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/compare"
	"go.yaml.in/yaml/v3"
)

// A suite is a file of assertions.
type suite struct {
	Version int
	Robots  yamlText
	Text    *string
	Site    yamlText
	Dialect yamlList[yamlText]
	Tests   []suiteTest

	mistakes `yaml:"-"`
	robots   string        // the file or site under test, unless Text is
	site     robots.Origin // of URLs, zero if none is named
	source   ask.Source
}

// A suiteTest has assertions for one crawler.
type suiteTest struct {
	Name     string
	Agent    yamlList[yamlText]
	Allow    yamlList[assertion]
	Disallow yamlList[assertion]
	Delay    yaml.Node `yaml:"crawl_delay"`

	agents   []string
	dialects []robots.Dialect
	asserts  []*assertion
}

// An assertion is about a URL, about every URL of a pattern or, without either, about the crawl
// delay.
type assertion struct {
	URL, Every string
	Line       *int   // of the rule that must decide
	Rule       string // that must decide

	at              int // line in the file
	allowed         bool
	directive, path string   // of Rule
	delay           *float64 // nil: none
}

var suiteKeys = []string{"version", "robots", "text", "site", "dialect", "tests", "name", "agent", "allow", "disallow", "crawl_delay"}

// UnmarshalYAML reads a URL, or a mapping with more.
func (a *assertion) UnmarshalYAML(n *yaml.Node) error {
	a.at = n.Line
	if n.Kind != yaml.MappingNode {
		return n.Decode(&a.URL)
	}
	known := []string{"url", "every", "line", "rule"}
	for i := 0; i < len(n.Content); i += 2 { // KnownFields does not reach a Decode within
		if key := n.Content[i]; !slices.Contains(known, key.Value) {
			return yamlError(key, "%s", unknownKey(key.Value, known))
		}
	}
	type plain assertion // without this method
	return n.Decode((*plain)(a))
}

// parseSuite reads assertions; relative names in them are relative to folder.
func parseSuite(title, folder string, body []byte) *suite {
	s := &suite{mistakes: mistakes{file: title}}
	if s.read(body, s, suiteKeys...); len(s.list) > 0 {
		return s
	}
	if s.Version != 1 {
		s.wrong(1, "unsupported version %d; write version: 1", s.Version)
	}
	s.subject(folder)
	var dialects []robots.Dialect // none: that of each crawler
	for _, name := range s.Dialect {
		switch name.value {
		case ask.AutoDialect:
		case ask.AllDialects:
			dialects = append(dialects, robots.Dialects()...)
		default:
			dialects = s.addDialect(dialects, name)
		}
	}
	if len(s.Tests) == 0 {
		s.wrong(1, "no tests")
	}
	for i := range s.Tests {
		s.test(&s.Tests[i], i+1, dialects)
	}
	return s
}

// subject sets what is under test.
func (s *suite) subject(folder string) {
	var err error
	if s.Site.value != "" {
		if s.site, err = siteOf(s.Site.value); err != nil {
			s.wrong(s.Site.line, "site: %w", err)
		}
	}
	name, line := s.Robots.value, s.Robots.line
	s.robots = name
	switch {
	case name != "" && s.Text != nil:
		s.wrong(line, "both robots and text; remove one")
	case s.Text != nil:
	case strings.Contains(name, "\n"):
		s.wrong(line, "robots is a file or a site; write the lines of a robots.txt below text: |")
	case name == "-":
		s.wrong(line, "robots cannot be standard input; name a file or a site")
	case isURL(name):
		origin, err := siteOf(name)
		if err != nil {
			s.wrong(line, "robots: %w", err)
		} else if s.site.IsZero() {
			s.site = origin
		}
	case name == "" && !s.site.IsZero():
		s.robots = s.site.RobotsURL()
	case name == "" && s.Site.value == "":
		s.wrong(1, "no robots; name a file or a site, or write the lines below text: |")
	case name != "" && !filepath.IsAbs(name):
		s.robots = filepath.Join(folder, name)
	}
}

// test completes a test, and notes what is wrong with it.
func (s *suite) test(t *suiteTest, number int, dialects []robots.Dialect) {
	if t.Name == "" {
		t.Name = "test " + strconv.Itoa(number)
	}
	for _, a := range t.Agent {
		t.agents = append(t.agents, a.value)
	}
	if len(t.agents) == 0 {
		t.agents = []string{anyCrawler}
	}
	if t.dialects = dialects; len(dialects) == 0 {
		own, _ := ask.DialectFor(ask.AutoDialect, t.agents...) // never an error
		t.dialects = []robots.Dialect{own}
	}
	for _, a := range t.Agent {
		if ask.Listed(a.value) != nil && slices.ContainsFunc(t.dialects, func(d robots.Dialect) bool { return !d.RawTokens }) {
			s.wrong(a.line, "agent %q is a list; write one name per entry, most specific first", clip(a.value))
		}
	}
	for i, list := range [][]assertion{t.Allow, t.Disallow} {
		for k := range list {
			a := &list[k]
			a.at, a.allowed = max(a.at, 1), i == 0
			if err := s.check(a, t.dialects); err != nil {
				s.wrong(a.at, "%w", err)
			}
			t.asserts = append(t.asserts, a)
		}
	}
	if n := &t.Delay; !n.IsZero() {
		a := &assertion{at: n.Line}
		if err := n.Decode(&a.delay); err != nil || n.ShortTag() == "!!str" || a.delay != nil && !(*a.delay >= 0 && *a.delay <= math.MaxFloat64) {
			s.wrong(n.Line, "invalid crawl_delay %q; write seconds, or null for none", clip(n.Value))
		}
		t.asserts = append(t.asserts, a)
	}
	if len(t.asserts) == 0 && len(s.list) == 0 {
		s.wrong(1, "%s: no assertion; write allow, disallow or crawl_delay", t.Name)
	}
}

// check completes an assertion, and returns what is wrong with it.
func (s *suite) check(a *assertion, dialects []robots.Dialect) error {
	switch {
	case (a.URL == "") == (a.Every == ""):
		return errors.New("assertion without a subject; write a URL, or every with a pattern, not both")
	case a.Every != "" && (a.Line != nil || a.Rule != ""):
		return fmt.Errorf("every %q: several rules can decide; remove line and rule", clip(a.Every))
	case a.Every != "":
		return checkPattern(a.Every, dialects)
	case a.Line != nil && *a.Line < 1:
		return fmt.Errorf("invalid line %d", *a.Line)
	}
	if a.Rule != "" {
		directive, path, colon := strings.Cut(a.Rule, ":")
		a.directive, a.path = strings.ToLower(strings.TrimSpace(directive)), strings.TrimSpace(path)
		if !colon || a.directive != "allow" && a.directive != "disallow" {
			return fmt.Errorf("invalid rule %q; write Allow: /path or Disallow: /path", clip(a.Rule))
		}
	}
	return s.checkURL(a.URL, dialects)
}

// checkURL checks a URL, and that it belongs to the site under test.
func (s *suite) checkURL(text string, dialects []robots.Dialect) error {
	for _, d := range dialects {
		if _, _, err := ask.URL(d, text, false); err != nil {
			return err
		}
	}
	full := text
	switch {
	case s.site.IsZero():
		return nil
	case strings.HasPrefix(text, "//"):
		full = s.site.Scheme() + ":" + text
	case strings.HasPrefix(text, "/"):
		return nil
	}
	origin, _, err := robots.ParseURL(full)
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
