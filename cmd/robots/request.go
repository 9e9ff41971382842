package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// This file holds what one line of a batch asks, and its answer (docs/batch.md).

// A request is one line of a batch: its members as JSON texts, nil for a member
// that is absent or null.
type request struct {
	id, robots, robotsB64, agent, url, dialect, maxBytes, at []byte

	bad  error // what is wrong with the line
	site *site // of a line that asks about a live one
}

// member returns where a member is kept, nil for an unknown name.
func (q *request) member(name string) *[]byte {
	switch name {
	case "id":
		return &q.id
	case "robots":
		return &q.robots
	case "robots_b64":
		return &q.robotsB64
	case "agent":
		return &q.agent
	case "url":
		return &q.url
	case "dialect":
		return &q.dialect
	case "max_bytes":
		return &q.maxBytes
	case "at":
		return &q.at
	}
	return nil
}

// read splits a line into its members. The members are compared byte by byte
// (encoding/json would take URL for url), the last of a name counts. A name that
// is a slip away from a member is an error, found with the whole line read, so
// that the answer has the id.
func (q *request) read(line []byte) {
	object, valid := eachMember(line, func(text, value []byte) {
		if string(value) == "null" {
			value = nil
		}
		m := q.member(string(text[1 : len(text)-1]))
		if m == nil {
			name, _ := decodeString(text)
			if m = q.member(name); m == nil {
				if meant := memberMeant(name); meant != "" && q.bad == nil {
					q.bad = fmt.Errorf("unknown member %s: the name is %s", strconv.Quote(name), meant)
				}
				return
			}
		}
		*m = value
	})
	switch {
	case !valid:
		*q = request{bad: jsonError(line)}
	case !object:
		q.bad = errors.New("the line is JSON, but not an object")
	}
}

// jsonError says why a line is no JSON and where.
func jsonError(line []byte) error {
	if len(bytes.TrimLeft(line, " \t\r")) == 0 {
		return errors.New("the line is empty, not a JSON object")
	}
	var value json.RawMessage
	err := json.Unmarshal(line, &value)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("the line is not JSON: %w at byte %d", err, syntax.Offset)
	}
	return fmt.Errorf("the line is not JSON: %w", err)
}

// memberMeant returns the member that an unknown name is a slip away from, "" if
// there is none: a name in other letter case, or, of the longer ones, with one
// letter added, dropped, changed or swapped. Of url that would be uri, and of id
// uid, which are names that other programs use.
func memberMeant(name string) string {
	for _, known := range []string{"id", "url", "at", "agent", "robots", "robots_b64", "dialect", "max_bytes"} {
		if strings.EqualFold(name, known) || len(known) > len("url") && max(len(name)-len(known), len(known)-len(name)) < utf8.UTFMax && edits(name, known) == 1 {
			return known
		}
	}
	return ""
}

// fetches reports whether a line asks about the live site.
func (b *batch) fetches(q *request) bool {
	return b.live != nil && q.robots == nil && q.robotsB64 == nil
}

// An answerer answers lines of a batch, one after another. It remembers the
// last file and the last rules, because many lines in succession ask about one
// file. There are as many as processors, so that no more files are in memory than
// can be read at a time.
type answerer struct {
	*batch
	now time.Time // of the job under way

	body  []byte // the member robots or robots_b64 that file was read from
	buf   []byte // the value of that
	coded bool   // the member was robots_b64
	limit int    // bytes of it that can count, 0 for all
	file  *robots.File

	last   *site // whose record was asked for last
	record *fetch.Record

	rules *ruleSet // made from
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
	source
	dialect  string
	maxBytes int
	at       time.Time // of a record
}

// maxRemembered is the longest body that an answerer remembers, in bytes.
const maxRemembered = 1 << 20

// append appends the answer to a line, or what is wrong with it. Its error is
// the end of ctx, and then nothing is appended.
func (a *answerer) append(ctx context.Context, dst []byte, q *request) ([]byte, error) {
	var path robots.Path
	url, err := "", q.bad
	if err == nil {
		path, url, err = a.answer(ctx, q)
	}
	if err != nil && ctx.Err() != nil {
		return dst, errInterrupted
	}
	dst = append(dst, `{"id":`...)
	if q.id == nil {
		dst = append(dst, "null"...)
	} else {
		dst = appendGiven(dst, q.id)
	}
	if err != nil {
		dst = append(dst, `,"error":`...)
		return append(robots.AppendQuoted(dst, err.Error()), '}'), nil
	}
	dst = a.rules.appendJSON(append(dst, ','), a.rules.Match(path))
	dst = append(dst, `,"url":`...)
	dst = robots.AppendQuoted(dst, url)
	dst = append(dst, `,"agent":`...)
	if q.agent != nil {
		dst = appendGiven(dst, q.agent)
	} else {
		dst = append(dst, a.batch.agent...)
	}
	if len(q.robots)+len(q.robotsB64)+len(q.agent) > maxRemembered {
		*a = answerer{batch: a.batch, now: a.now}
	}
	return append(dst, '}'), nil
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

// answer checks the members of a line and makes the rules that it asks.
func (a *answerer) answer(ctx context.Context, q *request) (path robots.Path, url string, err error) {
	d, err := a.dialectOf(q)
	if err != nil {
		return path, "", err
	}
	from := basis{dialect: d.Name, maxBytes: a.maxBytes}
	if q.maxBytes != nil {
		if from.maxBytes, err = wholeNumber(q.maxBytes); err != nil {
			return path, "", fmt.Errorf("max_bytes %w", err)
		}
	}
	at, err := a.timeOf(q)
	if err != nil {
		return path, "", err
	}
	if q.url == nil {
		return path, "", errors.New("url is missing")
	}
	url, ok := decodeString(q.url)
	if !ok {
		return path, "", errors.New("url is not a string")
	}
	if _, path, err = split(d, url, a.fetches(q)); err != nil {
		return path, "", err
	}
	tokens, heard := a.heard[heardAgent{d.Name, string(q.agent)}]
	if !heard {
		if tokens, err = a.tokensOf(q, d); err != nil {
			return path, "", err
		}
	}
	if a.fetches(q) {
		if q.site != a.last {
			if a.record, err = a.live.get(ctx, q.site); err != nil {
				return path, "", err
			}
			a.last = q.site
			a.live.hint(a.record)
		}
		from.source.record, from.at = a.record, at
	} else { // whose verdicts do not depend on the time
		limit := d.MaxFileBytes
		if from.maxBytes > 0 {
			limit = from.maxBytes
		}
		from.source.file, err = a.fileOf(q, limit)
	}
	if err != nil {
		return path, "", err
	}
	if a.rules == nil || a.from != from || !bytes.Equal(a.agent, q.agent) {
		if q.agent != nil && !heard {
			a.hear(q.agent, tokens, d)
		}
		a.from, a.agent = from, append(a.agent[:0], q.agent...)
		a.rules = a.compile(from.source, d, from.maxBytes, at, tokens)
	}
	return path, url, nil
}

// hear says how the tokens of a member agent are read, and remembers them.
func (a *answerer) hear(agent []byte, tokens []string, d robots.Dialect) {
	for _, t := range tokens {
		a.said.warn(a.call, t, d)
	}
	if len(agent) > maxHeard {
		return
	}
	if a.heard == nil || len(a.heard) == mostHeard {
		a.heard = map[heardAgent][]string{}
	}
	a.heard[heardAgent{d.Name, string(agent)}] = tokens
}

// timeOf returns the time at which a line is to be judged.
func (a *answerer) timeOf(q *request) (time.Time, error) {
	switch {
	case q.at == nil && !a.at.IsZero():
		return a.at, nil
	case q.at == nil:
		return a.now, nil
	}
	text, ok := decodeString(q.at)
	if !ok {
		return time.Time{}, errors.New("at is not a string")
	}
	at, err := parseTime(text)
	if err != nil {
		return at, fmt.Errorf("at %w", err)
	}
	return at, nil
}

func (a *answerer) dialectOf(q *request) (robots.Dialect, error) {
	if q.dialect == nil {
		return a.dialects[0], nil
	}
	name, ok := decodeString(q.dialect)
	switch {
	case !ok:
		return robots.Dialect{}, errors.New("dialect is not a string")
	case name == allDialects:
		return robots.Dialect{}, errors.New("dialect is all: a line asks for one dialect")
	}
	return dialectByName(name)
}

// tokensOf returns the tokens of a line, without a member of its own those of the
// flags.
func (a *answerer) tokensOf(q *request, d robots.Dialect) ([]string, error) {
	if q.agent == nil {
		return a.tokens, checkAgents(a.tokens, d)
	}
	var tokens []string
	fits := true
	if token, ok := decodeString(q.agent); ok {
		tokens = []string{token}
	} else if list := eachElement(q.agent, func(value []byte) {
		token, ok := decodeString(value)
		tokens = append(tokens, token)
		fits = fits && ok
	}); !list || !fits {
		return nil, errors.New("agent is neither a string nor a list of strings")
	}
	for _, t := range tokens {
		if names := listed(t); names != nil && reads(d) {
			return nil, fmt.Errorf("agent %s is a list in one string: give a list of strings, the most wanted first, as in %s", strconv.Quote(clip(t)), appendStrings(nil, names))
		}
	}
	return tokens, nil
}

// fileOf returns the file of a line: its own, the one before if the line repeats
// it, or that of -f. Of its own only what can count under the limit is parsed,
// with one byte more to show that there is more, so that a line of 64 MiB
// costs little more than reading it.
func (a *answerer) fileOf(q *request, limit int) (*robots.File, error) {
	text, name := q.robots, "robots"
	switch {
	case q.robots != nil && q.robotsB64 != nil:
		return nil, errors.New("robots and robots_b64 are both there: a line has one file")
	case q.robotsB64 != nil:
		text, name = q.robotsB64, "robots_b64"
	case q.robots == nil:
		return a.call.file, nil // of -f, since fetches is false
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

// wholeNumber reads a JSON number that is a number of bytes, however it is
// written: 1e3 is 1000.
func wholeNumber(text []byte) (int, error) {
	n, err := strconv.ParseFloat(string(text), 64)
	switch {
	case n >= math.MaxInt:
		return math.MaxInt, nil
	case err == nil && n >= 0 && n == math.Trunc(n):
		return int(n), nil
	}
	return 0, fmt.Errorf("is %s, not a number of bytes, 0 or more", clip(string(text)))
}
