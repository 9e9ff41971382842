package cachetest_test

import (
	"os"
	"testing"
)

// run runs a test inside an example. It keeps what the test prints out of the output of
// the example, which is compared.
func run(test func(*testing.T)) bool {
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	os.Stdout = os.Stderr
	all := func(string, string) (bool, error) { return true, nil }
	return testing.RunTests(all, []testing.InternalTest{{Name: "TestConformance", F: test}})
}
