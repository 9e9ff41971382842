package robots

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the generated pages of docs/, make ids links")

// optionOf returns the option that documents a field of Dialect: the one that changes with it.
func optionOf(t *testing.T, field int) int {
	t.Helper()
	name := reflect.TypeFor[Dialect]().Field(field).Name
	found := -1
	d := RFC9309
	set := reflect.ValueOf(&d).Elem().Field(field)
	switch set.Kind() {
	case reflect.Bool:
		set.SetBool(!set.Bool())
	case reflect.Uint8:
		set.SetUint(set.Uint() + 1)
	case reflect.Int:
		set.SetInt(set.Int() + 7)
	case reflect.Int64: // a time.Duration
		set.SetInt(set.Int() + 3600e9)
	case reflect.String: // IgnoreStar
		set.SetString("SomeBot")
	default:
		t.Fatalf("Dialect.%s is a %v: teach this test to change one", name, set.Kind())
	}
	for i, o := range d.options() {
		if o.Value == RFC9309.options()[i].Value {
			continue
		}
		if found >= 0 {
			t.Errorf("Dialect.%s shows in two options, %s and %s", name, optionRows[found].name, o.Name)
		}
		if o.Source != "" || o.Inherited {
			t.Errorf("%s was changed by hand but has the source %q", o.Name, o.Source)
		}
		found = i
	}
	if found < 0 {
		t.Errorf("Dialect.%s has no row in sources_test.go: add one with its source in every dialect", name)
	}
	return found
}

// TestOptions: every field of Dialect has an option, in the order of the struct; a value has a
// source or is that of RFC9309.
func TestOptions(t *testing.T) {
	fields := reflect.TypeFor[Dialect]()
	n := 0
	for i := range fields.NumField() {
		if fields.Field(i).Name == "Name" {
			continue
		}
		if o := optionOf(t, i); o != n {
			t.Errorf("Dialect.%s has option %d of sources_test.go, in the order of the struct it would be %d", fields.Field(i).Name, o, n)
		}
		n++
	}
	if n != len(optionRows) {
		t.Errorf("%d options for %d fields", len(optionRows), n)
	}
	if len(ids{}) != len(Dialects()) {
		t.Errorf("ids of sources_test.go have %d places for %d dialects", len(ids{}), len(Dialects()))
	}
	standard := RFC9309.options()
	for _, d := range Dialects() {
		for i, o := range d.options() {
			if o.Inherited && (d.Name == "rfc9309" || o.Value != standard[i].Value) {
				t.Errorf("%s, %s: %s is said to be inherited, rfc9309 has %s", d.Name, o.Name, o.Value, standard[i].Value)
			}
			if regexp.MustCompile(`^\d+$`).MatchString(o.Value) && !strings.HasSuffix(o.Name, "-limit") && !strings.HasSuffix(o.Name, "-bytes") {
				t.Errorf("%s, %s: constant %s has no word", d.Name, o.Name, o.Value)
			}
		}
	}
	mine := RFC9309
	mine.Name = "mine"
	for _, o := range mine.options() {
		if o.Source != "" || o.Inherited {
			t.Errorf("%s of a dialect that nobody knows has the source %q", o.Name, o.Source)
		}
	}
}

// TestDialectPlaces names every place where a new dialect must be added. The differences from
// RFC9309 belong in case files, which no test can check.
func TestDialectPlaces(t *testing.T) {
	readme, page, table := read(t, "README.md"), read(t, "docs/dialects.md"), read(t, "robotstest/testdata/spec/dialects.tsv")
	for i, d := range Dialects() {
		var forgotten []string
		for _, place := range []struct {
			has  bool
			what string
		}{
			{i < len(ids{}), "sources_test.go: its statement in each row of options, and its place in ids"},
			{strings.Contains(readme, "| `"+d.Name+"` |"), "README.md: its row in the table of dialects"},
			{strings.Contains(page, "| `"+d.Name+"` |"), "docs/dialects.md: run make docs"},
			{strings.Contains(table, "\n"+d.Name+"\t"), "robotstest/testdata/spec/dialects.tsv: its row"},
		} {
			if !place.has {
				forgotten = append(forgotten, place.what)
			}
		}
		if len(forgotten) > 0 {
			t.Errorf("the dialect %s is not yet in\n\t%s", d.Name, strings.Join(forgotten, "\n\t"))
		}
	}
}

// TestDialectPage: docs/dialects.md contains the options. To rewrite it:
//
//	go test -run TestDialectPage -update .
func TestDialectPage(t *testing.T) {
	const page = "docs/dialects.md"
	want := dialectPage(t)
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from sources_test.go and dialect.go; run go test -run TestDialectPage -update .", page)
	}
}

const dialectPageHead = `# Dialects

<!-- Generated from dialect.go and sources_test.go; go test -run TestDialectPage -update . rewrites it. -->

A dialect is how one engine reads robots.txt: plain data, with one field for each documented difference.

| dialect | description |
| --- | --- |
`

const dialectPageMatrix = `
Below each value is the clause that it follows ([clauses.md](clauses.md)). *inherited* means that the engine documents nothing, so the
value of ` + "`rfc9309`" + ` applies. An outage is written in steps: what applies from a given age of the outage, with a last good copy or
without one. A step that allows access begins only when failures cover the whole age (D-54).

`

const dialectPageFields = `
## The options

The meaning of each option, and its field in ` + "`robots.Dialect`" + `.

| option | field | meaning |
| --- | --- | --- |
`

// dialectPage writes docs/dialects.md from the options and the comments of
// dialect.go.
func dialectPage(t *testing.T) []byte {
	var b bytes.Buffer
	fields, values := dialectComments(t)
	b.WriteString(dialectPageHead)
	for _, d := range Dialects() {
		comment, ok := values[d.Name]
		if !ok {
			t.Errorf("no comment on %s in dialect.go", d.Name)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", d.Name, withoutName(comment))
	}
	b.WriteString(dialectPageMatrix)
	b.WriteString("| option |")
	for _, d := range Dialects() {
		fmt.Fprintf(&b, " %s |", d.Name)
	}
	b.WriteString("\n|" + strings.Repeat(" --- |", 1+len(Dialects())) + "\n")
	for i := range optionRows {
		fmt.Fprintf(&b, "| %s |", optionRows[i].name)
		for _, d := range Dialects() {
			o := d.options()[i]
			source := o.Source
			if o.Inherited {
				source = "*inherited*"
			}
			fmt.Fprintf(&b, " `%s`<br>%s |", o.Value, source)
		}
		b.WriteString("\n")
	}
	b.WriteString(dialectPageFields)
	dialect := reflect.TypeFor[Dialect]()
	for i := range dialect.NumField() {
		f := dialect.Field(i)
		if f.Name == "Name" {
			continue
		}
		comment, ok := fields[f.Name]
		if !ok {
			t.Errorf("no comment on Dialect.%s in dialect.go", f.Name)
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", optionRows[optionOf(t, i)].name, f.Name, withoutName(comment))
	}
	return []byte(linkIDs(t, "docs/dialects.md", b.String()))
}

// withoutName removes the name that a comment begins with, and "is" after it.
func withoutName(comment string) string {
	_, rest, _ := strings.Cut(comment, " ")
	return strings.TrimPrefix(strings.TrimPrefix(rest, "and RequestRate are "), "is ")
}

// dialectComments returns the comments of the fields of Dialect and of the dialects, the latter
// by name. A field without a comment has that of the field above it.
func dialectComments(t *testing.T) (fields, values map[string]string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "dialect.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	fields, values = map[string]string{}, map[string]string{}
	cell := func(c *ast.CommentGroup) string {
		return strings.ReplaceAll(strings.Join(strings.Fields(c.Text()), " "), "|", `\|`)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			s, ok := n.Type.(*ast.StructType)
			if !ok || n.Name.Name != "Dialect" {
				return false
			}
			last := ""
			for _, f := range s.Fields.List {
				if f.Doc != nil {
					last = cell(f.Doc)
				}
				for _, name := range f.Names {
					fields[name.Name] = last
				}
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				for _, d := range Dialects() {
					if strings.EqualFold(name.Name, strings.ReplaceAll(d.Name, "-", "")) && n.Doc != nil {
						values[d.Name] = cell(n.Doc)
					}
				}
			}
		}
		return true
	})
	return fields, values
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
	for _, d := range Dialects() {
		for _, o := range d.options() {
			if o.Source != "" && !listed[o.Source] {
				t.Errorf("%s, %s: source %s is not in docs/clauses.md", d.Name, o.Name, o.Source)
			}
		}
	}
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
