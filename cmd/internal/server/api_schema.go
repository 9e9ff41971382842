package server

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/robotskit/robots/cmd/internal/shapes"
)

// The types of this file describe what is sent and read, for the document. Answers about a
// URL are written by robots.Rules.AppendJSON: their types here are held to it by the tests,
// which judge every answer by the document.

// schema returns the schema of the type of v.
func (s *Service) schema(v any) *huma.Schema {
	return s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(v), true, "")
}

// An orNull is a member that is null where there is nothing.
type orNull[T any] struct{ Value *T }

// MarshalJSON writes the value or null.
func (v orNull[T]) MarshalJSON() ([]byte, error) { return json.Marshal(v.Value) }

// Schema allows null beside a T.
func (orNull[T]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{r.Schema(reflect.TypeFor[T](), true, ""), {Type: "null"}}}
}

// A Check is the answer about a URL.
type Check struct {
	_            struct{}            `additionalProperties:"true"`
	Allowed      bool                `json:"allowed" doc:"whether the crawler may fetch the URL"`
	Verdict      string              `json:"verdict" enum:"allow,disallow,undefined" doc:"undefined only in google-2019 and google-legacy"`
	Reason       string              `json:"reason" enum:"rule,no-rule,no-group,empty-file,robots-txt,user-initiated,invalid,unavailable,redirect-limit,unreachable,refused,undefined" doc:"reason of the verdict"`
	Rule         orNull[shapes.Rule] `json:"rule" doc:"the rule that decided"`
	Group        orNull[Group]       `json:"group" doc:"the group of the crawler"`
	Status       int                 `json:"status,omitempty" doc:"HTTP status or FTP reply of the last response"`
	Fetched      string              `json:"fetched,omitempty" format:"date-time" doc:"when the robots.txt in use was fetched"`
	Expires      string              `json:"expires,omitempty" format:"date-time" doc:"end of its lifetime"`
	StaleSince   string              `json:"stale_since,omitempty" format:"date-time" doc:"when it became stale, though still in use"`
	FailingSince string              `json:"failing_since,omitempty" format:"date-time" doc:"first failure since the last good response"`
	NextTry      string              `json:"next_try,omitempty" format:"date-time" doc:"time of the next attempt"`
	CutAt        int                 `json:"cut_at,omitempty" doc:"bytes kept of a longer file"`
	Degraded     bool                `json:"degraded,omitempty" doc:"the shared store was unreachable"`
	Note         string              `json:"note,omitempty" doc:"a sentence for people"`
	CrawlDelay   orNull[float64]     `json:"crawl_delay" doc:"seconds, as declared by the group"`
	RequestRates []Rate              `json:"request_rates" doc:"as declared by the group"`
	Sitemaps     []string            `json:"sitemaps" doc:"as written, in file order"`
	Dialect      string              `json:"dialect" doc:"dialect of the verdict"`
	URL          string              `json:"url" doc:"as given"`
	Agent        Agents              `json:"agent" doc:"as given, default *"`
}

// A Group is that of a crawler.
type Group struct {
	_     struct{} `additionalProperties:"true"`
	Token string   `json:"token" doc:"matched token in lower case, or *"`
	Lines []int    `json:"lines" doc:"numbers of all user-agent lines that name it"`
}

// A Rate is one of Request-rate.
type Rate struct {
	_        struct{}       `additionalProperties:"true"`
	Requests float64        `json:"requests"`
	Seconds  float64        `json:"seconds"`
	From     orNull[string] `json:"from" doc:"HHMM in UTC, null for all day"`
	To       orNull[string] `json:"to"`
}

// Agents are the product tokens of one crawler, the most wanted first: in JSON a string or a
// list of strings.
type Agents []string

// Schema allows both.
func (Agents) Schema(huma.Registry) *huma.Schema {
	one := &huma.Schema{Type: huma.TypeString}
	return &huma.Schema{
		AnyOf:       []*huma.Schema{one, {Type: huma.TypeArray, Items: one}},
		Description: "product tokens of one crawler, most specific first: a string or a list of strings",
		Examples:    []any{"MyBot"},
	}
}

// UnmarshalJSON reads both.
func (a *Agents) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		if *a = nil; one != "" && one != "*" {
			*a = Agents{one}
		}
		return nil
	}
	if json.Unmarshal(text, (*[]string)(a)) != nil {
		return errors.New("agent is neither a string nor a list of strings")
	}
	return nil
}

// Questions are those of POST /v1/check as one object.
type Questions struct {
	Defaults  Defaults   `json:"defaults,omitempty" doc:"defaults of members that questions omit"` //nolint:modernize // for the schema: it may be missing
	Questions []Question `json:"questions" maxItems:"1000"`
}

// Defaults stand for members that questions leave out.
type Defaults struct {
	Agent         Agents  `json:"agent,omitempty"`
	Dialect       string  `json:"dialect,omitempty" doc:"dialect of the rules"`
	MaxBytes      *int    `json:"max_bytes,omitempty" minimum:"0" doc:"size limit of the file in bytes"`
	At            string  `json:"at,omitempty" doc:"time of the verdict, RFC 3339; default now"`
	Robots        *string `json:"robots,omitempty" doc:"robots.txt of all questions; default: fetched from the sites"`
	UserInitiated bool    `json:"user_initiated,omitempty" doc:"a user requested the pages"`
	Wait          string  `json:"wait,omitempty" doc:"timeout for all questions together, 0s to 30s; default 10s"`
}

// A Question is one of a batch. Members that are wrong make an answer with an error, so
// anything is allowed here.
type Question struct {
	_             struct{} `additionalProperties:"true"`
	ID            any      `json:"id,omitempty" doc:"echoed"`
	URL           any      `json:"url,omitempty" doc:"an absolute URL, or with a robots.txt a path that begins with /" example:"\"https://shop.example/basket\""`
	Agent         any      `json:"agent,omitempty" doc:"a string or a list of strings"`
	Dialect       any      `json:"dialect,omitempty"`
	Robots        any      `json:"robots,omitempty" doc:"robots.txt as text; default: fetched from the site"`
	RobotsB64     any      `json:"robots_b64,omitempty" doc:"robots.txt as base64"`
	MaxBytes      any      `json:"max_bytes,omitempty"`
	At            any      `json:"at,omitempty"`
	UserInitiated any      `json:"user_initiated,omitempty" doc:"true: a user requested the page, so robots.txt does not apply"`
}

// Answers are those to Questions, in their order.
type Answers struct {
	_       struct{} `additionalProperties:"true"`
	Answers []Line   `json:"answers"`
}

// A Line is the answer to one question of a batch: the members of Check, or an error.
type Line struct{}

// Schema says so.
func (Line) Schema(r huma.Registry) *huma.Schema {
	id := func(s *huma.Schema) *huma.Schema {
		with := *s
		with.Properties = map[string]*huma.Schema{"id": {Description: "that of the question, or null"}}
		maps.Copy(with.Properties, s.Properties)
		with.Required = append([]string{"id"}, s.Required...)
		return &with
	}
	check := r.SchemaFromRef(r.Schema(reflect.TypeFor[Check](), true, "").Ref)
	failed := r.SchemaFromRef(r.Schema(reflect.TypeFor[LineError](), true, "").Ref)
	return &huma.Schema{AnyOf: []*huma.Schema{id(check), id(failed)}}
}

// A LineError is what is wrong with a question of a batch.
type LineError struct {
	_     struct{} `additionalProperties:"true"`
	Error string   `json:"error" doc:"a sentence for people"`
	Code  string   `json:"code" doc:"a word for programs: see docs/batch.md, or the last part of a problem type"`
}
