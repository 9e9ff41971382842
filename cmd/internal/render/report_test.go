package render

import (
	"encoding/xml"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

// TestHostileReports: a finding stays one annotation, one row and one case, whatever texts of a robots.txt
// and names of files it has.
func TestHostileReports(t *testing.T) {
	texts := []string{
		"]]>", "]]><failure/>", "<![CDATA[", "&amp;&#10;&quot;\"'", "\x00\x01\x1b[2J\x7f\u0085\ufffe\uffff", "\xff\xc0", "a\r\nb\rc\nd\ve\ff\u2028g\u2029h", "\u202e\u2066\ufeff",
		"|", `\|`, `\\|`, "a|b`c|d``e", "`", "``", "` ", " `", " a ", "a\\", "<img src=x>", "*_~~[x](y)", "&lt;b&gt;", "@user #1", "| --- |",
		"%", "%0A::error::x", "%25", "::error::x", "\n::error::x", "a::b", "a,line=9:b", "##[error]x", "]", ";", "::stop-commands::x",
	}
	for _, text := range texts {
		r := &Report{Command: "robots lint", Summary: "1 problem", Findings: []Finding{
			{File: "x" + text, Region: Region{StartLine: 1}, Level: "error", Failed: true, ID: "L01", Case: text, Message: text, Details: text},
		}}
		shown := robots.Printable(text)

		var b strings.Builder
		r.writeGitHub(&b)
		lines := strings.SplitAfter(b.String(), "\n")
		command := regexp.MustCompile(`^::error file=([^:,\n]*),line=1,title=([^:,\n]*)::([^\n]*)\n$`).FindStringSubmatch(lines[0])
		decode := strings.NewReplacer("%25", "%", "%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",")
		if len(lines) != 3 || command == nil || decode.Replace(command[2]) != "robots lint: "+shown || decode.Replace(command[3]) != shown {
			t.Errorf("%q: annotations %q", text, lines)
		}

		b.Reset()
		r.writeMarkdown(&b)
		var page strings.Builder
		if err := goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert([]byte(b.String()), &page); err != nil {
			t.Fatal(err)
		}
		cells := regexp.MustCompile(`(?s)<td>(.*?)</td>`).FindAllStringSubmatch(page.String(), -1)
		code := func(s string) string {
			return html.UnescapeString(strings.TrimSuffix(strings.TrimPrefix(s, "<code>"), "</code>"))
		}
		if len(cells) != 3 || code(cells[1][1]) != "x"+shown+":1" || code(cells[2][1]) != shown {
			t.Errorf("%q: the table is\n%s\n%s", text, b.String(), &page)
		}
		if strings.Count(page.String(), "<h3>") != 1 || strings.Contains(page.String(), "<img") || strings.Contains(page.String(), "<em>") {
			t.Errorf("%q: the heading is\n%s", text, &page)
		}

		b.Reset()
		if err := r.writeJUnit(&b, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		var suites JunitSuites
		if err := xml.Unmarshal([]byte(b.String()), &suites); err != nil || len(suites.Suites) != 1 || len(suites.Suites[0].Cases) != 1 {
			t.Errorf("%q: %v: %s", text, err, b.String())
			continue
		}
		c := suites.Suites[0].Cases[0]
		valid := strings.NewReplacer("\ufffe", "\ufffd", "\uffff", "\ufffd") // for XML
		shown = valid.Replace(shown)
		if c.Name != shown || c.Failure.Message != shown || strings.TrimSpace(c.Failure.Text) != strings.TrimSpace("x"+shown+":1\n"+valid.Replace(PrintableLines(text))) || strings.Contains(b.String(), "]]>") {
			t.Errorf("%q: %s", text, b.String())
		}
	}
}
