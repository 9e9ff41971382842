package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/redistest"
)

// TestFleet runs the example as a reader would.
func TestFleet(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	program := filepath.Join(t.TempDir(), "fleet")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(program, server.URL()).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	last := lines[len(lines)-1]
	want := regexp.MustCompile(`^18 pages to 3 processes, at least [2-9]\d\dms apart; robots.txt was fetched 1 time`)
	if len(lines) != workers*pages+1 || !want.MatchString(last) {
		t.Errorf("%s", out)
	}
	t.Log(last)
}
