package lint

import (
	"strings"
	"testing"

	"github.com/robotskit/robots"
)

// TestEditedRules checks the rules that an edited file shares with the one before the edit.
func TestEditedRules(t *testing.T) {
	const header = "User-agent: Mozilla/5.0 (compatible; upday/1.0; +http://x/)\nAllow: /feed/\n\nUser-agent: upday\nCrawl-delay: 10\n"
	tests := []struct{ name, body, old, new string }{
		{"another group", "User-agent: a\nDisallow: /a\n\nUser-agent: b\nDisallow: /b\n", "/b", "/c"},
		{"a group splits", "User-agent: a\n\nUser-agent: b\nDisallow: /b\n", "a\n", "a\nDisallow: /a\n"},
		{"groups join", "User-agent: a\nDisallow: /\nUser-agent: b\nDisallow: /b\n", "Disallow: /\n", ""},
		{"another name", "User-agent: a\nDisallow: /a\n\nUser-agent: b\nDisallow: /b\n", "agent: b", "agent: a"},
		{"the group of a product of a header", header, "10\n", "10\nDisallow: /feed/\n"},
		{"a size limit", "User-agent: a\nDisallow: /a\n#" + string(make([]byte, 499_970)) + "\nUser-agent: b\nDisallow: /b\n", "/a", "/aaaa"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newPass(robots.Parse([]byte(test.body)), Options{})
			at := strings.Index(test.body, test.old)
			other := p.edited([]Edit{{at, at + len(test.old), test.new}})
			read := newPass(other.file, Options{})
			for _, v := range p.allViews {
				w := other.view(v.dialect)
				for _, token := range append(w.tokens(), "*") {
					p.rules(v, token)
					other.steps = p.steps
					if p.key(other.rules(w, token)) != p.key(read.rules(read.view(v.dialect), token)) {
						t.Errorf("%s: other rules for %q", v.dialect.Name, token)
					}
				}
			}
		})
	}
}

// TestRulesOfTokens: names in one group have the same rules, except one of several tokens: that obeys the group of the first of them that
// has one (D-03).
func TestRulesOfTokens(t *testing.T) {
	const body = "User-agent: b\nDisallow: /b\n\nUser-agent: *x*\nUser-agent: a b\nUser-agent: Mozilla/4.0 (compatible; b; Windows 95)\nDisallow: /x\n"
	p := newPass(robots.Parse([]byte(body)), Options{})
	for _, v := range p.allViews {
		for _, token := range v.tokens() {
			if p.key(p.rules(v, token)) != p.key(p.file.Rules(v.dialect, token)) {
				t.Errorf("%s: other rules for %q", v.dialect.Name, token)
			}
		}
	}
}
