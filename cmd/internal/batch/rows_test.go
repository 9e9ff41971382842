package batch

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/robotskit/robots"
)

// TestRows: a row has the same answer as the corresponding line of JSON.
func TestRows(t *testing.T) {
	defaults := &Defaults{Agents: []string{"Given"}, Dialect: robots.RFC9309, File: robots.Parse([]byte("User-agent: *\nDisallow: /of-the-call\n"))}
	lines, rows := NewAnswerer(defaults), NewAnswerer(defaults)
	bodies := []string{"", thirteen, "User-agent: a\nDisallow: /a\nUser-agent: b\nDisallow: /\n", "User-agent: given\nDisallow: /\n", "\xff\x00", "Disallow: /" + strings.Repeat("x", maxRemembered+10)}
	agents := []string{"", "a", "b", "a,b", "Mozilla/5.0 (compatible; A/1)", "Googlebot-Image Googlebot", "tab\t(and\\n\n"}
	dialects := []string{"", "google", "google-cpp", "bing", "all", "nobody"}
	urls := []string{"/a", "/of-the-call", "/a\tb\nc\\d\r\x00\b\f'", "x", "", "https://a.test/search?sort=1", "/é"}
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 3000 {
		question := map[string]any{"url": urls[r.IntN(len(urls))]}
		columns := [4]string{null, null, null, string(appendEscaped(nil, question["url"].(string)))}
		if r.IntN(9) > 0 {
			body := bodies[r.IntN(len(bodies)-1)]
			if i%500 == 0 {
				body = bodies[len(bodies)-1]
			}
			coded := base64.StdEncoding.EncodeToString([]byte(body))
			if r.IntN(20) == 0 {
				coded += "%"
			}
			columns[0], question["robots_b64"] = coded, coded
		}
		if a := agents[r.IntN(len(agents))]; a != "" {
			columns[1], question["agent"] = string(appendEscaped(nil, a)), a
			if a == "Googlebot-Image Googlebot" { // a list, which a row has with blanks
				question["agent"] = strings.Fields(a)
			}
		} else if r.IntN(2) == 0 {
			columns[1] = ""
		}
		if d := dialects[r.IntN(len(dialects))]; d != "" {
			columns[2], question["dialect"] = d, d
		}
		text, _ := json.Marshal(question)
		q := Read(text)
		var want struct {
			Verdict, Reason, Error *string
			Rule                   *struct{ Line int }
		}
		if err := json.Unmarshal(lines.Append(nil, &q), &want); err != nil {
			t.Fatal(err)
		}
		column := func(s *string) string {
			if s == nil {
				return null
			}
			return string(appendEscaped(nil, *s))
		}
		line := null
		if want.Rule != nil {
			line = fmt.Sprint(want.Rule.Line)
		}
		row := strings.Join(columns[:], "\t")
		q = ReadRow([]byte(row))
		got := string(rows.Append(nil, &q))
		if want := strings.Join([]string{column(want.Verdict), column(want.Reason), line, column(want.Error)}, "\t"); got != want {
			t.Fatalf("%.300q: got %q, want %q", row, got, want)
		}
	}
	for row, want := range map[string]string{
		"":                      "got 1",
		"a\tb\tc\td\te":         "got 5",
		"\t\t\t" + null:         "url is missing",
		"%\t\t\t/":              "not base64",
		"\t\tnobody\t/":         "nobody",
		"\ta,b\t\t/":            "in a TSV row, separate them with spaces",
		`\t\x41\` + "\t\t\t/\r": "not base64",
	} {
		q := ReadRow([]byte(row))
		if got := string(rows.Append(nil, &q)); !strings.HasPrefix(got, null+"\t"+null+"\t"+null+"\t") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want an error with %q", row, got, want)
		}
	}
}

// TestRowTokens: a JSON array names tokens with spaces, which are verbatim in google-cpp; elsewhere spaces separate tokens.
func TestRowTokens(t *testing.T) {
	rows := NewAnswerer(&Defaults{Agents: []string{"x"}, Dialect: robots.GoogleCPP, File: robots.Parse([]byte("User-agent: Free\nDisallow: /\n"))})
	for agent, want := range map[string]string{
		`Gluten Free`: "disallow", `["Gluten Free"]`: "allow", `["Gluten","Free"]`: "disallow", `["Gluten Free","Free"]`: "disallow",
		`[]`: "allow", `["Free`: null, `[1]`: null, `["a"]x`: null,
	} {
		q := ReadRow([]byte(null + "\t" + string(appendEscaped(nil, agent)) + "\t\t/"))
		got, _, _ := strings.Cut(string(rows.Append(nil, &q)), "\t")
		if got != want {
			t.Errorf("%s: %s, want %s", agent, got, want)
		}
	}
}

// TestEscapes: the escapes of ClickHouse are decoded, and encoding them again gives the same
// text.
func TestEscapes(t *testing.T) {
	for text, want := range map[string]string{
		`\b\f\r\n\t\0\'\\`: "\b\f\r\n\t\x00'\\", `\a\v\e`: "\a\v\x1b", `\x41\xfF\x4`: "A\xffx4", `\"\/\q`: `"/q`, `a\`: `a\`, `\\N`: `\N`, "é\xff": "é\xff",
	} {
		if got := string(unescape([]byte(text))); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if got := string(unescape(appendEscaped(nil, want))); got != want {
			t.Errorf("%q comes back as %q", want, got)
		}
	}
}

// TestBodies: the last thousand files are cached, within a limit of bytes.
func TestBodies(t *testing.T) {
	b := newBodies()
	ask := func(text string) *robots.File {
		f, err := b.file([]byte(base64.StdEncoding.EncodeToString([]byte(text))))
		if err != nil || string(f.Bytes()) != text {
			t.Fatalf("%.20q: %v", text, err)
		}
		return f
	}
	first, second := ask("0"), ask("1")
	for i := range mostBodies {
		if ask("0") != first {
			t.Fatalf("what is asked all the time is parsed again, after %d others", i)
		}
		ask(fmt.Sprint(i + 2))
	}
	if ask("1") == second {
		t.Error("what was not asked for long is still there")
	}
	if b.known.Len() != mostBodies {
		t.Errorf("%d files are remembered", b.known.Len())
	}
	for i := range 40 {
		ask(strings.Repeat(fmt.Sprint(i%10), maxRemembered-i))
	}
	if held := b.bytes; held > mostBodyBytes || held < mostBodyBytes/2 {
		t.Errorf("%d bytes are remembered", held)
	}
}
