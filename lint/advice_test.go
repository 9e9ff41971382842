package lint

import (
	"strings"
	"testing"

	"github.com/robotskit/robots"
)

// TestAdvice: in every dialect that a finding names, a file that follows its advice blocks the URLs
// that the advice is for, and no other.
func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		id, rule, advice, advised, blocked, allowed string // advised can be several rules with spaces between them
	}{
		{"RT102", "/caf\xE9", "%E9", "/caf%E9", "/caf%E9", "/caf"},
		{"RT207", "/a#b", "%23", "/a%23b", "/a%23b", "/a"},
		{"RT401", "a/", "/a/", "/a/", "/a/b", "/b"},
		{"RT402", "https://x.example/a", "/a", "/a", "/a", "/b"},
		{"RT402", "www.example.com/a", "/a", "/a", "/a", "/b"},
		{"RT403", "/a$b", "keep it for a literal $", "/a$b", "/a$b", "/a"},
		{"RT403", "/a$b", "for the end of the URL write /a$", "/a$", "/a", "/ab"},
		{"RT403", "/*.pdf$/", "write /*.pdf$", "/*.pdf$", "/x.pdf", "/x.pdf/y"},
		{"RT405", "/a*$", "write /a", "/a", "/ab", "/b"},
		{"RT407", "/100%", "%25", "/100%25", "/100%25", "/100"},
		{"RT408", "/%7Ea", "/~a", "/~a", "/~a", "/a"},
		{"RT409", "/a b", "/a%20b", "/a%20b", "/a%20b", "/a"},
		{"RT410", "/a|b", "/a%7Cb", "/a|b /a%7Cb", "/a%7Cb /a|b", "/a"},
		{"RT411", "/.*\\.php", "write *", "/*.php", "/x.php", "/x"},
		{"RT412", "/a/../b", "resolved path", "/b", "/b", "/a"},
		{"RT209", "\"/a\"", "write /a", "/a", "/a", "/b"},
		{"RT210", "/a /b", "a line for each", "/a /b", "/a /b", "/c"},
		{"RT211", "/a // x", "# instead of //", "/a", "/a", "/b"},
		{"RT510", "/wp-includes/", "allow the scripts and styles", "/wp-includes/ /wp-includes/*.js! /wp-includes/*.css!", "/wp-includes/x.php", "/wp-includes/js/jquery/jquery.min.js"},
	} {
		var d *Diagnostic
		for _, f := range File(robots.Parse([]byte("User-agent: *\nDisallow: "+c.rule+"\n")), Options{}).Diagnostics {
			if f.Check.ID == c.id {
				d = &f
			}
		}
		if d == nil || !strings.Contains(d.Advice, c.advice) {
			t.Errorf("%s: %q has the finding %+v, want the advice %q", c.id, c.rule, d, c.advice)
			continue
		}
		body := "User-agent: *\n"
		for rule := range strings.FieldsSeq(c.advised) {
			field := "Disallow"
			if path, ok := strings.CutSuffix(rule, "!"); ok {
				field, rule = "Allow", path
			}
			body += field + ": " + rule + "\n"
		}
		for _, name := range d.Dialects {
			dialect, _ := robots.DialectByName(name)
			r := robots.Parse([]byte(body)).Rules(dialect, "googlebot")
			for i, list := range []string{c.blocked, c.allowed} {
				for path := range strings.FieldsSeq(list) {
					if r.Allowed(robots.RawPath("https://example.com"+path)) != (i == 1) {
						t.Errorf("%s: with the advice for %q, %s has another verdict in %s", c.id, c.rule, path, name)
					}
				}
			}
		}
	}
}
