package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgramRows runs what the rows of the program run, once and with little: what it takes
// is to link the program.
func TestProgramRows(t *testing.T) {
	if testing.Short() {
		t.Skip("short: it builds the program")
	}
	temp := t.TempDir()
	for _, r := range programRows(testSet(100), testSeed, 400, 1, temp) {
		for _, e := range r.make().engines {
			// A failure of a program is a panic. The loop is this test, so it is left out.
			if e.name != temoto {
				t.Logf("%s, %s: %v of processor time", r.name, e.name, e.timed(0))
			}
		}
	}
	startMakesLittle(t, filepath.Join(temp, "robots"))
}

// startMakesLittle: no package of ours makes at each start of the program what only some
// runs need, such as tables, texts joined of parts, or what the program was built from.
// Small maps and a few sync.OnceValue are no matter.
func startMakesLittle(t *testing.T, program string) {
	const mostBytes, mostAllocations = 4 << 10, 32
	more := map[string]int{"github.com/robotskit/robots/lint": 8 << 10} // Checks, which others read
	cmd := exec.Command(program, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(said.String()) {
		var name string
		var at, took float64
		var bytes, allocations int
		if _, err := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes, %d allocs", &name, &at, &took, &bytes, &allocations); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if name != "main" && !strings.HasPrefix(name, "github.com/robotskit/robots") {
			continue
		}
		found++
		if bytes > max(mostBytes, more[name]) || allocations > mostAllocations {
			t.Errorf("%s makes %d allocations of %d bytes in all, want at most %d of %d", name, allocations, bytes, mostAllocations, max(mostBytes, more[name]))
		}
	}
	if found < 10 {
		t.Errorf("%d packages of ours make anything: %s", found, &said)
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
