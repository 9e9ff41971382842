package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// hostile has what controls a terminal, ends a line, reorders text, or has a meaning in Markdown,
// HTML, workflow commands and Slack's messages.
const hostile = "\x1b]0;title\x07\x1b[2J\xff\x9b31m\u009b31m\u0085\x0b\x0c\x08\x7f\u202e\u061c\u2028\u2029\u200b\uFEFF\u00ad\u180e\uFFF9\U000E0041" +
	"`|@octocat <!channel> <script>alert(1)</script> [x](http://evil.example/) %0A::error::injected"

// injected begins a line of its own, which a program that reads the output could obey.
const injected = hostile + "\n::error::injected\n\r::warning::injected"

// TestInjection: no text of a robots.txt, a page, a URL, a header, a log or an argument controls a
// terminal or begins a line of the output, in any format, and JSON has it unchanged.
func TestInjection(t *testing.T) {
	var file strings.Builder
	file.WriteString("User-agent: *\nDisallow: /p\nDisallow: /" + hostile + "\n")
	for _, field := range []string{"User-agent", "Disallow", "Allow", "Sitemap", "Crawl-delay", "Request-rate", "Visit-time", "Clean-param", "Host", "Content-Signal", "Content-Usage", "License", "Disalow", "x" + hostile} {
		file.WriteString(field + ": " + hostile + "\n" + field + ": /a" + hostile + " # " + hostile + "\n")
	}
	file.WriteString("User-agent: Googlebot" + hostile + "\nUser-agent: GPTBot " + hostile + "\nDisallow: /x\nContent-Usage: /p" + hostile + " train-ai=n\n# robots-ignore " + hostile + "\n")
	before := file.String()
	after := "User-agent: *\nDisallow: /" + hostile + "\nSitemap: https://example.com/" + hostile + "\nCrawl-delay: 3\nUser-agent: foo" + hostile + "\nDisallow: /\n"
	page := "<meta name=robots content='noindex, " + hostile + "'><meta name='x" + hostile + "' content='noindex, unavailable_after: " + hostile + "'>"

	now, posted := before, ""
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			posted = string(body)
			return
		}
		header := strings.Map(func(u rune) rune {
			if unicode.IsControl(u) && u < 0x7F { // which net/http would replace
				return -1
			}
			return u
		}, hostile)
		for _, name := range []string{"Server", "Via", "Retry-After", "Etag", "X-Robots-Tag"} {
			w.Header().Set(name, header)
		}
		switch r.URL.Path {
		case "/robots.txt":
			w.Header().Set("Content-Type", "text/plain; charset="+header)
			_, _ = io.WriteString(w, now)
		default:
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, page)
		}
	}))
	defer site.Close()

	dir := t.TempDir()
	t.Chdir(dir)
	save := func(name, text string) string {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	odd := save(strings.NewReplacer("/", "_", "\x00", "").Replace(injected), before)
	save("a.txt", before)
	save("b.txt", after)
	save("page.html", page)
	save("urls.txt", "/a"+hostile+"\nhttps://example.com/"+hostile+"\nnot a URL "+hostile+"\n")
	logged := strings.ReplaceAll(hostile, `"`, "")
	save("access.log", `192.0.2.1 - - [01/Jan/2026:00:00:00 +0000] "GET /p`+logged+` HTTP/1.1" 200 1 "-" "Googlebot/2.1 `+logged+"\"\nmalformed "+hostile+"\n")
	quoted := func(s string) string {
		text, _ := json.Marshal(strings.ToValidUTF8(s, "?")) // which is YAML too
		return string(text)
	}
	save("tests.yaml", "robots.txt: a.txt\ntests:\n  - name: "+quoted(injected)+"\n    agent: "+quoted("x"+hostile)+"\n    disallow: ["+quoted("/z"+hostile)+"]\n    allow: ["+quoted("/p"+hostile)+", {url: /p, rule: "+quoted("Allow: /"+hostile)+"}]\n")
	save("bad.yaml", "robots.txt: a.txt\n"+quoted(injected)+": 1\n")

	check := func(name, text string) {
		t.Helper()
		if !utf8.ValidString(text) {
			t.Errorf("%s: not UTF-8: %q", name, text)
		}
		for i, u := range text {
			if u != '\n' && u != '\t' && unicode.In(u, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Errorf("%s: %U in %q", name, u, text[max(0, i-60):min(len(text), i+20)])
				break
			}
		}
		if strings.Contains("\n"+text, "\n::error::injected") || strings.Contains("\n"+text, "\n::warning::injected") {
			t.Errorf("%s: a line is injected: %q", name, text)
		}
	}
	call := func(args ...string) string {
		t.Helper()
		var out, said bytes.Buffer
		run(t.Context(), args, strings.NewReader(""), &out, &said)
		name := strings.NewReplacer(injected, "INJECTED", hostile, "HOSTILE", odd, "ODD").Replace(strings.Join(args, " "))
		check(name, out.String())
		check(name+" 2>", said.String())
		return out.String()
	}
	formats := func(formats string, args ...string) {
		t.Helper()
		for format := range strings.FieldsSeq(formats) {
			call(append(slices.Clone(args), "--format", format)...)
		}
	}
	const text, findings = "text json", "text json sarif junit github markdown"
	for _, dialect := range []string{"rfc9309", "google", "google-cpp", "bing", "all"} {
		url := "/p" + injected
		formats("text json tsv", "check", "-f", odd, "-d", dialect, "-a", "x"+injected, "-a", "Googlebot"+hostile, url)
		formats(text, "explain", "-f", odd, "-d", dialect, "-a", "x"+injected, "-a", "Google", "-a", "foo"+hostile, url)
	}
	formats(text, "page", "-f", odd, "--html", "page.html", "--header", "X-Robots-Tag: "+hostile, "/p"+injected)
	formats(text, "page", "--allow-private", site.URL+"/p"+injected)
	formats("text json csv", "crawlers", odd)
	for _, file := range []string{odd, site.URL + "/"} {
		formats(text, "show", "--allow-private", file)
		formats(findings, "lint", "--allow-private", file)
		formats(findings, "diff", "--allow-private", "-a", "x"+injected, file, "b.txt")
		formats(findings, "diff", "--allow-private", "--dialects", file)
	}
	formats(findings, "diff", "a.txt", "b.txt", "--urls", "urls.txt")
	formats(findings, "test", "tests.yaml")
	formats("text", "test", "bad.yaml")
	formats(text, "check", "-f", "a.txt", "--urls", "urls.txt")
	formats("text json csv", "verify", "--log", "access.log", "-f", "a.txt", "--offline")
	formats(text, "fetch", "--allow-private", site.URL+"/"+hostile)
	for _, command := range []string{"check", "lint", "serve", "clause", injected} {
		for _, flag := range []string{"-f", "-d", "-a", "--format", "--fail-on", "--at", "--proxy", "--user-agent", "--store", "--as", "--" + hostile} {
			call(command, flag, injected, injected)
		}
	}
	if patch := call("fmt", "--diff", "b.txt"); strings.Contains(patch, "x") { // b.txt is formatted; a patch has the bytes of the file
		t.Errorf("a patch of a file that is formatted: %s", patch)
	}

	// Markdown and Slack's messages have the names of crawlers and the rules of the file.
	for _, format := range []string{"text", "json", "markdown"} {
		state := filepath.Join(dir, format+".json")
		watch := []string{"watch", "--allow-private", "--state", state, "--webhook", site.URL + "/hook", "--webhook-format", "slack", "--format", format, site.URL}
		now = before
		call(watch...)
		now = after
		said := call(watch...)
		if format == "markdown" {
			for line := range strings.Lines(said) { // outside of code no text of the file
				outside := ""
				for i, part := range strings.Split(line, "``") {
					if i%2 == 0 {
						outside += part
					}
				}
				if strings.Contains(outside, "octocat") || strings.Contains(outside, "evil") {
					t.Errorf("Markdown has a text of the file: %s", line)
				}
			}
		}
	}
	if !strings.Contains(posted, "!channel") || strings.Contains(posted, `\u003c!channel`) || strings.Contains(posted, "<!channel") {
		t.Errorf("Slack gets a mention: %s", posted)
	}
}
