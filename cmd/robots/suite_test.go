package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestPageSuite: the tests that the web page exports pass.
func TestPageSuite(t *testing.T) {
	out, err := exec.Command("robots", "test", "../internal/server/web/testdata/copied/page.yaml").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "2 passed") {
		t.Errorf("%v: %s", err, out)
	}
}

// FuzzSuite: a file of assertions or a configuration of lint either has a mistake with its
// position, or is complete.
func FuzzSuite(f *testing.F) {
	f.Add("version: 1\ntext: |\n  User-agent: *\n  Disallow: /a\ntests:\n  - name: x\n    agent: [a, b]\n    allow: [/x, {every: \"/a*\"}]\n    disallow: {url: /a, line: 2, rule: \"Disallow: /a\"}\n    crawl_delay: null\n")
	f.Add("version: 1\nsite: https://example.com\nrobots: ../robots.txt\ndialect: all\ntests: [{crawl_delay: 1.5}]")
	f.Add("a: &a [*a]\n---\n? [1]\n: !!binary x")
	f.Add("checks: {RT504: off, no-leading-slash: loud}\ndialects: [google]\nfail-on: never\n---")
	f.Fuzz(func(t *testing.T, text string) {
		r := parseSuite("f.yaml", ".", []byte(text))
		mistakes := r.Mistakes
		if _, err := parseConfig("f.yaml", []byte(text)); err != nil {
			mistakes = append(slices.Clip(mistakes), err)
		}
		for _, wrong := range mistakes {
			if !strings.HasPrefix(wrong.Error(), "f.yaml:") {
				t.Errorf("%q: a mistake without its place: %v", text, wrong)
			}
		}
		if len(r.Mistakes) > 0 {
			return
		}
		if len(r.tests) == 0 || r.source.File == nil && r.robots == "" {
			t.Errorf("%q is read as %+v", text, r)
		}
		for _, one := range r.tests {
			if len(one.asserts) == 0 || len(one.agents) == 0 || len(one.dialects) == 0 || one.name == "" {
				t.Errorf("%q has a test without assertion: %+v", text, one)
			}
		}
	})
}
