package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// The page /docs, and what docs/api.md is made from: both are the OpenAPI document for
// people.

// docsStyle is the style of the page, which the policy below names by its hash. The page has
// no script.
const docsStyle = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
code{font:14px/1.4 ui-monospace,monospace;overflow-wrap:anywhere}h2{border-top:1px solid #ccc;padding-top:1.5rem}
table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #ddd;text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0}
@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}a{color:#9cf}td,th{border-color:#444}}`

var docsPolicy = sync.OnceValue(func() string {
	sum := sha256.Sum256([]byte(docsStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
})

// docsPage is read when it is first asked for, not at each start of the program.
var docsPage = sync.OnceValue(func() *template.Template { return template.Must(template.New("docs").Parse(docsText)) })

const docsText = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>robots: the API</title><style>{{.Style}}</style></head>
<body><h1>robots: the API</h1>
<p>{{.About}} The same for programs: <a href="/openapi.json">/openapi.json</a>.</p>
<ul>{{range .Operations}}<li><a href="#{{.ID}}"><code>{{.Method}} {{.Path}}</code></a> {{.Summary}}</li>{{end}}</ul>
{{range .Operations}}<h2 id="{{.ID}}"><code>{{.Method}} {{.Path}}</code></h2><p>{{.Summary}} {{.Description}}</p>
{{with .Parameters}}<h3>Parameters</h3>{{template "members" .}}{{end}}
{{range .Bodies}}<h3>Body, <code>{{.Type}}</code></h3>{{with .Text}}<p>{{.}}</p>{{end}}{{with .Members}}{{template "members" .}}{{end}}{{end}}
{{range .Answers}}<h3>{{.Status}}{{with .Type}}, <code>{{.}}</code>{{end}}</h3>{{with .Text}}<p>{{.}}</p>{{end}}{{with .Members}}{{template "members" .}}{{end}}{{end}}
{{end}}
<h1>Types</h1>{{range .Types}}<h2 id="{{.Name}}">{{.Name}}</h2>{{template "members" .Members}}{{end}}
</body></html>
{{define "members"}}<table><tr><th>name</th><th>type</th><th>meaning</th></tr>{{range .}}<tr><td><code>{{.Name}}</code>{{if .Required}}, required{{end}}</td><td>{{.Type}}{{with .Link}} <a href="#{{.}}">{{.}}</a>{{end}}</td><td>{{.Text}}</td></tr>{{end}}</table>{{end}}
`

// A described is the document for people.
type described struct {
	Style      template.CSS
	About      string
	Operations []describedOperation
	Types      []describedType
}

type describedOperation struct {
	ID, Method, Path, Summary, Description string
	Parameters                             []describedMember
	Bodies, Answers                        []describedBody
}

type describedBody struct {
	Status, Type, Text string
	Members            []describedMember
}

type describedType struct {
	Name    string
	Members []describedMember
}

type describedMember struct {
	Name, Type, Link, Text string
	Required               bool
}

// described makes the document for people.
func (s *Service) described() *described {
	doc := s.api.OpenAPI()
	d := &described{Style: docsStyle, About: doc.Info.Description}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		item := doc.Paths[path]
		for _, op := range []*huma.Operation{item.Get, item.Post} {
			if op == nil {
				continue
			}
			o := describedOperation{ID: op.OperationID, Method: op.Method, Path: op.Path, Summary: op.Summary, Description: op.Description}
			for _, p := range op.Parameters {
				o.Parameters = append(o.Parameters, s.describe(p.Name, p.Schema, p.Description, p.Required))
			}
			if op.RequestBody != nil {
				o.Bodies = s.bodies("", "", op.RequestBody.Content)
			}
			for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
				r := op.Responses[status]
				name := map[string]string{"default": "Otherwise"}[status]
				o.Answers = append(o.Answers, s.bodies(cmp.Or(name, "Status "+status), r.Description, r.Content)...)
			}
			d.Operations = append(d.Operations, o)
		}
	}
	types := doc.Components.Schemas.Map()
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if members := s.members(types[name]); len(members) > 0 {
			d.Types = append(d.Types, describedType{name, members})
		}
	}
	return d
}

func (s *Service) bodies(status, text string, content map[string]*huma.MediaType) (list []describedBody) {
	if text == "OK" {
		text = ""
	}
	for _, t := range slices.Sorted(maps.Keys(content)) {
		schema := content[t].Schema
		b := describedBody{Status: status, Type: t, Text: strings.TrimSpace(text + " " + schema.Description)}
		if schema.Ref != "" {
			schema = s.api.OpenAPI().Components.Schemas.SchemaFromRef(schema.Ref)
		}
		b.Members = s.members(schema)
		list = append(list, b)
	}
	if len(content) == 0 {
		list = append(list, describedBody{Status: status, Text: text})
	}
	return list
}

// members returns the members of an object, those that must be there first.
func (s *Service) members(schema *huma.Schema) (list []describedMember) {
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		m := schema.Properties[name]
		list = append(list, s.describe(name, m, m.Description, slices.Contains(schema.Required, name)))
	}
	slices.SortStableFunc(list, func(a, b describedMember) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	return list
}

func (s *Service) describe(name string, schema *huma.Schema, text string, required bool) describedMember {
	m := describedMember{Name: name, Text: text, Required: required}
	m.Type, m.Link = typeOf(schema)
	if len(schema.Enum) > 0 {
		var words []string
		for _, w := range schema.Enum {
			words = append(words, w.(string)) //nolint:forcetypeassert // all of them are words
		}
		m.Text = strings.TrimPrefix(m.Text+"; one of "+strings.Join(words, ", "), "; ")
	}
	return m
}

// typeOf says what a value is, and the type that it is one or several of.
func typeOf(s *huma.Schema) (text, link string) {
	switch {
	case s.Ref != "":
		return "", s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	case len(s.AnyOf) > 0:
		var parts []string
		for _, one := range s.AnyOf {
			part, to := typeOf(one)
			link = cmp.Or(link, to)
			if part != "" {
				parts = append(parts, part)
			}
		}
		return strings.Join(parts, " or "), link
	case s.Type == huma.TypeArray && s.Items != nil:
		text, link = typeOf(s.Items)
		return strings.TrimSpace("list of " + text), link
	case s.Format == "date-time":
		return "time", ""
	case s.Type == "":
		return "any", ""
	}
	return s.Type, ""
}

func (s *Service) registerDocs() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "docs", Method: http.MethodGet, Path: "/docs", Summary: "This description, as a page",
	}, map[string]*huma.Schema{"text/html": {Type: huma.TypeString}}), s.docs)
}

type docsAnswer struct {
	ContentType  string `header:"Content-Type"`
	Policy       string `header:"Content-Security-Policy"`
	Options      string `header:"X-Content-Type-Options"`
	CacheControl string `header:"Cache-Control"`
	Body         []byte
}

func (s *Service) docs(_ context.Context, _ *struct{}) (*docsAnswer, error) {
	var b bytes.Buffer
	if err := docsPage().Execute(&b, s.described()); err != nil {
		return nil, err
	}
	return &docsAnswer{ContentType: "text/html; charset=utf-8", Policy: docsPolicy(), Options: "nosniff", CacheControl: "private, max-age=300", Body: b.Bytes()}, nil
}
