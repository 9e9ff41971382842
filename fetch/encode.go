package fetch

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/robotskit/robots"
)

// Version is the version of the encoding that Encode writes. Decode reads it
// and every one before it.
const Version = 1

// encoded is a Record in its stored form, version 1. Names are short because a
// store keeps millions; a name once used never changes its meaning, and unknown
// ones are skipped, so that a field can be added without a new version.
type encoded struct {
	Version   int               `json:"v"`
	Origin    string            `json:"o"`
	URL       string            `json:"u,omitempty"`
	Hops      []encodedHop      `json:"hops,omitempty"`
	Cause     Cause             `json:"c"`
	Detail    string            `json:"d,omitempty"`
	Status    int               `json:"s,omitempty"`
	Header    map[string]string `json:"h,omitempty"`
	Body      string            `json:"b,omitempty"` // hash
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
	Body      string `json:"b,omitempty"`
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

// Encode returns the record in a stable form with a version, bodies replaced by
// their hashes: a store keeps those beside it, see Bodies. Times keep
// milliseconds. The form is JSON; the contract is that Decode reads it.
func (r *Record) Encode() []byte { return r.encode(false) }

// EncodeBeside is Encode for a store that keeps bodies in one piece with their record, and
// has a checksum of that: it names no hashes. Decode asks for each body, its own before the
// last good one, by a zero Hash, and does not check it.
func (r *Record) EncodeBeside() []byte { return r.encode(true) }

// beside stands for the hash of a body beside its record.
const beside = "+"

func (r *Record) encode(near bool) []byte {
	e := encoded{
		Version: Version, Origin: r.Origin.String(), URL: r.URL, Cause: r.Cause, Detail: r.Detail,
		Status: r.Status, Header: r.Header, Body: encodeBody(r.Cause, r.Body, near), Truncated: r.Truncated,
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
		e.Good = &encodedCopy{c.Cause, c.Status, c.URL, encodeBody(c.Cause, c.Body, near), c.Truncated, millis(c.Fetched), millis(c.Expires)}
	}
	data, err := json.Marshal(e)
	if err != nil {
		panic("fetch: " + err.Error()) // no field of encoded can fail
	}
	return data
}

// Decode returns the record that Encode wrote. It asks body for each body by
// its hash and checks what it gets. An error says what is wrong with the data;
// a record that names a version of a later release is one.
func Decode(data []byte, body func(Hash) ([]byte, error)) (*Record, error) {
	var e encoded
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("record is damaged: %w", err)
	}
	if e.Version < 1 || e.Version > Version {
		return nil, fmt.Errorf("record has version %d, this release reads versions 1 to %d", e.Version, Version)
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
	if r.Body, err = decodeBody(e.Cause, e.Body, body); err != nil {
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
			return nil, errors.New("record is damaged: its last good answer is none")
		}
		r.LastGood = &Copy{
			Outcome: c.Cause.Outcome(), Cause: c.Cause, Status: c.Status, URL: c.URL,
			Truncated: c.Truncated, Fetched: moment(c.Fetched), Expires: moment(c.Expires),
		}
		if r.LastGood.Body, err = decodeBody(c.Cause, c.Body, body); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// EncodedBodies returns the hashes of the bodies that encoded data refers to,
// for a store that throws away bodies nobody refers to.
func EncodedBodies(data []byte) ([]Hash, error) {
	var hashes []Hash
	_, err := Decode(data, func(h Hash) ([]byte, error) {
		hashes = append(hashes, h)
		return nil, errUnread
	})
	return hashes, err
}

// errUnread stands for a body that is not to be read.
var errUnread = errors.New("body not read")

// encodeBody gives a file of no bytes the hash of none: without a hash it would
// read as one that was lost.
func encodeBody(c Cause, body []byte, near bool) string {
	switch {
	case len(body) == 0 && c != OK:
		return ""
	case len(body) > 0 && near:
		return beside
	}
	h := HashOf(body)
	return hex.EncodeToString(h[:])
}

// decodeBody returns the body of an answer. That of a file must be there: a lost
// one would read as an empty file, which allows everything.
func decodeBody(c Cause, text string, body func(Hash) ([]byte, error)) ([]byte, error) {
	switch {
	case c != OK && text != "":
		return nil, fmt.Errorf("record is damaged: it has a body though its cause is %s", c)
	case c == Empty:
		return []byte{}, nil
	case c != OK:
		return nil, nil
	}
	var h Hash
	if text != beside {
		if n, err := hex.Decode(h[:], []byte(text)); err != nil || n != len(h) || len(text) != 2*len(h) {
			return nil, errors.New("record is damaged: its body has no hash")
		}
		if h == HashOf(nil) { // no store keeps it, see Bodies
			return []byte{}, nil
		}
	}
	b, err := body(h)
	switch {
	case errors.Is(err, errUnread):
		return nil, nil
	case text == beside && err != nil:
		return nil, fmt.Errorf("body: %w", err)
	case text == beside && len(b) == 0:
		return nil, errors.New("body: it is missing")
	case text == beside:
		return b, nil
	case err != nil:
		return nil, fmt.Errorf("body %x: %w", h[:6], err)
	case HashOf(b) != h:
		return nil, fmt.Errorf("body %x is damaged: its content has another hash", h[:6])
	}
	return b, nil
}

// millis keeps the zero time apart from 1970.
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
