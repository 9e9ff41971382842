package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/robotskit/robots/cmd/internal/server/documents"
	"github.com/robotskit/robots/docs"
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
	names, err := filepath.Glob("examples/*.txt")
	if err != nil {
		return err
	}
	for _, name := range names {
		sources[filepath.ToSlash(name)] = name
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
	pages, err := documents.Pages(docs.Pages)
	if err != nil {
		return err
	}
	for name, content := range pages {
		files["docs/"+name] = content
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
