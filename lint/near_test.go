package lint

import (
	"strings"
	"testing"

	"github.com/robotskit/robots"
)

// TestExplain: the notes on rules that nearly match, one for each rule, the most useful one.
func TestExplain(t *testing.T) {
	for _, c := range []struct {
		d          robots.Dialect
		rule, path string
		want       string // clause and a part of the note, "" for none
	}{
		{robots.RFC9309, "Disallow: /A", "/a", "RULE-04 case-insensitive"},
		{robots.RFC9309, "Disallow: /a", "/A", "RULE-04 case-insensitive"},
		{robots.RFC9309, "Disallow: /a$", "/ab", "MATCH-03 end there"},
		{robots.RFC9309, "Disallow: /a/", "/a", "MATCH-05 below that directory"},
		{robots.RFC9309, "Disallow: /a/*b/", "/a/xb", "MATCH-05 below that directory"},
		{robots.RFC9309, "Disallow: a", "/a", "D-09 did you mean /a?"},
		{robots.RFC9309, "Disallow: https://x.example/a", "/a", "D-09 use the path"},
		{robots.Google, "Disallow: /%7Ea", "/~a", "C-15 under RFC 9309"},
		{robots.RFC9309, "Disallow: /%7Ea", "/~a", ""}, // it matches
		{robots.RFC9309, "Disallow: /b", "/a", ""},
		{robots.RFC9309, "Disallow: $", "/a", ""},
		{robots.Yandex, "Disallow: /b", "/a", ""},
		{robots.RFC9309, "Disallow: /A", "//a", ""},
		{robots.RFC9309, "Disallow: //A", "//a", "RULE-04 case-insensitive"},
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
		clause, part, _ := strings.Cut(c.want, " ")
		switch {
		case c.want == "" && len(e.Notes) > 0, c.want != "" && len(e.Notes) != 1:
			t.Errorf("%s: %s on %s: %+v, want %q", c.d.Name, c.rule, c.path, e.Notes, c.want)
		case c.want != "" && (e.Notes[0].Line != 2 || e.Notes[0].Clause != clause || !strings.Contains(e.Notes[0].Text, part)):
			t.Errorf("%s: %s on %s: %+v, want %q", c.d.Name, c.rule, c.path, e.Notes[0], c.want)
		}
	}
	many := robots.Parse([]byte("User-agent: *\n" + strings.Repeat("Disallow: /A\n", 3*maxNotes))).Rules(robots.RFC9309)
	if e := Explain(many, robots.RawPath("/a")); len(e.Notes) != maxNotes || e.Dropped != 2*maxNotes {
		t.Errorf("%d notes and %d left out", len(e.Notes), e.Dropped)
	}
	if e := Explain(nil, robots.RawPath("/a")); e.Verdict.Reason != robots.ReasonInvalid || len(e.Notes) != 0 {
		t.Errorf("no rules: %+v", e)
	}
}
