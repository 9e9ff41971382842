package main

import (
	"strings"
	"testing"
)

// TestProgramRows runs what the rows of the program run, once and with little: what it takes
// is to link the program.
func TestProgramRows(t *testing.T) {
	if testing.Short() {
		t.Skip("short: it builds the program")
	}
	for _, r := range programRows(testSet(100), testSeed, 400, 1, t.TempDir()) {
		for _, e := range r.make().engines {
			// A failure of a program is a panic. The loop is this test, so it is left out.
			if e.name != temoto {
				t.Logf("%s, %s: %v of processor time", r.name, e.name, e.timed(0))
			}
		}
	}
}

// TestBatchLines: every line has a file of its own.
func TestBatchLines(t *testing.T) {
	lines := strings.Split(batch(testSet(100), testSeed, 50), "\n")
	if len(lines) != 51 {
		t.Fatalf("%d lines, want 50", len(lines)-1)
	}
	seen := map[string]bool{}
	for _, line := range lines[:50] {
		_, body, _ := strings.Cut(line, `"robots":`)
		body, _, _ = strings.Cut(body, `,"url":`)
		if seen[body] || len(body) < 380 || len(body) > 700 {
			t.Errorf("a body of %d bytes, seen before: %v", len(body), seen[body])
		}
		seen[body] = true
	}
}
