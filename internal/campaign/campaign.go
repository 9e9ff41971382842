// Package campaign sets how much a test does: little with -short, as in make quick and under
// the race detector; otherwise what make test has time for; and everything, such as each real
// file or a million decisions, in a campaign (make campaign), which sets ROBOTS_CAMPAIGN.
package campaign

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// On reports whether this is a campaign.
func On() bool { return os.Getenv("ROBOTS_CAMPAIGN") != "" && !testing.Short() }

// Only skips a test that takes too long for make test, or whose subject rarely changes.
func Only(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skip("only in a campaign")
	}
}

// Size returns how much a test does: little with -short, usual without, and whole
// in a campaign.
func Size[T any](short, usual, whole T) T {
	switch {
	case testing.Short():
		return short
	case On():
		return whole
	}
	return usual
}

// NotForRace skips a test under the race detector, where it would take ten times as long and
// find nothing: one that shares no memory between goroutines, or whose point is many processes.
func NotForRace(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("the race detector finds nothing here")
	}
}

// Files calls fn with real robots.txt files: each part-th of those in the folder of
// ROBOTS_CORPUS. Without that variable it skips the test. It returns the number of files.
func Files(t testing.TB, part int, fn func(path string, body []byte)) (total int) {
	t.Helper()
	root := os.Getenv("ROBOTS_CORPUS")
	if root == "" {
		t.Skip("ROBOTS_CORPUS does not name a folder of real robots.txt files")
	}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		total++
		if total%part != 0 {
			return nil
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fn(path, body)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}
