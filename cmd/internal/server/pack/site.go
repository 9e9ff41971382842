package main

import (
	"bytes"
	"html/template"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
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
	engine, start, err := engineFiles()
	if err != nil {
		return err
	}
	zipped, err := zipped(engine)
	if err != nil {
		return err
	}
	// Not .gz: some hosts would send that with Content-Encoding, and some would not.
	files := map[string][]byte{"page/wasm_exec.js": start, "page/robots.wasm.gzip": zipped}
	const assets = "cmd/internal/server/web/assets/"
	sources := map[string]string{"index.html": assets + "index.html"}
	for _, name := range []string{"page.js", "page.css", "worker.js", "licenses.txt"} {
		sources["page/"+name] = assets + name
	}
	for _, pattern := range []string{"examples/*.txt", "docs/*.png", "docs/*.svg", "docs/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, name := range names {
			sources[filepath.ToSlash(name)] = name
		}
	}
	for name, source := range sources {
		if files[name], err = os.ReadFile(source); err != nil {
			return err
		}
	}
	filled := strings.NewReplacer(
		"{{engine}}", "static", "{{links}}", `<a href="docs/index.html">Documents</a>`, "{{sites}}", "",
		` nonce="{{nonce}}"`, "", "<title>", policy+"\n<title>",
	).Replace(string(files["index.html"]))
	files["index.html"] = []byte(filled)
	if err := documents(files); err != nil {
		return err
	}
	for name, content := range files {
		file := filepath.Join(output, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	return nil
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

// documents replaces docs/*.md by HTML, with a list of them. Links to other files of the repository lead to it.
func documents(files map[string][]byte) error {
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	add := func(name, title, body string) error {
		var page bytes.Buffer
		err := frame.Execute(&page, map[string]any{"Title": title, "Body": template.HTML(body)}) //nolint:gosec // documents of the repository
		files[name] = page.Bytes()
		return err
	}
	list := "<h1>Documents</h1>\n<ul>\n"
	for _, source := range slices.Sorted(maps.Keys(files)) {
		name, ok := strings.CutSuffix(source, ".md")
		if !ok {
			continue
		}
		var body bytes.Buffer
		if err := markdown.Convert(files[source], &body); err != nil {
			return err
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(files[source]), "# "), "\n")
		delete(files, source)
		text := links.ReplaceAllString(body.String(), `href="$1.html$2"`)
		text = strings.ReplaceAll(text, `href="../`, `href="`+repository)
		text = folders.ReplaceAllString(text, `href="`+repository+`docs/$1/`)
		if err := add(name+".html", title, text); err != nil {
			return err
		}
		list += `<li><a href="` + path.Base(name) + `.html">` + template.HTMLEscapeString(title) + "</a>\n"
	}
	return add("docs/index.html", "Documents", list+"</ul>\n")
}
