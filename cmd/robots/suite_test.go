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

// FuzzConfig: each mistake in a configuration of lint has its position.
func FuzzConfig(f *testing.F) {
	f.Add("checks: {RT504: off, no-leading-slash: loud}\ndialects: [google]\nfail-on: never\n---")
	f.Add("a: &a [*a]\n---\n? [1]\n: !!binary x")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parseConfig("f.yaml", []byte(text)); err != nil && !strings.HasPrefix(err.Error(), "f.yaml:") {
			t.Errorf("%q: a mistake without its position: %v", text, err)
		}
	})
}
