package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// quoted is a string of the web in JSON, as the engine writes it.
type quoted string

// MarshalJSON returns the string with bytes that are no UTF-8 as U+FFFD.
func (q quoted) MarshalJSON() ([]byte, error) { return robots.AppendQuoted(nil, string(q)), nil }

// quotedList returns a list of them, empty and not null if there are none.
func quotedList(list []string) []quoted {
	q := make([]quoted, len(list))
	for i, s := range list {
		q[i] = quoted(s)
	}
	return q
}

// jsonState is how it stands with the robots.txt of a site.
type jsonState struct {
	RobotsURL quoted `json:"robots_url"`
	Outcome   string `json:"outcome"`
	Note      quoted `json:"note"`
}

func newJSONState(r *fetch.Record, note string) *jsonState {
	return &jsonState{quoted(r.Origin.RobotsURL()), r.Outcome.String(), quoted(note)}
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

// appendMembers appends the members of a value that is an object to an object that
// is begun, and ends that.
func appendMembers(dst []byte, v any) ([]byte, error) {
	var b bytes.Buffer
	err := encode(&b, v)
	return append(append(dst, ','), bytes.TrimPrefix(bytes.TrimSuffix(b.Bytes(), []byte("\n")), []byte("{"))...), err
}

// notEmpty returns nil, which is null, for an empty string.
func notEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
