package pacetest_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain silences the tests inside an example: what they print with -v would count as its
// output.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.v", "false"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
