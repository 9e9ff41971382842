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
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/internal/duration"
)

// Messages of field errors: each is the end of a sentence that begins with the name.
const (
	isMissing   = "is missing"
	isUnknown   = "is unknown"
	notBool     = "must be true or false"
	notAgents   = "must be a string or a list of strings"
	tooManyItem = "must have %d entries or fewer"
)

// A request is a request of a known operation. Its methods read the query and the body; the first
// invalid value is its problem, and what they return after that means nothing.
type request struct {
	*http.Request
	s        *Service
	exchange *exchange
	query    url.Values
	problem  *Problem
}

// fail keeps a problem, if there is one and it is the first.
func (r *request) fail(p *Problem) { r.problem = cmp.Or(r.problem, p) }

// readQuery reads the query. It refuses unknown parameters, and repeated ones that are not lists
// ("agent..."): which value counts would be a guess.
func (r *request) readQuery(known []string) {
	for part := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if !escaped(part) {
			r.fail(NewProblem(BadParameter, "the query cannot be read: write special characters as %XX, a semicolon as %3B, and & between parameters"))
		}
	}
	r.query, _ = url.ParseQuery(r.URL.RawQuery) // no error: it is escaped
	for _, name := range slices.Sorted(maps.Keys(r.query)) {
		message := ""
		switch {
		case slices.Contains(known, name+"..."):
			continue
		case !slices.Contains(known, name):
			message = isUnknown + suggestion(name, known)
		case len(r.query[name]) > 1:
			message = "is given more than once: give it once"
		default:
			continue
		}
		t := BadParameter
		if name == "url" {
			t = BadURL
		}
		r.fail(wrong(t, "query."+strings.ToValidUTF8(ask.Clip(name), "\uFFFD"), "", message))
	}
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
	return ask.Hint(name, names)
}

// url returns a URL with at most Parts.URLBytes, which must be given.
func (r *request) url(location string, u *string) string {
	switch {
	case u == nil:
		r.fail(wrong(BadURL, location, "", isMissing))
		return ""
	case int64(len(*u)) > r.s.parts.URLBytes:
		r.fail(wrong(BadURL, location, *u, fmt.Sprintf("must have %d characters or fewer", r.s.parts.URLBytes)))
	}
	return *u
}

// queryURL returns the parameter url.
func (r *request) queryURL() string {
	if !r.query.Has("url") {
		return r.url("query.url", nil)
	}
	return r.url("query.url", &r.query["url"][0])
}

// queryAgents returns the parameters agent.
func (r *request) queryAgents() []string {
	agents := r.query["agent"]
	r.fail(tooMany("query.agent", len(agents), mostAgents))
	return agents
}

// flag returns a boolean parameter.
func (r *request) flag(name string) bool {
	if !r.query.Has(name) {
		return false
	}
	v, err := strconv.ParseBool(r.query.Get(name))
	if err != nil {
		r.fail(wrong(BadParameter, "query."+name, r.query.Get(name), notBool))
	}
	return v
}

// word reports whether a parameter is given, with its only possible value.
func (r *request) word(name, only string) bool {
	given := r.query.Has(name)
	if v := r.query.Get(name); given && v != only {
		r.fail(wrong(BadParameter, "query."+name, v, `must be one of "`+only+`"`))
	}
	return given
}

// duration reads a duration such as 1m30s, or a number of seconds; a missing one is the usual.
func (r *request) duration(location, text string, usual, least, most time.Duration) time.Duration {
	if text == "" {
		return usual
	}
	d, err := time.ParseDuration(text)
	if seconds, number := strconv.ParseFloat(text, 64); err != nil && number == nil && seconds >= 0 && seconds <= most.Seconds() {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || d < least || d > most {
		r.fail(wrong(BadParameter, location, text, fmt.Sprintf("must be a time such as 5s, from %s to %s", duration.Text(least), duration.Text(most))))
	}
	return d
}

// timeout reads how long to wait for a fetch.
func (r *request) timeout(location, text string) time.Duration {
	return r.duration(location, text, usualWait, 0, mostWait)
}

// crawler returns the crawler with some product tokens, which it checks, in the dialect with a
// name, or the default. Location is the prefix of both, such as "query.".
func (r *request) crawler(location, dialect string, agents []string) answer.Crawler {
	c, err := ask.Crawler(cmp.Or(dialect, r.s.parts.Dialect), "", agents...)
	if err != nil {
		r.fail(invalid(BadParameter, location+"dialect", dialect, err))
	}
	r.fail(checkAgents(agents, c.Dialect, location+"agent"))
	return c
}

// site returns the origin and path of a URL as a dialect reads it.
func (r *request) site(location string, d robots.Dialect, url string) (robots.Origin, robots.Path) {
	origin, path, p := siteOf(d, url, location)
	r.fail(p)
	return origin, path
}

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
	text = make([]byte, max(r.ContentLength, 0)) // which a Gate has received
	_, err = io.ReadFull(r.Body, text)
	if r.ContentLength < 0 {
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
