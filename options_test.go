package robots

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the generated pages of docs/, make ids links")

// optionWords are the names of constants in docs/dialects.md, by type.
var optionWords = map[string][]string{
	"AgentMatch": {"whole-or-cut", "token-cut", "whole"},
	"Escapes":    {"rfc", "google", "raw"},
	"Honor":      {"reported", "ignored", "honored", "honored-inherits"},
	"Outage":     {"nothing", "copy or nothing, 30d: copy or open", "nothing, 12h: copy or open, 30d: if-answering", "nothing, 30d: copy or open"},
}

// optionValue returns a field of a dialect as docs/dialects.md writes it before the clause.
func optionValue(field reflect.Value) string {
	text := fmt.Sprint(field.Interface())
	switch v := field.Interface().(type) {
	case bool:
		text = "yes"
	case time.Duration:
		text = strconv.Itoa(int(v.Hours())) + "h"
	}
	if field.Kind() == reflect.Uint8 {
		text = optionWords[field.Type().Name()][field.Uint()]
	} else if field.IsZero() {
		return ""
	}
	return "`" + text + "`<br>"
}

// wordStart matches where a word of the name of a field follows another.
var wordStart = regexp.MustCompile(`([a-z]|\bC)([A-Z])`)

// TestDialectPage: docs/dialects.md describes every dialect and has, for every field of Dialect, its
// option, and its value in each dialect with the clause behind it. An empty cell is inherited: no
// document of the engine states the value, and it must be that of RFC9309.
func TestDialectPage(t *testing.T) {
	const file = "docs/dialects.md"
	page := read(t, file)
	for field, i := reflect.TypeFor[Dialect](), 1; i < field.NumField(); i++ { // after Name
		option := strings.ToLower(wordStart.ReplaceAllString(field.Field(i).Name, "$1-$2"))
		if !strings.Contains(page, "\n| "+option+" | ") {
			t.Errorf("%s does not explain %s", file, option)
			continue
		}
		row := regexp.MustCompile("(?m)^\\| " + option + " \\| (.*\\[.*) \\|$").FindStringSubmatch(page)
		if row == nil {
			t.Errorf("%s has no values of %s", file, option)
			continue
		}
		cells := strings.Split(row[1]+" |", " |")
		for k, d := range Dialects() {
			want := optionValue(reflect.ValueOf(d).Field(i)) + "[" // a clause
			cell := strings.TrimSpace(cells[min(k, len(cells)-1)])
			inherited := cell == "" && k > 0 && strings.HasPrefix(cells[0], want)
			if !inherited && !strings.HasPrefix(cell, want) {
				t.Errorf("%s, %s of %s: %q, want %s, or nothing if it is the value of rfc9309", file, option, d.Name, cell, want)
			}
		}
	}
	// The places of a dialect. What differs from RFC9309 belongs in case files, too.
	for _, d := range Dialects() {
		for place, row := range map[string]string{file: "| `" + d.Name + "` |", "README.md": "| `" + d.Name + "` |", "robotstest/testdata/spec/dialects.tsv": "\n" + d.Name + "\t"} {
			if !strings.Contains(read(t, place), row) {
				t.Errorf("%s has no row for the dialect %s", place, d.Name)
			}
		}
	}
}

var (
	// citation is an id of docs/clauses.md in code or prose.
	citation = regexp.MustCompile(`\b(?:(?:[A-Z]{3,6}|[CD])-\d\d|SPEC \d\.\d|GRAM)\b`)
	// definition is the heading of a clause in docs/clauses.md.
	definition = regexp.MustCompile(`(?m)^#### (.+)$`)
)

// clauses returns the ids of docs/clauses.md.
func clauses(t *testing.T) map[string]bool {
	t.Helper()
	listed := map[string]bool{}
	for _, m := range definition.FindAllStringSubmatch(read(t, "docs/clauses.md"), -1) {
		if listed[m[1]] {
			t.Errorf("docs/clauses.md lists %s twice", m[1])
		}
		listed[m[1]] = true
	}
	return listed
}

// TestClauses: every clause that code or a case file cites is in docs/clauses.md once.
func TestClauses(t *testing.T) {
	listed := clauses(t)
	cited := map[string]bool{}
	walk(t, func(path string) {
		ext := filepath.Ext(path)
		if ext != ".go" && ext != ".txtar" && ext != ".md" || strings.HasSuffix(path, "_test.go") {
			return
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range citation.FindAllString(definition.ReplaceAllString(string(text), ""), -1) {
			if family, _, _ := strings.Cut(id, "-"); !listed[family+"-01"] && !strings.HasPrefix(id, "SPEC") {
				continue // UTF-16, and whatever else is written so
			}
			if cited[id] = true; !listed[id] {
				t.Errorf("%s cites %s, which docs/clauses.md does not list", path, id)
			}
		}
	})
	t.Logf("%d statements listed, %d cited", len(listed), len(cited))
}

// walk calls fn with every file of the repository, except testdata and hidden files.
func walk(t *testing.T, fn func(path string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() {
			if path != "." && (name == "testdata" || name == "bin" || name[0] == '.') {
				return filepath.SkipDir
			}
			return nil
		}
		fn(filepath.ToSlash(path))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
