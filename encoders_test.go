package robots

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// encoders are the only files and folders that encode JSON. Answers to people and programs are
// structs of cmd/internal/answer; the encoders of the faces write them. All others store something,
// or speak the protocol of somebody else.
var encoders = map[string]string{
	".":                   "the hot line of batches and lists, held to answer.Check",
	"cmd/internal/answer": "the members of that line that the directory adds; the encoder of the HTTP API, the page and its engine",
	"cmd/internal/batch":  "id, agent and errors in that line",

	"cmd/internal/screen/streams.go": "the encoder of the command line",
	"cmd/robots-bulk/run.go":         "the encoder of robots-bulk",
	"cmd/internal/server":            "problems and the OpenAPI document; url and agent in the hot line of batches",
	"cmd/robots/servesettings.go":    "values of flags in YAML",
	"cmd/internal/webhook":           "messages to webhooks",
	"cmd/internal/source/watch.go":   "the state file of robots watch",
	"cmd/robots-bulk/internal/bulk":  "tables, manifests and runs on disk",
	"cmd/internal/session":           "command lines of test scripts",
	"fetch/encode.go":                "records in stores",
	"pace/snapshot.go":               "states in stores",
	"bench":                          "questions, and the answers of loops that robots is compared with",
	"pace/redis":                     "configuration and heartbeats in Redis",
}

// TestEncoders: nothing else encodes JSON, by a library or by hand.
func TestEncoders(t *testing.T) {
	used := map[string]bool{}
	calls(t, func(file, position string, function ast.Expr) {
		if strings.HasPrefix(file, "internal/") || !encodesJSON(function) {
			return
		}
		for _, place := range []string{file, path.Dir(file)} {
			if encoders[place] != "" {
				used[place] = true
				return
			}
		}
		t.Errorf("%s encodes JSON; return a struct of cmd/internal/answer, or add a row with the reason", position)
	})
	for place := range encoders {
		if !used[place] {
			t.Errorf("%s does not encode JSON any more", place)
		}
	}
}

// TestComparers: two sets of rules are compared in one place; the difference of two files for crawlers
// is that of cmd/internal/answer.
func TestComparers(t *testing.T) {
	comparers := []string{"compare", "lint", "cmd/internal/answer"}
	calls(t, func(file, position string, function ast.Expr) {
		f, ok := function.(*ast.SelectorExpr)
		if !ok || f.Sel.Name != "Rules" || slices.Contains(comparers, path.Dir(file)) {
			return
		}
		if x, ok := f.X.(*ast.Ident); ok && x.Name == "compare" {
			t.Errorf("%s calls compare.Rules; use answer.Diff", position)
		}
	})
}

// calls calls visit for every call in files other than tests, with the position of the call.
func calls(t *testing.T, visit func(file, position string, function ast.Expr)) {
	walk(t, func(file string) {
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				visit(file, set.Position(n.Pos()).String(), call.Fun)
			}
			return true
		})
	})
}

// encodesJSON reports whether a function writes JSON.
func encodesJSON(function ast.Expr) bool {
	f, ok := function.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := f.X.(*ast.Ident)
	switch f.Sel.Name {
	case "Marshal", "MarshalIndent", "NewEncoder":
		return ok && x.Name == "json"
	case "Append":
		return ok && x.Name == "quote"
	}
	return false
}
