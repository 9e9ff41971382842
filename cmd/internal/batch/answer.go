package batch

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/fetch"
)

// An Answerer answers questions, one after another. A new file is read in one pass and not
// kept (robots.AppendJSON). A file in two lines in succession is kept with its rules, as many
// lines often have one file. It is not safe for concurrent use.
type Answerer struct {
	*Defaults
	Bodies *Bodies // of rows; nil where there are none

	given []byte // the agents of the defaults as JSON

	last Last // answer

	text  []byte       // the member robots or robots_b64 of the last line that has one, nil if none
	coded bool         // it was robots_b64
	limit int          // bytes of it that can count, 0 for all
	body  []byte       // its value, as far as it can count
	file  *robots.File // parsed, once it is used again

	rules *ask.RuleSet // made from
	from  basis
	agent []byte

	heard map[heardAgent][]string
}

// A heardAgent is a member agent and a dialect, for which an answerer keeps the tokens.
type heardAgent struct{ dialect, agent string }

// mostHeard limits the number of members agent that an answerer keeps, and maxHeard their length.
const mostHeard, maxHeard = 1000, 200

// A basis is everything that rules are made from, except the agent.
type basis struct {
	ask.Source
	dialect  string
	maxBytes int
	at       time.Time // of a record
	user     bool      // user-initiated
}

// maxRemembered is the longest body that an answerer keeps, in bytes.
const maxRemembered = 1 << 20

// NewAnswerer returns an answerer with defaults.
func NewAnswerer(d *Defaults) *Answerer {
	a := &Answerer{Defaults: d}
	switch len(d.Agents) {
	case 0:
		a.given = []byte(`"*"`)
	case 1:
		a.given = robots.AppendQuoted(nil, d.Agents[0])
	default:
		a.given = ask.AppendStrings(nil, d.Agents)
	}
	return a
}

// Append appends the answer to a question that needs no fetch (Defaults.Site), without a line
// end.
func (a *Answerer) Append(dst []byte, q *Question) []byte {
	return a.append(dst, q, nil, time.Time{})
}

// AppendRecord appends the answer to a question about the site of r, at now unless the line or
// the defaults have another time. Records are compared by pointer.
func (a *Answerer) AppendRecord(dst []byte, q *Question, r *fetch.Record, now time.Time) []byte {
	return a.append(dst, q, r, now)
}

// AppendError appends an error instead of an answer.
func AppendError(dst []byte, q *Question, code Code, err error) []byte {
	if q.row {
		return appendRowError(dst, err)
	}
	dst = q.appendID(dst)
	dst = append(dst, `,"error":`...)
	dst = robots.AppendQuoted(dst, err.Error())
	dst = append(dst, `,"code":"`...)
	dst = append(dst, code...)
	return append(dst, `"}`...)
}

func (a *Answerer) append(dst []byte, q *Question, r *fetch.Record, now time.Time) []byte {
	start := len(dst)
	if !q.row {
		dst = append(q.appendID(dst), ',')
	}
	dst, err := a.judge(dst, q, r, now)
	if len(q.robots)+len(q.robotsB64)+len(q.agent) > maxRemembered {
		*a = Answerer{Defaults: a.Defaults, Bodies: a.Bodies, given: a.given, last: a.last}
	}
	if err != nil {
		a.last = Last{}
		return AppendError(dst[:start], q, codeOf(err), err)
	}
	if q.row {
		return dst
	}
	dst = append(dst, `,"agent":`...)
	if q.agent != nil {
		dst = appendGiven(dst, q.agent)
	} else {
		dst = append(dst, a.given...)
	}
	return append(dst, '}')
}

// Last is the outcome of an answer. The zero value is an error.
type Last struct{ Answered, Allowed, Undecided bool }

// Last returns the outcome of the last answer.
func (a *Answerer) Last() Last { return a.last }

func (q *Question) appendID(dst []byte) []byte {
	dst = append(dst, `{"id":`...)
	if q.id == nil {
		return append(dst, "null"...)
	}
	return appendGiven(dst, q.id)
}

// appendGiven appends the text of a member as written, except raw CR between tokens and bytes
// that are not UTF-8, which would break the line for its reader.
func appendGiven(dst, text []byte) []byte {
	if bytes.IndexByte(text, '\r') >= 0 {
		var b bytes.Buffer
		if json.Compact(&b, text) == nil {
			text = b.Bytes()
		}
	}
	for _, u := range string(text) { // U+FFFD for each byte that is not UTF-8
		dst = utf8.AppendRune(dst, u)
	}
	return dst
}

// judge validates the members of a question, and appends the verdict and the URL.
func (a *Answerer) judge(dst []byte, q *Question, r *fetch.Record, now time.Time) ([]byte, error) {
	if q.bad != nil {
		return dst, q.bad
	}
	d, err := a.dialectOf(q)
	if err != nil {
		return dst, err
	}
	from := basis{dialect: d.Name}
	if from.maxBytes, err = a.limitOf(q); err != nil {
		return dst, err
	}
	at, err := a.timeOf(q)
	if err != nil {
		return dst, err
	}
	if at.IsZero() {
		at = now
	}
	if from.user, err = a.userOf(q); err != nil {
		return dst, err
	}
	if q.url == nil {
		return dst, fail(BadURL, errors.New("url is missing"))
	}
	fetched := a.fetches(q)
	url, path := q.text, q.path
	if !q.split || d.Escapes == robots.EscapesRaw {
		var ok bool
		if url, ok = q.string(q.url); !ok {
			return dst, fail(BadURL, errors.New("url is not a string"))
		}
		if _, path, err = ask.URL(d, url, fetched); err != nil {
			return dst, fail(BadURL, err)
		}
	}
	tokens, heard := a.heard[heardAgent{d.Name, string(q.agent)}]
	if !heard {
		if tokens, err = a.tokensOf(q, d); err != nil {
			return dst, err
		}
	}
	once := false
	switch {
	case !fetched: // its verdicts do not depend on the time
		limit := d.MaxFileBytes
		if from.maxBytes > 0 {
			limit = from.maxBytes
		}
		from.File, err = a.fileOf(q, limit)
		once = from.File == nil
	case r == nil:
		err = fail(Pending, errors.New("its robots.txt is not there"))
	default:
		from.Record, from.at = r, at
	}
	if err != nil {
		return dst, err
	}
	if q.agent != nil && !heard {
		a.hear(q.agent, tokens, d)
	}
	switch {
	case once && from.maxBytes != 0 && !from.user:
		if from.maxBytes > 0 {
			d.MaxFileBytes = from.maxBytes
		}
		start := len(dst)
		dst = robots.AppendJSON(dst, a.body, d, path, tokens...)
		a.last = Last{Answered: true, Allowed: bytes.HasPrefix(dst[start:], []byte(`"allowed":true`))}
	default:
		if once {
			a.file = robots.Parse(a.body)
			from.File = a.file
		}
		if a.rules == nil || a.from != from || !bytes.Equal(a.agent, q.agent) {
			a.from, a.agent = from, append(a.agent[:0], q.agent...)
			rules := from.Obey(d, from.maxBytes, at, tokens)
			if from.user {
				rules = rules.UserInitiated()
			}
			a.rules = &ask.RuleSet{Rules: rules}
		}
		v := a.rules.Match(path)
		a.last = Last{true, v.Allowed, v.Undecided()}
		if q.row {
			return appendRow(dst, v), nil
		}
		dst = a.rules.AppendVerdict(dst, v)
	}
	dst = append(dst, `,"url":`...)
	return robots.AppendQuoted(dst, url), nil
}

// hear reports the tokens of a member agent, and keeps them.
func (a *Answerer) hear(agent []byte, tokens []string, d robots.Dialect) {
	if a.Heard != nil {
		for _, t := range tokens {
			a.Heard(t, d)
		}
	}
	if len(agent) > maxHeard {
		return
	}
	if a.heard == nil || len(a.heard) == mostHeard {
		a.heard = map[heardAgent][]string{}
	}
	a.heard[heardAgent{d.Name, string(agent)}] = tokens
}

// fileOf returns the file of a question: that of the defaults, or its own if the line before
// had it too. Of a new one it keeps the body and returns nil. It keeps one byte more than the
// limit, to show that the file is longer.
func (a *Answerer) fileOf(q *Question, limit int) (*robots.File, error) {
	text, name := q.robots, "robots"
	if q.row && q.robotsB64 != nil {
		return a.Bodies.file(q.robotsB64, limit)
	}
	switch {
	case q.robots != nil && q.robotsB64 != nil:
		return nil, errors.New("robots and robots_b64 are both set: use one")
	case q.robotsB64 != nil:
		text, name = q.robotsB64, "robots_b64"
	case q.robots == nil:
		return a.File, nil // as fetches is false
	}
	coded := q.robotsB64 != nil
	if a.text != nil && a.coded == coded && a.limit == limit && bytes.Equal(a.text, text) {
		if a.file == nil {
			a.file = robots.Parse(a.body)
		}
		return a.file, nil
	}
	value, ok := decodeString(text)
	if !ok {
		return nil, errors.New(name + " is not a string")
	}
	body := []byte(value)
	if coded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(value); err != nil {
			return nil, fmt.Errorf("robots_b64 is not base64: %w", err)
		}
	}
	if limit > 0 && len(body)-1 > limit {
		body = body[:limit+1]
	}
	a.file, a.text, a.coded, a.limit, a.body = nil, text, coded, limit, body
	return nil, nil
}
