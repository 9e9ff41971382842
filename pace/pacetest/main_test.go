package pacetest_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain keeps the tests inside an example quiet: what they print with -v would count
// as its output.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.v", "false"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
