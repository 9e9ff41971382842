package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestPageSuite: the tests that the web page exports pass.
func TestPageSuite(t *testing.T) {
	out, err := exec.Command("robots", "test", "../internal/server/web/testdata/copied/page.yaml").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "2 passed") {
		t.Errorf("%v: %s", err, out)
	}
}
