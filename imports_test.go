package robots

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/robotskit/robots"

// A row lists what a package, and the packages below it without rows of their own, may import in
// files other than tests.
type row struct {
	std  []string // of the standard library; nil for all of it
	ours []string // of this repository, by folder, "" for the root; "..." for all
	mods []string // of other modules, by the beginning of their paths
}

// policy is the order of the packages: who may know of whom.
//
// Think twice before you relax a row. The root is the engine that also runs in
// browsers, in other people's crawlers and in a hot loop: it stays pure, small
// and testable because it cannot reach a network, a file, a clock or a logger.
// net/url is left out because it rejects URLs that crawlers meet. What a library
// package imports, every user of the library carries: a dependency needs a
// sentence in the commit that adds it, and heavy ones belong below cmd/. If a
// lower package seems to need a higher one, the higher one should pass it a
// value.
var policy = map[string]row{
	".": {
		std: []string{
			"bytes", "cmp", "encoding/base64", "encoding/binary", "errors", "iter", "math", "math/bits",
			"net/netip", "slices", "strconv", "strings", "sync", "sync/atomic", "time", "unicode/utf8", "unsafe",
		},
		ours: []string{"internal/quote"},
		mods: []string{"golang.org/x/net/idna"},
	},
	"robotstest":  {ours: []string{""}, mods: []string{"golang.org/x/tools/txtar"}},
	"lint":        {ours: []string{"", "compare", "crawlers"}},
	"compare":     {ours: []string{"", "crawlers"}},
	"crawlers":    {ours: []string{""}},
	"indexing":    {ours: []string{""}, mods: []string{"golang.org/x/net/html"}},                                                                                // the tokenizer
	"fetch":       {ours: []string{"", "internal/http1"}, mods: []string{"golang.org/x/net/proxy", "golang.org/x/net/http2", "golang.org/x/net/http/httpguts"}}, // the client of SOCKS5, the frames of HTTP/2, the syntax of fields
	"cache":       {ours: []string{"", "fetch", "cache"}, mods: []string{"github.com/hashicorp/golang-lru/v2", "golang.org/x/sync"}},                            // the memory, and one flight per origin
	"cache/bolt":  {ours: []string{"", "fetch", "cache"}, mods: []string{"go.etcd.io/bbolt"}},
	"cache/redis": {ours: []string{"", "fetch", "cache", "internal/script"}, mods: []string{"github.com/redis/rueidis"}},
	"pace":        {ours: []string{"", "pace", "internal/duration"}},
	"pace/redis":  {ours: []string{"", "pace", "internal/duration", "internal/script"}, mods: []string{"github.com/redis/rueidis"}},
	"polite":      {ours: []string{"", "fetch", "cache", "pace"}},
	"guard":       {ours: []string{"", "crawlers"}, mods: []string{"github.com/hashicorp/golang-lru/v2"}}, // what is remembered
	"fleet":       {ours: []string{"", "fetch", "cache", "pace", "internal/script"}, mods: []string{"github.com/redis/rueidis"}},
	"internal":    {ours: []string{"internal/freeport", "internal/proctest"}, mods: []string{"github.com/redis/rueidis", "golang.org/x/net/dns"}}, // servers for tests, and internal/script
	"docs":        {std: []string{"embed"}},                                                                                                       // pages that a program shows
	"cmd":         {ours: []string{"..."}, mods: []string{""}},
	"bench": {
		ours: []string{"", "fetch", "cache", "crawlers", "guard", "lint", "pace", "polite", "internal/hostile", "internal/proctest"},
		mods: []string{""},
	},
	"examples": {ours: []string{"", "fetch", "cache", "pace", "polite", "fleet", "lint", "compare", "robotstest"}, mods: []string{""}},
}

// TestImports checks the imports of every package against the policy.
func TestImports(t *testing.T) {
	packages := map[string]bool{}
	walk(t, func(file string) {
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return
		}
		dir := path.Dir(file)
		packages[dir] = true
		at := dir
		r, ok := policy[at]
		for !ok && at != "." {
			at = path.Dir(at)
			if r, ok = policy[at]; at == "." {
				t.Errorf("%s has no row in the policy of imports_test.go; add one there and in ARCHITECTURE.md", dir)
				return
			}
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			return
		}
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !r.allows(name) {
				t.Errorf("%s imports %s, which the policy of imports_test.go does not let package %s do; read there why", file, name, dir)
			}
		}
	})
	t.Logf("%d packages keep to the policy", len(packages))
}

func (r row) allows(name string) bool {
	if rest, ok := strings.CutPrefix(name, module); ok && (rest == "" || rest[0] == '/') {
		rest = strings.TrimPrefix(rest, "/")
		return slices.ContainsFunc(r.ours, func(o string) bool {
			return o == "..." || o == rest || o != "" && strings.HasPrefix(rest, o+"/")
		})
	}
	if first, _, _ := strings.Cut(name, "/"); !strings.Contains(first, ".") {
		return r.std == nil || slices.Contains(r.std, name)
	}
	return slices.ContainsFunc(r.mods, func(m string) bool {
		return m == "" || name == m || strings.HasPrefix(name, m+"/")
	})
}

// TestRootIsPure: the root package uses no clock and no goroutine. Times are arguments, and
// concurrency is up to the caller.
func TestRootIsPure(t *testing.T) {
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	walk(t, func(file string) {
		if path.Dir(file) != "." || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s starts a goroutine", set.Position(n.Pos()))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
					t.Errorf("%s reads the clock", set.Position(n.Pos()))
				}
			}
			return true
		})
	})
}

// layers of the programs, the lowest first: what is true, how it is shown, where it comes from. The
// commands use all of them.
var layers = []string{"cmd/internal/answer", "cmd/internal/render", "cmd/internal/source"}

// TestLayers: no layer imports one above it, neither itself nor through another package of cmd.
func TestLayers(t *testing.T) {
	imports := map[string][]string{} // of packages below cmd
	walk(t, func(file string) {
		if !strings.HasPrefix(file, "cmd/") || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			name := strings.Trim(spec.Path.Value, `"`)
			if ours, ok := strings.CutPrefix(name, module+"/"); ok && !slices.Contains(imports[path.Dir(file)], ours) {
				imports[path.Dir(file)] = append(imports[path.Dir(file)], ours)
			}
		}
	})
	for i, layer := range layers {
		if imports[layer] == nil {
			t.Errorf("%s does not exist", layer)
		}
		reached := []string{layer}
		for k := 0; k < len(reached); k++ { // reached grows
			for _, next := range imports[reached[k]] {
				if slices.Contains(layers[i+1:], next) {
					t.Errorf("%s reaches %s, which is above it, through %s", layer, next, reached[k])
				}
				if !slices.Contains(reached, next) {
					reached = append(reached, next)
				}
			}
		}
	}
	if slices.Contains(imports["cmd/internal/answer"], "fetch") {
		t.Error("cmd/internal/answer imports fetch, whose net/http is too large for the page")
	}
	for _, layer := range layers {
		if !slices.Contains(imports["cmd/robots"], layer) {
			t.Errorf("cmd/robots does not import %s", layer)
		}
	}
}

// TestTracked: no program, archive or other large file is committed.
func TestTracked(t *testing.T) {
	const most = 700 << 10 // bytes; the largest is axe.min.js
	list, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		t.Skip("not a clone of the repository")
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if info, err := os.Stat(name); err == nil && info.Size() > most {
			t.Errorf("%s has %d bytes, more than %d", name, info.Size(), most)
		}
	}
}
