package main

import (
	"bytes"
	"html/template"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
)

// policy is the Content-Security-Policy of a page without a server: CodeMirror adds style elements, for which the server has a
// nonce.
const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'">`

// site writes the page as files for any static host: index.html, page/ with the engine, examples/ and docs/. It runs in the root
// folder of the repository.
func site(output string) error {
	const assets = "cmd/internal/server/web/assets"
	files := map[string]string{}
	for _, name := range []string{"page.js", "page.css", "worker.js", "licenses.txt"} {
		files["page/"+name] = filepath.Join(assets, name)
	}
	for _, pattern := range []string{"examples/*.txt", "docs/*.png", "docs/*.svg"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, name := range names {
			files[name] = name
		}
	}
	for to, from := range files {
		content, err := os.ReadFile(from)
		if err == nil {
			err = put(output, to, content)
		}
		if err != nil {
			return err
		}
	}
	index, err := os.ReadFile(filepath.Join(assets, "index.html"))
	if err != nil {
		return err
	}
	page := strings.NewReplacer("{{engine}}", "static", "{{links}}", `<a href="docs/index.html">Documents</a>`, "{{sites}}", "null", ` nonce="{{nonce}}"`, "", "<title>", policy+"\n<title>").Replace(string(index))
	if err := put(output, "index.html", []byte(page)); err != nil {
		return err
	}
	engine, start, err := engineFiles()
	if err != nil {
		return err
	}
	zipped, err := zipped(engine)
	if err != nil {
		return err
	}
	if err := put(output, "page/wasm_exec.js", start); err != nil {
		return err
	}
	// Not .gz: some hosts would send that with Content-Encoding, and some would not.
	if err := put(output, "page/robots.wasm.gzip", zipped); err != nil {
		return err
	}
	return documents(output)
}

func put(output, name string, content []byte) error {
	path := filepath.Join(output, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

var frame = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}} | robots</title>
<style>body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.55 system-ui, sans-serif } table { border-collapse: collapse; display: block; overflow-x: auto } th, td { border: 1px solid #8886; padding: .3rem .6rem; text-align: left; vertical-align: top } pre { overflow-x: auto; padding: .8rem; background: #8881; border-radius: 6px } code { font-size: .92em } a { color: #4a45d6 } @media (prefers-color-scheme: dark) { a { color: #a5a1ff } }</style>
<p><a href="../index.html">robots</a> · <a href="index.html">documents</a></p>
{{.Body}}
</html>
`))

// links matches what the documents of the site link to each other.
var links = regexp.MustCompile(`href="([a-z-]+)\.md(#[^"]*)?"`)

// folders matches links to files in a folder beside the documents.
var folders = regexp.MustCompile(`href="([a-z]+)/`)

const repository = "https://github.com/robotskit/robots/blob/main/"

// documents writes docs/*.md as HTML, with a list of them. Links to other files of the repository lead to it.
func documents(output string) error {
	names, err := filepath.Glob("docs/*.md")
	if err != nil {
		return err
	}
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	write := func(name, title string, body []byte) error {
		var page bytes.Buffer
		if err := frame.Execute(&page, map[string]any{"Title": title, "Body": template.HTML(body)}); err != nil { //nolint:gosec // documents of the repository
			return err
		}
		return put(output, "docs/"+name+".html", page.Bytes())
	}
	var list bytes.Buffer
	list.WriteString("<h1>Documents</h1>\n<ul>\n")
	for _, name := range names {
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var body bytes.Buffer
		if err := markdown.Convert(source, &body); err != nil {
			return err
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(source), "# "), "\n")
		base := strings.TrimSuffix(filepath.Base(name), ".md")
		text := links.ReplaceAllString(body.String(), `href="$1.html$2"`)
		text = strings.ReplaceAll(text, `href="../`, `href="`+repository)
		text = folders.ReplaceAllString(text, `href="`+repository+`docs/$1/`)
		if err := write(base, title, []byte(text)); err != nil {
			return err
		}
		list.WriteString(`<li><a href="` + base + `.html">` + template.HTMLEscapeString(title) + "</a>\n")
	}
	list.WriteString("</ul>\n")
	return write("index", "Documents", list.Bytes())
}
