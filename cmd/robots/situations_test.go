package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestSituations: the program explains what people asked about in public. Each file of
// testdata/situations has a sentence, a command, the files of the command, and lines that the
// output contains, or in absent does not contain. White space is compared as one space.
func TestSituations(t *testing.T) {
	names, err := filepath.Glob("testdata/situations/*.txtar")
	if err != nil || len(names) < 60 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var wanted, absent string
			dir := t.TempDir()
			for _, f := range archive.Files {
				switch f.Name {
				case "answer":
					wanted = string(f.Data)
				case "absent":
					absent = string(f.Data)
				default:
					if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			_, command, ok := strings.Cut(string(archive.Comment), "\n$ robots ")
			if !ok || wanted == "" {
				t.Fatal("no command or no answer")
			}
			var args []string
			for arg := range strings.FieldsSeq(command) {
				args = append(args, strings.Trim(arg, "'"))
			}
			t.Chdir(dir)
			var output bytes.Buffer
			run(t.Context(), args, strings.NewReader(""), &output, &output) // 1 is the status of a disallowed URL
			got := strings.Join(strings.Fields(output.String()), " ")
			for line := range strings.Lines(wanted) {
				if line = strings.Join(strings.Fields(line), " "); !strings.Contains(got, line) {
					t.Errorf("no %q in\n%s", line, &output)
				}
			}
			for line := range strings.Lines(absent) {
				if line = strings.Join(strings.Fields(line), " "); strings.Contains(got, line) {
					t.Errorf("%q in\n%s", line, &output)
				}
			}
		})
	}
}
