package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/danielgtaylor/huma/v2/validation"
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
)

// What huma finds wrong with a request is said in our words: each is the end of a sentence
// that begins with the name of the value. These variables are huma's way to set them, for
// the process; nothing else in it uses huma.
func init() {
	huma.DefaultArrayNullable = false
	huma.ValidateStrictCasing = true
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return problemOf(nil, status, msg, errs)
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		return problemOf(ctx.Operation(), status, msg, errs)
	}
	for text, ours := range map[*string]string{
		&validation.MsgUnexpectedProperty:            isUnknown,
		&validation.MsgExpectedMatchAtLeastOneSchema: "is of another type than its description says",
		&validation.MsgExpectedBoolean:               "must be true or false",
		&validation.MsgExpectedNumber:                "must be a number",
		&validation.MsgExpectedInteger:               "must be a whole number",
		&validation.MsgExpectedString:                "must be a string",
		&validation.MsgExpectedBase64String:          "must be base64, padded",
		&validation.MsgExpectedArray:                 "must be a list",
		&validation.MsgExpectedObject:                "must be an object",
		&validation.MsgExpectedOneOf:                 `must be one of "%s"`,
		&validation.MsgExpectedMinimumNumber:         "must be %v or more",
		&validation.MsgExpectedMaximumNumber:         "must be %v or less",
		&validation.MsgExpectedMinLength:             "must have %d characters or more",
		&validation.MsgExpectedMaxLength:             "must have %d characters or fewer",
		&validation.MsgExpectedMinItems:              "must have %d entries or more",
		&validation.MsgExpectedMaxItems:              tooManyItems,
		&validation.MsgExpectedRequiredProperty:      "must have the member %s",
	} {
		*text = ours
	}
}

const (
	isUnknown    = "is unknown"
	tooManyItems = "must have %d entries or fewer"
)

// problemOf makes a problem of what huma found. Without an operation it is the zero
// problem, from which huma takes the type.
func problemOf(op *huma.Operation, status int, msg string, errs []error) *Problem {
	if op == nil {
		return &Problem{Status: status}
	}
	var list []FieldError
	for _, err := range errs {
		if p, ok := errors.AsType[*Problem](err); ok {
			return p
		}
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			status = http.StatusRequestEntityTooLarge
		}
		if d, ok := err.(huma.ErrorDetailer); ok {
			list = append(list, fieldError(op, d.ErrorDetail()))
		}
	}
	switch status {
	case http.StatusRequestEntityTooLarge:
		return NewProblem(TooLarge, fmt.Sprintf("the body has more than %d bytes: send less at a time", op.MaxBodyBytes-1))
	case http.StatusRequestTimeout:
		p := NewProblem(BadJSON, "the body did not arrive in time: send it at once")
		p.Status = http.StatusRequestTimeout
		return p
	case http.StatusUnsupportedMediaType:
		return unsupportedType(op)
	case http.StatusNotAcceptable:
		return NewProblem(NotAcceptable, "the Accept header excludes every type of the response")
	}
	switch {
	case msg == "cannot read request body":
		return NewProblem(BadJSON, "the body ended before its Content-Length: send all of it")
	case msg == "request body is required":
		return NewProblem(BadJSON, "the body is empty: it must be a JSON object")
	case status >= http.StatusInternalServerError:
		return internalProblem()
	case len(list) == 0:
		return NewProblem(BadParameter, msg)
	}
	// What is unknown first: the name that is missing may be the one that is meant.
	first := list[max(slices.IndexFunc(list, func(f FieldError) bool { return strings.HasPrefix(f.Message, isUnknown) }), 0)]
	t := BadParameter
	switch {
	case status == http.StatusBadRequest:
		t = BadJSON
	case first.Location == "query.url" || first.Location == "body.url":
		t = BadURL
	}
	p := NewProblem(t, describe(first.Location)+" "+first.Message, list...)
	if status == http.StatusBadRequest {
		p.Errors = nil // the place is in the sentence
	}
	return p
}

func unsupportedType(op *huma.Operation) *Problem {
	var types []string
	if op.RequestBody != nil {
		for t := range op.RequestBody.Content {
			types = append(types, t)
		}
	}
	slices.Sort(types)
	return NewProblem(UnsupportedType, "the Content-Type must be "+strings.Join(types, " or "))
}

func internalProblem() *Problem {
	return NewProblem(Internal, "internal error; please report it with the X-Request-Id")
}

// fieldError returns an error of huma in our words, with the name that is meant where one
// is unknown.
func fieldError(op *huma.Operation, d *huma.ErrorDetail) FieldError {
	f := FieldError{Location: d.Location, Message: d.Message, Value: shortValue(d.Value)}
	switch {
	case strings.HasPrefix(d.Message, "required "):
		f.Message = "is missing"
	case d.Message == "invalid boolean":
		f.Message = validation.MsgExpectedBoolean
	case d.Message == "invalid integer":
		f.Message = validation.MsgExpectedInteger
	case d.Message == isUnknown:
		name := d.Location[strings.LastIndexByte(d.Location, '.')+1:]
		if meant := ask.Nearest(name, membersOf(op)); meant != "" {
			f.Message += " (did you mean " + meant + "?)"
		}
	}
	return f
}

// describe names a place for people: body.questions[3].agent is questions[3].agent.
func describe(location string) string {
	if location == "body" || location == "" {
		return "the body"
	}
	_, name, _ := strings.Cut(location, ".")
	return robots.Printable(ask.Clip(name))
}

// shortValue returns what a problem repeats of a value: text of some 80 bytes, numbers,
// words.
func shortValue(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ToValidUTF8(ask.Clip(v), "\uFFFD")
	case bool, float64, json.Number:
		return v
	}
	return nil
}

// membersOf returns the names of all members of an operation's body.
func membersOf(op *huma.Operation) (names []string) {
	if registry, ok := op.Metadata[registryOf].(huma.Registry); ok && op.RequestBody != nil {
		for _, media := range op.RequestBody.Content {
			names = namesOf(registry, media.Schema, names)
		}
	}
	return names
}

// registryOf is where an operation keeps the schemas that its own refer to.
const registryOf = "registry"

// namesOf collects the names of members in a schema.
func namesOf(r huma.Registry, s *huma.Schema, names []string) []string {
	if s == nil {
		return names
	}
	if s.Ref != "" {
		s = r.SchemaFromRef(s.Ref)
	}
	for name, member := range s.Properties {
		names = namesOf(r, member, append(names, name))
	}
	for _, one := range append(append([]*huma.Schema{s.Items}, s.AnyOf...), s.OneOf...) {
		names = namesOf(r, one, names)
	}
	return names
}

// strictQuery refuses parameters that are not known, with the name that is meant, and those
// that are given twice without being a list: which one counts would be a guess.
func strictQuery(ctx huma.Context, next func(huma.Context)) {
	r, _ := humago.Unwrap(ctx)
	params := ctx.Operation().Parameters
	seen := uint64(0)
	for part := range strings.SplitSeq(r.URL.RawQuery, "&") {
		name, value, _ := strings.Cut(part, "=")
		if !escaped(name) || !escaped(value) {
			writeProblem(ctx, NewProblem(BadParameter, "the query cannot be read: write special characters as %XX, a semicolon as %3B, and & between parameters"))
			return
		}
		if part == "" {
			continue
		}
		if strings.ContainsAny(name, "%+") {
			name, _ = url.QueryUnescape(name) // the query of a request to this service
		}
		i := slices.IndexFunc(params, func(p *huma.Param) bool { return p.In == "query" && p.Name == name })
		e := FieldError{Location: "query." + strings.ToValidUTF8(ask.Clip(name), "\uFFFD"), Message: isUnknown}
		switch {
		case i < 0:
			e.Message += meantOf(name, params)
		case seen&(1<<i) != 0 && params[i].Schema.Type != huma.TypeArray:
			e.Message = "is given more than once: give it once"
		default:
			seen |= 1 << i
			continue
		}
		t := BadParameter
		if name == "url" {
			t = BadURL
		}
		writeProblem(ctx, NewProblem(t, describe(e.Location)+" "+e.Message, e))
		return
	}
	next(ctx)
}

// escaped reports whether a part of a query is one, so that all who read it read the same.
func escaped(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ';':
			return false
		case '%':
			if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return false
			}
		}
	}
	return true
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|' ' && c|' ' <= 'f' }

// meantOf says which parameter is meant by an unknown name, or which there are.
func meantOf(name string, params []*huma.Param) string {
	var known []string
	for _, p := range params {
		if p.In == "query" {
			known = append(known, p.Name)
		}
	}
	if len(known) == 0 {
		return " (there are no parameters)"
	}
	if meant := ask.Nearest(name, known); meant != "" {
		return " (did you mean " + meant + "?)"
	}
	return " (known: " + strings.Join(known, ", ") + ")"
}
