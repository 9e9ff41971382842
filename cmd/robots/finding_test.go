package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
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

// TestDiffReadBack: every format of diff is parsed without markup from a file.
func TestDiffReadBack(t *testing.T) {
	before, after := writeFile(t, hostileOld), writeFile(t, hostileNew)
	agents := []string{"*", "<a>&\"|`"}

	var read []string
	decoder := json.NewDecoder(strings.NewReader(program(t, exitDisallowed, "diff", "--format", "json", before, after)))
	decoder.DisallowUnknownFields()
	for decoder.More() {
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
		read = append(read, j.Agent)
	}
	if !slices.Equal(read, agents) {
		t.Errorf("JSON is about %q, want %q", read, agents)
	}

	text := program(t, exitDisallowed, "diff", "--format", "junit", before, after)
	var suites junitSuites
	if err := xml.Unmarshal([]byte(text), &suites); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, c := range suites.Suites[0].Cases {
		if c.Error != nil || c.Failure != nil && !strings.HasPrefix(c.Failure.Type, "newly-") && c.Failure.Type != "declared" {
			t.Errorf("%+v", c)
		}
	}
	if s := suites.Suites[0]; s.Tests != len(s.Cases) || s.Failures < 3 || s.Errors != 0 || len(suites.Suites) != 1 {
		t.Errorf("JUnit has %+v", s)
	}
	checkSARIF(t, program(t, exitDisallowed, "diff", "--format", "sarif", before, after))

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

// TestTestReadBack does the same for robots test.
func TestTestReadBack(t *testing.T) {
	file := writeFile(t, "version: 1\ntext: \"User-agent: *\\nDisallow: /]]>&\"\ntests:\n"+
		"  - {name: \"<a> & ]]>\\u0001, 100%\", allow: [/, \"/]]>&\"], disallow: {every: \"/]]*\"}}\n")
	var all []outcome
	decoder := json.NewDecoder(strings.NewReader(program(t, exitDisallowed, "test", "--format", "json", file)))
	decoder.DisallowUnknownFields()
	for decoder.More() {
		var j outcome
		if err := decoder.Decode(&j); err != nil {
			t.Fatal(err)
		}
		all = append(all, j)
	}
	if len(all) != 3 || !all[0].OK || all[1].OK || all[1].Rule == nil || all[2].OK || all[2].Witness == nil {
		t.Errorf("JSON has %+v", all)
	}
	text := program(t, exitDisallowed, "test", "--format", "junit", file)
	var suites junitSuites
	if err := xml.Unmarshal([]byte(text), &suites); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if s := suites.Suites[0]; s.Tests != 3 || s.Failures != 2 || s.Errors != 0 || s.Name != file {
		t.Errorf("JUnit has %+v", s)
	}
	checkSARIF(t, program(t, exitDisallowed, "test", "--format", "sarif", file))
}

// checkSARIF checks that a SARIF log has results, each with a rule and a level.
func checkSARIF(t *testing.T, text string) *sarifRun {
	t.Helper()
	var log sarifLog
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&log); err != nil {
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
	campaign.OneGoroutine(t)
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

// TestDiffSharesComparisons: crawlers with equal rules cost one comparison.
func TestDiffSharesComparisons(t *testing.T) {
	var old strings.Builder
	for i := range 500 {
		fmt.Fprintf(&old, "User-agent: bot%c%c\nDisallow: /a\nAllow: /*b\n", 'a'+i%26, 'a'+i/26)
	}
	var steps, comparisons int
	d := newDiffer(&streams{now: time.Now})
	d.budget = compare.DefaultSteps
	file := robots.Parse([]byte(old.String()))
	changed := robots.Parse([]byte(strings.ReplaceAll(old.String(), "/a", "/aa")))
	s := &section{old: robots.RFC9309, new: robots.RFC9309}
	d.compare(t.Context(), s, [2]source{{File: file}, {File: changed}})
	seen := map[*comparison]bool{}
	for _, c := range s.crawlers {
		if !seen[c.shared] {
			seen[c.shared] = true
			comparisons++
			steps += c.shared.NewlyBlocked.Steps
		}
	}
	if len(s.crawlers) != 501 || comparisons != 2 {
		t.Errorf("%d crawlers took %d comparisons of %d steps, want 501 and 2", len(s.crawlers), comparisons, steps)
	}
}
