package lint

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots"
)

const page = "../docs/lint.md"

// TestPage compares docs/lint.md with the table of checks. To rewrite it: make docs
func TestPage(t *testing.T) {
	want := pageText()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\[([^]]*)\]\(clauses\.md#[^)]*\)`) // which TestDocuments makes
	if text := links.ReplaceAllString(string(got), "$1"); text != want {
		t.Errorf("%s differs from the table of checks: run make docs", page)
	}
}

func pageText() string {
	var b strings.Builder
	fmt.Fprintf(&b, pageHead, len(Checks))
	for i := range Checks {
		c := &Checks[i]
		fix := strings.TrimPrefix(c.Fix.String(), NoFix.String())
		fmt.Fprintf(&b, "| [%s](#%s-%s) %s | %s | %s | %s |\n", c.ID, strings.ToLower(c.ID), c.Name, c.Name, c.Severity, fix, c.What)
	}
	b.WriteString(pageFixes)
	for i := range Checks {
		b.WriteString(section(&Checks[i]))
	}
	return b.String()
}

// pageHead is followed by the rows of its table.
const pageHead = `# The checks of robots lint

<!-- written by make docs -->

%d checks. The section of each begins with what to write instead.

| check | severity | fix | finds |
| --- | --- | --- | --- |
`

const pageFixes = `
## Fixes

| fix | made by | effect |
| --- | --- | --- |
| safe | ` + "`--fix`" + ` | proved: all safe fixes together change no verdict, in any dialect and for any product tokens. Without a proof it needs ` + "`--fix=all`" + ` |
| change | ` + "`--fix=all`" + ` | the verdicts that were probably intended |

google-cpp combines the groups of all tokens of a crawler, and a proof covers all combinations. So a rule without effect in its own
group is reported even if it has one together with another group, but then its fix is not safe.

In an example, ` + "`-`" + ` is found and ` + "`+`" + ` is written instead. A check applies to all dialects unless it names some. Ids are never reused.
`

// section returns the part of the page about one check.
func section(c *Check) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s %s\n", c.ID, c.Name)
	switch {
	case c.After != "":
		fmt.Fprintf(&b, "\n```diff\n%s```\n", lineDiff(shown(c.Before), shown(c.After)))
	case c.Before != "":
		fmt.Fprintf(&b, "\n%s\n\n```\n%s```\n", c.Instead, shown(strings.TrimPrefix(c.Before, "User-agent: *\n")))
	default:
		fmt.Fprintf(&b, "\n%s\n", c.Instead)
	}
	fmt.Fprintf(&b, "\n%s%s", c.Why, dialectsOf(c))
	if c.Clause != "" {
		fmt.Fprintf(&b, " (%s)", c.Clause)
	}
	return b.String() + "\n"
}

// lineDiff marks the lines of an example that are removed and added. A first line that names all crawlers is omitted.
func lineDiff(before, after string) string {
	var b strings.Builder
	old := slices.Collect(strings.Lines(before))
	added := ""
	for line := range strings.Lines(after) {
		i := slices.Index(old, line)
		if i < 0 {
			added += "+" + line
			continue
		}
		removed := strings.Join(old[:i], "-")
		if i > 0 {
			removed = "-" + removed
		}
		b.WriteString(removed + added + " " + line)
		old = old[i+1:]
		added = ""
	}
	for _, removed := range old {
		b.WriteString("-" + removed)
	}
	return strings.TrimPrefix(b.String()+added, " User-agent: *\n")
}

// dialectsOf returns a sentence with the dialects in which the example of a check matters, or those in which it does not if
// these are fewer; nothing for all dialects.
func dialectsOf(c *Check) string {
	var others []string
	for _, d := range robots.Dialects() {
		others = append(others, d.Name)
	}
	for _, d := range File(robots.Parse([]byte(c.Before)), Options{Severities: map[string]Severity{c.ID: Warning}}).Diagnostics {
		if d.Check != c {
			continue
		}
		others = slices.DeleteFunc(others, func(name string) bool { return slices.Contains(d.Dialects, name) })
		switch {
		case len(others) == 0:
			return ""
		case len(others) < len(d.Dialects):
			return " Not in " + strings.Join(others, ", ") + "."
		}
		return " Only in " + strings.Join(d.Dialects, ", ") + "."
	}
	return ""
}

// shown writes invisible bytes as escapes.
func shown(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(robots.Printable(strings.TrimSuffix(line, "\n")), "\u00a0", `\u00a0`)
		b.WriteString(line + "\n")
	}
	return b.String()
}
