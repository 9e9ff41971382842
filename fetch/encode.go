package fetch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/robotskit/robots"
)

// version is the version of the encoding that Encode writes. Decode reads it and all earlier
// versions.
const version = 1

// encoded is a Record in its stored form. Names are short because a store keeps millions of
// records. A name never changes its meaning, and unknown names are ignored, so that a field
// can be added without a new version.
type encoded struct {
	Version   int               `json:"v"`
	Origin    string            `json:"o"`
	URL       string            `json:"u,omitempty"`
	Hops      []encodedHop      `json:"hops,omitempty"`
	Cause     Cause             `json:"c"`
	Detail    string            `json:"d,omitempty"`
	Status    int               `json:"s,omitempty"`
	Header    map[string]string `json:"h,omitempty"`
	Body      *int              `json:"b,omitempty"` // length
	Truncated bool              `json:"cut,omitempty"`
	Started   int64             `json:"t0,omitempty"` // times in milliseconds since 1970
	Fetched   int64             `json:"t,omitempty"`
	Expires   int64             `json:"exp,omitempty"`
	Life      int64             `json:"life,omitempty"` // durations in milliseconds
	LifeBy    string            `json:"by,omitempty"`
	After     int64             `json:"ra,omitempty"`
	Missing   bool              `json:"m5,omitempty"`
	Good      *encodedCopy      `json:"good,omitempty"`
	Since     int64             `json:"fs,omitempty"`
	Last      int64             `json:"fl,omitempty"`
	Failures  int               `json:"fn,omitempty"`
	Covered   int64             `json:"fc,omitempty"`
	Next      int64             `json:"next,omitempty"`
}

type encodedCopy struct {
	Cause     Cause  `json:"c"`
	Status    int    `json:"s,omitempty"`
	URL       string `json:"u,omitempty"`
	Body      *int   `json:"b,omitempty"`
	Truncated bool   `json:"cut,omitempty"`
	Fetched   int64  `json:"t,omitempty"`
	Expires   int64  `json:"exp,omitempty"`
}

type encodedHop struct {
	URL      string   `json:"u"`
	Address  string   `json:"a,omitempty"`
	Status   int      `json:"s,omitempty"`
	Location string   `json:"l,omitempty"`
	Received int64    `json:"n,omitempty"`
	Protocol string   `json:"p,omitempty"`
	Via      string   `json:"w,omitempty"`
	Took     [5]int64 `json:"t"` // microseconds: DNS, connect, TLS, header, body
}

// Encode returns the record in a stable form for stores: JSON, a line end, then its body and
// that of its last good response. Times have milliseconds. Only Decode should read it.
func (r *Record) Encode() []byte {
	e := encoded{
		Version: version, Origin: r.Origin.String(), URL: r.URL, Cause: r.Cause, Detail: r.Detail,
		Status: r.Status, Header: r.Header, Body: bodyLength(r.Cause, r.Body), Truncated: r.Truncated,
		Started: millis(r.Started), Fetched: millis(r.Fetched), Expires: millis(r.Expires),
		Life: r.StatedLife.Milliseconds(), LifeBy: r.StatedBy, After: r.RetryAfter.Milliseconds(),
		Missing: r.MissingIs5xx, Since: millis(r.FailingSince), Last: millis(r.LastFailure), Failures: r.Failures,
		Covered: r.Covered.Milliseconds(), Next: millis(r.NextTry),
	}
	for _, h := range r.Hops {
		e.Hops = append(e.Hops, encodedHop{
			h.URL, h.Address, h.Status, h.Location, h.Received, h.Protocol, h.Via,
			[5]int64{h.DNS.Microseconds(), h.Connect.Microseconds(), h.TLS.Microseconds(), h.Header.Microseconds(), h.Body.Microseconds()},
		})
	}
	if c := r.LastGood; c != nil {
		e.Good = &encodedCopy{c.Cause, c.Status, c.URL, bodyLength(c.Cause, c.Body), c.Truncated, millis(c.Fetched), millis(c.Expires)}
	}
	data, err := json.Marshal(e)
	if err != nil {
		panic("fetch: " + err.Error()) // no field of encoded can fail
	}
	data = append(append(data, '\n'), r.Body...)
	if r.LastGood != nil {
		data = append(data, r.LastGood.Body...)
	}
	return data
}

// Decode returns the record that Encode wrote. The error says what is wrong with the data,
// for example that a later release has written it. Decode finds truncated data, but not
// changed bytes in a body: a store that might return those needs a checksum.
func Decode(data []byte) (*Record, error) {
	head, bodies, _ := bytes.Cut(data, []byte{'\n'})
	var e encoded
	if err := json.Unmarshal(head, &e); err != nil {
		return nil, fmt.Errorf("record is damaged: %w", err)
	}
	if e.Version < 1 || e.Version > version {
		return nil, fmt.Errorf("record has version %d, this release reads versions 1 to %d", e.Version, version)
	}
	origin, _, err := robots.ParseURL(e.Origin)
	if err != nil {
		return nil, fmt.Errorf("record is damaged: its origin: %w", err)
	}
	if e.Cause == CauseNone {
		return nil, errors.New("record is damaged: it has no cause")
	}
	r := &Record{
		Origin: origin, URL: e.URL, Outcome: e.Cause.Outcome(), Cause: e.Cause, Detail: e.Detail,
		Status: e.Status, Header: e.Header, Truncated: e.Truncated,
		Started: moment(e.Started), Fetched: moment(e.Fetched), Expires: moment(e.Expires),
		StatedLife: time.Duration(e.Life) * time.Millisecond, StatedBy: e.LifeBy,
		RetryAfter: time.Duration(e.After) * time.Millisecond, MissingIs5xx: e.Missing,
		FailingSince: moment(e.Since), LastFailure: moment(e.Last), Failures: e.Failures,
		Covered: max(time.Duration(e.Covered)*time.Millisecond, 0), NextTry: moment(e.Next),
	}
	if r.Body, bodies, err = cutBody(bodies, e.Cause, e.Body); err != nil {
		return nil, err
	}
	for _, h := range e.Hops {
		took := func(i int) time.Duration { return time.Duration(h.Took[i]) * time.Microsecond }
		r.Hops = append(r.Hops, Hop{
			URL: h.URL, Address: h.Address, Protocol: h.Protocol, Via: h.Via, Status: h.Status, Location: h.Location, Received: h.Received,
			DNS: took(0), Connect: took(1), TLS: took(2), Header: took(3), Body: took(4),
		})
	}
	if c := e.Good; c != nil {
		if !c.Cause.Outcome().Good() {
			return nil, errors.New("record is damaged: its last good response is a failure")
		}
		r.LastGood = &Copy{
			Outcome: c.Cause.Outcome(), Cause: c.Cause, Status: c.Status, URL: c.URL,
			Truncated: c.Truncated, Fetched: moment(c.Fetched), Expires: moment(c.Expires),
		}
		if r.LastGood.Body, bodies, err = cutBody(bodies, c.Cause, c.Body); err != nil {
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
	n := len(body)
	return &n
}

// cutBody cuts the body of a response from the beginning of data. A missing length must not
// read as an empty file, which allows everything.
func cutBody(data []byte, c Cause, length *int) (body, rest []byte, err error) {
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

// millis returns Unix milliseconds, 0 for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
