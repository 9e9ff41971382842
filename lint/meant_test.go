package lint

import (
	"strings"
	"testing"

	"github.com/robotskit/robots"
)

// TestMeant: a value that engines do not read as it was meant has a finding of at least a warning.
// After all fixes rfc9309 blocks every path for every crawler that was meant, and nothing else,
// and nothing of the mistake is left.
func TestMeant(t *testing.T) {
	for _, c := range []struct {
		body, crawlers, blocked, allowed string // lists with spaces between them
	}{
		{"User-agent: *\nDisallow: \"/a\"\n", "x", "/a", "/b"},
		{"User-agent: *\nDisallow: '/a'\n", "x", "/a", "/b"},
		{"User-agent: *\nDisallow: \u201C/a\u201D\n", "x", "/a", "/b"},
		{"User-agent: *\nDisallow: \u00AB/a\u00BB\n", "x", "/a", "/b"},
		{"User-agent: \"Googlebot\"\nDisallow: /a\n", "Googlebot", "/a", "/b"},
		{"User-agent: \u201C*\u201D\nDisallow: /a\n", "x", "/a", "/b"},
		{"User-agent: *\nDisallow: /a, /b\n", "x", "/a /b", "/c"},
		{"User-agent: *\nDisallow: /a /b\n", "x", "/a /b", "/c"},
		{"User-agent: *\nDisallow: [\"/m\",\"/n\"]\n", "x", "/m /n", "/c"},
		{"User-agent: *\nDisallow: /a,/b\n", "x", "/a /b", "/c"},
		{"User-agent: *\nDisallow: \"/a\", \"/b\"\n", "x", "/a /b", "/c"},
		{"User-agent: *\nDisallow: /a and /b\n", "x", "/a /b", "/c"},
		{"User-agent: *\nDisallow: /a // old\n", "x", "/a", "/b"},
		{"User-agent: *\nDisallow: /a ; old\n", "x", "/a", "/b"},
		{"User-agent: * // all\nDisallow: /a\n", "x", "/a", "/b"},
		{"// rules: all\nUser-agent: *\nDisallow: /a\n", "x", "/a", "/b"},
		{"; rules\nUser-agent: *\nDisallow: /a\n", "x", "/a", "/b"},
		{"User-agent: *\nDisallow: www.example.com/a\n", "x", "/a", "/b"},
		{"User-agent: *\nDisallow: www.example.com\n", "x", "/", ""},
		{"User-agent: Googlebot Bingbot\nDisallow: /a\n", "Googlebot Bingbot", "/a", "/b"},
		{"User-agent: Googlebot; Bingbot\nDisallow: /a\n", "Googlebot Bingbot", "/a", "/b"},
		{"User-agent: Googlebot | Bingbot\nDisallow: /a\n", "Googlebot Bingbot", "/a", "/b"},
		{"User-agent: Googlebot and Bingbot\nDisallow: /a\n", "Googlebot Bingbot", "/a", "/b"},
		{"User-agent: Googlebot, Bingbot and GPTBot\nDisallow: /a\n", "Googlebot Bingbot GPTBot", "/a", "/b"},
		{"User-agent: *\nDisallow=/x\n", "x", "/x", "/b"},
		{"User-agent: *\nDisallow; /y\n", "x", "/y", "/b"},
		{"User-agent=*\nDisallow=/x\nDisallow /y\n", "x", "/x /y", "/b"},
		{"User-agent: *\u2028Disallow: /a\n", "x", "/a", "/b"},
		{"User-agent: *\nDisallow: /a\u2028Disallow: /b\n", "x", "/a /b", "/c"},
		{"User-agent: *\nDisallow: \"/a\" // old\n", "x", "/a", "/b"},
	} {
		if worst := worstOf(File(robots.Parse([]byte(c.body)), Options{Severities: map[string]Severity{"RT501": Off}})); worst < Warning {
			t.Errorf("%q: at worst a %s", c.body, worst)
		}
		fixed, _, _ := ApplyFixes([]byte(c.body), Options{}, true)
		if s := string(fixed); strings.Contains(s, "%20") || strings.Contains(s, "%22") || strings.ContainsAny(strings.Split(s, "#")[0], quotes+"\u2028") {
			t.Errorf("%q: is fixed to %q", c.body, s)
		}
		for _, crawler := range strings.Fields(c.crawlers) {
			r := robots.Parse(fixed).Rules(robots.RFC9309, crawler)
			for i, list := range []string{c.blocked, c.allowed} {
				for _, path := range strings.Fields(list) {
					if r.Allowed(robots.RawPath("https://example.com"+path)) != (i == 1) {
						t.Errorf("%q: is fixed to %q: %s for %s is wrong", c.body, fixed, path, crawler)
					}
				}
			}
		}
	}
	for body, want := range map[string]string{
		"Sitemap https://example.com/a.xml\n":                             "Sitemap: https://example.com/a.xml\n",
		"Sitemap=https://example.com/a.xml\n":                             "Sitemap: https://example.com/a.xml\n",
		"User-agent: *\nCrawl-delay=5\n":                                  "User-agent: *\nCrawl-delay: 5\n",
		"User-agent: *\nCrawl-delay: \"5\"\n":                             "User-agent: *\nCrawl-delay: 5\n",
		"Sitemap: //cdn.example/x.xml\n":                                  "Sitemap: https://cdn.example/x.xml\n",
		"Sitemap: http://a.example/y.xml\nSitemap: //cdn.example/x.xml\n": "Sitemap: http://a.example/y.xml\nSitemap: http://cdn.example/x.xml\n",
		"Sitemap: https://a.example/x https://a.example/y\n":              "Sitemap: https://a.example/x\nSitemap: https://a.example/y\n",
		"Sitemap: https://a.example/x, https://a.example/y\n":             "Sitemap: https://a.example/x\nSitemap: https://a.example/y\n",
		"Sitemap: \"https://a.example/x\"\n":                              "Sitemap: https://a.example/x\n",
	} {
		if worst := worstOf(File(robots.Parse([]byte(body)), Options{})); worst < Warning {
			t.Errorf("%q: at worst a %s", body, worst)
		}
		if fixed, _, _ := ApplyFixes([]byte(body), Options{}, true); string(fixed) != want {
			t.Errorf("%q: is fixed to %q, want %q", body, fixed, want)
		}
	}
}

// TestOneFinding: a file that is no robots.txt has one finding, which names what it is.
func TestOneFinding(t *testing.T) {
	for body, word := range map[string]string{
		"User-agent: *\nDisallow: /a\nSitemap: {{ site.url }}/sitemap.xml\n":       "template",
		"{% if production %}\nUser-agent: *\nDisallow:\n{% endif %}\n":             "template",
		"User-agent: *\n<?php echo $rules; ?>\n":                                   "template",
		"User-agent: *\nDisallow: /<%= path %>\n":                                  "template",
		"Sitemap: ${BASE_URL}/sitemap.xml\nUser-agent: *\nDisallow: /a b\n":        "template",
		"\x1F\x8B\x08\x00\x00\x00\x00\x00\x00\xFFUser\x00\x01\n\xF0: \"a\n:\x02\n": "gzip",
		"\xFF\xFEU\x00s\x00e\x00r\x00\n\x00":                                       "UTF-16",
		"U\x00s\x00e\x00r\x00-\x00a\x00\n\x00":                                     "UTF-16",
	} {
		r := File(robots.Parse([]byte(body)), Options{})
		if len(r.Diagnostics) != 1 || r.Diagnostics[0].Severity < Warning || !strings.Contains(r.Diagnostics[0].Message, word) {
			t.Errorf("%q: %+v, want one finding with the word %s", body, r.Diagnostics, word)
		}
	}
}

// TestAsWritten: what only looks like these mistakes has no finding of a warning.
func TestAsWritten(t *testing.T) {
	for _, body := range []string{
		"User-agent: The Knowledge AI\nDisallow: /a\n",
		"User-agent: Sogou web spider/4.0\nDisallow: /a\n",
		"User-agent: VCI WebViewer VCI WebViewer Win32\nDisallow: /a\n",
		"User-agent: *\nDisallow: /a,b\nDisallow: /*,*\nDisallow: /*;\nDisallow: //\n",
		"User-agent: *\nDisallow: /it's\n",
		"User-agent: *\nDisallow: /a # see // and ;\n",
		"User-agent: Googlebot/2.1\nDisallow: /a\n",
		"Sitemap: https://a.example/x?a=1,2\n",
	} {
		for _, d := range File(robots.Parse([]byte(body)), Options{}).Diagnostics {
			if d.Severity > Note {
				t.Errorf("%q: %s %s", body, d.Check.ID, d.Message)
			}
		}
	}
}

func worstOf(r Result) (worst Severity) {
	for _, d := range r.Diagnostics {
		worst = max(worst, d.Severity)
	}
	return worst
}
