package answer

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/json.md")

// answersOf are the structs of each section of docs/json.md; those of a second name apply without a
// robots.txt.
var answersOf = []struct{ section, text, name string }{
	{"check", "A line for each URL and crawler: the members of a [batch answer](batch.md#answer) without `id`; `agent` is a list.", "Check"},
	{"explain", "The members of [check](#check), and:", "Explanation"},
	{"crawlers", "A line for each crawler. With a robots.txt:", "CrawlerAccess"},
	{"crawlers", "Without one:", "CrawlerEntry"},
	{"diff", "A line for each crawler and dialect.", "CrawlerDifference"},
	{"lint", "A line for each finding: `file`, as given, and:", "Finding"},
	{"test", "A line for each assertion and dialect.", "AssertionResult"},
	{"block", "One line.", "Blocking"},
	{"show", "A line for each robots.txt and crawler. `--only` leaves out the other parts.", "ShownFile"},
	{"page", "A line for each URL and crawler.", "PageCheck"},
	{"fetch", "One line. From `expires` to `sha256`, members that do not apply are absent.", "Fetch"},
	{"verify", "Of an address:", "VerifiedAddress"},
	{"verify", "Of access logs, one line:", "LogReport"},
	{"watch", "A line for each site. A webhook gets an object with `schema` and the list `reports` of such lines.", "SiteReport"},
	{"fleet", "`status`:", "FleetStatus"},
	{"fleet", "`show` of a site:", "FleetSite"},
	{"fleet", "`show` of an address:", "FleetAddress"},
	{"fleet", "`config`:", "FleetConfig"},
	{"fleet", "`held`, a line for each hold:", "FleetHold"},
	{"fleet", "`log`, a line for each entry:", "FleetLogEntry"},
	{"fleet", "`doctor`, a line for each problem:", "FleetProblem"},
	{"fleet", "The commands that change something, a line for each change:", "FleetChange"},
	{"clause", "A line for each clause.", "clause"},
	{"--version", "One line.", "programBuild"},
}

// A structDoc is a struct of an answer as its source has it.
type structDoc struct {
	meaning string
	fields  []*ast.Field
}

// structDocs returns the structs of this package and of the program, and those of package crawlers with
// its name.
func structDocs(t *testing.T) map[string]structDoc {
	docs := map[string]structDoc{}
	// Of two structs with one name that of this package is meant.
	for _, source := range []struct{ dir, prefix string }{{"../../../crawlers", "crawlers."}, {"../../robots", ""}, {".", ""}} {
		names, err := filepath.Glob(filepath.Join(source.dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, declaration := range file.Decls {
				general, ok := declaration.(*ast.GenDecl)
				if !ok || general.Tok != token.TYPE {
					continue
				}
				for _, spec := range general.Specs {
					if body, ok := spec.(*ast.TypeSpec).Type.(*ast.StructType); ok {
						docs[source.prefix+spec.(*ast.TypeSpec).Name.Name] = structDoc{oneLine(general.Doc.Text()), body.Fields.List}
					}
				}
			}
		}
	}
	return docs
}

func oneLine(s string) string { return strings.TrimSuffix(strings.Join(strings.Fields(s), " "), ".") }

// A docPage writes tables of members, and keeps which structs they refer to.
type docPage struct {
	t      *testing.T
	docs   map[string]structDoc
	needed []string
	out    strings.Builder
}

// table writes the members of a struct. It leaves out embedded structs with a section of their own.
func (p *docPage) table(name string) {
	p.out.WriteString("\n| member | value | meaning |\n| --- | --- | --- |\n")
	p.rows(name, false)
}

// rows writes the members of a struct, which are absent without it if it is optional.
func (p *docPage) rows(name string, optional bool) {
	doc, ok := p.docs[name]
	if !ok {
		p.t.Fatalf("no struct %s", name)
	}
	for _, field := range doc.fields {
		member := ""
		absent := optional
		if field.Tag != nil {
			tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json")
			member, _, _ = strings.Cut(tag, ",")
			absent = absent || strings.Contains(tag, "omit")
		}
		switch {
		case member == "-":
		case len(field.Names) == 0 && member == "":
			if embedded := nameOf(field.Type); embedded != "Check" {
				_, pointer := field.Type.(*ast.StarExpr)
				p.rows(embedded, pointer)
			}
		case member != "":
			_, value := p.value(field.Type)
			if absent {
				value += ", or absent"
			}
			meaning := oneLine(strings.TrimSpace(field.Comment.Text() + " " + field.Doc.Text()))
			// A comment can begin with the name of its field.
			if rest, ok := strings.CutPrefix(meaning, field.Names[0].Name+" "); ok {
				meaning = strings.TrimPrefix(rest, "is ")
			}
			value = strings.ReplaceAll(value, " or null, or absent", ", or absent")
			if meaning == "" {
				p.t.Errorf("%s.%s has no comment", name, field.Names[0].Name)
			}
			fmt.Fprintf(&p.out, "| `%s` | %s | %s |\n", member, value, strings.ReplaceAll(meaning, "|", `\|`))
		}
	}
}

// value returns the name of the struct in a type, and how JSON has its values.
func (p *docPage) value(e ast.Expr) (name, text string) {
	switch e := e.(type) {
	case *ast.StarExpr:
		name, text = p.value(e.X)
		return name, text + " or null"
	case *ast.MapType:
		_, key := p.value(e.Key)
		_, value := p.value(e.Value)
		return "", "object: " + key + " to " + value
	case *ast.ArrayType:
		if pointer, ok := e.Elt.(*ast.StarExpr); ok {
			name, text = p.value(pointer.X)
		} else {
			name, text = p.value(e.Elt)
		}
		return name, "list: " + text
	}
	name = nameOf(e)
	words := map[string]string{
		"int": "number", "int64": "number", "float64": "number", "bool": "boolean", "any": "any", "Seconds": "seconds", "Milliseconds": "milliseconds", "Interval": "seconds", "Time": "time", "Moment": "time", "time.Time": "time",
		"robots.Verdict": "object: `allowed`, `verdict`, `reason`, `rule`, `group` and `dialect` as in [check](#check)",
	}
	if word, ok := words[name]; ok {
		return name, word
	}
	if _, ok := p.docs[name]; !ok {
		return name, "string"
	}
	if !slices.Contains(p.needed, name) {
		p.needed = append(p.needed, name)
	}
	short := strings.ToLower(name[strings.LastIndex(name, ".")+1:])
	return name, "[" + short + "](#" + short + ")"
}

// nameOf returns the name of a type, without that of this package.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return nameOf(e.X)
	case *ast.SelectorExpr:
		return strings.TrimPrefix(e.X.(*ast.Ident).Name+"."+e.Sel.Name, "answer.")
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// The generated part of docs/json.md stands between these lines.
const (
	generatedBegin = "<!-- generated from cmd/internal/answer: make docs -->\n"
	generatedEnd   = "<!-- end of the generated part -->\n"
)

// TestDocuments: docs/json.md describes the members of all answers as the structs do.
func TestDocuments(t *testing.T) {
	const path = "../../../docs/json.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), generatedBegin)
	_, after, ends := strings.Cut(rest, generatedEnd)
	if !begins || !ends {
		t.Fatalf("%s has no generated part", path)
	}
	p := &docPage{t: t, docs: structDocs(t)}
	section := ""
	for _, a := range answersOf {
		if a.section != section {
			section = a.section
			fmt.Fprintf(&p.out, "\n## %s\n", section)
		}
		fmt.Fprintf(&p.out, "\n%s\n", a.text)
		p.table(a.name)
	}
	p.out.WriteString("\n## Values\n")
	for i := 0; i < len(p.needed); i++ { // grows
		name := p.needed[i]
		if slices.ContainsFunc(answersOf, func(a struct{ section, text, name string }) bool { return a.name == name }) {
			continue
		}
		fmt.Fprintf(&p.out, "\n### %s\n\n%s.\n", strings.ToLower(name[strings.LastIndex(name, ".")+1:]), p.docs[name].meaning)
		p.table(name)
	}
	want := before + generatedBegin + p.out.String() + "\n" + generatedEnd + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s is out of date; make docs rewrites it", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}
