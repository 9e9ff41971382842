package cachetest_test

import (
	"os"
	"testing"
)

// run runs a test inside an example, without its output, which would be compared.
func run(test func(*testing.T)) bool {
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	os.Stdout = os.Stderr
	all := func(string, string) (bool, error) { return true, nil }
	return testing.RunTests(all, []testing.InternalTest{{Name: "TestConformance", F: test}})
}
