package suite

import (
	"strings"
	"testing"

	"github.com/robotskit/robots/cmd/internal/answer"
)

// FuzzParse: a file of assertions either has mistakes, each with its position, or is complete.
// What is valid of it can be run.
func FuzzParse(f *testing.F) {
	f.Add("version: 1\ntext: |\n  User-agent: *\n  Disallow: /a\ntests:\n  - name: x\n    agent: [a, b]\n    allow: [/x, {every: \"/a*\"}]\n    disallow: {url: /a, line: 2, rule: \"Disallow: /a\"}\n    crawl_delay: null\n")
	f.Add("version: 1\nsite: https://example.com\nrobots: ../robots.txt\ndialect: all\ntests: [{crawl_delay: 1.5}]")
	f.Add("version: 1\ntext: x\ntests: [{agent: [\"\"], allow: /x}, {allow: [nonsense, {every: x}, {line: 1}, {url: }, /y]}, 7]")
	f.Add("a: &a [*a]\n---\n? [1]\n: !!binary x")
	f.Fuzz(func(t *testing.T, text string) {
		s := Parse("f.yaml", ".", []byte(text))
		for _, wrong := range s.Mistakes {
			if !strings.HasPrefix(wrong.Error(), "f.yaml:") {
				t.Errorf("%q: a mistake without its position: %v", text, wrong)
			}
		}
		if len(s.Mistakes) == 0 && (len(s.Tests) == 0 || s.Inline == nil && s.Robots == "") {
			t.Errorf("%q is read as %+v", text, s)
		}
		for _, test := range s.Tests {
			if len(s.Mistakes) == 0 && len(test.Assertions) == 0 || len(test.Agents) == 0 || len(test.Crawlers) == 0 || test.Name == "" {
				t.Errorf("%q has a test without assertion or crawler: %+v", text, test)
			}
			if s.Inline == nil {
				continue
			}
			for r, err := range answer.Run(test, s.Inline, 1000) {
				if err == nil && (r.Want == "" || r.Got == "" || r.OK && r.Reason != "") {
					t.Errorf("%q: the result is %+v", text, r)
				}
			}
		}
	})
}
