package documents

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/robotskit/robots/docs"
)

// TestDocuments: each document is a page with the title of its first heading; the index is that of docs/README.md. A long page has a
// table of contents, every link within the site leads somewhere, and one leads to each page.
func TestDocuments(t *testing.T) {
	files, err := Pages(docs.Pages)
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(docs.Pages, "*.md")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d documents, %v", len(names), err)
	}
	for _, name := range names {
		if name != "README.md" && files[strings.TrimSuffix(name, ".md")+".html"] == nil {
			t.Errorf("%s is no page", name)
		}
	}
	href := regexp.MustCompile(` href="([a-z-]+\.html)?(?:#([^"]+))?"`)
	reached := map[string]bool{"index.html": true}
	for name, page := range files {
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		title, _, _ := strings.Cut(string(page), "</title>")
		_, title, _ = strings.Cut(title, "<title>")
		heading := regexp.MustCompile(`<h1 id="[^"]*">(.*?)</h1>`).FindAllSubmatch(page, -1)
		if len(heading) != 1 || !strings.HasSuffix(title, " | robots") || strings.Contains(title, "&lt;") {
			t.Errorf("%s: the title is %q, with %d headings of level 1", name, title, len(heading))
		}
		for _, m := range href.FindAllSubmatch(page, -1) {
			to, id := name, string(m[2])
			if len(m[1]) > 0 {
				to = string(m[1])
			}
			reached[to] = reached[to] || to != name
			if files[to] == nil || id != "" && !strings.Contains(string(files[to]), ` id="`+id+`"`) {
				t.Errorf("%s: %s leads nowhere", name, m[0])
			}
		}
	}
	for name := range files {
		if strings.HasSuffix(name, ".html") && !reached[name] {
			t.Errorf("no document leads to %s", name)
		}
	}
	if index := string(files["index.html"]); !strings.Contains(index, `<a href="mistakes.html">`) || !strings.Contains(index, "<table>") {
		t.Errorf("the index is %s", index)
	}
	for _, long := range []string{"commands", "clauses", "api"} {
		if !strings.Contains(string(files[long+".html"]), `<nav class="contents"`) {
			t.Errorf("%s has no table of contents", long)
		}
	}
	if strings.Contains(string(files["glossary.html"]), `<nav class="contents"`) {
		t.Error("a short page has a table of contents")
	}
}
