package robots

import (
	"fmt"
	"strings"
	"testing"
)

// stated formats preferences as "name=value", after a path unless it is "".
func stated(list []Preference) string {
	var said []string
	for _, p := range list {
		said = append(said, strings.TrimPrefix(p.Path+" "+p.Name+"="+p.Value, " "))
	}
	return strings.Join(said, ", ")
}

// TestParseSignals enumerates the syntax of Content-Signal; the first examples are those of
// contentsignals.org.
func TestParseSignals(t *testing.T) {
	for value, want := range map[string]string{
		"search=yes, ai-train=no":              "search=yes, ai-train=no",
		"search=yes,ai-train=no,use=reference": "search=yes, ai-train=no, use=reference",
		"/blog/ ai-train=no, search=yes":       "/blog/ ai-train=no, /blog/ search=yes",
		"/about\tai-train=yes":                 "/about ai-train=yes",
		"Search = YES , AI-Train=No":           "search=yes, ai-train=no",
		"ai-train=no;x, search":                "ai-train=no;x",
		"ai-train=no, ai-train=yes":            "ai-train=no, ai-train=yes",
		"ai-train==no":                         "ai-train==no",
		",,ai-train=no,":                       "ai-train=no",
		"ai-träin=no":                          "ai-träin=no",
		"ai\xff=\xfe":                          "ai\xff=\xfe",
		"ai train=no":                          "",
		"/blog/":                               "",
		"/blog/ai-train=no":                    "",
		"yes":                                  "",
		"=no":                                  "",
		"search=":                              "",
		"":                                     "",
		strings.Repeat("=", 100) + "," + "a=b\x00c": "a=b\x00c",
	} {
		if got := stated(parseSignals(value)); got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}

// TestParseUsage enumerates the dictionary of a Content-Usage (RFC 9651 section 4.2,
// draft-ietf-aipref-vocab). Anything else states no preference.
func TestParseUsage(t *testing.T) {
	for value, want := range map[string]string{
		"train-ai=n":                                            "train-ai=n",
		"/ai-ok/ train-ai=y":                                    "/ai-ok/ train-ai=y",
		"/ \t train-ai=n,search=y":                              "/ train-ai=n, / search=y",
		"train-ai=n , \t search=y":                              "train-ai=n, search=y",
		"train-ai;allow=n, train-ai=y":                          "train-ai=y",
		"train-ai=n;x;y=\"a,b\\\"\"; z=?1":                      "train-ai=n",
		"train-ai=y, train-ai=n, search=y":                      "train-ai=n, search=y",
		"other=y, *=n, a_b.c*-1=y":                              "other=y, *=n, a_b.c*-1=y",
		"a=1, b=-2.5, c=\"n\", d=:bg==:, e=n":                   "e=n",
		"a=?0, b=@1659578233, c=%\"f%c3%bc\", d=(y n;q=1), e=y": "e=y",
		"a=(), b=( \"x\" ), c=n":                                "c=n",
		"train-ai=yes, search=y":                                "search=y",
		"train-ai=Y, search=n":                                  "search=n",
		"a=n/:!, b=n":                                           "b=n",

		// Dictionaries without preferences.
		"train-ai": "",
		"train-ai=y, train-ai, search=n, search=\"n\"": "",
		"train-ai;has;parameters=\"?\"":                "",
		"train-ai=(n)":                                 "",
		"train-ai=99999999999999999":                   "",
		"/never/":                                      "",
		"":                                             "",
		"/ai-ok/train-ai=y":                            "",
		"Train-AI=n":                                   "",
		"search=y, Train-AI=n":                         "",
		"search=y,":                                    "",
		",search=y":                                    "",
		"search=y train-ai=n":                          "",
		"search=y;":                                    "",
		"search=y;A":                                   "",
		"search=y;a=":                                  "",
		"search =y":                                    "",
		"search= y":                                    "",
		"search=y, b=":                                 "",
		"search=y, b=\"":                               "",
		"search=y, b=\"\\a\"":                          "",
		"search=y, b=\"ä\"":                            "",
		"search=y, b=%\"%C3\"":                         "",
		"search=y, b=%\"%c":                            "",
		"search=y, b=%x":                               "",
		"search=y, b=:a":                               "",
		"search=y, b=:ä:":                              "",
		"search=y, b=?2":                               "",
		"search=y, b=@1.5":                             "",
		"search=y, b=-":                                "",
		"search=y, b=1.":                               "",
		"search=y, b=1.2345":                           "",
		"search=y, b=1234567890123.1":                  "",
		"search=y, b=(y":                               "",
		"search=y, b=(y\"n\")":                         "",
		"search=y, b=((y))":                            "",
		"search=y, ä=n":                                "",
		"search=y, \xff=n":                             "",
		"search=y, b=\xff":                             "",
		"search=y\x00":                                 "",
	} {
		if got := stated(parseUsage(value)); got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
	// Many names, whose order is kept.
	var names []string
	for i := range 10_000 {
		names = append(names, fmt.Sprintf("a%d=%c", i, "yn"[i%2]))
	}
	for _, parse := range []func(string) []Preference{parseSignals, parseUsage} {
		if got := stated(parse(strings.Join(names, ","))); got != strings.Join(names, ", ") {
			t.Errorf("10,000 names: got %d bytes", len(got))
		}
	}
}

// TestPreferences: which lines apply to a crawler and a path.
func TestPreferences(t *testing.T) {
	// The example of draft-ietf-aipref-attach-05, section 3.4.
	attach := "User-Agent: *\nAllow: /\nDisallow: /never/\nContent-Usage: train-ai=n\nContent-Usage: /ai-ok/ train-ai=y\n\n" +
		"User-Agent: ExampleBot\nAllow: /\nContent-Usage: train-ai=y\n"
	// The advanced usage of contentsignals.org.
	signals := "User-Agent: *\nContent-Signal: /about ai-train=yes, search=yes\nAllow: /about\n\n" +
		"User-Agent: *\nContent-Signal: /about/us* ai-train=no\n"
	scopes := "Content-Signal: ai-train=no\nContent-Usage: train-ai=n\nUser-agent: own\nContent-Signal: search=yes\n" +
		"User-agent: none\nDisallow: /x\n"
	strict := "User-agent: *\nContent-Usage: /a search=y\nContent-Usage: /a search=n\nContent-Usage: /a search=y\n" +
		"Content-Signal: use=full, ai-train=yes\nContent-Signal: use=immediate, ai-train=no\nContent-Signal: ai-train=yes\n" +
		"Content-Usage: /%61/b search=y\nContent-Usage: bad,\nContent-Signal: bad\n"
	for _, tt := range []struct{ body, token, path, signals, usage string }{
		{attach, "x", "/test", "", "train-ai=n"},
		{attach, "x", "/never/test", "", ""},
		{attach, "x", "/ai-ok/test", "", "/ai-ok/ train-ai=y"},
		{attach, "ExampleBot", "/never/test", "", "train-ai=y"},
		{signals, "x", "/", "", ""},
		{signals, "x", "/about/them", "/about ai-train=yes, /about search=yes", ""},
		{signals, "x", "/about/us", "/about/us* ai-train=no, /about search=yes", ""},
		{scopes, "x", "/", "ai-train=no", ""}, // a Content-Usage is a rule, which needs a group
		{scopes, "own", "/", "search=yes", ""},
		{scopes, "none", "/x", "ai-train=no", ""},
		{strict, "x", "/", "use=full, ai-train=no", ""},
		{strict, "x", "/a", "use=full, ai-train=no", "/a search=n"},
		{strict, "x", "/a/b", "use=full, ai-train=no", "/%61/b search=y"},
	} {
		r := Parse([]byte(tt.body)).Rules(RFC9309, tt.token)
		if got := stated(r.ContentSignals(RawPath(tt.path))); got != tt.signals {
			t.Errorf("signals of %s for %s in\n%sgot %q, want %q", tt.path, tt.token, tt.body, got, tt.signals)
		}
		if got := stated(r.ContentUsage(RawPath(tt.path))); got != tt.usage {
			t.Errorf("usage of %s for %s in\n%sgot %q, want %q", tt.path, tt.token, tt.body, got, tt.usage)
		}
	}
	r := Parse([]byte(strict)).Rules(RFC9309, "x")
	if got := r.ContentSignals(Path{}); len(got) != 2 || r.ContentUsage(Path{}) != nil {
		t.Errorf("a zero path: %v", got)
	}
	if got := r.UserInitiated().ContentUsage(RawPath("/a")); len(got) != 1 || got[0].Line != 3 {
		t.Errorf("a user's fetch: %v", got)
	}
}

// TestUnknown: unknown fields are kept, up to the size limit.
func TestUnknown(t *testing.T) {
	f := Parse([]byte("Tdm-Reservation : 1 # all\nUser-agent: *\nAllow: /\nLLMs-Txt: https://e.example/llms.txt\n: x\nno colon\n"))
	small := RFC9309
	small.MaxFileBytes = 30
	for want, d := range map[string]Dialect{" 1 Tdm-Reservation=1 4 LLMs-Txt=https://e.example/llms.txt": RFC9309, " 1 Tdm-Reservation=1": small} {
		got := ""
		for l := range f.Rules(d, "x").Unknown() {
			got += fmt.Sprintf(" %d %s=%s", l.Number, f.Text(l.Name), f.Text(l.Value))
		}
		if got != want {
			t.Errorf("up to %d bytes: got %q, want %q", d.MaxFileBytes, got, want)
		}
	}
	for range (*Rules)(nil).Unknown() {
		t.Error("nil rules hold a line")
	}
}
