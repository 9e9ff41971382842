package robots

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestDocuments: the targets of links in the documents exist, and the documents show the current
// repository. Every id of a clause in ARCHITECTURE.md, README.md and docs/ is a link, and long pages of
// docs/ begin with links to their sections; to write both:
//
//	go test -run TestDocuments -update .
func TestDocuments(t *testing.T) {
	pages := map[string]map[string]bool{}
	walk(t, func(file string) {
		if path.Ext(file) != ".md" {
			return
		}
		text := read(t, file)
		checkLinks(t, file, text, pages)
		if dir := path.Dir(file); dir != "docs" && file != "README.md" && file != "ARCHITECTURE.md" {
			return
		}
		want := linkIDs(t, file, withSections(file, text))
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if text != want {
			t.Errorf("%s has clauses without a link, or an old list of sections; run go test -run TestDocuments -update .", file)
		}
	})

	// The library example of README.md is the one that runs as a test.
	code := regexp.MustCompile("(?s)```go\n(.*?)// Output").FindStringSubmatch(read(t, "README.md"))
	if code == nil {
		t.Fatal("README.md has no example in Go")
	}
	tests := strings.ReplaceAll(read(t, "example_test.go"), "\n\t", "\n")
	if !strings.Contains(tests, code[1]) {
		t.Error("the example of README.md is not that of example_test.go")
	}

	shape := read(t, "ARCHITECTURE.md")
	if n := strings.Count(shape, "\n"); n > 120 {
		t.Errorf("ARCHITECTURE.md has %d lines, want at most 120", n)
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() && name[0] != '.' && name != "bin" && !strings.Contains(shape, "\n"+name+"/") {
			t.Errorf("ARCHITECTURE.md does not name the folder %s in its tree", name)
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.Contains(shape, " "+name) {
			t.Errorf("ARCHITECTURE.md does not name %s in its tree", name)
		}
	}
}

var (
	inlineLink = regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)
	mdHeading  = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	noAnchor   = regexp.MustCompile(`[^\pL\pN_-]`)
	// notProse matches where an id is not a link: code, existing links, headings.
	notProse = "(?s:```.*?\n```|<!--.*?-->)|`[^`\n]*`|\\[[^\\]\n]*\\]\\([^)\n]*\\)|(?m:^#.*$)"
	inProse  = regexp.MustCompile(notProse + "|" + citation.String())
)

// checkLinks reports links to missing files and headings. The anchors of pages that were read
// are kept in pages.
func checkLinks(t *testing.T, file, text string, pages map[string]map[string]bool) {
	t.Helper()
	for _, m := range inlineLink.FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[1], ":") {
			continue // of the web
		}
		target := file
		if m[1] != "" {
			target = path.Join(path.Dir(file), m[1])
		}
		if _, err := os.Stat(target); err != nil {
			t.Errorf("%s links to %s, which is not there", file, m[1])
			continue
		}
		if m[2] == "" {
			continue
		}
		if pages[target] == nil {
			pages[target] = anchors(read(t, target))
		}
		if !pages[target][m[2][1:]] {
			t.Errorf("%s links to %s, which has no heading %s", file, target, m[2])
		}
	}
}

// anchors returns the names that GitHub gives to the headings of a page.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, m := range mdHeading.FindAllStringSubmatch(text, -1) {
		names[anchor(m[1])] = true
	}
	return names
}

// anchor applies GitHub's rule: lower case, a hyphen for a space, and no other signs than '-'
// and '_'.
func anchor(heading string) string {
	heading = strings.ReplaceAll(strings.ToLower(heading), " ", "-")
	return noAnchor.ReplaceAllString(heading, "")
}

// longPage is the length in lines, about three screens, from which on a page has links to its sections.
const longPage = 120

var (
	sectionsLine = regexp.MustCompile(`(?s)\nSections: .*?\n\n`)
	pageSection  = regexp.MustCompile(`(?m)^## +(.+)$`)
	codeBlock    = regexp.MustCompile("(?ms)^```.*?^```$")
)

// withSections returns the text of a document with the links to its sections, unless it is short or begins with a table of links.
func withSections(file, text string) string {
	if path.Dir(file) != "docs" || strings.Count(text, "\n") < longPage {
		return text
	}
	original := text
	text = sectionsLine.ReplaceAllString(text, "\n")
	sections := pageSection.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1)
	opening, _, _ := strings.Cut(text, "\n## ")
	if len(sections) < 3 || strings.Contains(opening, "](#") {
		return original
	}
	opening, _, _ = strings.Cut(opening, "\n<!-- generated ") // which stands above what is generated
	list := "Sections:"
	width := len(list)
	for i, section := range sections {
		link := "[" + section[1] + "](#" + anchor(section[1]) + ")"
		if i < len(sections)-1 {
			link += ","
		}
		if width+len(link) > 130 {
			list += "\n" + link
			width = len(link)
			continue
		}
		list += " " + link
		width += len(" ") + len(link)
	}
	return opening + "\n" + list + "\n" + strings.TrimPrefix(text, opening)
}

// linkIDs returns the text of a document in which every id of a clause is a link to its heading.
func linkIDs(t *testing.T, file, text string) string {
	page := strings.TrimPrefix("docs/clauses.md", path.Dir(file)+"/")
	if file == "docs/clauses.md" {
		page = ""
	}
	listed := clauses(t)
	return inProse.ReplaceAllStringFunc(text, func(s string) string {
		if !listed[s] {
			return s
		}
		return "[" + s + "](" + page + "#" + anchor(s) + ")"
	})
}

func TestLinkIDs(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"README.md", "so (D-09).", "so ([D-09](docs/clauses.md#d-09))."},
		{"docs/batch.md", "SPEC 3.5, UTF-16", "[SPEC 3.5](clauses.md#spec-35), UTF-16"},
		{"docs/clauses.md", "#### D-09\nD-10\n", "#### D-09\n[D-10](#d-10)\n"},
		{"README.md", "`D-09` [D-09](x) <!-- D-09 -->", "`D-09` [D-09](x) <!-- D-09 -->"},
		{"README.md", "```\nD-09\n```\nD-10", "```\nD-09\n```\n[D-10](docs/clauses.md#d-10)"},
	} {
		got := linkIDs(t, c.file, c.text)
		if got != c.want {
			t.Errorf("%s: %q: got %q, want %q", c.file, c.text, got, c.want)
		}
		if again := linkIDs(t, c.file, got); again != got {
			t.Errorf("%s: %q: linked twice: %q", c.file, c.text, again)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
