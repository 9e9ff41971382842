package lint

import (
	"fmt"
	"os"
	"regexp"
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
	fmt.Fprintf(&b, `# The checks of robots lint

<!-- written by make docs -->

There are %d. An id is never used again for something else. "Fix" is what `+"`--fix`"+` does: a safe fix is made if it is
proved that no crawler gets another verdict in any of the eight dialects, whatever product tokens it has; a change, or a
safe fix that cannot be proved, only with `+"`--fix=all`"+`. google-cpp combines the groups of all tokens of a crawler, and
the proof covers all combinations: a rule that has no effect in its own group, but would have one together with a group of
another token, is reported, and its fix is not safe. The examples are cases of the tests: the first form is found, the second is not.

| id | name | severity | fix | finds |
| --- | --- | --- | --- | --- |
`, len(Checks))
	for i := range Checks {
		c := &Checks[i]
		fmt.Fprintf(&b, "| [%s](#%s-%s) | %s | %s | %s | %s |\n", c.ID, strings.ToLower(c.ID), c.Name, c.Name, c.Severity, c.Fix, c.What)
	}
	for i := range Checks {
		c := &Checks[i]
		fmt.Fprintf(&b, "\n## %s %s\n", c.ID, c.Name)
		if c.After != "" {
			fmt.Fprintf(&b, "\nWrite instead:\n\n```\n%s```\n", shown(c.After))
		} else {
			fmt.Fprintf(&b, "\nWrite instead: %s\n", c.Instead)
		}
		fmt.Fprintf(&b, "\n%s %s\n", c.What, c.Why)
		if c.Before != "" {
			fmt.Fprintf(&b, "\nFound in:\n\n```\n%s```\n\nThis matters in: %s.\n", shown(c.Before), dialectsOf(c))
		}
		if c.Clause != "" {
			fmt.Fprintf(&b, "\nSee %s.\n", c.Clause)
		}
	}
	return b.String()
}

// dialectsOf returns the dialects in which the example of a check matters.
func dialectsOf(c *Check) string {
	for _, d := range File(robots.Parse([]byte(c.Before)), Options{Severities: map[string]Severity{c.ID: Warning}}).Diagnostics {
		if d.Check == c && len(d.Dialects) < len(robots.Dialects()) {
			return strings.Join(d.Dialects, ", ")
		}
	}
	return "all dialects"
}

// shown writes invisible bytes as escapes.
func shown(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(robots.Printable(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}
