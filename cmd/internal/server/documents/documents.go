// Package documents makes the documentation a site: the Markdown of package docs as HTML, for the service and for a static host.
package documents

import (
	"bytes"
	_ "embed"
	"errors"
	"html"
	"io/fs"
	"regexp"
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

//go:embed document.css
var style []byte

// A document is a page of the site.
type document struct {
	Title    string
	Head     string    // the title as a heading, in HTML
	Contents []section // of a long page
	Body     string    // in HTML
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

// Pages returns the files of the site by name: each document as HTML, the index of which is README.md, their images and their style.
// Links to other files of the repository lead to it.
func Pages(docs fs.FS) (map[string][]byte, error) {
	sources, err := fs.ReadDir(docs, ".")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"document.css": style}
	for _, source := range sources {
		content, err := fs.ReadFile(docs, source.Name())
		if err != nil {
			return nil, err
		}
		name, ok := strings.CutSuffix(source.Name(), ".md")
		if !ok {
			files[source.Name()] = content
			continue
		}
		if name == "README" {
			name = "index"
		}
		if files[name+".html"], err = page(content, name == "index"); err != nil {
			return nil, errors.Join(errors.New(source.Name()), err)
		}
	}
	return files, nil
}

// page returns Markdown as HTML. The index is the list of all documents.
func page(source []byte, index bool) ([]byte, error) {
	d, err := newDocument(source)
	if err != nil {
		return nil, err
	}
	// html/template would make the program two thirds larger: it calls methods by name, so that the linker keeps all of them.
	up := ` · <a href="index.html">documents</a>`
	if index {
		up = ""
	}
	var contents strings.Builder
	for _, s := range d.Contents {
		contents.WriteString(`<li><a href="#` + html.EscapeString(s.ID) + `">` + html.EscapeString(s.Title) + "</a></li>")
	}
	list := ""
	if len(d.Contents) > 0 {
		list = `<nav class="contents" aria-label="Contents"><ul>` + contents.String() + "</ul></nav>\n"
	}
	filled := strings.NewReplacer("{{title}}", html.EscapeString(d.Title), "{{up}}", up, "{{head}}", d.Head, "{{contents}}", list, "{{body}}", d.Body)
	return []byte(filled.Replace(frame)), nil
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
	markup := strings.ReplaceAll(body.String(), `href="README.md"`, `href="index.html"`)
	markup = links.ReplaceAllString(markup, `href="$1.html$2"`)
	markup = strings.ReplaceAll(markup, `href="../`, `href="`+repository)
	markup = folders.ReplaceAllString(markup, `href="`+repository+`docs/$1/`)
	head, rest, _ := strings.Cut(markup, "</h1>\n")
	d.Head = head + "</h1>\n"
	d.Body = focusable(rest)
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
func focusable(markup string) string {
	count := 0
	markup = code.ReplaceAllStringFunc(markup, func(block string) string {
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
	parts := strings.Split(markup, "<table>")
	for i := range parts[1:] {
		parts[i+1] = `<div class="table" tabindex="0" role="region" aria-label="Table ` + strconv.Itoa(i+1) + `"><table>` + parts[i+1]
	}
	return strings.NewReplacer("</table>", "</table></div>", "<th></th>", "<td></td>").Replace(strings.Join(parts, ""))
}
