package robotstest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// topics are the beginnings of case names, as listed in cases/README.md.
var topics = []string{
	"agent", "delay", "dialect", "escape", "group", "index", "length", "match",
	"page", "parse", "rate", "scope", "sitemap", "size", "url",
}

// TestCases checks the case files: names by topic, clauses, no duplicate questions, every
// dialect and kind covered.
func TestCases(t *testing.T) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < 120 {
		t.Errorf("%d cases, want at least 120", len(cases))
	}
	statement := regexp.MustCompile(`\b([A-Z]+-\d\d|GRAM|SPEC\.md \d)`)
	cells := map[string]int{}
	for _, c := range cases {
		topic, _, _ := strings.Cut(c.Name, "-")
		if !slices.Contains(topics, topic) {
			t.Errorf("%s: %q is no topic", c.Name, topic)
		}
		if !statement.MatchString(c.Comment) {
			t.Errorf("%s: no statement of docs/clauses.md in the comment", c.Name)
		}
		seen := map[string]bool{}
		for _, v := range c.Verdicts {
			id := c.ID(v)
			if len(v.URL) <= 200 && seen[id] {
				t.Errorf("%s: asked twice", id)
			}
			seen[id] = true
			cells[v.Dialect]++
		}
		for _, f := range c.Facts {
			cells[string(f.Kind)]++
		}
		cells["scope"] += len(c.Scopes)
	}
	for _, d := range DialectNames() {
		if cells[d] < 500 {
			t.Errorf("%d cells for %s, want at least 500", cells[d], d)
		}
	}
	for _, kind := range []string{string(Delay), string(Rates), string(Group), string(Sitemaps), "scope"} {
		if cells[kind] < 40 {
			t.Errorf("%d cells of %s, want at least 40", cells[kind], kind)
		}
	}
	t.Logf("%d cases, cells: %v", len(cases), cells)
}

func TestParse(t *testing.T) {
	c, err := Parse("cases/agent-x.txtar", []byte(`What and why (D-01).
-- robots.txt.esc --
a\r\n
\x41\0\\\{b\t*2}
-- verdicts --
# a comment

agent url all bing,seznam yandex
a>b\x20c /x\{y*3} allow:3 = -
"" "" disallow undefined:no-rule =
-- sitemaps --
all google
x =
- y
-- scope --
robots url governs
http://a/robots.txt http://b/ no
`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(c.Robots), "a\r\nA\x00\\b\tb\t"; got != want {
		t.Errorf("body\ngot:  %q\nwant: %q", got, want)
	}
	if c.Name != "agent-x" || c.Comment != "What and why (D-01)." {
		t.Errorf("got name %q, comment %q", c.Name, c.Comment)
	}
	var got []string
	for _, v := range c.Verdicts {
		got = append(got, c.ID(v)+" "+v.Want.String())
	}
	for _, f := range c.Facts {
		if f.Dialect == "rfc9309" || f.Dialect == "google" {
			got = append(got, f.Dialect+" "+string(f.Kind)+" "+strings.ReplaceAll(f.Want, "\n", "+"))
		}
	}
	want := []string{
		"agent-x/rfc9309 a>b c /xyyy allow:3",
		"agent-x/google a>b c /xyyy allow:3",
		"agent-x/google-cpp a>b c /xyyy allow:3",
		"agent-x/google-2019 a>b c /xyyy allow:3",
		"agent-x/google-legacy a>b c /xyyy allow:3",
		"agent-x/seznam a>b c /xyyy allow:3",
		"agent-x/bing a>b c /xyyy allow:3",
		"agent-x/rfc9309   disallow",
		"agent-x/google   disallow",
		"agent-x/google-cpp   disallow",
		"agent-x/google-2019   disallow",
		"agent-x/google-legacy   disallow",
		"agent-x/seznam   undefined:no-rule",
		"agent-x/bing   undefined:no-rule",
		"agent-x/yandex   disallow",
		"rfc9309 sitemaps x",
		"google sitemaps x+y",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if v := c.Verdicts[0]; v.Line != 9 || v.Want.Line != 3 || v.Want.Reason != "rule" {
		t.Errorf("got %+v", v)
	}
	if len(c.Scopes) != 1 || c.Scopes[0] != (Scope{17, "http://a/robots.txt", "http://b/", false}) {
		t.Errorf("got %+v", c.Scopes)
	}
}

func TestParseErrors(t *testing.T) {
	const head = "why\n-- robots.txt --\nx\n"
	tests := []struct{ name, in, want string }{
		{"no comment", "-- robots.txt --\n", "f:1: no comment says what the case shows"},
		{"nothing stated", head, "f:4: the case states nothing"},
		{"no body", "why\n-- verdicts --\nagent url all\na /x allow\n", "f:5: no section robots.txt"},
		{"unknown section", head + "-- verdict --\nagent url all\na /x allow\n", "f:4: unknown section verdict"},
		{"section twice", head + "-- robots.txt.esc --\n", "f:4: second section robots.txt"},
		{"no rows", head + "-- verdicts --\nagent url all\n", "f:4: section verdicts has no rows"},
		{"header", head + "-- verdicts --\nurl agent all\na /x allow\n", "f:5: the header is not agent, url and at least one dialect"},
		{"no dialect", head + "-- verdicts --\nagent url\na /x\n", "f:5: the header is not agent, url and at least one dialect"},
		{"unknown dialect", head + "-- verdicts --\nagent url baidu\na /x allow\n", `f:5: unknown dialect "baidu"`},
		{"dialect twice", head + "-- verdicts --\nagent url bing bing\na /x allow allow\n", "f:5: two columns for bing"},
		{"all twice", head + "-- verdicts --\nagent url all all\na /x allow allow\n", "f:5: two columns for all"},
		{"cells", head + "-- verdicts --\nagent url all\n\na /x allow deny\n", "f:7: 4 cells under 3 columns"},
		{"verdict", head + "-- verdicts --\nagent url all\na /x deny\n", `f:6: "deny" is none of allow, disallow, undefined, - and =`},
		{"reason", head + "-- verdicts --\nagent url all\na /x allow:why\n", `f:6: "allow:why": "why" is neither a line nor a reason`},
		{"line 0", head + "-- verdicts --\nagent url all\na /x allow:0\n", `f:6: "allow:0": "0" is neither a line nor a reason`},
		{"equals", head + "-- verdicts --\nagent url bing\na /x =\n", "f:6: = without a column for all"},
		{"escape", "why\n-- robots.txt.esc --\nx\n\\q\n", `f:4: \q is no escape`},
		{"hex", "why\n-- robots.txt.esc --\n\\xZZ\n", `f:3: \xZZ: not two hexadecimal digits`},
		{"hex short", "why\n-- robots.txt.esc --\n\\x4\n", `f:3: \x without two hexadecimal digits`},
		{"backslash", "why\n-- robots.txt.esc --\nx\\\n", `f:3: \ at the end`},
		{"repeat open", "why\n-- robots.txt.esc --\n\\{a*3\n", `f:3: \{ without }`},
		{"repeat without count", "why\n-- robots.txt.esc --\n\\{a}\n", `f:3: \{a}: no *N`},
		{"repeat count", "why\n-- robots.txt.esc --\n\\{a*x}\n", `f:3: \{a*x}: "x" is no count`},
		{"repeat flood", "why\n-- robots.txt.esc --\n\\{ab*9999999}\n", `f:3: \{ab*9999999}: more than 8388608 bytes`},
		{"escape in agent", head + "-- verdicts --\nagent url all\n\\ /x allow\n", `f:6: \ at the end`},
		{"escape in URL", head + "-- delays --\nagent all\n\\y none\n", `f:6: \y is no escape`},
		{"scope columns", "why\n-- scope --\nurl robots governs\na b yes\n", "f:3: the columns of scope are robots, url and governs"},
		{"scope word", "why\n-- scope --\nrobots url governs\na b true\n", `f:4: "true" is neither yes nor no`},
	}
	for _, tt := range tests {
		_, err := Parse("f", []byte(tt.in))
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s\n%s\ngot:  %v\nwant: %s", tt.name, tt.in, err, tt.want)
		}
	}
}
