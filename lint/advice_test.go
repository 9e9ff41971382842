package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots"
)

// An advised is a file with a finding, and the file of somebody who did what the finding advises or, if it advises nothing,
// what the page of its check says to write instead.
type advised struct {
	id      string
	before  string
	advice  string // a part of the advice, "" if there is none
	after   string
	agent   string // "" for googlebot
	blocked string // paths that are blocked afterwards
	allowed string // paths that are allowed afterwards
}

// star returns a file with values of Disallow lines for all crawlers.
func star(values ...string) string {
	return "User-agent: *\nDisallow: " + strings.Join(values, "\nDisallow: ") + "\n"
}

// manyRules returns a file of so many rules with a common prefix.
func manyRules(n int) string {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range n {
		fmt.Fprintf(&b, "Disallow: /a/%06d\n", i)
	}
	return b.String()
}

var advisedFiles = []advised{
	{"RT101", "<!DOCTYPE html>\n<html>\n", "serve robots.txt as plain text", star("/a"), "", "/a", "/b"},
	{"RT101", "{\"Disallow\": \"/a\"}\n", "serve robots.txt as plain text", star("/a"), "", "/a", "/b"},
	{"RT102", star("/caf\xE9"), "%E9", star("/caf%E9"), "", "/caf%E9", "/caf"},
	{"RT103", "\xff\xfeU\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00:\x00*\x00\n\x00", "save it as UTF-8", star("/a"), "", "/a", "/b"},
	{"RT104", "\xef\xbb\xbf" + star("/a"), "", star("/a"), "", "/a", "/b"},
	{"RT105", "User-agent: *\n\xef\xbb\xbfDisallow: /a\n", "delete the three invisible bytes", star("/a"), "", "/a", "/b"},
	{"RT105", "\u00ef\u00bb\u00bf" + star("/a"), "delete the three characters", star("/a"), "", "/a", "/b"},
	{"RT106", star("/a\x00b"), "delete it", star("/ab"), "", "/ab", "/a"},
	{"RT107", star("/a/000001") + strings.Repeat("# a long file\n", 40_000), "merge rules with a common prefix", star("/a/"), "", "/a/000001", "/b"},
	{"RT108", star("/a" + strings.Repeat("a", 1200)), "", star("/a"), "", "/a", "/b"},
	{"RT109", manyRules(3_000), "merge rules with a common prefix", star("/a/"), "", "/a/000001", "/b"},
	{"RT110", star("/a") + "Sitemap: {{ site.url }}/sitemap.xml\n", "render the template", star("/a") + "Sitemap: https://example.com/sitemap.xml\n", "", "/a", "/b"},
	{"RT201", "User-agent: *\nDisallow /a\n", "write Disallow: /a", star("/a"), "", "/a", "/b"},
	{"RT201", "User-agent: *\nDisallow=/a\n", "write Disallow: /a", star("/a"), "", "/a", "/b"},
	{"RT202", "User-agent: *\nDisalow: /a\n", "write Disallow", star("/a"), "", "/a", "/b"},
	{"RT202", "Uesr-agent: a\nDisallow: /a\n", "write User-agent", "User-agent: a\nDisallow: /a\n", "a", "/a", "/b"},
	{"RT203", star("/a") + "Crawl-budget: 5\n", "", star("/a"), "", "/a", "/b"},
	{"RT204", star("/a") + "Noindex: /b\n", "robots meta tag", star("/a"), "", "/a", "/b"},
	{"RT204", star("/a") + "Host: a.example\n", "redirect", star("/a"), "", "/a", "/b"},
	{"RT205", star("/a") + "All rights reserved\n", "put # before it", star("/a") + "# All rights reserved\n", "", "/a", "/b"},
	{"RT206", "User-agent: a Disallow: /a\n", "start a new line before Disallow", "User-agent: a\nDisallow: /a\n", "a", "/a", "/b"},
	{"RT207", star("/a#b"), "%23", star("/a%23b"), "", "/a%23b", "/a"},
	{"RT207", star("/a#b"), "a space before a comment", star("/a #b"), "", "/a", "/b"},
	{"RT208", "User-agent: *\nDisallow:\u00a0/a\n", "retype the line", star("/a"), "", "/a", "/b"},
	{"RT209", star("\"/a\""), "write /a", star("/a"), "", "/a", "/b"},
	{"RT209", "User-agent: \"a\"\nDisallow: /a\n", "write a", "User-agent: a\nDisallow: /a\n", "a", "/a", "/b"},
	{"RT210", star("/a /b"), "a line for each", star("/a", "/b"), "", "/a /b", "/c"},
	{"RT210", star("/a, /b"), "a line for each", star("/a", "/b"), "", "/a /b", "/c"},
	{"RT211", star("/a // x"), "# instead of //", star("/a # x"), "", "/a", "/b"},
	{"RT211", star("/a ; x"), "# instead of ;", star("/a # x"), "", "/a", "/b"},
	{"RT301", "Disallow: /a\nUser-agent: *\nAllow: /\n", "move it below the User-agent line", "User-agent: *\nDisallow: /a\nAllow: /\n", "", "/a", "/b"},
	{"RT303", "User-agent: Mozilla/5.0 (compatible; SeznamBot/4.0)\nDisallow: /a\n", "write SeznamBot", "User-agent: SeznamBot\nDisallow: /a\n", "SeznamBot", "/a", "/b"},
	{"RT304", "User-agent: a, b\nDisallow: /a\n", "a User-agent line for each name", "User-agent: a\nUser-agent: b\nDisallow: /a\n", "b", "/a", "/b"},
	{"RT305", "User-agent: Google*\nDisallow: /a\n", "write Google", "User-agent: Google\nDisallow: /a\n", "google", "/a", "/b"},
	{"RT306", "User-agent:\nDisallow: /a\n", "write *", star("/a"), "", "/a", "/b"},
	{"RT306", "User-agent:\nDisallow: /a\n", "or a name", "User-agent: b\nDisallow: /a\n", "b", "/a", "/b"},
	{"RT307", "User-agent: a\nCrawl-delay: 5\n\nUser-agent: b\nDisallow: /a\n", "put a Disallow: line before it",
		"User-agent: a\nCrawl-delay: 5\n\nDisallow:\nUser-agent: b\nDisallow: /a\n", "a", "", "/a /b"},
	{"RT308", star("/a") + "\nUser-agent: b\n", "an empty Disallow:", star("/a") + "\nUser-agent: b\nDisallow:\n", "b", "", "/a /b"},
	{"RT308", "User-agent: b\nDisallow: /a\n\nUser-agent: c\nDisallow: /\n\nUser-agent: b\n", "delete this line",
		"User-agent: b\nDisallow: /a\n\nUser-agent: c\nDisallow: /\n", "b", "/a", "/b"},
	{"RT309", "User-agent: a\nDisallow: /a\n\nUser-agent: b\nDisallow: /y\n\nUser-agent: a\nDisallow: /b\n", "",
		"User-agent: a\nDisallow: /a\nDisallow: /b\n\nUser-agent: b\nDisallow: /y\n", "a", "/a /b", "/c"},
	{"RT310", "User-agent: a\nUser-agent: a\nDisallow: /a\n", "delete this line", "User-agent: a\nDisallow: /a\n", "a", "/a", "/b"},
	{"RT311", "User-agent: a\n\nDisallow: /a\n", "delete it", "User-agent: a\nDisallow: /a\n", "a", "/a", "/b"},
	{"RT312", star("/a") + "\nUser-agent: b\nCrawl-delay: 5\n", "repeat the rules of *", star("/a") + "\nUser-agent: b\nCrawl-delay: 5\nDisallow: /a\n", "b", "/a", "/b"},
	{"RT312", star("/a") + "\nUser-agent: b\nAllow: /\n", "write an empty Disallow:", star("/a") + "\nUser-agent: b\nDisallow:\n", "b", "", "/a /b"},
	{"RT401", star("a/"), "/a/", star("/a/"), "", "/a/b", "/b"},
	{"RT401", star("?q="), "/*?q=", star("/*?q="), "", "/a?q=1", "/b"},
	{"RT402", star("https://x.example/a"), "/a", star("/a"), "", "/a", "/b"},
	{"RT402", star("www.example.com/a"), "/a", star("/a"), "", "/a", "/b"},
	{"RT403", star("/a$b"), "for the end of the URL write /a$", star("/a$"), "", "/a", "/ab"},
	{"RT403", star("/*.pdf$/"), "write /*.pdf$", star("/*.pdf$"), "", "/x.pdf", "/x.pdf/y"},
	{"RT404", star("/a*"), "", star("/a"), "", "/ab", "/b"},
	{"RT405", star("/a*$"), "write /a", star("/a"), "", "/ab", "/b"},
	{"RT406", star("/a**b"), "", star("/a*b"), "", "/axb", "/a"},
	{"RT407", star("/100%"), "%25", star("/100%25"), "", "/100%25", "/100"},
	{"RT408", star("/%7Ea"), "/~a", star("/~a"), "", "/~a", "/a"},
	{"RT409", star("/a b"), "/a%20b", star("/a%20b"), "", "/a%20b", "/a"},
	{"RT411", star("/.*\\.php"), "write *", star("/*.php"), "", "/x.php", "/x"},
	{"RT412", star("/a/../b"), "resolved path", star("/b"), "", "/b", "/a"},
	{"RT501", star("/"), "", star(""), "", "", "/ /a"},
	{"RT502", star("/a/..$", "/b"), "delete the rule", star("/b"), "", "/b", "/a"},
	{"RT503", "User-agent: *\nDisallow: /css/\nAllow: /*css/\n", "delete it", "User-agent: *\nAllow: /*css/\n", "", "", "/css/ /a"},
	{"RT503", "User-agent: *\nDisallow: /css/\nAllow: /*css/\n", "make it longer than line 3", "User-agent: *\nDisallow: /css/old/\nAllow: /*css/\n", "", "/css/old/x", "/css/ /a"},
	{"RT504", star("/a", "/a/b"), "delete it", star("/a"), "", "/a /a/b", "/b"},
	{"RT505", star("/a", "/a"), "delete this line", star("/a"), "", "/a", "/b"},
	{"RT506", star("/a") + "Allow: /a\n", "delete one of them", star("/a"), "", "/a", "/b"},
	{"RT506", star("/a") + "Allow: /a\n", "delete one of them", "User-agent: *\nAllow: /a\n", "", "", "/a /b"},
	{"RT507", star("/*.js"), "delete it", star(""), "", "", "/a.js"},
	{"RT507", star("/*.js"), "allow the files that pages need", star("/*.js") + "Allow: /static/*.js\n", "", "/a.js", "/static/a.js"},
	{"RT508", star("/maps/") + "Sitemap: https://example.com/maps/a.xml\n", "allow its path", star("/maps/") + "Allow: /maps/a.xml\nSitemap: https://example.com/maps/a.xml\n", "", "/maps/b.xml", "/maps/a.xml"},
	{"RT509", star("/backup.sql", "/x"), "protect the path on the server", star("/x"), "", "/x", "/backup.sql"},
	{"RT510", star("/wp-includes/"), "allow the scripts and styles", star("/wp-includes/") + "Allow: /wp-includes/*.js\nAllow: /wp-includes/*.css\n", "",
		"/wp-includes/x.php", "/wp-includes/js/jquery/jquery.min.js"},
	{"RT510", star("/wp-includes/"), "delete the rule", star(""), "", "", "/wp-includes/js/jquery/jquery.min.js"},
	{"RT601", star("/a") + "Sitemap: /sitemap.xml\n", "write the full URL, with https:// and the host", star("/a") + "Sitemap: https://example.com/sitemap.xml\n", "", "/a", "/b"},
	{"RT602", "Sitemap: https://example.com/a.xml\nSitemap: https://example.com/a.xml\n", "delete this line", "Sitemap: https://example.com/a.xml\n", "", "", "/a"},
	{"RT603", star("/a") + "Crawl-delay: ten\n", "", star("/a") + "Crawl-delay: 10\n", "", "/a", "/b"},
	{"RT604", "Crawl-delay: 5\n" + star("/a"), "move it below the User-agent line", "User-agent: *\nCrawl-delay: 5\nDisallow: /a\n", "", "/a", "/b"},
	{"RT605", star("/a") + "Crawl-delay: 600\n", "", star("/a") + "Crawl-delay: 5\n", "", "/a", "/b"},
	{"RT606", "User-agent: Googlebot\nCrawl-delay: 5\nDisallow: /a\n", "", "User-agent: Googlebot\nDisallow: /a\n", "Googlebot", "/a", "/b"},
	{"RT607", star("/a") + "Sitemap: http://localhost:3000/sitemap.xml\n", "on the public site", star("/a") + "Sitemap: https://example.com/sitemap.xml\n", "", "/a", "/b"},
	{"RT901", "# lint:ignore RT401 old\n" + star("/a"), "delete it", star("/a"), "", "/a", "/b"},
	{"RT902", "# lint:ignore RT504\n" + star("/a", "/a/b"), "and the reason", "User-agent: *\nDisallow: /a\nDisallow: /a/b # lint:ignore RT504 kept for the old crawler\n", "", "/a", "/b"},
}

// keptAdvice is advice to keep the line, so that the finding stays, with the verdicts of the file as it is or with another rule
// beside it.
var keptAdvice = []advised{
	{"RT403", star("/a$b"), "keep it for a literal $", star("/a$b"), "", "/a$b", "/a"},
	{"RT410", star("/a|b"), "keep the rule, and add one with /a%7Cb", star("/a|b", "/a%7Cb"), "", "/a%7Cb /a|b", "/a"},
}

// withoutAdvice names the checks whose findings advise nothing that could be executed, with the reason.
var withoutAdvice = map[string]string{
	"RT302": "the finding says which crawler a dialect reads; whether that is right depends on the name that the crawler documents",
}

// TestAdvice: in every dialect that a finding names, a file that follows its advice has the verdicts that the advice is for, and not
// the finding; so has the file after the fix. Every check has advice here, or a reason why not.
func TestAdvice(t *testing.T) {
	executed := map[string]bool{}
	for _, c := range advisedFiles {
		executed[c.id] = true
		d := c.finding(t, c.before, Options{})
		if d == nil {
			continue
		}
		files := map[string]string{"the advice": c.after}
		if d.Fix != nil {
			files["the fix"] = string(Apply([]byte(c.before), d.Fix.Edits))
		}
		for what, file := range files {
			for _, name := range d.Dialects {
				if found := c.find(file, Options{Dialects: []string{name}}); found != nil {
					t.Errorf("%s: after %s, %q still has it in %s: %s", c.id, what, file, name, found.Message)
				}
				// A fix is one way to follow the advice, so its verdicts are only those of an unconditional one.
				if what == "the advice" || c.after == file {
					c.judge(t, file, name)
				}
			}
		}
	}
	for _, c := range keptAdvice {
		executed[c.id] = true
		if d := c.finding(t, c.before, Options{}); d != nil {
			for _, name := range d.Dialects {
				c.judge(t, c.after, name)
			}
		}
	}
	for i := range Checks {
		id := Checks[i].ID
		if executed[id] == (withoutAdvice[id] != "") {
			t.Errorf("%s: executed %v, and the reason why not is %q", id, executed[id], withoutAdvice[id])
		}
	}
}

// find returns the finding of the check in a file, nil if there is none.
func (c *advised) find(file string, o Options) *Diagnostic {
	o.MaxSteps = 100_000 // enough for these proofs; one file has 3,000 rules
	if Find(c.id).Severity == Off {
		o.Severities = map[string]Severity{c.id: Note}
	}
	list := File(robots.Parse([]byte(file)), o).Diagnostics
	i := slices.IndexFunc(list, func(d Diagnostic) bool { return d.Check.ID == c.id })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// finding is find with an error if there is no finding, or none with the advice.
func (c *advised) finding(t *testing.T, file string, o Options) *Diagnostic {
	t.Helper()
	d := c.find(file, o)
	switch {
	case d == nil:
		t.Errorf("%s: no finding in %.80q", c.id, file)
	case !strings.Contains(d.Advice, c.advice) || c.advice == "" && d.Advice != "":
		t.Errorf("%s: %.80q has the advice %q, want %q", c.id, file, d.Advice, c.advice)
		d = nil
	}
	return d
}

// judge compares the verdicts of a file in a dialect.
func (c *advised) judge(t *testing.T, file, dialect string) {
	t.Helper()
	agent := c.agent
	if agent == "" {
		agent = "googlebot"
	}
	d, _ := robots.DialectByName(dialect)
	rules := robots.Parse([]byte(file)).Rules(d, agent)
	for i, list := range []string{c.blocked, c.allowed} {
		for path := range strings.FieldsSeq(list) {
			if rules.Allowed(robots.RawPath("https://example.com"+path)) != (i == 1) {
				t.Errorf("%s: with the advice %q, %s has another verdict in %s", c.id, c.advice, path, dialect)
			}
		}
	}
}
