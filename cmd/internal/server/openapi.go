package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed openapi.yaml
var openAPIText []byte

// docsText is openapi.yaml for people, written by the tests.
//
//go:embed docs.html
var docsText []byte

const typeOpenAPI = "application/openapi+json"

// openAPI decodes openapi.yaml when it is first requested.
var openAPI = sync.OnceValue(func() (document map[string]any) {
	if err := yaml.Unmarshal(openAPIText, &document); err != nil {
		panic(err) // tested
	}
	return document
})

// OpenAPI returns the OpenAPI document of a version of the service as JSON.
func OpenAPI(version string) []byte {
	document := maps.Clone(openAPI())
	info := maps.Clone(document["info"].(map[string]any))
	info["version"] = version
	document["info"] = info
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // tested
	}
	return text
}

func (s *Service) openAPI(*request) *response {
	body := OpenAPI(s.parts.Version)
	return &response{kind: typeOpenAPI, caching: "private, max-age=300", body: body, zipped: Gzip(body)}
}

// docsPolicy permits only the style in the page.
var docsPolicy = sync.OnceValue(func() string {
	_, style, _ := bytes.Cut(docsText, []byte("<style>"))
	style, _, _ = bytes.Cut(style, []byte("</style>"))
	sum := sha256.Sum256(style)
	hash := base64.StdEncoding.EncodeToString(sum[:])
	return "default-src 'none'; style-src 'sha256-" + hash + "'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
})

var zippedDocs = sync.OnceValue(func() []byte { return Gzip(docsText) })

func (s *Service) docs(*request) *response {
	header := http.Header{"Content-Security-Policy": {docsPolicy()}}
	return &response{kind: "text/html; charset=utf-8", caching: "private, max-age=300", header: header, body: docsText, zipped: zippedDocs()}
}

// Gzip compresses a body.
func Gzip(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body) // a Buffer does not fail
	_ = w.Close()
	return b.Bytes()
}

// Encoding returns the first of some encodings that an Accept-Encoding header accepts, or "".
func Encoding(header string, available ...string) string {
	accepted := map[string]bool{}
	for item := range strings.SplitSeq(header, ",") {
		name, parameter, _ := strings.Cut(item, ";")
		q := strings.ReplaceAll(parameter, " ", "")
		accepted[strings.ToLower(strings.TrimSpace(name))] = !strings.HasPrefix(q, "q=0") || strings.Trim(q, "q=0.") != ""
	}
	for _, name := range available {
		if accepted[name] {
			return name
		}
	}
	return ""
}

// problemPage shows the documentation of a problem's type.
func problemPage(w http.ResponseWriter, r *http.Request) {
	if _, known := problems[ProblemType(r.PathValue("type"))]; !known {
		NewProblem(NotFound, "unknown problem type; /docs lists them").Write(w, r)
		return
	}
	http.Redirect(w, r, "/docs#"+r.PathValue("type"), http.StatusSeeOther)
}

func (s *Service) version(*request) *response {
	return respond(map[string]string{"version": s.parts.Version})
}
