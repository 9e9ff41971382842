package fetch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/robotskit/robots"
)

// version is the version of the encoding, which Decode reads.
const version = 2

// storedRecord is the first line of an encoded Record. Names are short because a store keeps
// millions of records. A name never changes its meaning, and unknown names are ignored, so
// that a field can be added without a new version.
type storedRecord struct {
	Version int    `json:"v"`
	Origin  string `json:"o"`
	*Record
	Body *int `json:"b,omitempty"`  // length
	Good *int `json:"gb,omitempty"` // length of the body of LastGood
}

// Encode returns the record in a stable form for stores: JSON, a line end, then its body and
// that of its last good response. Times have milliseconds. Only Decode should read it.
func (r *Record) Encode() []byte {
	c := *r
	good := Copy{}
	if r.LastGood != nil {
		good = *r.LastGood
		c.LastGood = &good
	}
	for _, t := range []*time.Time{
		&c.Started, &c.Fetched, &c.Expires, &c.FailingSince, &c.LastFailure, &c.NextTry, &good.Fetched, &good.Expires,
	} {
		*t = t.UTC().Truncate(time.Millisecond)
		if year := t.Year(); year < 0 || year > 9999 { // JSON has no such time
			*t = time.Time{}
		}
	}
	data, err := json.Marshal(storedRecord{
		Version: version, Origin: r.Origin.String(), Record: &c, Body: bodyLength(c.Cause, c.Body), Good: bodyLength(good.Cause, good.Body),
	})
	if err != nil {
		panic("fetch: " + err.Error()) // no field can fail
	}
	return append(append(append(data, '\n'), r.Body...), good.Body...)
}

// Decode returns the record that Encode wrote. The error says what is wrong with the data,
// for example that another release has written it. Decode finds truncated data, but not
// changed bytes in a body: a store that might return those needs a checksum.
func Decode(data []byte) (*Record, error) {
	head, bodies, _ := bytes.Cut(data, []byte{'\n'})
	e := storedRecord{Record: &Record{}}
	err := json.Unmarshal(head, &e)
	switch {
	case e.Version != version && (err == nil || e.Version != 0):
		return nil, fmt.Errorf("record has version %d, this release reads version %d", e.Version, version)
	case err != nil:
		return nil, fmt.Errorf("record is damaged: %w", err)
	}
	r := e.Record
	if r.Origin, _, err = robots.ParseURL(e.Origin); err != nil {
		return nil, fmt.Errorf("record is damaged: its origin: %w", err)
	}
	if r.Cause == CauseNone {
		return nil, errors.New("record is damaged: it has no cause")
	}
	r.Outcome = r.Cause.Outcome()
	r.Covered = max(r.Covered, 0)
	if r.Body, bodies, err = splitBody(bodies, r.Cause, e.Body); err != nil {
		return nil, err
	}
	if c := r.LastGood; c != nil {
		c.Outcome = c.Cause.Outcome()
		if !c.Outcome.Good() {
			return nil, errors.New("record is damaged: its last good response is a failure")
		}
		if c.Body, bodies, err = splitBody(bodies, c.Cause, e.Good); err != nil {
			return nil, err
		}
	}
	if len(bodies) > 0 {
		return nil, errors.New("record is damaged: text follows its bodies")
	}
	return r, nil
}

// bodyLength is nil for responses without a file.
func bodyLength(c Cause, body []byte) *int {
	if c != OK {
		return nil
	}
	return new(len(body))
}

// splitBody cuts the body of a response from the beginning of data. A missing length must not
// read as an empty file, which allows everything.
func splitBody(data []byte, c Cause, length *int) (body, rest []byte, err error) {
	switch {
	case c != OK && length != nil:
		return nil, nil, fmt.Errorf("record is damaged: it has a body though its cause is %s", c)
	case c == Empty:
		return []byte{}, data, nil
	case c != OK:
		return nil, data, nil
	case length == nil:
		return nil, nil, errors.New("record is damaged: its body has no length")
	case *length < 0 || *length > len(data):
		return nil, nil, fmt.Errorf("record is damaged: %d of %d bytes of a body", len(data), *length)
	}
	return bytes.Clone(data[:*length]), data[*length:], nil
}
