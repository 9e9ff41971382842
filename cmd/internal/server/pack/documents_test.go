package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocuments: each document is a page with the title of its first heading; the index is that of docs/README.md. A long page has a
// table of contents, every link within the site leads somewhere, and one leads to each page.
func TestDocuments(t *testing.T) {
	files := map[string][]byte{}
	names, err := filepath.Glob("../../../../docs/*.md")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d documents, %v", len(names), err)
	}
	for _, name := range names {
		if files["docs/"+filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := documents(files); err != nil {
		t.Fatal(err)
	}
	if len(files) != len(names) {
		t.Errorf("%d pages of %d documents", len(files), len(names))
	}
	href := regexp.MustCompile(` href="([a-z-]+\.html)?(?:#([^"]+))?"`)
	reached := map[string]bool{"docs/index.html": true}
	for name, page := range files {
		title, _, _ := strings.Cut(string(page), "</title>")
		_, title, _ = strings.Cut(title, "<title>")
		heading := regexp.MustCompile(`<h1 id="[^"]*">(.*?)</h1>`).FindAllSubmatch(page, -1)
		if len(heading) != 1 || !strings.HasSuffix(title, " | robots") || strings.Contains(title, "&lt;") {
			t.Errorf("%s: the title is %q, with %d headings of level 1", name, title, len(heading))
		}
		for _, m := range href.FindAllSubmatch(page, -1) {
			to, id := name, string(m[2])
			if len(m[1]) > 0 {
				to = "docs/" + string(m[1])
			}
			reached[to] = reached[to] || to != name
			if files[to] == nil || id != "" && !strings.Contains(string(files[to]), ` id="`+id+`"`) {
				t.Errorf("%s: %s leads nowhere", name, m[0])
			}
		}
	}
	for name := range files {
		if !reached[name] {
			t.Errorf("no document leads to %s", name)
		}
	}
	if index := string(files["docs/index.html"]); !strings.Contains(index, `<a href="mistakes.html">`) || !strings.Contains(index, "<table>") {
		t.Errorf("the index is %s", index)
	}
	for _, long := range []string{"commands", "clauses", "api"} {
		if !strings.Contains(string(files["docs/"+long+".html"]), `<nav class="contents"`) {
			t.Errorf("%s has no table of contents", long)
		}
	}
	if strings.Contains(string(files["docs/glossary.html"]), `<nav class="contents"`) {
		t.Error("a short page has a table of contents")
	}
}
