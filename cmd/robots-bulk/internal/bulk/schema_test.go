package bulk

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// schemaTables are the tables of docs/bulk-schema.md, with the folder that the page's examples make.
var schemaTables = []struct {
	name, folder, order string
	row                 reflect.Type
	distinct            bool // a body of several parts has its rows in each
}{
	{tableCaptures, "snap", "`surt`, `origin`, `fetched`", reflect.TypeFor[Capture](), false},
	{tableBodies, "snap", "`sha256`", reflect.TypeFor[Body](), true},
	{tableFiles, "snap", "`sha256`", reflect.TypeFor[FileSummary](), true},
	{tableRules, "snap", "`sha256`, `line`", reflect.TypeFor[FieldLine](), true},
	{tableAgents, "snap", "`sha256`, `line`", reflect.TypeFor[NamedAgent](), true},
	{tableSignals, "snap", "`sha256`, `line`", reflect.TypeFor[SignalValue](), true},
	{tableSitemaps, "snap", "`sha256`, `line`", reflect.TypeFor[SitemapLine](), true},
	{tableFindings, "snap", "`sha256`, `id`", reflect.TypeFor[FindingCount](), true},
	{tableVerdicts, "verdicts", "`surt`, `origin`, `fetched`, then as crawlers, dialects and paths were given", reflect.TypeFor[Verdict](), false},
	{tableJoined, "joined", "`surt`, then as in the list", reflect.TypeFor[JoinedVerdict](), false},
	{tableChanges, "changes", "site key, `origin`", reflect.TypeFor[AccessChange](), false},
}

// columnTypes are the types of a column: in Parquet, DuckDB and Spark.
var columnTypes = map[reflect.Type][3]string{
	reflect.TypeFor[string]():    {"string", "VARCHAR", "STRING"},
	reflect.TypeFor[bool]():      {"boolean", "BOOLEAN", "BOOLEAN"},
	reflect.TypeFor[int32]():     {"int32", "INTEGER", "INT"},
	reflect.TypeFor[int64]():     {"int64", "BIGINT", "BIGINT"},
	reflect.TypeFor[float64]():   {"double", "DOUBLE", "DOUBLE"},
	reflect.TypeFor[[]byte]():    {"bytes", "BLOB", "BINARY"},
	reflect.TypeFor[time.Time](): {"time", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP"},
}

// A schemaColumn is a column as documents describe it.
type schemaColumn struct {
	name     string
	types    [3]string
	nullable bool
	meaning  string
}

// schemaColumns returns the columns of a row. The comments of its fields are their meanings, and state
// when a column is null.
func schemaColumns(t *testing.T, row reflect.Type, comments map[string]string) (columns []schemaColumn) {
	t.Helper()
	for _, field := range reflect.VisibleFields(row) {
		if field.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("parquet"), ",")
		column := schemaColumn{name: name, nullable: strings.Contains(","+options+",", ",optional,")}
		kind := field.Type
		if kind.Kind() == reflect.Pointer {
			column.nullable = true
			kind = kind.Elem()
		}
		column.types = columnTypes[kind]
		owner := row
		if len(field.Index) > 1 {
			owner = row.FieldByIndex(field.Index[:1]).Type
		}
		column.meaning = comments[owner.Name()+"."+field.Name]
		if column.meaning == "" || column.nullable != strings.Contains(column.meaning, "null") {
			t.Errorf("%s.%s can be null: %v; its comment is %q", owner.Name(), field.Name, column.nullable, column.meaning)
		}
		columns = append(columns, column)
	}
	return columns
}

// fieldComments returns the comments of structs, as NAME, and of their fields, as NAME.FIELD.
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			declaration, ok := node.(*ast.GenDecl)
			if !ok {
				return true
			}
			for _, spec := range declaration.Specs {
				row, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				comments[row.Name.Name] = sentence(declaration.Doc.Text())
				if body, ok := row.Type.(*ast.StructType); ok {
					for _, field := range body.Fields.List {
						for _, name := range field.Names {
							comments[row.Name.Name+"."+name.Name] = meaning(name.Name, field)
						}
					}
				}
			}
			return true
		})
	}
	return comments
}

func sentence(s string) string { return strings.Join(strings.Fields(s), " ") }

// meaning returns the comment of a field without the field's name at its beginning.
func meaning(name string, field *ast.Field) string {
	text := sentence(field.Comment.Text() + " " + field.Doc.Text())
	if rest, ok := strings.CutPrefix(text, name+" "); ok {
		_, text, _ = strings.Cut(rest, " ") // the verb
	}
	return strings.TrimSuffix(text, ".")
}

// schemaPage returns the generated part of docs/bulk-schema.md, and the definitions for DuckDB and Spark.
func schemaPage(t *testing.T) (page, duck, spark string) {
	t.Helper()
	comments := fieldComments(t)
	var markdown, duckDB, sparkSQL strings.Builder
	for _, table := range schemaTables {
		_, about, _ := strings.Cut(comments[table.row.Name()], ": ")
		about = strings.TrimSuffix(about, " The columns are a contract.")
		fmt.Fprintf(&markdown, "\n## %s\n\n%s Rows are sorted by %s.\n\n| column | type | null | meaning |\n| --- | --- | --- | --- |\n",
			table.name, strings.ToUpper(about[:1])+about[1:], table.order)
		var names, fields []string
		for _, column := range schemaColumns(t, table.row, comments) {
			null, notNull := "yes", ""
			if !column.nullable {
				null, notNull = "never", " NOT NULL"
			}
			fmt.Fprintf(&markdown, "| `%s` | %s | %s | %s |\n", column.name, column.types[0], null, column.meaning)
			names = append(names, column.name+"::"+column.types[1]+" as "+column.name)
			fields = append(fields, fmt.Sprintf("  %s %s%s COMMENT '%s'", column.name, column.types[2], notNull, strings.ReplaceAll(column.meaning, "'", "''")))
		}
		distinct, parts := "", ""
		if table.distinct {
			distinct, parts = "distinct ", "_parts"
		}
		fmt.Fprintf(&duckDB, "create or replace view %s as select %s\n  %s\nfrom '%s/%s/*.parquet';\n", table.name, distinct, strings.Join(names, ",\n  "), table.folder, table.name)
		fmt.Fprintf(&sparkSQL, "CREATE TABLE %s%s (\n%s\n) USING PARQUET LOCATION '%s/%s';\n", table.name, parts, strings.Join(fields, ",\n"), table.folder, table.name)
		if table.distinct {
			fmt.Fprintf(&sparkSQL, "CREATE VIEW %s AS SELECT DISTINCT * FROM %s_parts;\n", table.name, table.name)
		}
	}
	return markdown.String(), duckDB.String(), sparkSQL.String()
}

// TestSchema: docs/bulk-schema.md and the definitions beside describe the columns of all tables.
func TestSchema(t *testing.T) {
	page, duck, spark := schemaPage(t)
	for name, generated := range map[string]string{"bulk-schema.md": page, "bulk-duckdb.sql": duck, "bulk-spark.sql": spark} {
		path := filepath.Join("../../../../docs", name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		const mark = "generated from cmd/robots-bulk/internal/bulk: make docs"
		before, rest, ok := strings.Cut(string(text), mark)
		end, _, _ := strings.Cut(rest, "\n")
		want := before + mark + end + "\n" + generated
		switch {
		case !ok:
			t.Errorf("%s has no line %q", path, mark)
		case want == string(text):
		case !*update:
			t.Errorf("%s is out of date; make docs rewrites it", path)
		default:
			if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}
