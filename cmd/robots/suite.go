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
	file     string // as messages name it
	robots   string // file or site under test
	text     *string
	site     robots.Origin // of URLs, zero if none is named
	dialects []robots.Dialect
	auto     bool // each test is in the dialect of its crawler
	tests    []suiteTest
	mistakes []error

	source source
}

// A suiteTest has assertions for one crawler.
type suiteTest struct {
	name     string
	agents   []string
	dialects []robots.Dialect
	asserts  []assertion
}

// An assertion is about a URL, about all URLs of a pattern, or about the crawl delay.
type assertion struct {
	line    int // in the file
	kind    assertionKind
	subject string // URL or pattern
	allowed bool
	rule    wantedRule
	delay   *float64 // nil: none
}

type assertionKind uint8

const (
	aboutURL assertionKind = iota
	aboutEvery
	aboutDelay
)

// A wantedRule is the rule that must decide; the zero value is any.
type wantedRule struct {
	line            int
	directive, path string
	written         string
}

// suiteFile is the YAML of a suite.
type suiteFile struct {
	Version int
	Robots  yamlText
	Text    *string
	Site    yamlText
	Dialect yamlList[yamlText]
	Tests   []suiteEntry
}

var suiteKeys = []string{"version", "robots", "text", "site", "dialect", "tests", "name", "agent", "allow", "disallow", "crawl_delay"}

type suiteEntry struct {
	Name     string
	Agent    yamlList[yamlText]
	Allow    yamlList[suiteAssertion]
	Disallow yamlList[suiteAssertion]
	Delay    yaml.Node `yaml:"crawl_delay"`
}

// A suiteAssertion is a URL, or a mapping with more.
type suiteAssertion struct {
	at               int
	URL, Every, Rule string
	Line             *int
}

func (a *suiteAssertion) UnmarshalYAML(n *yaml.Node) error {
	a.at = n.Line
	if n.Kind != yaml.MappingNode {
		return n.Decode(&a.URL)
	}
	known := []string{"url", "every", "line", "rule"}
	for i := 0; i < len(n.Content); i += 2 { // Decode of a node does not check keys
		if key := n.Content[i]; !slices.Contains(known, key.Value) {
			return yamlError(key, "%s", unknownKey(key.Value, known))
		}
	}
	type plain suiteAssertion // without this method
	return n.Decode((*plain)(a))
}

// readSuite reads a file of assertions.
func (t *tester) readSuite(name string) *suite {
	body, title, err := t.readNamed(name)
	if err != nil {
		return &suite{mistakes: []error{err}}
	}
	folder := "."
	if name != "-" {
		folder = filepath.Dir(name)
	}
	return parseSuite(title, folder, body)
}

// parseSuite reads assertions; relative names in them are relative to folder.
func parseSuite(title, folder string, body []byte) *suite {
	s := &suite{file: title}
	var file suiteFile
	if s.mistakes = readYAML(title, body, &file, suiteKeys...); len(s.mistakes) > 0 {
		return s
	}
	if file.Version != 1 {
		s.wrong(1, "unsupported version %d; write version: 1", file.Version)
	}
	s.subject(&file, folder)
	for _, d := range file.Dialect {
		s.addDialect(d)
	}
	if len(s.dialects) == 0 { // none or auto; for the checks below
		s.dialects, s.auto = []robots.Dialect{robots.RFC9309}, true
	}
	if len(file.Tests) == 0 {
		s.wrong(1, "no tests")
	}
	for i := range file.Tests {
		s.test(&file.Tests[i], i+1)
	}
	return s
}

func (s *suite) wrong(line int, format string, args ...any) {
	s.mistakes = append(s.mistakes, fmt.Errorf("%s:%d: %w", s.file, line, fmt.Errorf(format, args...)))
}

// subject sets what is under test.
func (s *suite) subject(file *suiteFile, folder string) {
	var err error
	if file.Site.value != "" {
		if s.site, err = siteOf(file.Site.value); err != nil {
			s.wrong(file.Site.line, "site: %w", err)
		}
	}
	name, line := file.Robots.value, file.Robots.line
	switch {
	case name != "" && file.Text != nil:
		s.wrong(line, "both robots and text; remove one")
	case file.Text != nil:
		s.text = file.Text
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
		s.robots = name
	case name != "" && !filepath.IsAbs(name):
		s.robots = filepath.Join(folder, name)
	case name != "":
		s.robots = name
	case !s.site.IsZero():
		s.robots = s.site.RobotsURL()
	case file.Site.value == "":
		s.wrong(1, "no robots; name a file or a site, or write the lines below text: |")
	}
}

func (s *suite) addDialect(name yamlText) {
	switch name.value {
	case allDialects:
		s.dialects = append(s.dialects, robots.Dialects()...)
		return
	case ask.AutoDialect:
		return
	}
	d, err := dialectByName(name.value)
	switch {
	case err != nil:
		s.wrong(name.line, "%w", err)
	case slices.ContainsFunc(s.dialects, func(o robots.Dialect) bool { return o.Name == d.Name }):
		s.wrong(name.line, "dialect %s is listed twice", d.Name)
	default:
		s.dialects = append(s.dialects, d)
	}
}

func (s *suite) test(e *suiteEntry, number int) {
	t := suiteTest{name: "test " + strconv.Itoa(number)}
	if e.Name != "" {
		t.name = e.Name
	}
	for _, a := range e.Agent {
		if ask.Listed(a.value) != nil && slices.ContainsFunc(s.dialects, func(d robots.Dialect) bool { return !d.RawTokens }) {
			s.wrong(a.line, "agent %q is a list; write one name per entry, most specific first", clip(a.value))
		}
		t.agents = append(t.agents, a.value)
	}
	if len(t.agents) == 0 {
		t.agents = []string{anyCrawler}
	}
	if t.dialects = s.dialects; s.auto {
		own, _ := ask.DialectFor(ask.AutoDialect, t.agents...) // never an error
		t.dialects = []robots.Dialect{own}
	}
	for i := range e.Allow {
		s.assert(&t, &e.Allow[i], true)
	}
	for i := range e.Disallow {
		s.assert(&t, &e.Disallow[i], false)
	}
	if n := &e.Delay; !n.IsZero() {
		a := assertion{line: n.Line, kind: aboutDelay}
		if err := n.Decode(&a.delay); err != nil || n.ShortTag() == "!!str" || a.delay != nil && !(*a.delay >= 0 && *a.delay <= math.MaxFloat64) {
			s.wrong(n.Line, "invalid crawl_delay %q; write seconds, or null for none", clip(n.Value))
		}
		t.asserts = append(t.asserts, a)
	}
	if len(t.asserts) == 0 && len(s.mistakes) == 0 {
		s.wrong(1, "%s: no assertion; write allow, disallow or crawl_delay", t.name)
	}
	s.tests = append(s.tests, t)
}

func (s *suite) assert(t *suiteTest, f *suiteAssertion, allowed bool) {
	a := assertion{line: max(f.at, 1), subject: f.URL, allowed: allowed}
	err := s.check(&a, f)
	if err != nil {
		s.wrong(a.line, "%w", err)
	}
	t.asserts = append(t.asserts, a)
}

// check completes an assertion, and returns what is wrong with it.
func (s *suite) check(a *assertion, f *suiteAssertion) error {
	switch {
	case (f.URL == "") == (f.Every == ""):
		return errors.New("assertion without a subject; write a URL, or every with a pattern, not both")
	case f.Every != "" && (f.Line != nil || f.Rule != ""):
		return fmt.Errorf("every %q: several rules can decide; remove line and rule", clip(f.Every))
	case f.Every != "":
		a.kind, a.subject = aboutEvery, f.Every
		return s.checkPattern(f.Every)
	}
	if f.Line != nil {
		if a.rule.line = *f.Line; a.rule.line < 1 {
			return fmt.Errorf("invalid line %d", a.rule.line)
		}
	}
	if f.Rule != "" {
		directive, path, colon := strings.Cut(f.Rule, ":")
		a.rule.written = f.Rule
		a.rule.directive, a.rule.path = strings.ToLower(strings.TrimSpace(directive)), strings.TrimSpace(path)
		if !colon || a.rule.directive != "allow" && a.rule.directive != "disallow" {
			return fmt.Errorf("invalid rule %q; write Allow: /path or Disallow: /path", clip(f.Rule))
		}
	}
	return s.checkURL(f.URL)
}

// checkURL checks a URL, and that it belongs to the site under test.
func (s *suite) checkURL(text string) error {
	for _, d := range s.dialects {
		if _, _, err := split(d, text, false); err != nil {
			return err
		}
	}
	if strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") || s.site.IsZero() {
		return nil
	}
	full := text
	if strings.HasPrefix(text, "//") {
		full = s.site.Scheme() + ":" + text
	}
	origin, _, err := robots.ParseURL(full)
	if err == nil && origin != s.site {
		err = fmt.Errorf("URL %q: not on %s", clip(text), s.site)
	}
	return err
}

// checkPattern checks the pattern of an assertion about every URL.
func (s *suite) checkPattern(text string) error {
	if text[0] != '/' && text[0] != '*' {
		return fmt.Errorf("pattern %q: matches no URL; begin it with / or *", clip(text))
	}
	for _, d := range s.dialects {
		if _, err := compare.Every(robots.Parse(nil).Rules(d), text, true, compare.Options{Steps: 1}); err != nil {
			return fmt.Errorf("pattern %s", strings.TrimPrefix(err.Error(), "compare: "))
		}
	}
	return nil
}
