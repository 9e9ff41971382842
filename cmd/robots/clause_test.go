package main

import (
	"regexp"
	"testing"

	"github.com/robotskit/robots/docs"
)

// TestClauses: every row of the page that defines a statement is found, whole.
func TestClauses(t *testing.T) {
	rows := regexp.MustCompile(`(?m)^\| (GRAM|[A-Z]+[- ][0-9.]+) \|`).FindAllStringSubmatch(docs.Clauses, -1)
	all := clauses()
	if len(rows) != len(all) || len(all) < 200 {
		t.Fatalf("%d statements of %d rows", len(all), len(rows))
	}
	for i, c := range all {
		if c.ID != rows[i][1] || c.Section == "" || c.Statement == "" {
			t.Errorf("got %+v, want %s", c, rows[i][1])
		}
	}
}
