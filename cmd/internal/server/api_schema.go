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
	Allowed      bool                `json:"allowed" doc:"may the crawler fetch the URL?"`
	Verdict      string              `json:"verdict" enum:"allow,disallow,undefined" doc:"undefined of google-2019 and google-legacy alone"`
	Reason       string              `json:"reason" enum:"rule,no-rule,no-group,empty-file,robots-txt,user-initiated,invalid,unavailable,redirect-limit,unreachable,refused,undefined" doc:"why"`
	Rule         orNull[shapes.Rule] `json:"rule" doc:"the rule that decided"`
	Group        orNull[Group]       `json:"group" doc:"the group of the crawler"`
	Status       int                 `json:"status,omitempty" doc:"of the last answer of the site, an HTTP status or an FTP reply"`
	Fetched      string              `json:"fetched,omitempty" format:"date-time" doc:"when the answer in use was fetched"`
	Expires      string              `json:"expires,omitempty" format:"date-time" doc:"until when it is fresh"`
	StaleSince   string              `json:"stale_since,omitempty" format:"date-time" doc:"since when it is not, though still in use"`
	FailingSince string              `json:"failing_since,omitempty" format:"date-time" doc:"the first failure of the site after its last answer"`
	NextTry      string              `json:"next_try,omitempty" format:"date-time" doc:"when the site is asked again"`
	CutAt        int                 `json:"cut_at,omitempty" doc:"how many bytes were kept of a longer file"`
	Degraded     bool                `json:"degraded,omitempty" doc:"the store that servers share was out of reach"`
	Note         string              `json:"note,omitempty" doc:"a clause for people"`
	CrawlDelay   orNull[float64]     `json:"crawl_delay" doc:"seconds, as the group declares"`
	RequestRates []Rate              `json:"request_rates" doc:"as the group declares"`
	Sitemaps     []string            `json:"sitemaps" doc:"as written, in file order"`
	Dialect      string              `json:"dialect" doc:"that was asked"`
	URL          string              `json:"url" doc:"that was asked about"`
	Agent        Agents              `json:"agent" doc:"as it was given, * without one"`
}

// A Group is that of a crawler.
type Group struct {
	_     struct{} `additionalProperties:"true"`
	Token string   `json:"token" doc:"that was found, lower case, or *"`
	Lines []int    `json:"lines" doc:"all user-agent lines that name it"`
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
		Description: "product tokens of one crawler, the most wanted first: a string or a list of strings",
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
	Defaults  Defaults   `json:"defaults,omitempty" doc:"stand for members that questions leave out"` //nolint:modernize // for the schema: it may be missing
	Questions []Question `json:"questions" maxItems:"1000"`
}

// Defaults stand for members that questions leave out.
type Defaults struct {
	Agent         Agents  `json:"agent,omitempty"`
	Dialect       string  `json:"dialect,omitempty" doc:"how robots.txt is read"`
	MaxBytes      *int    `json:"max_bytes,omitempty" minimum:"0" doc:"bytes of the file that are read"`
	At            string  `json:"at,omitempty" doc:"the time at which to judge, RFC 3339; now without it"`
	Robots        *string `json:"robots,omitempty" doc:"the robots.txt of all questions; without it the sites are asked"`
	UserInitiated bool    `json:"user_initiated,omitempty" doc:"a user asked for the pages"`
	Wait          string  `json:"wait,omitempty" doc:"how long all questions together may wait for sites, 0s to 30s; 10s without it"`
}

// A Question is one of a batch. Members that are wrong make an answer with an error, so
// anything is allowed here.
type Question struct {
	_             struct{} `additionalProperties:"true"`
	ID            any      `json:"id,omitempty" doc:"given back as it is"`
	URL           any      `json:"url,omitempty" doc:"an absolute URL, or, beside a file, a path that begins with /" example:"\"https://shop.example/basket\""`
	Agent         any      `json:"agent,omitempty" doc:"a string or a list of strings"`
	Dialect       any      `json:"dialect,omitempty"`
	Robots        any      `json:"robots,omitempty" doc:"the robots.txt as text; without it the site is asked"`
	RobotsB64     any      `json:"robots_b64,omitempty" doc:"the robots.txt as bytes in base64"`
	MaxBytes      any      `json:"max_bytes,omitempty"`
	At            any      `json:"at,omitempty"`
	UserInitiated any      `json:"user_initiated,omitempty" doc:"true: a user asked for the page, so robots.txt need not be followed"`
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
	Error string   `json:"error" doc:"one sentence for people"`
	Code  string   `json:"code" doc:"one word for programs, see docs/batch.md; or the last part of a problem's type"`
}
