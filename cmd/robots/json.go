package main

import (
	"encoding/json"
	"io"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// jsonState is the outcome of the fetch of a robots.txt.
type jsonState struct {
	RobotsURL string `json:"robots_url"`
	Outcome   string `json:"outcome"`
	Note      string `json:"note"`
}

func newJSONState(r *fetch.Record, note string) *jsonState {
	return &jsonState{r.Origin.RobotsURL(), r.Outcome.String(), note}
}

// jsonGroup is the group of a crawler.
type jsonGroup struct {
	Token string `json:"token"`
	Lines []int  `json:"lines"`
}

// newJSONGroup returns nil, in JSON null, for no group.
func newJSONGroup(g robots.Group) *jsonGroup {
	if g.IsZero() {
		return nil
	}
	return &jsonGroup{g.Token(), g.Lines()}
}

// encode writes a value as one line of JSON.
func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// encode writes a value as one line of JSON.
func (s *streams) encode(v any) { s.keep(encode(s.out, v)) }

// notEmpty returns nil, which is null, for a zero value.
func notEmpty[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// orEmpty is the opposite of notEmpty.
func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// answer writes an answer: v as a line of JSON, or the text.
func (c *command) answer(v any, text string) {
	if c.format == formatJSON {
		c.std.encode(v)
		return
	}
	_, _ = c.std.out.WriteString(text) // the last flush reports its error
}
