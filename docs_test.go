package robots

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestDocuments: what the documents point to is there, and they show the
// repository as it is.
func TestDocuments(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	walk(t, func(file string) {
		if path.Ext(file) != ".md" {
			return
		}
		for _, m := range link.FindAllStringSubmatch(read(t, file), -1) {
			if _, err := os.Stat(path.Join(path.Dir(file), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
			}
		}
	})

	// The library example of README.md is the one that runs as a test.
	code := regexp.MustCompile("(?s)```go\n(.*?)// Output").FindStringSubmatch(read(t, "README.md"))
	if code == nil {
		t.Fatal("README.md has no example in Go")
	}
	tests := strings.ReplaceAll(read(t, "example_test.go"), "\n\t", "\n")
	if !strings.Contains(tests, code[1]) {
		t.Error("the example of README.md is not that of example_test.go")
	}

	shape := read(t, "ARCHITECTURE.md")
	if n := strings.Count(shape, "\n"); n > 300 {
		t.Errorf("ARCHITECTURE.md has %d lines, 300 are the most that anybody rereads", n)
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() && name[0] != '.' && name != "bin" && !strings.Contains(shape, "\n"+name+"/") {
			t.Errorf("ARCHITECTURE.md does not name the folder %s in its tree", name)
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.Contains(shape, " "+name) {
			t.Errorf("ARCHITECTURE.md does not name %s in its tree", name)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
