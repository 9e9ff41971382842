package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/lint"
)

// A client is a client of a server in this process.
type client struct {
	*jrpc2.Client
	t        *testing.T
	findings chan []diagnostic
}

func connect(t *testing.T) *client {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Serve(struct{ io.Reader }{in}, out, "test") }() // like standard input, which Serve cannot close
	c := &client{t: t, findings: make(chan []diagnostic, 100)}
	c.Client = jrpc2.NewClient(channel.LSP(fromServer, toServer), &jrpc2.ClientOptions{OnNotify: func(r *jrpc2.Request) {
		var p struct{ Diagnostics []diagnostic }
		if err := r.UnmarshalParams(&p); err != nil || r.Method() != "textDocument/publishDiagnostics" {
			t.Errorf("%s: %v", r.Method(), err)
		}
		c.findings <- p.Diagnostics
	}})
	t.Cleanup(func() {
		c.call("shutdown", nil, nil)
		if _, err := c.Call(context.Background(), "textDocument/hover", map[string]any{}); err == nil || !strings.Contains(err.Error(), "-32600") {
			t.Errorf("a request after shutdown: %v, want an error", err)
		}
		c.notify("exit", nil)
		if err := <-done; err != nil {
			t.Errorf("Serve returns %v after exit", err)
		}
		c.Close()
	})
	var info struct {
		Capabilities struct{ PositionEncoding string }
	}
	c.call("initialize", map[string]any{"processId": nil, "capabilities": map[string]any{}}, &info)
	if got := info.Capabilities.PositionEncoding; got != "utf-16" {
		t.Errorf("the encoding is %q, want utf-16", got)
	}
	c.notify("initialized", map[string]any{})
	return c
}

func (c *client) call(method string, params, result any) {
	c.t.Helper()
	r, err := c.Call(context.Background(), method, params)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	if result != nil {
		if err := r.UnmarshalResult(result); err != nil {
			c.t.Fatalf("%s: %v", method, err)
		}
	}
}

func (c *client) notify(method string, params any) {
	c.t.Helper()
	if err := c.Notify(context.Background(), method, params); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
}

const (
	file  = "file:///site/robots.txt"
	tests = "file:///site/robots.test.yaml"
)

func (c *client) open(uri, text string) {
	c.t.Helper()
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "robots", "version": 1, "text": text}})
}

func at(uri string, line, character int) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": uri}, "position": position{line, character}}
}

func codes(list []diagnostic) (codes []string) {
	for _, d := range list {
		codes = append(codes, d.Code)
	}
	return codes
}

// TestDiagnostics: findings are published for the latest text, and cleared when the file is closed.
func TestDiagnostics(t *testing.T) {
	c := connect(t)
	c.open(file, "User-agent: *\nDisallow: tmp\n")
	first := <-c.findings
	if got := codes(first); !slices.Equal(got, []string{"RT401"}) {
		t.Fatalf("findings %v, want RT401", got)
	}
	if d := first[0]; d.Range.Start.Line != 1 || d.Source != "robots" || d.Data.ID != "RT401" || d.Data.Line != 2 || d.Data.Fix == nil || !strings.HasSuffix(d.CodeDescription.Href, "#rt401") {
		t.Errorf("got %+v", d)
	}
	c.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": file, "version": 2}, "contentChanges": []any{map[string]any{"text": "User-agent: *\nDisallow: /tmp\n"}}})
	if got := <-c.findings; len(got) != 0 {
		t.Errorf("findings of the mended text: %v", got)
	}
	c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": file}})
	if got := <-c.findings; len(got) != 0 {
		t.Errorf("findings of a closed file: %v", got)
	}
}

// TestActions: a fix is offered at its finding, and all safe fixes at once.
func TestActions(t *testing.T) {
	c := connect(t)
	text := "User-agent: *\nDisallow: tmp\nDisallow: /a\nDisallow: /a\n"
	c.open(file, text)
	<-c.findings
	var actions []codeAction
	c.call("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": file}, "range": textRange{position{1, 3}, position{1, 3}}, "context": map[string]any{"diagnostics": []any{}}}, &actions)
	d := newDocument(textDocument{URI: file, Text: text})
	got := map[string]string{}
	for _, a := range actions {
		got[a.Kind] = applied(d, a.Edit.Changes[file])
		if a.Kind == kindQuickFix && (a.IsPreferred || !strings.Contains(a.Title, "changes verdicts")) {
			t.Errorf("a fix that changes verdicts: %+v", a)
		}
	}
	want := map[string]string{
		kindQuickFix: "User-agent: *\nDisallow: /tmp\nDisallow: /a\nDisallow: /a\n",
		kindFixAll:   "User-agent: *\nDisallow: tmp\nDisallow: /a\n",
	}
	for kind := range want {
		if got[kind] != want[kind] {
			t.Errorf("%s makes\n%s\nwant\n%s", kind, got[kind], want[kind])
		}
	}
	c.call("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": file}, "range": textRange{}, "context": map[string]any{"diagnostics": []any{}, "only": []string{"source"}}}, &actions)
	if len(actions) != 1 || actions[0].Kind != kindFixAll {
		t.Errorf("actions of the kind source: %+v", actions)
	}
}

// applied returns the text of a document after edits that do not overlap.
func applied(d *document, edits []textEdit) string {
	slices.SortFunc(edits, func(a, b textEdit) int { return d.offset(b.Range.Start) - d.offset(a.Range.Start) })
	text := d.text
	for _, e := range edits {
		text = text[:d.offset(e.Range.Start)] + e.NewText + text[d.offset(e.Range.End):]
	}
	return text
}

func TestFormatting(t *testing.T) {
	c := connect(t)
	text := "user-agent:*\ndisallow:/a\nAllow: /b\n"
	c.open(file, text)
	var edits []textEdit
	c.call("textDocument/formatting", map[string]any{"textDocument": map[string]any{"uri": file}, "options": map[string]any{"tabSize": 4}}, &edits)
	if got, want := applied(newDocument(textDocument{URI: file, Text: text}), edits), "User-agent: *\nDisallow: /a\nAllow: /b\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAssertions: mistakes in a file of assertions, and assertions that fail, are published at their lines, again when the
// robots.txt changes. It is the one in the same folder, open or not.
func TestAssertions(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "robots.txt"), []byte("User-agent: *\nDisallow: /a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := connect(t)
	c.open(file, "User-agent: *\nDisallow: /\n") // of another folder
	<-c.findings
	uri := "file://" + folder + "/Robots.test.YAML"
	check := func(list []diagnostic, want ...string) {
		t.Helper()
		var got []string
		for _, d := range list {
			got = append(got, fmt.Sprintf("%d:%d %s", d.Range.Start.Line+1, d.Range.Start.Character+1, d.Message))
		}
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	const text = "version: 1\nrobots: robots.txt\ntests:\n  - allow: [/b]\n    disallow:\n      - /a\n      - /b\n"
	c.open(uri, text)
	check(<-c.findings, "7:7 /b for * (rfc9309): allow, want disallow; no rule matches")
	c.open("file://"+folder+"/robots.txt", "User-agent: *\nDisallow: /a\nDisallow: /b\n")
	ofFile := <-c.findings
	ofTests := <-c.findings
	if len(ofFile) > 0 { // jrpc2 delivers each notification in a goroutine, so the second can come first
		ofFile, ofTests = ofTests, ofFile
	}
	check(ofFile)
	check(ofTests, "4:3 /b for * (rfc9309): disallow, want allow; line 3: Disallow: /b")
	c.open(uri, "version: 1\nrobots: robots.txt\ntests: [\n")
	if list := <-c.findings; len(list) != 1 || !strings.Contains(list[0].Message, "invalid YAML") {
		t.Errorf("findings of broken YAML: %+v", list)
	}
	c.open(uri, strings.ReplaceAll(text, "robots: robots.txt", "robots: other.txt"))
	if list := <-c.findings; len(list) != 1 || !strings.Contains(list[0].Message, "cannot read robots: ") {
		t.Errorf("findings without the robots.txt: %+v", list)
	}
	c.open(uri, strings.ReplaceAll(text, "allow:", "alow:"))
	check(<-c.findings, `4:3 unknown key "alow" (did you mean allow?)`, `5:5 unknown key "disalow" (did you mean disallow?)`)
}

// TestQuickEdits: of versions that come faster than they can be checked, few are, and the last one is.
func TestQuickEdits(t *testing.T) {
	c := connect(t)
	var text strings.Builder
	text.WriteString("User-agent: *\n")
	for i := range 700 {
		fmt.Fprintf(&text, "Disallow: /section-%d/*?page=%d\n", i, i%97)
	}
	c.open(file, text.String())
	const edits = 30
	for i := range edits {
		text.WriteString("Disallow: x" + strings.Repeat("y", i) + "\n") // a finding
		c.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": file, "version": i + 2}, "contentChanges": []any{map[string]any{"text": text.String()}}})
	}
	var h hover
	if c.call("textDocument/hover", at(file, 700+edits, 0), &h); h.Range.End.Character != len("Disallow: x")+edits-1 {
		t.Errorf("hover of the last version: %+v", h)
	}
	published := 0
	for last := false; !last; published++ {
		last = slices.ContainsFunc(<-c.findings, func(d diagnostic) bool { return d.Range.Start.Line == 700+edits })
	}
	if published > edits/2 {
		t.Errorf("%d of %d versions were checked", published, edits)
	}
}

// TestUpperCase: ROBOTS.TXT is a robots.txt too.
func TestUpperCase(t *testing.T) {
	c := connect(t)
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": "file:///site/ROBOTS.TXT", "languageId": "plaintext", "version": 1, "text": "User-agent: *\nDisallow: tmp\n"}})
	if got := codes(<-c.findings); !slices.Equal(got, []string{"RT401"}) {
		t.Errorf("findings %v, want RT401", got)
	}
}

// TestHover: a rule shows its crawlers, and the URLs of open tests that it decides.
func TestHover(t *testing.T) {
	c := connect(t)
	c.open(file, "User-agent: Googlebot\nUser-agent: *\nDisallow: /basket\nDissallow: /x\nNonsense: /x\n")
	c.open(tests, "version: 1\nrobots: robots.txt\ntests:\n  - {agent: Googlebot, disallow: [/basket/1, {url: /basket}], allow: [/]}\n  - {disallow: /basket/2, allow: [{every: \"/x*\"}, /y]}\n")
	for _, test := range []struct {
		line int
		want []string
	}{
		{3, []string{"`Dissallow` is an unknown field, which only google", "Did you mean Disallow?", "Blocks paths"}},
		{4, []string{"`Nonsense` is an unknown field, and crawlers ignore the line."}},
		{0, []string{"**Googlebot**: Google, search.", "`google`"}},
		{2, []string{"Applies to `Googlebot`, all crawlers that no other group names (line 1)", "- /basket/1 for Googlebot (disallow): `line 3: Disallow: /basket`\n- /basket for Googlebot (disallow): `line 3: Disallow: /basket`\n- /basket/2 for * (disallow): `line 3: Disallow: /basket`"}},
	} {
		var h hover
		c.call("textDocument/hover", at(file, test.line, 2), &h)
		for _, want := range test.want {
			if !strings.Contains(h.Contents.Value, want) {
				t.Errorf("line %d: %q, want %q in it", test.line, h.Contents.Value, want)
			}
		}
	}
}

// TestHoverURL: a URL in a file of assertions shows the verdict and summary of robots explain, for
// each dialect and for the robots.txt that the file contains, names or that is open.
func TestHoverURL(t *testing.T) {
	const text = "User-agent: Yandex\nDisallow: /a*\nAllow: /a`b\n"
	c := connect(t)
	c.open(file, text)
	c.open("file:///site/other/robots.txt", "User-agent: *\nDisallow: /\n")
	c.open(tests, "version: 1\nrobots: robots.txt\ntests:\n  - {agent: YandexBot, disallow: [/a, {line: 2, url: /a/1}], allow: [nonsense, \"/x\"]}\n")
	inline := "file:///site/inline.yaml"
	c.open(inline, "version: 1\ndialect: [rfc9309, bing]\ntext: |\n  User-agent: a\n  Disallow: /é\ntests:\n- agent: a\n  disallow:\n  - /é # é\n")
	rule := "**disallow** for `YandexBot` (yandex): `line 2: Disallow: /a*`; YandexBot is not named; it follows the group of Yandex"
	for _, test := range []struct {
		uri             string
		line, character int
		want            string
		span            textRange
	}{
		{tests, 3, 0, rule, textRange{position{3, 34}, position{3, 36}}},
		{tests, 3, 35, rule, textRange{position{3, 34}, position{3, 36}}},
		{tests, 3, 54, rule, textRange{position{3, 53}, position{3, 57}}},
		{tests, 3, 90, "**allow** for `YandexBot` (yandex): `no rule matches`; YandexBot is not named", textRange{position{3, 80}, position{3, 82}}},
		{inline, 8, 5, "**disallow** for `a` (rfc9309): `line 2: Disallow: /é`\n\n**disallow** for `a` (bing): `line 2: Disallow: /é`", textRange{position{8, 4}, position{8, 6}}},
	} {
		var h hover
		c.call("textDocument/hover", at(test.uri, test.line, test.character), &h)
		if !strings.HasPrefix(h.Contents.Value, test.want) || strings.Contains(h.Contents.Value, "other") || h.Range != test.span {
			t.Errorf("%s %d:%d: %q at %v, want %q at %v", test.uri, test.line, test.character, h.Contents.Value, h.Range, test.want, test.span)
		}
	}
	var raw json.RawMessage
	if c.call("textDocument/hover", at(tests, 1, 3), &raw); string(raw) != "null" {
		t.Errorf("hover without a URL: %s", raw)
	}
}

func TestDefinition(t *testing.T) {
	c := connect(t)
	c.open(file, "User-agent: a\nDisallow: /x\n\nUser-agent: googlebot\nDisallow: /y\n\nUser-agent: Googlebot/2.1\nDisallow: /z\n")
	c.open(tests, "version: 1\ntests:\n  - agent: Googlebot-Image\n    allow: [/]\n  - agent: [Googlebot-Image, Googlebot]\n    allow: [/a]\n")
	for _, test := range []struct {
		uri  string
		line int
		want []int
	}{
		{file, 1, []int{0}},    // a rule: its group
		{file, 3, []int{3, 6}}, // a name: all groups that name it
		{file, 2, nil},
		{file, 99, nil},         // after the end
		{tests, 3, []int{3, 6}}, // no group names it: its fallback
		{tests, 5, []int{3, 6}},
	} {
		var list []location
		c.call("textDocument/definition", at(test.uri, test.line, 0), &list)
		var got []int
		for _, l := range list {
			got = append(got, l.Range.Start.Line)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:%d leads to %v, want %v", test.uri, test.line, got, test.want)
		}
	}
}

func TestCompletion(t *testing.T) {
	c := connect(t)
	c.open(file, "Dis\nUser-agent: GPT\n# Dis")
	for _, test := range []struct {
		line, character int
		want            string // "" for nothing
		from            int
	}{
		{0, 3, "Disallow", 0},
		{1, 15, "GPTBot", 12},
		{2, 5, "", 0},
	} {
		var items []completionItem
		c.call("textDocument/completion", at(file, test.line, test.character), &items)
		i := slices.IndexFunc(items, func(item completionItem) bool { return item.Label == test.want })
		switch {
		case test.want == "" && len(items) > 0:
			t.Errorf("line %d: %d items in a comment", test.line, len(items))
		case test.want != "" && i < 0:
			t.Errorf("line %d: no %s among %d items", test.line, test.want, len(items))
		case test.want != "" && items[i].TextEdit.Range.Start.Character != test.from:
			t.Errorf("line %d: %s replaces from %d, want %d", test.line, test.want, items[i].TextEdit.Range.Start.Character, test.from)
		}
	}
}

// TestCompletionIsClean: lint has no finding about what completion offers.
func TestCompletionIsClean(t *testing.T) {
	c := connect(t)
	c.open(file, "\nUser-agent: ")
	values := map[string]string{
		"User-agent": "a\nDisallow: /b", "Allow": "/y/z", "Sitemap": "https://a.example/s.xml", "Crawl-delay": "5", "Request-rate": "1/30s",
		"Visit-time": "0600-0845", "Clean-param": "ref /x", "Content-Signal": "search=yes", "Content-Usage": "search=y",
		"License": "https://a.example/l.xml", "Disallow": "/x",
	}
	for line, character := range []int{0, 12} {
		var items []completionItem
		c.call("textDocument/completion", at(file, line, character), &items)
		if len(items) < 10 {
			t.Errorf("%d items", len(items))
		}
		for _, item := range items {
			text := "User-agent: *\nDisallow: /y\n" + item.TextEdit.NewText + values[item.Label] + "\n"
			if line == 1 {
				text = "User-agent: " + item.TextEdit.NewText + "\nDisallow: /y\n"
			}
			for _, d := range lint.File(robots.Parse([]byte(text)), lint.Options{}).Diagnostics {
				t.Errorf("%s is offered, and lint finds: %s", item.Label, d.Message)
			}
		}
	}
}

// TestEnd: the end of a text is in its last line, or after it if that has a line end.
func TestEnd(t *testing.T) {
	for text, want := range map[string]position{"": {}, "a": {0, 1}, "a\n": {1, 0}, "a\nbc": {1, 2}, "a\r\n": {1, 0}} {
		d := newDocument(textDocument{URI: file, Text: text})
		if got := d.position(len(text)); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// FuzzPositions: offsets at the start of a character are the same after conversion, for any text.
func FuzzPositions(f *testing.F) {
	f.Add("User-agent: *\r\nDisallow: /caf\u00e9\U0001f600\rx\n", 20)
	f.Add("\xff\xfe\n\x00", 1)
	f.Fuzz(func(t *testing.T, text string, offset int) {
		d := newDocument(textDocument{URI: file, Text: text})
		for _, l := range d.lines {
			at := l.Span.Start
			for _, r := range text[l.Span.Start:l.Span.End] {
				if got := d.offset(d.position(at)); got != at {
					t.Fatalf("%d becomes %+v and %d", at, d.position(at), got)
				}
				at += len(string(r))
				if r == 0xfffd {
					break // of invalid bytes the size is not that of the rune
				}
			}
		}
		_ = d.offset(position{offset, offset}) // any position is no panic
	})
}

// TestUnknown: an unknown method is an error, and files that are not open or not a robots.txt
// get no answers.
func TestUnknown(t *testing.T) {
	c := connect(t)
	if _, err := c.Call(context.Background(), "textDocument/rename", nil); err == nil {
		t.Error("an unknown method has no error")
	}
	var raw json.RawMessage
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": "file:///notes.txt", "languageId": "plaintext", "version": 1, "text": "Disallow: /"}})
	for _, uri := range []string{"file:///other", "file:///notes.txt"} {
		if c.call("textDocument/hover", at(uri, 0, 0), &raw); string(raw) != "null" {
			t.Errorf("hover in %s: %s", uri, raw)
		}
	}
	c.open(file, "")
	c.call("textDocument/hover", at(file, 7, 7), &raw)
	if string(raw) != "null" {
		t.Errorf("hover behind the end: %s", raw)
	}
}

// TestOrder: requests are answered before the notifications behind them are handled, so that a client need not wait for an answer
// before it sends exit.
func TestOrder(t *testing.T) {
	var in strings.Builder
	for _, m := range []string{`"id":1,"method":"initialize","params":{}`, `"method":"initialized","params":{}`, `"id":2,"method":"shutdown"`, `"method":"exit"`} {
		m = `{"jsonrpc":"2.0",` + m + `}`
		fmt.Fprintf(&in, "Content-Length: %d\r\n\r\n%s", len(m), m)
	}
	for range 20 {
		var out output
		if err := Serve(strings.NewReader(in.String()), &out, "test"); err != nil || strings.Count(out.String(), `"result"`) != 2 {
			t.Fatalf("%v, %s", err, out.String())
		}
	}
}

// TestBroken: a client that breaks the protocol gets an error, and takes no memory.
func TestBroken(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"Content-Length: 99999999999\r\n\r\n{}", errHeader.Error()},
		{"Content-Length: x\r\n\r\n{}", errHeader.Error()},
		{"Content-Type: x\r\n\r\n{}", errHeader.Error()},
		{strings.Repeat("x", 1<<20), errHeader.Error()},
		{"Content-Length: 9\r\n\r\n{}", "unexpected EOF"},
		{"", ""},
	} {
		err := Serve(strings.NewReader(tt.in), new(output), "test")
		if got := fmt.Sprint(err); got != tt.want && (err != nil || tt.want != "") {
			t.Errorf("%.30q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

// An output is what a server writes.
type output struct {
	mu sync.Mutex
	strings.Builder
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Builder.Write(b)
}

func (*output) Close() error { return nil }
