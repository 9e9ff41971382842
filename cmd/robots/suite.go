package main

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
	"go.yaml.in/yaml/v3"
)

// This file reads files of assertions for the verb test. They are read strictly: an
// assertion with a slip in its name would otherwise pass without being asked.

// A suite is one file of assertions.
type suite struct {
	file     string // as messages name it
	robots   string // the name of the file or the URL of the site that is asked about
	text     *string
	site     robots.Origin // of URLs, zero if none is named
	dialects []robots.Dialect
	tests    []suiteTest

	source source
}

// A suiteTest is what is asserted for one crawler.
type suiteTest struct {
	name    string
	agents  []string
	asserts []assertion
}

// An assertion is about a URL, about all URLs of a pattern or about the delay.
type assertion struct {
	line    int // in the file of assertions
	kind    assertionKind
	subject string // the URL or the pattern
	allowed bool
	rule    *wantedRule // that decides, nil for any
	delay   *float64    // nil: none
}

type assertionKind uint8

const (
	aboutURL assertionKind = iota
	aboutEvery
	aboutDelay
)

// A wantedRule is the rule that is to decide.
type wantedRule struct {
	line            int // 0 for any
	directive, path string
	written         string // "" for any
}

// A suiteReader reads one file of assertions.
type suiteReader struct {
	suite
	yamlReader
	folder string
}

// readSuite reads a file of assertions.
func (c *call) readSuite(name string) (*suite, []error) {
	body, title, err := c.readNamed(name)
	if err != nil {
		return nil, []error{err}
	}
	folder := "."
	if name != "-" {
		folder = filepath.Dir(name)
	}
	r := parseSuite(title, folder, body)
	return &r.suite, r.mistakes
}

// parseSuite reads what a file holds that messages call so, in a folder.
func parseSuite(title, folder string, body []byte) *suiteReader {
	r := &suiteReader{suite: suite{file: title}, yamlReader: yamlReader{name: title}, folder: folder}
	switch doc := r.document(body); {
	case len(r.mistakes) > 0:
	case doc == nil:
		r.wrong(&yaml.Node{Line: 1, Column: 1}, "the file is empty: it needs version, robots and tests")
	default:
		if r.plain(doc); len(r.mistakes) == 0 {
			r.top(doc)
		}
	}
	return r
}

func (r *suiteReader) top(n *yaml.Node) {
	m := r.members(n, "the file", "version", "robots", "text", "site", "dialect", "tests")
	if m == nil {
		return
	}
	if v := m["version"]; v == nil {
		r.wrong(n, "version is missing: write version: 1")
	} else if v.Kind != yaml.ScalarNode || v.ShortTag() != "!!int" || v.Value != "1" {
		r.wrong(v, "version is not 1, the only one there is")
	}
	r.whose(n, m)
	r.dialects = []robots.Dialect{robots.RFC9309}
	if v := m["dialect"]; v != nil {
		r.dialects = nil
		r.each(v, "dialects", func(n *yaml.Node) { r.dialect(n) })
	}
	tests := m["tests"]
	switch {
	case tests == nil:
		r.wrong(n, "tests are missing: there is nothing to assert")
	case tests.Kind != yaml.SequenceNode:
		r.wrong(tests, "tests are %s, not a list", kindOf(tests))
	case len(tests.Content) == 0:
		r.wrong(tests, "the list of tests is empty: there is nothing to assert")
	default:
		for i, t := range tests.Content {
			r.test(t, i+1)
		}
	}
}

// whose reads what is tested.
func (r *suiteReader) whose(n *yaml.Node, m map[string]*yaml.Node) {
	var ok bool
	if v := m["site"]; v != nil {
		if text, ok := r.str(v, "site"); ok {
			origin, err := siteOf(text)
			if err != nil {
				r.wrong(v, "site: %v", err)
			}
			r.site = origin
		}
	}
	switch file, text := m["robots"], m["text"]; {
	case file != nil && text != nil:
		r.wrong(text, "robots and text both say what is tested: leave one out")
	case text != nil && (text.Kind != yaml.ScalarNode || text.ShortTag() != "!!str"):
		r.wrong(text, "text is %s, not text: write text: | and the lines of a robots.txt below it", kindOf(text))
	case text != nil:
		r.text = &text.Value
	case file != nil:
		if r.robots, ok = r.str(file, "robots"); !ok {
			return
		}
		switch {
		case r.robots == "-":
			r.wrong(file, "robots is not read from standard input: name a file or a site")
		case isURL(r.robots):
			origin, err := siteOf(r.robots)
			if err != nil {
				r.wrong(file, "robots: %v", err)
			} else if r.site.IsZero() {
				r.site = origin
			}
		case !filepath.IsAbs(r.robots):
			r.robots = filepath.Join(r.folder, r.robots)
		}
	case !r.site.IsZero():
		r.robots = r.site.RobotsURL()
	case m["site"] == nil:
		r.wrong(n, "robots is missing: name a file or a site, or write the lines below text: |")
	}
}

func (r *suiteReader) dialect(n *yaml.Node) {
	name, ok := r.str(n, "dialect")
	if !ok {
		return
	}
	if name == allDialects {
		r.dialects = append(r.dialects, robots.Dialects()...)
		return
	}
	d, err := dialectByName(name)
	switch {
	case err != nil:
		r.wrong(n, "%v", err)
	case slices.ContainsFunc(r.dialects, func(o robots.Dialect) bool { return o.Name == d.Name }):
		r.wrong(n, "the dialect %s stands twice", d.Name)
	default:
		r.dialects = append(r.dialects, d)
	}
}

func (r *suiteReader) test(n *yaml.Node, number int) {
	before := len(r.mistakes)
	m := r.members(n, "the test", "name", "agent", "allow", "disallow", "crawl_delay")
	if m == nil {
		return
	}
	t := suiteTest{name: "test " + strconv.Itoa(number)}
	if v := m["name"]; v != nil {
		t.name, _ = r.str(v, "name")
	}
	if v := m["agent"]; v != nil {
		r.each(v, "agents", func(n *yaml.Node) {
			if text, ok := r.str(n, "agent"); ok {
				t.agents = append(t.agents, text)
				if err := checkAgents([]string{text}, r.dialects...); err != nil {
					r.wrong(n, "agent %s is a list: write one name an entry, most wanted first", strconv.Quote(clip(text)))
				}
			}
		})
	}
	if len(t.agents) == 0 {
		t.agents = []string{"*"}
	}
	for _, word := range []string{"allow", "disallow"} {
		if v := m[word]; v != nil {
			r.each(v, word, func(n *yaml.Node) { r.assertion(n, &t, word == "allow") })
		}
	}
	if v := m["crawl_delay"]; v != nil {
		a := assertion{line: v.Line, kind: aboutDelay}
		switch tag := v.ShortTag(); {
		case v.Kind == yaml.ScalarNode && tag == "!!null":
		case v.Kind == yaml.ScalarNode && (tag == "!!int" || tag == "!!float"):
			var seconds float64
			if err := v.Decode(&seconds); err != nil || seconds < 0 || math.IsInf(seconds, 0) || math.IsNaN(seconds) {
				r.wrong(v, "crawl_delay %s is no number of seconds", clip(v.Value))
			}
			a.delay = &seconds
		default:
			r.wrong(v, "crawl_delay is %s, not a number of seconds, or null for none", kindOf(v))
		}
		t.asserts = append(t.asserts, a)
	}
	if m["allow"] == nil && m["disallow"] == nil && m["crawl_delay"] == nil && len(r.mistakes) == before {
		r.wrong(n, "the test asserts nothing: it needs allow, disallow or crawl_delay")
	}
	r.tests = append(r.tests, t)
}

func (r *suiteReader) assertion(n *yaml.Node, t *suiteTest, allowed bool) {
	a := assertion{line: n.Line, allowed: allowed}
	if n.Kind != yaml.MappingNode {
		text, ok := r.str(n, "the URL")
		if ok && r.url(n, text) {
			a.subject = text
			t.asserts = append(t.asserts, a)
		}
		return
	}
	m := r.members(n, "the assertion", "url", "every", "line", "rule")
	url, every := m["url"], m["every"]
	switch {
	case url != nil && every != nil:
		r.wrong(every, "url and every stand together: write two assertions")
		return
	case url == nil && every == nil:
		r.wrong(n, "the assertion names no url and no pattern with every")
		return
	case every != nil && (m["line"] != nil || m["rule"] != nil):
		r.wrong(n, "every is about many URLs, which many rules may decide: leave line and rule out")
		return
	case every != nil:
		text, ok := r.str(every, "every")
		if !ok || !r.pattern(every, text) {
			return
		}
		a.kind, a.subject = aboutEvery, text
	default:
		text, ok := r.str(url, "url")
		if !ok || !r.url(url, text) {
			return
		}
		a.subject = text
	}
	if m["line"] != nil || m["rule"] != nil {
		a.rule = &wantedRule{}
	}
	if v := m["line"]; v != nil {
		line, err := strconv.Atoi(v.Value)
		if v.Kind != yaml.ScalarNode || v.ShortTag() != "!!int" || err != nil || line < 1 {
			r.wrong(v, "line is not the number of a line, 1 or more")
		}
		a.rule.line = line
	}
	if v := m["rule"]; v != nil {
		if text, ok := r.str(v, "rule"); ok {
			directive, path, colon := strings.Cut(text, ":")
			a.rule.written = text
			a.rule.directive, a.rule.path = strings.ToLower(strings.TrimSpace(directive)), strings.TrimSpace(path)
			if !colon || a.rule.directive != "allow" && a.rule.directive != "disallow" {
				r.wrong(v, "rule %s is not written as Allow: /path or Disallow: /path", strconv.Quote(clip(text)))
			}
		}
	}
	t.asserts = append(t.asserts, a)
}

// url checks a URL, and that the file that is tested is that of its site.
func (r *suiteReader) url(n *yaml.Node, text string) bool {
	for _, d := range r.dialects {
		if _, _, err := split(d, text, false); err != nil {
			r.wrong(n, "%v", err)
			return false
		}
	}
	if strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") || r.site.IsZero() {
		return true
	}
	origin, _, err := robots.ParseURL(text)
	if strings.HasPrefix(text, "//") {
		origin, _, err = robots.ParseURL(r.site.Scheme() + ":" + text)
	}
	switch {
	case err != nil:
		r.wrong(n, "%v", err)
	case origin != r.site:
		r.wrong(n, "%s is no page of %s", strconv.Quote(clip(text)), r.site)
	default:
		return true
	}
	return false
}

// pattern checks what is asserted of all URLs.
func (r *suiteReader) pattern(n *yaml.Node, text string) bool {
	if text[0] != '/' && text[0] != '*' {
		r.wrong(n, "no URL matches %s: a pattern begins with / or *", strconv.Quote(clip(text)))
		return false
	}
	for _, d := range r.dialects {
		if _, err := compare.Every(robots.Parse(nil).Rules(d), text, true, compare.Options{Steps: 1}); err != nil {
			r.wrong(n, "%s", strings.TrimPrefix(err.Error(), "compare: "))
			return false
		}
	}
	return true
}
