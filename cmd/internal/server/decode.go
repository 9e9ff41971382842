package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/budget"
)

// decode reads a JSON body into v, a struct with a json tag for each member.
func (r *request) decode(v any) {
	text, _ := r.body(typeJSON)
	if r.problem != nil {
		return
	}
	if err := shallow(text); err != nil {
		r.fail(NewProblem(BadJSON, "the body "+err.Error()))
		return
	}
	r.fail(bodyProblem("body", unmarshal(text, v)))
}

// body returns the body, whose size and time a Gate limits, and its media type, one of those
// known. JSON is also a body without a type, and with the type that curl -d sends.
func (r *request) body(known ...string) (text []byte, media string) {
	media, _, err := mime.ParseMediaType(cmp.Or(r.Header.Get("Content-Type"), typeJSON))
	if media == "application/x-www-form-urlencoded" || strings.HasSuffix(media, "+json") {
		media = typeJSON
	}
	if err != nil || !slices.Contains(known, media) {
		r.fail(NewProblem(UnsupportedType, "the Content-Type must be "+strings.Join(known, " or ")))
		return nil, ""
	}
	if received, ok := r.Body.(receivedBody); ok {
		text = received.Next(received.Len())
	} else { // there is no Gate
		text, err = io.ReadAll(r.Body)
	}
	switch {
	case err != nil:
		r.fail(NewProblem(BadJSON, "the body ended before its Content-Length: send all of it"))
	case len(text) == 0 && media == typeJSON:
		r.fail(NewProblem(BadJSON, "the body is empty: it must be a JSON object"))
	}
	r.work(budget.Decoding(len(text)))
	return text, media
}

// unmarshal reads JSON strictly.
func unmarshal(text []byte, v any) error {
	return jsonv2.Unmarshal(text, v, jsonv2.RejectUnknownMembers(true))
}

// bodyProblem returns the problem of a body, or of the part at a location, that cannot be decoded.
func bodyProblem(location string, err error) *Problem {
	if err == nil {
		return nil
	}
	semantic, ok := errors.AsType[*jsonv2.SemanticError](err)
	if !ok {
		return NewProblem(BadJSON, "the body "+syntaxText(err))
	}
	location += locationOf(semantic.JSONPointer)
	message := map[reflect.Kind]string{
		reflect.Bool: notBool, reflect.Int: "must be a whole number", reflect.Float64: "must be a number",
		reflect.String: "must be a string", reflect.Slice: "must be a list", reflect.Struct: "must be an object",
	}[semantic.GoType.Kind()]
	switch {
	case errors.Is(err, jsonv2.ErrUnknownName):
		message = isUnknown + suggestion(semantic.JSONPointer.LastToken(), membersOf(semantic.GoType))
	case semantic.GoType == reflect.TypeFor[Agents]():
		message = notAgents
	}
	var value any
	_ = json.Unmarshal(semantic.JSONValue, &value) // nil if it is unknown
	t := BadParameter
	if location == "body.url" {
		t = BadURL
	}
	return NewProblem(t, describe(location)+" "+message, FieldError{Location: location, Message: message, Value: shortValue(value)})
}

// syntaxText describes invalid JSON as the end of a sentence.
func syntaxText(err error) string {
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "is not JSON: it ends too early"
	case !ok:
		return "is not JSON: " + err.Error()
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "has the member " + strconv.Quote(ask.Clip(syntax.JSONPointer.LastToken())) + " twice"
	}
	return fmt.Sprintf("is not JSON: %v at byte %d", syntax.Err, syntax.ByteOffset)
}

// locationOf writes /questions/3/agent as .questions[3].agent.
func locationOf(p jsontext.Pointer) string {
	s := ""
	for token := range p.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			s += "[" + token + "]"
		} else {
			s += "." + token
		}
	}
	return s
}

// membersOf returns the names of the JSON members of a struct type.
func membersOf(t reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

var errTooDeep = fmt.Errorf("has lists and objects nested deeper than %d", maxNested)

// shallow returns an error if a text is nested too deeply or is not UTF-8.
func shallow(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("is not UTF-8")
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i += lenOfString(text[i:]) - 1
		case '{', '[':
			depth++
			if depth > maxNested {
				return errTooDeep
			}
		case '}', ']':
			depth--
		}
	}
	return nil
}

// lenOfString returns the length of the JSON string with which a text begins, that of the text if it has no end.
func lenOfString(text []byte) int {
	for end := 1; end < len(text); end++ {
		next := bytes.IndexByte(text[end:], '"')
		if next < 0 {
			break
		}
		end += next
		before := bytes.TrimRight(text[:end], "\\")
		if (end-len(before))%2 == 0 {
			return end + 1
		}
	}
	return len(text)
}
