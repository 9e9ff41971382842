package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/internal/campaign"
)

// program runs the program in this process, and fails if it says anything else than
// warnings.
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

// A hostile file has names and paths that would be markup in every format.
const (
	strangeOld = "User-agent: <a>&\"|`\nDisallow: /\n\nUser-agent: *\nDisallow: /%0A|`<b>\n"
	strangeNew = "User-agent: *\nDisallow: /]]>\x01\x80\uFFFE|``,:%\nSitemap: https://example.com/<&>\"|\n"
)

// TestDiffReadBack reads what diff writes for programs with their readers: nothing
// of a file gets out of the place where it is quoted.
func TestDiffReadBack(t *testing.T) {
	before, after := writeFile(t, strangeOld), writeFile(t, strangeNew)
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
		for _, change := range slices.Concat(j.NewlyBlocked, j.NewlyOpen) {
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
	read = nil
	for _, c := range suites.Suites[0].Cases {
		if c.Failure == nil || c.Error != nil || !strings.Contains(c.Failure.Text, "newly") {
			t.Errorf("%+v", c)
		}
		read = append(read, c.Name)
	}
	if s := suites.Suites[0]; !slices.Equal(read, agents) || s.Tests != 2 || s.Failures != 2 || s.Errors != 0 || len(suites.Suites) != 1 {
		t.Errorf("JUnit has %+v", suites)
	}

	for line := range strings.Lines(program(t, exitDisallowed, "diff", "--format", "github", before, after)) {
		if !strings.HasPrefix(line, "::error file=") && !strings.HasPrefix(line, "::notice file=") || strings.Count(line, "::") < 2 {
			t.Errorf("no annotation: %s", line)
		}
	}
	for line := range strings.Lines(program(t, exitDisallowed, "diff", "--format", "markdown", before, after)) {
		if strings.HasPrefix(line, "|") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 6 {
			t.Errorf("a row has other than five cells: %s", line)
		}
	}
}

// TestTestReadBack does the same for the verb test.
func TestTestReadBack(t *testing.T) {
	file := writeFile(t, "version: 1\ntext: \"User-agent: *\\nDisallow: /]]>&\"\ntests:\n"+
		"  - {name: \"<a> & ]]>\\u0001, 100%\", allow: [/, \"/]]>&\"], disallow: {every: \"/]]*\"}}\n")
	var all []jsonOutcome
	decoder := json.NewDecoder(strings.NewReader(program(t, exitDisallowed, "test", "--format", "json", file)))
	decoder.DisallowUnknownFields()
	for decoder.More() {
		var j jsonOutcome
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
		t.Errorf("JUnit has %+v", suites)
	}
}

// TestMarkdownBound: a comment takes no more than GitHub does, cut between lines.
func TestMarkdownBound(t *testing.T) {
	campaign.OneGoroutine(t)
	var before, after strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&before, "User-agent: bot%c%c%c\nDisallow: /%d\n", 'a'+i%26, 'a'+i/26%26, 'a'+i/676, i)
		fmt.Fprintf(&after, "User-agent: bot%c%c%c\nDisallow: /x%d\n", 'a'+i%26, 'a'+i/26%26, 'a'+i/676, i)
	}
	text := program(t, exitDisallowed, "diff", "--format", "markdown", writeFile(t, before.String()), writeFile(t, after.String()))
	if len(text) > 65_536 || len(text) < 50_000 || !strings.Contains(text, " |\n\nThere is more than a comment holds") {
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
	d := &differ{call: newCall(&streams{now: time.Now}), failOn: failAny}
	d.budget = compare.DefaultSteps
	file := robots.Parse([]byte(old.String()))
	changed := robots.Parse([]byte(strings.ReplaceAll(old.String(), "/a", "/aa")))
	s := d.compare([2]source{{File: file}, {File: changed}}, robots.RFC9309, robots.RFC9309)
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

// TestCensusLinear: a crawler that is in many groups is noted once for each. Made of texts that
// were copied for each group, this took 259 MB.
func TestCensusLinear(t *testing.T) {
	const groups, most = 10_000, 16 << 20
	f := robots.Parse([]byte(strings.Repeat("User-agent: x\nDisallow: /\n", groups)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := censusOf(f, robots.RFC9309)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > most {
		t.Errorf("%d bytes are allocated for %d groups, want %d at most", n, groups, most)
	}
	if n := len(c.rows["x"]); n < groups {
		t.Errorf("%d bytes for %d groups", n, groups)
	}
}

// TestCensus: crawlers that a file names together have the same rules and records.
func TestCensus(t *testing.T) {
	files := []string{
		"User-agent: a\nUser-agent: B\nDisallow: /x\nUser-agent: a\nDisallow: /y\nUser-agent: c\nUser-agent: d\n",
		"User-agent: a\nCrawl-delay: 1\nUser-agent: b\nUser-agent: c\nCrawl-delay: 2\nUser-agent: *\nCrawl-delay: 30\nDisallow: /x\n",
		"User-agent: a\n\nUser-agent: b\nSitemap: x\nUser-agent: c\nDisallow: /x\n\nUser-agent: d\nUser-agent: d\nUser-agent: a\nDisallow: /z\n",
		"User-agent: AI2Bot\nUser-agent: AI\nDisallow: /x\nUser-agent: Mozilla/5.0 (compatible; SeznamBot/4.0; x)\nUser-agent: Two Words\nUser-agent: ÉTAGE\nUser-agent: x\x80Y\nDisallow: /y\nUser-agent: *\nDisallow: /z\n",
		"Disallow: /x\nContent-Signal: search=no\nUser-agent: a\nContent-Signal: search=yes\nAllow: /\nUser-agent: b\nDisallow: /\nUser-agent: *\nDisallow: /q\nUser-agent: AdsBot-Google\nDisallow: /w\n",
	}
	if root := os.Getenv("ROBOTS_CORPUS"); root != "" {
		n, part := 0, campaign.Size(400, 100, 10)
		_ = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			if n++; err == nil && !entry.IsDir() && n%part == 0 {
				body, _ := os.ReadFile(name)
				files = append(files, string(body))
			}
			return err
		})
	}
	obeys := func(r *robots.Rules) string {
		text := fmt.Sprint(r.Group().IsZero(), r.Group().Token() == "*", ruleLines(r))
		for rec := range r.Records() {
			text += fmt.Sprint(" ", rec.Line, rec.Usable, rec.Group, rec.Inherited)
		}
		return text
	}
	crawlers, together := 0, 0
	for _, text := range files {
		f := robots.Parse([]byte(text))
		for _, d := range robots.Dialects() {
			c, seen := censusOf(f, d), map[string]string{}
			records := ""
			for _, name := range append(f.Crawlers(d), "*", "nobody", "AdsBot-Google", "ai", "Two Words", "a/1.0", "A") {
				crawlers++
				rules := f.Rules(d, name)
				key, got := c.of(name), obeys(rules)
				if want, ok := seen[key]; !ok {
					seen[key] = got
				} else if together++; got != want {
					t.Errorf("in %s %q: %q, but %q of those named with it, in %q", d.Name, name, got, want, text[:min(len(text), 500)])
				}
				values := fmt.Sprint(declarations(rules))
				if !c.apart && records != "" && values != records {
					t.Errorf("in %s %q has %s, others %s, in %q", d.Name, name, values, records, text[:min(len(text), 500)])
				}
				records = values
			}
		}
	}
	t.Logf("%d files: %d crawlers, %d of them named with others", len(files), crawlers, together)
}
