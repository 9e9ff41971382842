package lint

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots"
)

func ids(r Result) []string {
	var ids []string
	for _, d := range r.Diagnostics {
		ids = append(ids, d.Check.ID)
	}
	return ids
}

// TestChecks holds each check to the example in its own documentation: it finds the first
// form, and not the second.
func TestChecks(t *testing.T) {
	for i := range Checks {
		c := &Checks[i]
		if c.Before == "" {
			continue
		}
		o := Options{Severities: map[string]Severity{c.ID: Warning}}
		if found := ids(File(robots.Parse([]byte(c.Before)), o)); !slices.Contains(found, c.ID) {
			t.Errorf("%s: %q gives %v", c.ID, c.Before, found)
		}
		if found := ids(File(robots.Parse([]byte(c.After)), o)); c.After != "" && slices.Contains(found, c.ID) {
			t.Errorf("%s: %q gives %v", c.ID, c.After, found)
		}
	}
}

func TestCounts(t *testing.T) {
	dir := os.Getenv("ROBOTS_CORPUS")
	if dir == "" {
		t.Skip("ROBOTS_CORPUS names no folder of real files")
	}
	files := map[string]int{}
	all := map[string]int{}
	n, text, clean, undecided := 0, 0, 0, 0
	example := map[string][]string{}
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		r := File(robots.Parse(body), Options{})
		if kind(body) == "" {
			text++
			if !slices.ContainsFunc(r.Diagnostics, func(d Diagnostic) bool { return d.Severity > Note }) {
				clean++
			}
		}
		if r.Undecided {
			undecided++
		}
		seen := map[string]bool{}
		for _, d := range r.Diagnostics {
			all[d.Check.ID]++
			if !seen[d.Check.ID] {
				seen[d.Check.ID] = true
				files[d.Check.ID]++
				if len(example[d.Check.ID]) < 400 {
					example[d.Check.ID] = append(example[d.Check.ID], fmt.Sprintf("%s:%d:%d: %s (%s) %v", strings.TrimPrefix(path, dir), d.Line, d.Column, d.Message, d.Advice, d.Dialects))
				}
			}
		}
		return nil
	})
	for _, c := range Checks {
		t.Logf("%s %-22s %6d files %7d findings", c.ID, c.Name, files[c.ID], all[c.ID])
		if os.Getenv("EX") == c.ID {
			for _, e := range example[c.ID] {
				t.Log("   ", e)
			}
		}
	}
	t.Logf("%d files, %d text, %d clean (%.1f %%), %d undecided", n, text, clean, 100*float64(clean)/float64(text), undecided)
}
