package batch

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/fetch"
)

// An Answerer answers questions, one after another. It remembers the last file and the
// last rules, because many lines in succession ask about one file. It is for one
// goroutine.
type Answerer struct {
	*Defaults
	given []byte // the agents of the defaults as JSON

	last     robots.Verdict // of the last answer,
	answered bool           // if it was one

	body  []byte // the member robots or robots_b64 that file was read from
	buf   []byte // the value of that
	coded bool   // the member was robots_b64
	limit int    // bytes of it that can count, 0 for all
	file  *robots.File

	rules *ask.RuleSet // made from
	from  basis
	agent []byte

	heard map[heardAgent][]string
}

// A heardAgent is a member agent under a dialect, of which an answerer knows the
// tokens, and of which is said how it is read.
type heardAgent struct{ dialect, agent string }

// mostHeard is how many members agent an answerer remembers, and maxHeard how long
// one may be.
const mostHeard, maxHeard = 1000, 200

// A basis is what rules are made from, but for the agent.
type basis struct {
	ask.Source
	dialect  string
	maxBytes int
	at       time.Time // of a record
}

// maxRemembered is the longest body that an answerer remembers, in bytes.
const maxRemembered = 1 << 20

// NewAnswerer returns an answerer of questions that leave out what d stands for.
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

// Append appends the answer to a question that no site is asked for (Defaults.Site),
// without a line end.
func (a *Answerer) Append(dst []byte, q *Question) []byte {
	return a.append(dst, q, nil, time.Time{})
}

// AppendRecord appends the answer to a question about the site of r, as at now if
// neither the line nor the defaults name another time. Records that are the same
// pointer are the same.
func (a *Answerer) AppendRecord(dst []byte, q *Question, r *fetch.Record, now time.Time) []byte {
	return a.append(dst, q, r, now)
}

// AppendError appends what is wrong with a question, in place of its answer.
func AppendError(dst []byte, q *Question, code Code, err error) []byte {
	dst = append(q.appendID(dst), `,"error":`...)
	dst = robots.AppendQuoted(dst, err.Error())
	dst = append(dst, `,"code":"`...)
	dst = append(dst, code...)
	return append(dst, `"}`...)
}

func (a *Answerer) append(dst []byte, q *Question, r *fetch.Record, now time.Time) []byte {
	path, url, err := a.judge(q, r, now)
	if a.answered = err == nil; err != nil {
		return AppendError(dst, q, codeOf(err), err)
	}
	v := a.rules.Match(path)
	dst = a.rules.AppendVerdict(append(q.appendID(dst), ','), v)
	dst = append(dst, `,"url":`...)
	dst = robots.AppendQuoted(dst, url)
	dst = append(dst, `,"agent":`...)
	if q.agent != nil {
		dst = appendGiven(dst, q.agent)
	} else {
		dst = append(dst, a.given...)
	}
	if len(q.robots)+len(q.robotsB64)+len(q.agent) > maxRemembered {
		*a = Answerer{Defaults: a.Defaults, given: a.given, answered: true}
	}
	a.last = v
	return append(dst, '}')
}

// Last returns the verdict of the last answer, and false if that was an error.
func (a *Answerer) Last() (robots.Verdict, bool) { return a.last, a.answered }

func (q *Question) appendID(dst []byte) []byte {
	dst = append(dst, `{"id":`...)
	if q.id == nil {
		return append(dst, "null"...)
	}
	return appendGiven(dst, q.id)
}

// appendGiven appends the text of a member as it was written, but for what would
// break the line for its reader: raw CR between the tokens of a list or an object,
// and bytes that are no UTF-8.
func appendGiven(dst, text []byte) []byte {
	if bytes.IndexByte(text, '\r') >= 0 {
		var b bytes.Buffer
		if json.Compact(&b, text) == nil {
			text = b.Bytes()
		}
	}
	return appendValidUTF8(dst, text)
}

// judge checks the members of a question and makes the rules that it asks.
func (a *Answerer) judge(q *Question, r *fetch.Record, now time.Time) (path robots.Path, url string, err error) {
	if q.bad != nil {
		return path, "", q.bad
	}
	d, err := a.dialectOf(q)
	if err != nil {
		return path, "", err
	}
	from := basis{dialect: d.Name}
	if from.maxBytes, err = a.limitOf(q); err != nil {
		return path, "", err
	}
	at, err := a.timeOf(q)
	if err != nil {
		return path, "", err
	}
	if at.IsZero() {
		at = now
	}
	if q.url == nil {
		return path, "", fail(BadURL, errors.New("url is missing"))
	}
	fetched := a.fetches(q)
	if url, path = q.text, q.path; !q.split || d.Escapes == robots.EscapesRaw {
		var ok bool
		if url, ok = decodeString(q.url); !ok {
			return path, "", fail(BadURL, errors.New("url is not a string"))
		}
		if _, path, err = ask.URL(d, url, fetched); err != nil {
			return path, "", fail(BadURL, err)
		}
	}
	tokens, heard := a.heard[heardAgent{d.Name, string(q.agent)}]
	if !heard {
		if tokens, err = a.tokensOf(q, d); err != nil {
			return path, "", err
		}
	}
	switch {
	case !fetched: // its verdicts do not depend on the time
		limit := d.MaxFileBytes
		if from.maxBytes > 0 {
			limit = from.maxBytes
		}
		from.File, err = a.fileOf(q, limit)
	case r == nil:
		err = fail(Pending, errors.New("its robots.txt is not there"))
	default:
		from.Record, from.at = r, at
	}
	if err != nil {
		return path, "", err
	}
	if a.rules == nil || a.from != from || !bytes.Equal(a.agent, q.agent) {
		if q.agent != nil && !heard {
			a.hear(q.agent, tokens, d)
		}
		a.from, a.agent = from, append(a.agent[:0], q.agent...)
		rules := from.Obey(d, from.maxBytes, at, tokens)
		if a.UserInitiated {
			rules = rules.UserInitiated()
		}
		a.rules = &ask.RuleSet{Rules: rules}
	}
	return path, url, nil
}

// hear says how the tokens of a member agent are read, and remembers them.
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

// fileOf returns the file of a line: its own, the one before if the line repeats
// it, or that of the defaults. Of its own only what can count under the limit is parsed,
// with one byte more to show that there is more, so that a line of 64 MiB
// costs little more than reading it.
func (a *Answerer) fileOf(q *Question, limit int) (*robots.File, error) {
	text, name := q.robots, "robots"
	switch {
	case q.robots != nil && q.robotsB64 != nil:
		return nil, errors.New("robots and robots_b64 are both there: a line has one file")
	case q.robotsB64 != nil:
		text, name = q.robotsB64, "robots_b64"
	case q.robots == nil:
		return a.File, nil // since fetches is false
	}
	coded := q.robotsB64 != nil
	if a.file != nil && a.coded == coded && a.limit == limit && bytes.Equal(a.body, text) {
		return a.file, nil
	}
	if text[0] != '"' {
		return nil, errors.New(name + " is not a string")
	}
	a.file, a.rules = nil, nil // which read from buf
	a.buf = unquote(slices.Grow(a.buf[:0], len(text)), text)
	body := a.buf
	if coded {
		var err error
		if body, err = base64.StdEncoding.AppendDecode(nil, body); err != nil {
			return nil, fmt.Errorf("robots_b64 is not base64: %w", err)
		}
	}
	if limit > 0 && len(body)-1 > limit {
		body, a.buf = bytes.Clone(body[:limit+1]), nil
	}
	a.body, a.coded, a.limit, a.file = append(a.body[:0], text...), coded, limit, robots.Parse(body)
	return a.file, nil
}
