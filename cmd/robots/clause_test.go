package main

import (
	"regexp"
	"testing"

	"github.com/robotskit/robots/docs"
)

// TestClauses: every clause with a heading in docs/clauses.md is found, with the whole line
// after it.
func TestClauses(t *testing.T) {
	rows := regexp.MustCompile(`(?m)^#### (.+)\n(.+)$`).FindAllStringSubmatch(docs.Clauses, -1)
	links := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	all := clauses()
	if len(rows) != len(all) || len(all) < 200 {
		t.Fatalf("%d statements of %d headings", len(all), len(rows))
	}
	for i, c := range all {
		line := c.Statement
		if c.Source != "" {
			line += " *" + c.Source + "*"
		}
		if want := links.ReplaceAllString(rows[i][2], "$1"); c.ID != rows[i][1] || c.Section == "" || line != want {
			t.Errorf("got %+v, want %s, %s", c, rows[i][1], want)
		}
	}
}
