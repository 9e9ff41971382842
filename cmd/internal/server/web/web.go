// Package web is the page of the service: a person pastes a robots.txt and sees the results
// while typing. Its files are embedded in the program.
//
// src has the source of the scripts; page.js is their esbuild bundle with CodeMirror, committed
// so that nobody needs npm to build the program. The engine for browsers, robots.wasm, and the
// documents as HTML are not committed: make build writes them, compressed, beside the other files. A
// program built without them serves the same page, answers its questions itself (/page/ask), and
// leads to the documents of the repository.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots/cmd/internal/server"
	"github.com/robotskit/robots/cmd/internal/server/page"
)

//go:embed assets
var embedded embed.FS

// Options configure a Handler. The zero value is the usual configuration.
type Options struct {
	// Packed has robots.wasm and wasm_exec.js as .gz and .br files and the documents as .gz files in the folder
	// docs, as written by cmd/internal/server/pack. Nil is what is embedded of them.
	Packed fs.FS
	// Sites are suggestions of sites to fetch, for the demo.
	Sites []Site
}

// A Site is a suggestion.
type Site struct {
	Name string
	URL  string // a page with a verdict that shows this
	See  string // what the site shows
}

// MaxQuestion limits a question to /page/ask in bytes: two files, crawlers and URLs.
const MaxQuestion = 2 << 20

// Handler returns a handler for the paths /, /page/ and /docs/. It stores and logs nothing.
func Handler(o Options) http.Handler {
	files, err := fs.Sub(embedded, "assets")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	if o.Packed == nil {
		o.Packed = files
	}
	p := &pages{assets: map[string]*asset{}, documents: documentAssets(o.Packed)}
	for _, name := range []string{"robots.wasm", "wasm_exec.js"} {
		p.assets[name] = newAsset(o.Packed, name)
	}
	for _, name := range []string{"page.js", "page.css", "worker.js", "sw.js", "licenses.txt"} {
		p.assets[name] = newAsset(files, name)
	}
	engine := "server"
	if p.assets["robots.wasm"] != nil && p.assets["wasm_exec.js"] != nil {
		engine = "wasm"
	}
	index, err := fs.ReadFile(files, "index.html")
	if err != nil {
		panic(err)
	}
	var sites strings.Builder
	for _, s := range o.Sites {
		sites.WriteString(`<option value="` + html.EscapeString(s.URL) + `">` + html.EscapeString(s.Name+": "+s.See) + "</option>")
	}
	filled := strings.NewReplacer("{{engine}}", engine, "{{links}}", `<a href="docs/index.html">Documents</a><a href="/docs">API</a>`, "{{sites}}", sites.String())
	p.index = filled.Replace(string(index))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.serveIndex)
	mux.HandleFunc("GET /index.html", p.serveIndex) // where documents lead
	mux.HandleFunc("GET /page/{name}", p.serveAsset)
	mux.Handle("GET /docs/{$}", http.RedirectHandler("/docs/index.html", http.StatusPermanentRedirect))
	mux.HandleFunc("GET /docs/{name}", p.serveDocument)
	mux.HandleFunc("GET /favicon.ico", p.serveIcon)
	mux.HandleFunc("POST /page/ask", serveAsk)
	return mux
}

// serveIcon serves the icon of the page, for browsers that open a document of the API.
func (p *pages) serveIcon(w http.ResponseWriter, _ *http.Request) {
	_, icon, _ := strings.Cut(p.index, `<link rel="icon" href="data:image/svg+xml,`)
	icon, _, _ = strings.Cut(icon, `"`)
	text, err := url.PathUnescape(icon)
	if err != nil {
		panic(err) // the page is part of the program
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Cache-Control", "max-age=86400")
	_, _ = io.WriteString(w, text)
}

type pages struct {
	index     string
	assets    map[string]*asset
	documents map[string]*asset
}

// documentAssets returns the documents and their images by name.
func documentAssets(packed fs.FS) map[string]*asset {
	assets := map[string]*asset{}
	names, err := fs.Glob(packed, "docs/*.gz")
	if err != nil {
		panic(err) // the pattern is valid
	}
	for _, name := range names {
		name = strings.TrimSuffix(name, ".gz")
		assets[path.Base(name)] = newAsset(packed, name)
	}
	return assets
}

// An asset is a file by content encodings; "" is the file itself.
type asset struct {
	kind    string
	tag     string
	content map[string][]byte
}

var kinds = map[string]string{
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".wasm": "application/wasm",
	".txt":  "text/plain; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".png":  "image/png",
	".svg":  "image/svg+xml",
}

// newAsset returns a file, nil if it does not exist. A file that exists only compressed, as .gz and
// .br, is decompressed for clients without these encodings.
func newAsset(files fs.FS, name string) *asset {
	content := map[string][]byte{}
	for encoding, suffix := range map[string]string{"": "", "gzip": ".gz", "br": ".br"} {
		if body, err := fs.ReadFile(files, name+suffix); err == nil {
			content[encoding] = body
		}
	}
	if plain := content[""]; plain != nil {
		content["gzip"] = server.Gzip(plain)
	}
	if content["gzip"] == nil {
		return nil
	}
	sum := sha256.Sum256(content["gzip"])
	return &asset{kinds[path.Ext(name)], `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`, content}
}

// secure sets the headers of all responses. The nonce is for the style elements of
// CodeMirror; browsers set style attributes while a user edits.
func secure(h http.Header, nonce string) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; "+
		"style-src-elem 'self' 'nonce-"+nonce+"'; style-src-attr 'unsafe-inline'; img-src 'self' data:; "+
		"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
}

func (p *pages) serveIndex(w http.ResponseWriter, _ *http.Request) {
	nonce := rand.Text()
	h := w.Header()
	secure(h, nonce)
	h.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, strings.ReplaceAll(p.index, "{{nonce}}", nonce)) // the client might have disconnected
}

func (p *pages) serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if name == "sw.js" {
		w.Header().Set("Service-Worker-Allowed", "/")
	}
	p.assets[name].serve(w, r)
}

// repositoryDocs has the documents for a program without them.
const repositoryDocs = "https://github.com/robotskit/robots/blob/main/docs/"

func (p *pages) serveDocument(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if page, ok := strings.CutSuffix(name, ".html"); ok && len(p.documents) == 0 {
		http.Redirect(w, r, repositoryDocs+strings.Replace(page, "index", "README", 1)+".md", http.StatusTemporaryRedirect)
		return
	}
	p.documents[name].serve(w, r)
}

// serve sends a file, nil if it does not exist.
func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	if a == nil {
		server.NewProblem(server.NotFound, "the page has no such file").Write(w, r)
		return
	}
	h := w.Header()
	secure(h, rand.Text())
	h.Set("ETag", "W/"+a.tag) // the same for all encodings
	h.Set("Vary", "Accept-Encoding")
	if matches(r.Header.Get("If-None-Match"), a.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", a.kind)
	var available []string
	for _, name := range []string{"br", "gzip"} {
		if a.content[name] != nil {
			available = append(available, name)
		}
	}
	encoding := server.Encoding(r.Header.Get("Accept-Encoding"), available...)
	body := a.content[encoding]
	if encoding != "" {
		h.Set("Content-Encoding", encoding)
	}
	if body == nil {
		unpacked, err := gzip.NewReader(bytes.NewReader(a.content["gzip"]))
		if err == nil {
			_, _ = io.Copy(w, unpacked)
		}
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

// matches reports whether an If-None-Match header names a tag, weak or strong.
func matches(header, tag string) bool {
	return slices.ContainsFunc(strings.Split(header, ","), func(item string) bool {
		item = strings.TrimPrefix(strings.TrimSpace(item), "W/")
		return item == tag || item == "*"
	})
}

// serveAsk answers a question as the engine in a browser does. Its body is the verb and the
// arguments, each after its length as four bytes, big endian, so that the bytes of a file stay
// as they are.
func serveAsk(w http.ResponseWriter, r *http.Request) {
	if p := server.Needs(r.Context(), server.ScopeCheck); p != nil {
		p.Write(w, r)
		return
	}
	if r.Header.Get("Content-Type") != "application/octet-stream" {
		server.NewProblem(server.UnsupportedType,
			"the Content-Type must be application/octet-stream: the verb and its arguments, each after its length").Write(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxQuestion))
	if err != nil {
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			server.NewProblem(server.TooLarge, "a question has at most "+strconv.Itoa(MaxQuestion)+" bytes").Write(w, r)
		}
		return // or the client has disconnected
	}
	parts, ok := split(body)
	if !ok {
		server.NewProblem(server.BadParameter, "the body must be the verb and its arguments, each after its length in four bytes").Write(w, r)
		return
	}
	answer, err := page.AskWithin(server.Budget(r.Context()), parts[0], parts[1:]...)
	if err != nil {
		server.OverBudget(err).Write(w, r)
		return
	}
	secure(w.Header(), rand.Text())
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	_, _ = io.WriteString(w, answer)
}

// split returns the verb and the arguments of a question.
func split(body []byte) (parts []string, ok bool) {
	for len(body) > 0 {
		if len(body) < 4 || uint64(binary.BigEndian.Uint32(body)) > uint64(len(body)-4) || len(parts) == 8 {
			return nil, false
		}
		n := int(binary.BigEndian.Uint32(body))
		parts = append(parts, string(body[4:][:n]))
		body = body[4+n:]
	}
	return parts, len(parts) > 0
}
