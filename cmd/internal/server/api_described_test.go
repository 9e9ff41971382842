package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// A member is a parameter, or a member of an object.
type member struct {
	Name, Type, Link, Text string
	Required               bool
}

// described are the functions of the templates of docs/api.md and docs.html.
var described = map[string]any{
	"parameters": func(op *openapi3.Operation) (list []member) {
		for _, p := range op.Parameters {
			list = append(list, memberOf(p.Value.Name, p.Value.Schema, p.Value.Description, p.Value.Required))
		}
		return list
	},
	"members": objectMembers,
	"problems": func() map[string]*Problem {
		all := map[string]*Problem{}
		for t := range problems {
			all[string(t)] = NewProblem(t, "")
		}
		return all
	},
	"anchor": func(method, path string) string { // of a heading
		return strings.ToLower(method) + "-" + strings.NewReplacer("/", "", "{", "", "}", "", ".", "").Replace(path)
	},
	"cell": func(parts ...string) string {
		return strings.ReplaceAll(strings.TrimSpace(strings.Join(parts, " ")), "|", `\|`)
	},
	"filled": filled,
}

// objectMembers returns the members of an object, the required ones first.
func objectMembers(ref *openapi3.SchemaRef) (list []member) {
	for _, required := range []bool{true, false} {
		for _, name := range slices.Sorted(maps.Keys(ref.Value.Properties)) {
			if m := ref.Value.Properties[name]; slices.Contains(ref.Value.Required, name) == required {
				list = append(list, memberOf(name, m, m.Value.Description, required))
			}
		}
	}
	return list
}

func memberOf(name string, schema *openapi3.SchemaRef, text string, required bool) member {
	m := member{Name: name, Text: text, Required: required}
	m.Type, m.Link = typeOf(schema)
	var words []string
	for _, w := range schema.Value.Enum {
		words = append(words, w.(string))
	}
	add := func(text string) { m.Text = strings.TrimPrefix(m.Text+"; "+text, "; ") }
	if words != nil {
		add("one of " + strings.Join(words, ", "))
	}
	if v := schema.Value; v.MaxItems != nil {
		add(fmt.Sprint("at most ", *v.MaxItems))
	} else if v.Min != nil && v.Max != nil {
		add(fmt.Sprintf("%.0f to %.0f", *v.Min, *v.Max))
	}
	return m
}

// typeOf returns what a value is, and the type that it refers to.
func typeOf(s *openapi3.SchemaRef) (text, link string) {
	if s.Ref != "" && len(s.Value.Properties) > 0 {
		return "", s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	}
	v := s.Value
	switch {
	case len(v.AnyOf) > 0:
		var parts []string
		for _, one := range v.AnyOf {
			part, to := typeOf(one)
			link = cmp.Or(link, to)
			if part != "" {
				parts = append(parts, part)
			}
		}
		return strings.Join(parts, " or "), link
	case v.Type.Is("array"):
		text, link = typeOf(v.Items)
		return strings.TrimSpace("list of " + text), link
	case v.Format == "date-time":
		return "time", ""
	case v.Type == nil:
		return "any", ""
	}
	return v.Type.Slice()[0], ""
}
