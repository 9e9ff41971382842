package lint

import (
	"strconv"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
)

// TestExplain: near misses of rules come first with the value to write, at most three, and only if it
// changes the verdict.
func TestExplain(t *testing.T) {
	for _, c := range []struct {
		d          robots.Dialect
		rule, path string
		want       string // clause and the end of the note, "" for none
	}{
		{robots.RFC9309, "Disallow: /A", "/a", "RULE-04 case-insensitive; write Disallow: /a"},
		{robots.RFC9309, "Disallow: /a", "/A", "RULE-04 case-insensitive; write Disallow: /A"},
		{robots.RFC9309, "Disallow: /x/*/aB$", "/x/y/Ab", "RULE-04 write Disallow: /x/*/Ab$"},
		{robots.RFC9309, "Disallow: /a$", "/ab", "MATCH-03 write Disallow: /a"},
		{robots.RFC9309, "Disallow: /a$", "/a?b", "MATCH-03 add Disallow: /a?"},
		{robots.RFC9309, "Disallow: /a$", "/a/", "MATCH-03 add Disallow: /a/"},
		{robots.RFC9309, "Disallow: /a/", "/a", "MATCH-05 add Disallow: /a$"},
		{robots.RFC9309, "Disallow: /a/", "/a?b", "MATCH-05 add Disallow: /a?"},
		{robots.RFC9309, "Disallow: /a/*b/", "/a/xb", "MATCH-05 add Disallow: /a/*b$"},
		{robots.RFC9309, "Disallow: */a/*", "/b/a", "MATCH-05 add Disallow: */a$"},
		{robots.RFC9309, "Disallow: /aa/", "/aab", ""},
		{robots.RFC9309, "Disallow: a", "/a", "D-09 write Disallow: /a"},
		{robots.RFC9309, "Disallow: a", "/b", "D-09 write Disallow: /a"}, // never, so also here
		{robots.RFC9309, "Disallow: .pdf", "/x/y.pdf", "D-09 write Disallow: /*.pdf"},
		{robots.RFC9309, "Disallow: ?a=", "/x?a=1", "D-09 write Disallow: /*?a="},
		{robots.RFC9309, "Disallow: https://x.example/a", "/a", "D-09 write Disallow: /a"},
		{robots.RFC9309, "Disallow: https://x.example/a", "/b", "D-09 use the path of the URL"},
		{robots.RFC9309, "Disallow: www.x.example/a", "/a", "RULE-02 write Disallow: /a"},
		{robots.RFC9309, `Disallow: "/a"`, "/a", "RULE-03 write Disallow: /a"},
		{robots.RFC9309, "Disallow: “/a”", "/a", "RULE-03 write Disallow: /a"},
		{robots.RFC9309, "Disallow: /b, /a", "/a", "RULE-02 write Disallow: /a"},
		{robots.RFC9309, "Disallow: /a // old", "/a", "RULE-02 write Disallow: /a"},
		{robots.RFC9309, `Disallow: ["/b","/a"]`, "/a", "RULE-02 write Disallow: /a"},
		{robots.RFC9309, "Disallow: \u200b/a", "/a", "RULE-02 write Disallow: /a"},
		{robots.RFC9309, "Disallow: /a–b", "/a-b", "RULE-02 write Disallow: /a-b"},
		{robots.RFC9309, `Disallow: \a\b`, "/a/b", "RULE-03 write Disallow: /a/b"},
		{robots.RFC9309, "Disallow: /a?.html", "/a1.html", "MATCH-03 write Disallow: /a*.html"},
		{robots.RFC9309, `Disallow: ^/(b|a)/\d+\.html$`, "/a/12.html", "MATCH-03 write Disallow: /a/*.html$"},
		{robots.RFC9309, "Disallow: /{b,a}/c", "/a/c", "MATCH-03 write Disallow: /a/c"},
		{robots.RFC9309, "Disallow: /a//b", "/a/b", "D-15 write Disallow: /a/b"},
		{robots.RFC9309, "Disallow: /*?a=1&amp;b=", "/x?a=1&b=2", "MATCH-02 write Disallow: /*?a=1&b="},
		{robots.RFC9309, "Disallow: /a%3Fb=", "/a?b=1", "D-14 write Disallow: /a?b="},
		{robots.RFC9309, "Disallow: /a%2520b", "/a%20b", "D-14 write Disallow: /a%20b"},
		{robots.RFC9309, "Disallow: /a b", "/a+b", "D-14 write Disallow: /a+b"},
		{robots.RFC9309, "Disallow: /caf\xe9", "/caf%C3%A9", "D-16 write Disallow: /café"},
		{robots.Google, "Disallow: /%7Ea", "/~a", "C-15 write Disallow: /~a"},
		{robots.RFC9309, "Disallow: /wp-admin", "/de/wp-admin/", "MATCH-01 write Disallow: /*/wp-admin"},
		{robots.RFC9309, "Disallow: /?b=9", "/shopping/?b=9", "MATCH-01 write Disallow: /*/?b=9"},
		{robots.RFC9309, "Disallow: /?b=9", "/shopping?b=9", "MATCH-01 write Disallow: /*?b=9"},
		{robots.RFC9309, "Disallow: /nocrawl=1", "/s?q=x&nocrawl=1", "MATCH-01 write Disallow: /*nocrawl=1"},
		{robots.RFC9309, "Disallow: /tag/", "/blog/tag", "MATCH-01 write Disallow: /*/tag$"},
		{robots.RFC9309, "Disallow: /*?sort=", "/l?page=2&sort=price", "MATCH-02 add Disallow: /*&sort="},
		{robots.RFC9309, "Disallow: /l?sort=", "/l?page=2&sort=price", "MATCH-02 add Disallow: /l*&sort="},
		{robots.RFC9309, "Disallow: /*&sort=", "/l?sort=price", "MATCH-02 add Disallow: /*?sort="},
		{robots.RFC9309, "Disallow: /l?a=1&b=", "/l?b=2&a=1", "MATCH-02 add Disallow: /l*?b=*&a=1"},
		{robots.RFC9309, "Disallow: /l?a=", "/l/?a=2", "MATCH-02 add Disallow: /l/?a="},
		{robots.RFC9309, "Disallow: /l/?a=", "/l?a=2", "MATCH-02 add Disallow: /l?a="},
		{robots.RFC9309, "Disallow: /*/a", "/a", "MATCH-03 add Disallow: /a"},
		{robots.RFC9309, "Disallow: /a/*/b", "/a/b", "MATCH-03 add Disallow: /a/b"},
		{robots.RFC9309, "Disallow: /a/c", "/a/b/c", "MATCH-01 add Disallow: /a/*/c"},
		{robots.RFC9309, "Disallow: /chekout/", "/checkout/1", "MATCH-01 add Disallow: /checkout/"},
		{robots.RFC9309, "Disallow: /my_page", "/my-page", "MATCH-01 add Disallow: /my-page"},
		{robots.RFC9309, "Disallow: /index.php", "/", "MATCH-01 add Disallow: /$"},
		{robots.RFC9309, "Disallow: /a.html", "/a", "MATCH-01 add Disallow: /a$"},
		{robots.RFC9309, "Disallow: /page1", "/page2", ""},
		{robots.RFC9309, "Disallow: /%7Ea", "/~a", ""}, // it matches
		{robots.RFC9309, "Allow: /A", "/a", ""},        // it would not change the verdict
		{robots.RFC9309, "Disallow: /A\nDisallow: /", "/a", ""},
		{robots.RFC9309, "Allow: /A/b\nDisallow: /a", "/a/b", "RULE-04 write Allow: /a/b"},
		{robots.RFC9309, "Allow: /*.html\nDisallow: /folder/", "/folder/x.html", "PREC-01 add Allow: /folder/*.html"},
		{robots.RFC9309, "Allow: /\nDisallow: /folder/", "/folder/x.html", ""},
		{robots.RFC9309, "Disallow: /jobs", "/jobs-report", "MATCH-01 write Disallow: /jobs/"},
		{robots.RFC9309, "Disallow: /jobs", "/jobs/report", ""},
		{robots.RFC9309, "Disallow: /#/a", "/b", "D-15 delete the line"},
		{robots.RFC9309, "Disallow: /b", "/a", ""},
		{robots.RFC9309, "Disallow: $", "/a", ""},
		{robots.Yandex, "Disallow: /b", "/a", ""},
		{robots.RFC9309, "Disallow: //A", "//a", "RULE-04 write Disallow: //a"},
	} {
		r := robots.Parse([]byte("User-agent: *\n"+c.rule+"\nDisallow: /other\n")).Rules(c.d, "x")
		_, path, err := robots.ParseURL("https://x.example" + c.path)
		if err != nil {
			t.Fatal(err)
		}
		e := Explain(r, path)
		if v := r.Match(path); v.String() != e.Verdict.String() {
			t.Errorf("%s on %s: %v, without notes %v", c.rule, c.path, e.Verdict, v)
		}
		clause, end, _ := strings.Cut(c.want, " ")
		switch {
		case c.want == "" && len(e.Notes) > 0, c.want != "" && len(e.Notes) != 1:
			t.Errorf("%s: %s on %s: %+v, want %q", c.d.Name, c.rule, c.path, e.Notes, c.want)
		case c.want != "" && (e.Notes[0].Line != 2 || e.Notes[0].Clause != clause || !strings.HasSuffix(e.Notes[0].Text, end)):
			t.Errorf("%s: %s on %s: %+v, want %q", c.d.Name, c.rule, c.path, e.Notes[0], c.want)
		}
	}
	if e := Explain(nil, robots.RawPath("/a")); e.Verdict.Reason != robots.ReasonInvalid || len(e.Notes) != 0 {
		t.Errorf("no rules: %+v", e)
	}
}

// TestExplainFile: near misses of groups, names and fields, on the line that is to be changed.
func TestExplainFile(t *testing.T) {
	for _, c := range []struct {
		file, token, path string
		want              string // line and the end of the first note, "" for none
	}{
		{"User-agent: *\nDisallow: /private/\n\nUser-agent: Googlebot\nDisallow: /search\n", "Googlebot", "/private/", "2 below line 4, add Disallow: /private/"},
		{"User-agent: Googlebot\nUser-agent: Bingbot\nAllow: /\n\nUser-agent: *\nDisallow: /private/\n", "Googlebot", "/private/", "6 below line 2, add Disallow: /private/"},
		{"User-agent: *\nDisallow: /\n\nUser-agent: Googlebot\nDisallow: /a\n", "Googlebot", "/a", ""},
		{"User-agent: *\nAllow: /a/b\n\nUser-agent: Googlebot\nDisallow: /a\n", "Googlebot", "/a/b", "2 below line 4, add Allow: /a/b"},
		{"User-agent: Googlebot\n# all\n\nUser-agent: *\nDisallow: /\n", "Googlebot", "/", "4 below line 1, add Disallow:"},
		{"User-agent: Googlebot\nUser-agent: *\nDisallow: /\n", "Googlebot", "/", ""},
		{"User-agent: Googlbot\nDisallow: /a\n", "Googlebot", "/a", "1 write User-agent: Googlebot"},
		{"User-agent: Googlbot\nDisallow: /a\n", "Googlebot", "/b", "1 write User-agent: Googlebot"},
		{"User-agent: Googlebot\nDisallow: /a\n", "Googlbot", "/a", "1 did you mean Googlebot?"},
		{"User-agent: Google bot\nDisallow: /a\n", "Googlebot", "/a", "1 write User-agent: Googlebot"},
		{"User-agent: \"Googlebot\"\nDisallow: /a\n", "Googlebot", "/a", "1 write User-agent: Googlebot"},
		{"User-agent: GPTBot, CCBot\nDisallow: /a\n", "CCBot", "/a", "1 User-agent: CCBot"},
		{"User-agent: Google*\nDisallow: /a\n", "Googlebot-Image", "/a", "1 write User-agent: Googlebot-Image"},
		{"User-agent: GPTBot\nDisallow: /\n", "OAI-SearchBot", "/a", "1 add User-agent: OAI-SearchBot"},
		{"User-agent: GPTBot\nDisallow: /\n", "CCBot", "/a", ""},
		{"User agent: *\nDisallow: /a\n", "x", "/a", "1 write User-agent: *"},
		{"User-agent: *\nDisallow: /en/search\n", "x", "/de-AT/search?q=1", "2 matches only one language; write Disallow: /*/search"},
		{"User-agent: *\nDisallow: /en/search\n", "x", "/css/search", ""},
		{"User-agent: *\nDisalow: /a\n", "x", "/a", "2 write Disallow: /a"},
		{"User-agent: *\nDisallow /a\n", "x", "/a", "2 write Disallow: /a"},
		{"User-agent: *\nDisallow; /a\n", "x", "/a", "2 write Disallow: /a"},
		{"User-agent: *\nDisallow=/a\n", "x", "/a", "2 write Disallow: /a"},
		{"User-agent: *\nDeny: /a\n", "x", "/a", "2 write Disallow: /a"},
		{"User-agent: *\nNoindex: /a\n", "x", "/a", "2 to keep crawlers away, write Disallow: /a"},
		{"Disallow: /a\nUser-agent: *\nDisallow: /b\n", "x", "/a", "1 move it below User-agent: *"},
		{"User-agent: *\nDisallow: /b\n\nUser-agent: BadBot\nDisallow: /\n\nDisallow: /a\n", "x", "/a", "7 move it below User-agent: *"},
	} {
		r := robots.Parse([]byte(c.file)).Rules(robots.RFC9309, c.token)
		e := Explain(r, robots.RawPath(c.path))
		got := ""
		if len(e.Notes) > 0 {
			got = strconv.Itoa(e.Notes[0].Line) + " " + e.Notes[0].Text
		}
		line, end, _ := strings.Cut(c.want, " ")
		if c.want == "" && got != "" || !strings.HasPrefix(got, line) || !strings.HasSuffix(got, end) {
			t.Errorf("%q for %s on %s:\ngot  %s\nwant %s", c.file, c.token, c.path, got, c.want)
		}
	}
	// A dialect that compares letter case: only the same letters are near.
	for file, want := range map[string]int{"User-agent: mybot\nDisallow: /a\n": 1, "User-agent: OtherBot\nDisallow: /a\n": 0} {
		e := Explain(robots.Parse([]byte(file)).Rules(robots.Google2019, "MyBot"), robots.RawPath("/a"))
		if len(e.Notes) != want {
			t.Errorf("%q for MyBot: notes %v, want %d", file, e.Notes, want)
		}
	}
	many := robots.Parse([]byte("User-agent: *\n" + strings.Repeat("Disallow: /A\nDisallow: b\n", 3*maxNotes))).Rules(robots.RFC9309)
	if e := Explain(many, robots.RawPath("/a")); len(e.Notes) != maxNotes || e.Dropped != 3*maxNotes-maxNotes+maxNear {
		t.Errorf("%d notes and %d left out", len(e.Notes), e.Dropped)
	}
}

// TestExplainCorpus: in real files, the value that a near miss suggests matches the path. The work
// stays below ExplainWork.
func TestExplainCorpus(t *testing.T) {
	clauses := map[string]int{}
	paths := []string{"/", "/de/wp-admin/", "/list?page=2&sort=price", "/admin", "/Search?q=1", "/tag/x/feed", "/index.php?id=4&print=1"}
	campaign.Files(t, campaign.Size(300, 30, 1), func(name string, body []byte) {
		f := robots.Parse(body)
		for n, token := range []string{"x", "Googlebot", "GPTBot"} {
			r := f.Rules(robots.Dialects()[n%2], token)
			for _, text := range paths {
				path := robots.RawPath(text)
				e := Explain(r, path)
				for _, note := range e.Notes {
					at := max(strings.LastIndex(note.Text, "; write "), strings.LastIndex(note.Text, " add "))
					if at < 0 || note.Clause == "D-09" || strings.Contains(note.Text, "if only the directory") {
						continue
					}
					clauses[note.Clause]++
					rule := note.Text[at:]
					rule = rule[strings.IndexAny(rule, "ADU"):]
					if strings.HasPrefix(rule, "User-agent") || rule == "Disallow:" {
						continue
					}
					one := robots.Parse([]byte("User-agent: *\n" + rule)).Rules(r.Dialect())
					if one.Match(path).Reason != robots.ReasonRule && !strings.Contains(rule, `\`) {
						t.Errorf("%s for %s on %s: %s", name, token, text, note.Text)
					}
				}
			}
		}
	})
	t.Log(clauses)
}
