package robotstest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "align the tables of the case files")

// TestFormat keeps the tables of the case files aligned, as gofmt keeps code:
// "go test ./robotstest -run TestFormat -update" rewrites them.
func TestFormat(t *testing.T) {
	names, err := filepath.Glob("cases/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want := format(data)
		switch {
		case bytes.Equal(data, want):
		case *update:
			if err := os.WriteFile(name, want, 0o666); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s: tables not aligned; run go test ./robotstest -run TestFormat -update", name)
		}
		if again := format(want); !bytes.Equal(again, want) {
			t.Errorf("%s: formatting twice differs from once", name)
		}
	}
}

func format(data []byte) []byte {
	a := txtar.Parse(data)
	for i, f := range a.Files {
		if f.Name != "robots.txt" && f.Name != "robots.txt.esc" {
			a.Files[i].Data = align(f.Data)
		}
	}
	return txtar.Format(a)
}

// maxWidth is the width from which a cell shifts only its own row, so that one long URL does not
// widen the whole table.
const maxWidth = 48

func align(data []byte) []byte {
	var widths []int
	each := func(f func(cells []string, line string)) {
		for l := range bytes.Lines(data) {
			line := strings.TrimRight(string(l), " \t\n")
			if line == "" || line[0] == '#' {
				f(nil, line)
				continue
			}
			f(strings.Fields(line), "")
		}
	}
	each(func(cells []string, _ string) {
		for i, c := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if n := utf8.RuneCountInString(c); n <= maxWidth {
				widths[i] = max(widths[i], n)
			}
		}
	})
	var b strings.Builder
	each(func(cells []string, line string) {
		for i, c := range cells {
			b.WriteString(c)
			if i < len(cells)-1 {
				b.WriteString(strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(c))+2))
			}
		}
		b.WriteString(line + "\n")
	})
	return []byte(b.String())
}
