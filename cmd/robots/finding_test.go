package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/internal/campaign"
)

// program runs the program in this process, and fails if it prints errors.
func program(t *testing.T, want int, args ...string) string {
	t.Helper()
	var out, complaints bytes.Buffer
	if status := run(context.Background(), args, strings.NewReader(""), &out, &complaints); status != want {
		t.Fatalf("robots %q: status %d, want %d: %s%s", args, status, want, &out, &complaints)
	}
	for line := range strings.Lines(complaints.String()) {
		if !strings.Contains(line, ": warning: ") {
			t.Errorf("robots %q: %s", args, line)
		}
	}
	return out.String()
}

// Names and paths that are markup in one of the formats.
const (
	hostileOld = "User-agent: <a>&\"|`\nDisallow: /\n\nUser-agent: *\nDisallow: /%0A|`<b>\n"
	hostileNew = "User-agent: *\nDisallow: /]]>\x01\x80\uFFFE|``,:%\nSitemap: https://example.com/<&>\"|\n"
)

// A jsonDiff is a line of diff in JSON.
type jsonDiff struct {
	Schema int `json:"schema"`
	answer.CrawlerDifference
}

// TestReports: every format of diff and test is read back without markup from a file, and what
// JUnit's readers require is there.
func TestReports(t *testing.T) {
	before, after, empty := writeFile(t, hostileOld), writeFile(t, hostileNew), writeFile(t, "")
	tests := writeFile(t, "version: 1\ntext: \"User-agent: *\\nDisallow: /]]>&\\nAllow: /*a*b*c\\n\"\ntests:\n"+
		"  - {name: \"<a> & ]]>\\u0001, 100%\", allow: [/, \"/]]>&\"], disallow: {every: \"/]]*\"}}\n")
	hard := writeFile(t, "version: 1\ntext: \"User-agent: *\\nDisallow: /*a*b*c\\n\"\ntests:\n  - {disallow: {every: \"/*a*b*c\"}}\n")

	var changes []jsonDiff
	for decoder := strictDecoder(program(t, exitDisallowed, "diff", "--format", "json", before, after)); decoder.More(); {
		var j jsonDiff
		if err := decoder.Decode(&j); err != nil {
			t.Fatal(err)
		}
		if j.Schema != 1 || j.Result != "differs" || !j.Complete || j.Steps == 0 || len(j.Declared) != 1 {
			t.Errorf("%+v", j)
		}
		for _, change := range slices.Concat(j.NewlyBlocked, j.NewlyAllowed) {
			if change.Old.Allowed == change.New.Allowed {
				t.Errorf("%s: %+v is no change", j.Agent, change)
			}
		}
		changes = append(changes, j)
	}
	if len(changes) != 2 || changes[0].Agent != "*" || changes[1].Agent != "<a>&\"|`" {
		t.Errorf("JSON has %+v", changes)
	}
	got := program(t, exitDisallowed, "test", "--format", "json", tests)
	if n := strings.Count(got, "\n"); n != 3 || strings.Count(got, `"ok":true`) != 1 || strings.Count(got, `"rule":{`) != 1 || !strings.Contains(got, `"witness":"/`) {
		t.Errorf("JSON has %s", got)
	}

	for _, tt := range []struct {
		status                  int
		args                    string
		tests, failures, errors int
		has                     string
	}{
		{exitDisallowed, "test " + tests, 3, 2, 0, tests + ":4"},
		{exitUndecided, "test --budget 1 " + hard, 1, 0, 1, "<error "},
		{exitDisallowed, "diff " + before + " " + after, 5, 4, 0, "newly-"},
		{exitAllowed, "diff --fail-on never " + before + " " + after, 5, 0, 0, "newly"},
		{exitAllowed, "diff " + empty + " " + empty, 1, 0, 0, `<testcase name="*"`},
	} {
		text := program(t, tt.status, append(strings.Fields(tt.args), "--format", "junit")...)
		checkJUnit(t, text)
		var suites render.JunitSuites
		if err := xml.Unmarshal([]byte(text), &suites); err != nil || len(suites.Suites) != 1 {
			t.Fatalf("%v: %s", err, text)
		}
		s := suites.Suites[0]
		if s.Tests != len(s.Cases) || s.Tests != tt.tests || s.Failures != tt.failures || s.Errors != tt.errors || !strings.Contains(text, tt.has) {
			t.Errorf("%s: %d tests, %d failures, %d errors, want %+v: %s", tt.args, s.Tests, s.Failures, s.Errors, tt, text)
		}
	}
	checkSARIF(t, program(t, exitDisallowed, "diff", "--format", "sarif", before, after))
	checkSARIF(t, program(t, exitDisallowed, "test", "--format", "sarif", tests))
	for line := range strings.Lines(program(t, exitDisallowed, "diff", "--format", "github", before, after)) {
		if !strings.HasPrefix(line, "::error file=") && !strings.HasPrefix(line, "::warning file=") && !strings.HasPrefix(line, "::notice file=") && !strings.HasPrefix(line, "robots diff: ") {
			t.Errorf("not an annotation: %s", line)
		}
	}
	for line := range strings.Lines(program(t, exitDisallowed, "diff", "--format", "markdown", before, after)) {
		if strings.HasPrefix(line, "|") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 4 {
			t.Errorf("not a row of three cells: %s", line)
		}
	}
}

func strictDecoder(text string) *json.Decoder {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	return d
}

// A junitElement is an element of an XML document.
type junitElement struct {
	XMLName  xml.Name
	Attrs    []xml.Attr     `xml:",any,attr"`
	Children []junitElement `xml:",any"`
}

// junitSchema has the attributes of each element, and a pattern of its children, that the
// strictest schema in use requires, that of Ant's junit task (JUnit.xsd of Windy Road). What it
// accepts, junit-10.xsd of Jenkins' xunit plugin accepts too.
var junitSchema = map[string][2]string{
	"testsuites": {"", `(testsuite )*`},
	"testsuite":  {"errors failures hostname id name package tests time timestamp", `properties (testcase )*system-out system-err `},
	"testcase":   {"classname name time", `((error|failure) )?`},
	"error":      {"message type", ``}, "failure": {"message type", ``},
	"properties": {}, "system-out": {}, "system-err": {},
}

func checkJUnit(t *testing.T, text string) {
	t.Helper()
	var root junitElement
	if err := xml.Unmarshal([]byte(text), &root); err != nil || root.XMLName.Local != "testsuites" {
		t.Fatalf("%v: %s", err, text)
	}
	var check func(e *junitElement)
	check = func(e *junitElement) {
		var attrs []string
		children := ""
		for _, a := range e.Attrs {
			attrs = append(attrs, a.Name.Local)
			if e.XMLName.Local == "testsuite" && strings.TrimSpace(a.Value) == "" {
				t.Errorf("%s: %s is empty", e.XMLName.Local, a.Name.Local)
			}
		}
		slices.Sort(attrs)
		for i := range e.Children {
			children += e.Children[i].XMLName.Local + " "
			check(&e.Children[i])
		}
		shape, known := junitSchema[e.XMLName.Local]
		if !known || strings.Join(attrs, " ") != shape[0] || !regexp.MustCompile(`^(`+shape[1]+`)$`).MatchString(children) {
			t.Errorf("%s has the attributes %v and the elements %s", e.XMLName.Local, attrs, children)
		}
	}
	check(&root)
}

// checkSARIF checks that a SARIF log has results, each with a rule and a level.
func checkSARIF(t *testing.T, text string) *logRun {
	t.Helper()
	var log logFileLog
	if err := strictDecoder(text).Decode(&log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || len(log.Runs[0].Results) == 0 {
		t.Fatalf("version %q, %d runs without a result: %s", log.Version, len(log.Runs), text)
	}
	run := &log.Runs[0]
	for _, r := range run.Results {
		if run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || !slices.Contains([]string{"note", "warning", "error"}, r.Level) || len(r.Locations) != 1 || r.Message.Text == "" {
			t.Errorf("result %+v", r)
		}
	}
	return run
}

// TestMarkdownBound: a comment is truncated between lines at the limit of GitHub.
func TestMarkdownBound(t *testing.T) {
	campaign.NotForRace(t)
	var before, after strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&before, "User-agent: bot%c%c%c\nDisallow: /%d\n", 'a'+i%26, 'a'+i/26%26, 'a'+i/676, i)
		fmt.Fprintf(&after, "User-agent: bot%c%c%c\nDisallow: /x%d\n", 'a'+i%26, 'a'+i/26%26, 'a'+i/676, i)
	}
	text := program(t, exitDisallowed, "diff", "--format", "markdown", writeFile(t, before.String()), writeFile(t, after.String()))
	if len(text) > 65_536 || len(text) < 50_000 || !strings.Contains(text, " |\n\nTruncated to fit a comment") {
		t.Errorf("%d bytes, which end with %q", len(text), text[len(text)-200:])
	}
}
