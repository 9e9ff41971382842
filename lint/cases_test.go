package lint

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the expectations of testdata and docs/lint.md anew")

// TestCases holds each check to the files of testdata/RT*.txtar. A file NAME is followed by
// NAME.want, what the check finds in it, and by NAME.fixed, what its fixes make of it, if
// they change anything. NAME.quoted is a file in Go syntax, for bytes that are no text: a
// string a line, with * N to repeat it. A finding is written as
//
//	LINE:COLUMN-LINE:COLUMN severity message | advice | dialects | fix
//
// and the line "also" names the other checks that find something. To write the
// expectations anew, and then to read them:
//
//	go test ./lint -run TestCases -update
func TestCases(t *testing.T) {
	fires, silent := 0, 0
	for i := range Checks {
		c := &Checks[i]
		name := filepath.Join("testdata", c.ID+".txtar")
		body, err := os.ReadFile(name)
		if err != nil {
			t.Errorf("%s has no cases: %v", c.ID, err)
			continue
		}
		got := txtar.Archive{Comment: txtar.Parse(body).Comment}
		firesHere, silentHere := 0, 0
		mended := c.Fix == NoFix
		for _, f := range txtar.Parse(body).Files {
			if strings.HasSuffix(f.Name, ".want") || strings.HasSuffix(f.Name, ".fixed") {
				continue
			}
			got.Files = append(got.Files, f)
			file := f.Data
			if strings.HasSuffix(f.Name, ".quoted") {
				file = unquote(t, f.Data)
			}
			want, fixed := findings(c, file)
			got.Files = append(got.Files, txtar.File{Name: f.Name + ".want", Data: []byte(want)})
			if fixed != nil && !bytes.Equal(fixed, file) {
				if strings.HasSuffix(f.Name, ".quoted") {
					fixed = quoted(fixed)
				}
				got.Files = append(got.Files, txtar.File{Name: f.Name + ".fixed", Data: fixed})
				if c.Fix == NoFix {
					t.Errorf("%s: %s is fixed, and the check is said to have no fix", c.ID, f.Name)
				}
				mended = true
			}
			if want == "" || strings.HasPrefix(want, "also") {
				silentHere++
			} else {
				firesHere++
			}
		}
		if !mended {
			t.Errorf("%s: no case is fixed, and the check is said to have a fix", c.ID)
		}
		if firesHere == 0 || silentHere == 0 {
			t.Errorf("%s: %d cases in which it fires, %d in which it is silent: both are needed", c.ID, firesHere, silentHere)
		}
		fires, silent = fires+firesHere, silent+silentHere
		switch text := txtar.Format(&got); {
		case *update:
			if err := os.WriteFile(name, text, 0o644); err != nil {
				t.Fatal(err)
			}
		case !bytes.Equal(text, body):
			t.Errorf("%s: got\n%s\nwant\n%s", name, text, body)
		}
	}
	t.Logf("%d checks, %d cases in which one fires, %d in which it is silent", len(Checks), fires, silent)
}

// findings returns the findings of a check in a file, and the file after all its fixes.
func findings(c *Check, file []byte) (text string, fixed []byte) {
	var o Options
	if c.Severity == Off {
		o.Severities = map[string]Severity{c.ID: Note}
	}
	var b strings.Builder
	var edits []Edit
	var also []string
	for _, d := range File(robots.Parse(file), o).Diagnostics {
		if d.Check != c {
			also = append(also, d.Check.ID)
			continue
		}
		fix := "no fix"
		if d.Fix != nil {
			edits = append(edits, d.Fix.Edits...)
			if fix = "a change"; d.Fix.Safe {
				fix = "safe"
			}
			if d.Fix.Change != "" {
				fix += ": " + d.Fix.Change
			}
		}
		dialects := strings.Join(d.Dialects, " ")
		if len(d.Dialects) == len(robots.Dialects()) {
			dialects = "all"
		}
		fmt.Fprintf(&b, "%d:%d-%d:%d %s %s | %s | %s | %s\n", d.Line, d.Column, d.EndLine, d.EndColumn, d.Severity, d.Message, d.Advice, dialects, fix)
	}
	slices.Sort(also)
	if also = slices.Compact(also); len(also) > 0 {
		fmt.Fprintf(&b, "also %s\n", strings.Join(also, " "))
	}
	if edits != nil {
		fixed = Apply(file, edits)
	}
	return b.String(), fixed
}

// unquote returns the bytes of strings in Go syntax.
func unquote(t *testing.T, text []byte) []byte {
	t.Helper()
	var b []byte
	for line := range strings.Lines(string(text)) {
		literal, times := strings.TrimSpace(line), "1"
		if i := strings.LastIndex(literal, `" * `); i >= 0 {
			literal, times = literal[:i+1], literal[i+4:]
		}
		s, err := strconv.Unquote(literal)
		n, err2 := strconv.Atoi(times)
		if err != nil || err2 != nil {
			t.Fatalf("no string: %s", line)
		}
		b = append(b, strings.Repeat(s, n)...)
	}
	return b
}

// quoted is the inverse of unquote.
func quoted(b []byte) []byte {
	var out []byte
	for line := range bytes.Lines(b) {
		out = append(strconv.AppendQuote(out, string(line)), '\n')
	}
	return out
}
