package answer

import (
	"slices"
	"testing"

	"github.com/robotskit/robots"
)

// TestContentUsageOutsideGroups: only a Content-Usage line above the first user-agent line has the note
// that it applies to no crawler.
func TestContentUsageOutsideGroups(t *testing.T) {
	file := robots.Parse([]byte("Content-Usage: train-ai=n\nUser-agent: *\nContent-Usage: train-ai=n\nUser-agent: a\nContent-Usage: train-ai=y\n"))
	var lines []int
	for _, n := range signalNotes(file.Rules(robots.RFC9309, "a"), nil) {
		if n.Clause == "GROUP-03" {
			lines = append(lines, n.Line)
		}
	}
	if !slices.Equal(lines, []int{1}) {
		t.Errorf("the note is on lines %v, want line 1 alone", lines)
	}
}
