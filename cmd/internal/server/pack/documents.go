package main

import (
	"bytes"
	_ "embed"
	"errors"
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	table "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

//go:embed document.html
var frame string

var documentPage = template.Must(template.New("").Parse(frame))

// A document is a page of the site.
type document struct {
	Title    string
	Head     template.HTML // the title as a heading
	Contents []section     // of a long page
	Body     template.HTML
	Index    bool // the list of all documents
}

// A section is one of a page, with the id of its heading.
type section struct{ ID, Title string }

// Sizes of pages, in bytes of Markdown.
const (
	longPage   = 6 << 10 // over three screens: it has a table of contents
	mostInLine = 36      // characters of code that a phone shows without scrolling
)

// links matches what the documents of the site link to each other.
var links = regexp.MustCompile(`href="([a-z-]+)\.md(#[^"]*)?"`)

// folders matches links to files in a folder beside the documents.
var folders = regexp.MustCompile(`href="([a-z]+)/`)

// comments matches remarks on how a page is made, and sections the links to the sections of a page, which the site has beside it.
var (
	comments = regexp.MustCompile(`(?s)<!--.*?-->\n?`)
	sections = regexp.MustCompile(`(?s)\nSections: .*?\n\n`)
)

const repository = "https://github.com/robotskit/robots/blob/main/"

// documents replaces docs/*.md by HTML; README.md becomes the index. Links to other files of the repository lead to it.
func documents(files map[string][]byte) error {
	for _, source := range slices.Sorted(maps.Keys(files)) {
		name, ok := strings.CutSuffix(source, ".md")
		if !ok {
			continue
		}
		d, err := newDocument(files[source])
		if err != nil {
			return errors.Join(errors.New(source), err)
		}
		if name == "docs/README" {
			name, d.Index = "docs/index", true
		}
		var page bytes.Buffer
		if err := documentPage.Execute(&page, d); err != nil {
			return err
		}
		delete(files, source)
		files[name+".html"] = page.Bytes()
	}
	return nil
}

// newDocument reads Markdown, whose first heading is its title.
func newDocument(source []byte) (d document, err error) {
	source = sections.ReplaceAll(comments.ReplaceAll(source, nil), []byte("\n"))
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	tree := markdown.Parser().Parse(text.NewReader(source))
	level := 0
	err = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			n.Level = min(n.Level, level+1) // a reader that lists headings expects no gaps
			level = n.Level
			d.addHeading(n, source)
		case *table.Table:
			labelCells(n, source)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return d, err
	}
	if d.Title == "" {
		return d, errors.New("the document has no title")
	}
	if len(source) < longPage || len(d.Contents) < 3 {
		d.Contents = nil
	}
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, source, tree); err != nil {
		return d, err
	}
	html := strings.ReplaceAll(body.String(), `href="README.md"`, `href="index.html"`)
	html = links.ReplaceAllString(html, `href="$1.html$2"`)
	html = strings.ReplaceAll(html, `href="../`, `href="`+repository)
	html = folders.ReplaceAllString(html, `href="`+repository+`docs/$1/`)
	head, rest, _ := strings.Cut(html, "</h1>\n")
	d.Head = template.HTML(head + "</h1>\n") //nolint:gosec // documents of the repository
	d.Body = template.HTML(focusable(rest))  //nolint:gosec // likewise
	return d, nil
}

func (d *document) addHeading(n *ast.Heading, source []byte) {
	title := plain(n, source)
	if d.Title == "" {
		d.Title = title
		return
	}
	if id, ok := n.AttributeString("id"); ok && n.Level == 2 {
		d.Contents = append(d.Contents, section{ID: string(id.([]byte)), Title: title})
	}
}

// plain returns the text of a node without its markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it returns no error
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// labelCells gives each cell the head of its column, which a phone shows before it: there a row is a list.
func labelCells(t *table.Table, source []byte) {
	var heads []string
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		i := 0
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			if row == t.FirstChild() {
				heads = append(heads, plain(cell, source))
			} else if i < len(heads) && heads[i] != "" {
				cell.SetAttributeString("data-label", []byte(heads[i]))
			}
			i++
		}
	}
}

// code matches a block of code.
var code = regexp.MustCompile(`(?s)<pre>(.*?)</pre>`)

// focusable makes what scrolls reachable by keyboard: tables, and code with lines that are too long for a phone. A head without text
// becomes a cell, since it heads nothing.
func focusable(html string) string {
	count := 0
	html = code.ReplaceAllStringFunc(html, func(block string) string {
		for line := range strings.Lines(block) {
			if len(line) > mostInLine {
				count++
				label := "Code " + strconv.Itoa(count)
				return `<pre tabindex="0" role="region" aria-label="` + label + `">` + strings.TrimPrefix(block, "<pre>")
			}
		}
		return block
	})
	count = 0
	parts := strings.Split(html, "<table>")
	for i := range parts[1:] {
		parts[i+1] = `<div class="table" tabindex="0" role="region" aria-label="Table ` + strconv.Itoa(i+1) + `"><table>` + parts[i+1]
	}
	return strings.NewReplacer("</table>", "</table></div>", "<th></th>", "<td></td>").Replace(strings.Join(parts, ""))
}
