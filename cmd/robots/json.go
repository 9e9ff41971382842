package main

import (
	"encoding/json"
	"errors"
	"io"

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

// encode writes a value as one line of JSON.
func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return errors.New("cannot write the answer")
	}
	return nil
}

// notEmpty returns nil, which is null, for an empty string.
func notEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
