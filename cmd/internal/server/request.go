package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
)

// Messages of field errors: each is the end of a sentence that begins with the name.
const (
	isMissing   = "is missing"
	isUnknown   = "is unknown"
	notBool     = "must be true or false"
	notAgents   = "must be a string or a list of strings"
	tooManyItem = "must have %d entries or fewer"
)

// A request is a request of a known operation, with its valid query.
type request struct {
	*http.Request
	query url.Values
	s     *Service
}

// parseQuery returns the parameters of a query. It refuses unknown parameters, and repeated
// ones that are not lists ("agent..."): which value counts would be a guess.
func parseQuery(raw string, known []string) (url.Values, *Problem) {
	for part := range strings.SplitSeq(raw, "&") {
		if !escaped(part) {
			return nil, NewProblem(BadParameter, "the query cannot be read: write special characters as %XX, a semicolon as %3B, and & between parameters")
		}
	}
	values, _ := url.ParseQuery(raw) // no error: it is escaped
	for _, name := range slices.Sorted(maps.Keys(values)) {
		message := ""
		switch {
		case slices.Contains(known, name+"..."):
		case !slices.Contains(known, name):
			message = isUnknown + suggestion(name, known)
		case len(values[name]) > 1:
			message = "is given more than once: give it once"
		}
		if message != "" {
			t := BadParameter
			if name == "url" {
				t = BadURL
			}
			return nil, wrong(t, "query."+strings.ToValidUTF8(ask.Clip(name), "\uFFFD"), "", message)
		}
	}
	return values, nil
}

// escaped reports whether all parsers read a part of a query in the same way.
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

// suggestion returns the known name that an unknown one probably stands for, or all known names.
func suggestion(name string, known []string) string {
	var names []string
	for _, k := range known {
		names = append(names, strings.TrimSuffix(k, "..."))
	}
	if len(names) == 0 {
		return " (there are no parameters)"
	}
	if meant := ask.Nearest(name, names); meant != "" {
		return " (did you mean " + meant + "?)"
	}
	return " (known: " + strings.Join(names, ", ") + ")"
}

// requiredURL returns the parameter url, with at most Parts.URLBytes.
func (r *request) requiredURL() (string, *Problem) {
	return r.s.validURL(r.query.Get("url"), "query.url", r.query.Has("url"))
}

func (s *Service) validURL(u, location string, given bool) (string, *Problem) {
	switch {
	case !given:
		return "", wrong(BadURL, location, "", isMissing)
	case int64(len(u)) > s.parts.URLBytes:
		return "", wrong(BadURL, location, u, fmt.Sprintf("must have %d characters or fewer", s.parts.URLBytes))
	}
	return u, nil
}

// requireURL checks the member url of a body.
func (r *request) requireURL(u *string) *Problem {
	if u == nil {
		return wrong(BadURL, "body.url", "", isMissing)
	}
	_, p := r.s.validURL(*u, "body.url", true)
	return p
}

// flag returns a boolean parameter.
func (r *request) flag(name string) (bool, *Problem) {
	text := r.query.Get(name)
	if !r.query.Has(name) {
		return false, nil
	}
	v, err := strconv.ParseBool(text)
	if err != nil {
		return false, wrong(BadParameter, "query."+name, text, notBool)
	}
	return v, nil
}

// word returns a parameter that is absent or has the only possible value.
func (r *request) word(name, only string) (string, *Problem) {
	if v := r.query.Get(name); v == only || !r.query.Has(name) {
		return v, nil
	}
	return "", wrong(BadParameter, "query."+name, r.query.Get(name), `must be one of "`+only+`"`)
}

// decode reads a JSON body into v, a struct with a json tag for each member.
func (r *request) decode(v any) *Problem {
	if _, p := r.mediaType(typeJSON); p != nil {
		return p
	}
	text, p := r.readBody()
	if p != nil {
		return p
	}
	if len(text) == 0 {
		return emptyBody()
	}
	if err := shallow(text); err != nil {
		return NewProblem(BadJSON, "the body "+err.Error())
	}
	return bodyProblem("body", unmarshal(text, v))
}

// unmarshal reads JSON strictly.
func unmarshal(text []byte, v any) error {
	return jsonv2.Unmarshal(text, v, jsonv2.RejectUnknownMembers(true))
}

func emptyBody() *Problem {
	return NewProblem(BadJSON, "the body is empty: it must be a JSON object")
}

// mediaType returns the media type of the body, one of those known. JSON is also what has no type
// and what has the type that curl -d sends.
func (r *request) mediaType(known ...string) (string, *Problem) {
	media, _, err := mime.ParseMediaType(cmp.Or(r.Header.Get("Content-Type"), typeJSON))
	if media == "application/x-www-form-urlencoded" || strings.HasSuffix(media, "+json") {
		media = typeJSON
	}
	if err != nil || !slices.Contains(known, media) {
		return "", NewProblem(UnsupportedType, "the Content-Type must be "+strings.Join(known, " or "))
	}
	return media, nil
}

// readBody reads the body, whose size and time a Gate limits.
func (r *request) readBody() ([]byte, *Problem) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, NewProblem(BadJSON, "the body ended before its Content-Length: send all of it")
	}
	return text, nil
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

// maxNested is how deep lists and objects of a body can be nested.
const maxNested = 32

var errTooDeep = fmt.Errorf("has lists and objects nested deeper than %d", maxNested)

// shallow returns an error if a text is nested too deeply or is not UTF-8.
func shallow(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("is not UTF-8")
	}
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxNested {
				return errTooDeep
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// wrong returns the problem of one value, whose message is the end of a sentence.
func wrong(t ProblemType, location, value, message string) *Problem {
	return NewProblem(t, describe(location)+" "+message, FieldError{Location: location, Message: message, Value: shortValue(value)})
}

// invalid returns the problem of one value that an error describes in a whole sentence.
func invalid(t ProblemType, location, value string, err error) *Problem {
	return NewProblem(t, err.Error(), FieldError{Location: location, Message: err.Error(), Value: shortValue(value)})
}

// tooMany returns a problem if a list has too many entries.
func tooMany(location string, n, most int) *Problem {
	if n <= most {
		return nil
	}
	return wrong(BadParameter, location, "", fmt.Sprintf(tooManyItem, most))
}

// outside returns a problem if a number is outside its bounds.
func outside(location string, v, least, most float64) *Problem {
	if least <= v && v <= most {
		return nil
	}
	message := fmt.Sprintf("must be from %.0f to %.0f", least, most)
	return NewProblem(BadParameter, describe(location)+" "+message, FieldError{Location: location, Message: message, Value: v})
}

// describe names a location for people: body.questions[3].agent is questions[3].agent.
func describe(location string) string {
	if location == "body" || location == "" {
		return "the body"
	}
	_, name, _ := strings.Cut(location, ".")
	return robots.Printable(ask.Clip(name))
}

// shortValue returns a value for a problem: text of about 80 bytes, a number or a word.
func shortValue(v any) any {
	switch v := v.(type) {
	case string:
		if v == "" {
			return nil
		}
		return strings.ToValidUTF8(ask.Clip(v), "\uFFFD")
	case bool, float64:
		return v
	}
	return nil
}
