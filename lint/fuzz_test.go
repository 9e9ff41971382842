package lint

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"golang.org/x/tools/txtar"
)

// fuzzSeeds are the small files of all cases.
func fuzzSeeds(f *testing.F) {
	names, err := filepath.Glob("testdata/RT*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if !strings.Contains(file.Name, ".") {
				f.Add(file.Data)
			}
		}
	}
	f.Add([]byte("\xff\xfeU\x00"))
	f.Add([]byte("User-agent: *\r\n\rDisallow: /\x00"))
}

// FuzzFile: the findings of any file are inside it and in order, and safe fixes change no
// verdict and leave every group its last rule.
func FuzzFile(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		o := Options{MaxSteps: 300_000}
		r := File(robots.Parse(body), o)
		lines := bytes.Count(body, []byte("\n")) + bytes.Count(body, []byte("\r")) + 1
		for _, d := range r.Diagnostics {
			if d.Span.Start < 0 || d.Span.End < d.Span.Start || d.Span.End > len(body) || d.Line < 1 || d.Line > lines || d.Column < 1 || d.Message == "" || len(d.Dialects) == 0 || d.Severity == Off {
				t.Fatalf("%+v", d)
			}
			if d.Fix == nil {
				continue
			}
			for _, e := range d.Fix.Edits {
				if e.Start < 0 || e.End < e.Start || e.End > len(body) {
					t.Fatalf("%s: edit %+v", d.Check.ID, e)
				}
			}
		}
		if !slices.IsSortedFunc(r.Diagnostics, func(a, b Diagnostic) int { return a.Span.Start - b.Span.Start }) {
			t.Fatal("not in the order of the file")
		}
		fixed, changes, left := ApplyFixes(body, o, false)
		if len(changes) > 0 {
			t.Fatalf("safe fixes change: %+v", changes)
		}
		var c counts
		c.sameVerdicts(t, "fixed", body, fixed)
		c.sameUnions(t, "fixed", body, fixed)
		sameGroups(t, "fixed", body, fixed)
		if again, _, _ := ApplyFixes(fixed, o, false); !bytes.Equal(again, fixed) && !left.Undecided {
			t.Errorf("fixed once %q, twice %q", fixed, again)
		}
		ApplyFixes(body, o, true)
		if !bytes.Equal(body, before) {
			t.Error("the file itself was changed")
		}
	})
}

// FuzzFormat: formatting twice is the same as once. It keeps the verdicts of the file and each
// byte order mark except the first. It refuses only files or lines that are long.
func FuzzFormat(f *testing.F) {
	fuzzSeeds(f)
	f.Add([]byte("\n\xEF\xBB\xBFfoo: x\nUser-agent: a\nDisallow: /\n"))
	f.Add([]byte(" \xEF\xBBUser-agent: a\n\n\xEF\xBB\xBFDisallow: /\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		out, err := Format(body)
		if err != nil {
			if len(body) < 500 && Kind(robots.Parse(body)) == "" {
				t.Fatalf("%q is refused: %v", body, err)
			}
			return
		}
		if mark := []byte(byteOrderMark); bytes.Count(out, mark) != bytes.Count(bytes.TrimPrefix(body, mark), mark) {
			t.Fatalf("%q, laid out %q, has not the same byte order marks", body, out)
		}
		again, err := Format(out)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%q, laid out %q, again %q, %v", body, out, again, err)
		}
		var c counts
		c.sameVerdicts(t, "laid out", body, out)
		sameGroups(t, "laid out", body, out)
	})
}
