package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// An answerer answers lines of a batch, one after another. It remembers the
// last file and the last rules, because many lines in succession ask about one
// file. There are as many as processors, so that no more files are in hand than
// can be read at a time.
type answerer struct {
	defaults *defaults

	body   []byte // the member robots or robots_b64 that parsed was read from
	coded  bool   // the member was robots_b64
	limit  int    // bytes of it that can count, 0 for all
	parsed *robots.File

	now    time.Time     // of the chunk under way
	last   *site         // whose record was asked for last
	record *fetch.Record // it

	rules    *robots.Rules
	file     *robots.File // that rules was made from, or
	source   *fetch.Record
	at       time.Time // of source
	dialect  string
	maxBytes int
	agent    []byte
}

// maxRemembered is the longest body that an answerer remembers.
const maxRemembered = 1 << 20

// A request is one line of a batch: its members as JSON texts, nil for a member
// that is absent or null.
type request struct {
	id, robots, robotsB64, agent, url, dialect, maxBytes, at []byte

	site *site // of a line that asks about a live one
}

// fetches reports whether a line asks about the live site.
func (d *defaults) fetches(q *request) bool {
	return d.live != nil && q.robots == nil && q.robotsB64 == nil
}

// append appends the answer to a line, or what is wrong with it. Its error is
// the end of ctx, and then nothing is appended.
func (a *answerer) append(ctx context.Context, dst []byte, q *request) ([]byte, error) {
	rules, path, url, err := a.question(ctx, q)
	if err != nil {
		if ctx.Err() != nil {
			return dst, errInterrupted
		}
		return appendError(dst, q.id, err), nil
	}
	dst = appendID(dst, q.id)
	dst = append(dst, ',')
	dst = rules.AppendJSON(dst, path)
	dst = append(dst, `,"url":`...)
	dst = robots.AppendQuoted(dst, url)
	dst = append(dst, `,"agent":`...)
	if q.agent != nil {
		dst = appendGiven(dst, q.agent)
	} else {
		dst = append(dst, a.defaults.agent...)
	}
	return append(dst, '}'), nil
}

func appendError(dst, id []byte, err error) []byte {
	dst = appendID(dst, id)
	dst = append(dst, `,"error":`...)
	dst = robots.AppendQuoted(dst, err.Error())
	return append(dst, '}')
}

func appendID(dst, id []byte) []byte {
	if id == nil {
		return append(dst, `{"id":null`...)
	}
	return appendGiven(append(dst, `{"id":`...), id)
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

// readRequest splits a line into its members. The members are compared byte by
// byte (encoding/json would take URL for url), the last of a name counts. A name
// that is a slip away from a member is an error, found with the whole line read,
// so that the answer has the id.
func readRequest(line []byte) (request, error) {
	var q request
	var slip error
	if len(bytes.TrimLeft(line, " \t\r")) == 0 {
		return q, errors.New("the line is empty, not a JSON object")
	}
	if !json.Valid(line) {
		return q, jsonError(line)
	}
	ok := eachMember(line, func(name string, value []byte) {
		if string(value) == "null" {
			value = nil
		}
		switch name {
		case "id":
			q.id = value
		case "robots":
			q.robots = value
		case "robots_b64":
			q.robotsB64 = value
		case "agent":
			q.agent = value
		case "url":
			q.url = value
		case "dialect":
			q.dialect = value
		case "max_bytes":
			q.maxBytes = value
		case "at":
			q.at = value
		default:
			if meant := memberMeant(name); meant != "" && slip == nil {
				slip = fmt.Errorf("unknown member %s: the name is %s", strconv.Quote(name), meant)
			}
		}
	})
	if !ok {
		return q, errors.New("the line is JSON, but not an object")
	}
	return q, slip
}

// memberMeant returns the member that an unknown name is a slip away from, "" if
// there is none: a name in other letter case, or, of the longer ones, with one
// letter added, dropped, changed or swapped. Of url that would be uri, and of id
// uid, which are names that other programs use.
func memberMeant(name string) string {
	for _, known := range []string{"id", "url", "at", "agent", "robots", "robots_b64", "dialect", "max_bytes"} {
		if strings.EqualFold(name, known) || len(known) > len("url") && oneSlip(name, known) {
			return known
		}
	}
	return ""
}

// oneSlip reports whether one letter added, dropped or changed, or two neighbours
// swapped, make a of b, which is in ASCII.
func oneSlip(a, b string) bool {
	if len(a) > len(b)+utf8.UTFMax {
		return false
	}
	x, y := []rune(a), []rune(b)
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return len(x) <= 1 && len(y) <= 1 || len(x) == 2 && len(y) == 2 && x[0] == y[1] && x[1] == y[0]
}

// jsonError says why a line is no JSON and where.
func jsonError(line []byte) error {
	var value json.RawMessage
	err := json.Unmarshal(line, &value)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("the line is not JSON: %w at byte %d", err, syntax.Offset)
	}
	return fmt.Errorf("the line is not JSON: %w", err)
}

// question checks the members of a line and returns what they ask.
func (a *answerer) question(ctx context.Context, q *request) (rules *robots.Rules, path robots.Path, url string, err error) {
	d, err := a.dialectOf(q)
	if err != nil {
		return nil, path, "", err
	}
	maxBytes := a.defaults.maxBytes
	if q.maxBytes != nil {
		if maxBytes, err = wholeNumber(q.maxBytes); err != nil {
			return nil, path, "", fmt.Errorf("max_bytes %w", err)
		}
	}
	at, err := a.timeOf(q)
	if err != nil {
		return nil, path, "", err
	}
	if q.url == nil {
		return nil, path, "", errors.New("url is missing")
	}
	url, ok := decodeString(q.url)
	if !ok {
		return nil, path, "", errors.New("url is not a string")
	}
	if a.defaults.fetches(q) {
		_, path, err = parseLive(d, url)
	} else {
		path, err = parsePath(d, url)
	}
	if err != nil {
		return nil, path, "", err
	}
	tokens, err := a.tokens(q, d)
	if err != nil {
		return nil, path, "", err
	}
	var file *robots.File
	var record *fetch.Record
	if a.defaults.fetches(q) {
		if record, err = a.recordOf(ctx, q.site); err != nil {
			return nil, path, "", err
		}
	} else {
		_, read := limited(nil, d, maxBytes)
		if file, err = a.fileOf(q, read.MaxFileBytes); err != nil {
			return nil, path, "", err
		}
		at = time.Time{} // verdicts of a file do not depend on it
	}
	a.compile(q, file, record, d, maxBytes, at, tokens)
	rules = a.rules
	if len(q.robots)+len(q.robotsB64)+len(q.agent) > maxRemembered {
		a.forget()
	}
	return rules, path, url, nil
}

// compile makes the rules that a line asks, unless they are those of the line before:
// of a file or, at a time, of a record.
func (a *answerer) compile(q *request, file *robots.File, record *fetch.Record, d robots.Dialect, maxBytes int, at time.Time, tokens []string) {
	if a.rules != nil && a.file == file && a.source == record && a.at.Equal(at) && a.dialect == d.Name && a.maxBytes == maxBytes && bytes.Equal(a.agent, q.agent) {
		return
	}
	if q.agent != nil {
		for _, t := range tokens {
			a.defaults.told.warn(a.defaults.std, t, d)
		}
	}
	a.file, a.source, a.at, a.dialect, a.maxBytes, a.agent = file, record, at, d.Name, maxBytes, bytes.Clone(q.agent)
	if record != nil {
		a.rules = rulesOf(record, d, maxBytes, at, tokens...)
	} else {
		f, d := limited(file, d, maxBytes)
		a.rules = f.Rules(d, tokens...)
	}
	if a.defaults.userInitiated {
		a.rules = a.rules.UserInitiated()
	}
}

// timeOf returns the time at which a line is to be judged.
func (a *answerer) timeOf(q *request) (time.Time, error) {
	if q.at == nil {
		if at := a.defaults.at; !at.IsZero() {
			return at, nil
		}
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

// recordOf returns the robots.txt of a site that is ready.
func (a *answerer) recordOf(ctx context.Context, s *site) (*fetch.Record, error) {
	if s != a.last {
		r, err := a.defaults.live.get(ctx, s)
		if err != nil {
			return nil, err
		}
		a.defaults.live.hint(r)
		a.last, a.record = s, r
	}
	return a.record, nil
}

func (a *answerer) dialectOf(q *request) (robots.Dialect, error) {
	if q.dialect == nil {
		return a.defaults.dialect, nil
	}
	name, ok := decodeString(q.dialect)
	if !ok {
		return robots.Dialect{}, errors.New("dialect is not a string")
	}
	if name == allDialects {
		return robots.Dialect{}, errors.New("dialect is all: a line asks for one dialect")
	}
	return dialectByName(name)
}

// tokens returns the tokens of a line, without a member of its own those of the
// flags.
func (a *answerer) tokens(q *request, d robots.Dialect) ([]string, error) {
	if q.agent == nil {
		return a.defaults.tokens, checkAgents(a.defaults.tokens, d)
	}
	var tokens []string
	if token, ok := decodeString(q.agent); ok {
		tokens = []string{token}
	} else if !eachElement(q.agent, func(value []byte) bool {
		token, ok := decodeString(value)
		tokens = append(tokens, token)
		return ok
	}) {
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
	text, coded := q.robots, false
	switch {
	case q.robots != nil && q.robotsB64 != nil:
		return nil, errors.New("robots and robots_b64 are both there: a line has one file")
	case q.robotsB64 != nil:
		text, coded = q.robotsB64, true
	case q.robots == nil:
		return a.defaults.file, nil // of -f, since fetches is false
	}
	if a.parsed != nil && a.coded == coded && a.limit == limit && bytes.Equal(a.body, text) {
		return a.parsed, nil
	}
	if text[0] != '"' {
		if coded {
			return nil, errors.New("robots_b64 is not a string")
		}
		return nil, errors.New("robots is not a string")
	}
	var body []byte
	if coded {
		code := text[1 : len(text)-1]
		if bytes.IndexByte(code, '\\') >= 0 {
			code = unquote(nil, text)
		}
		var err error
		if body, err = base64.StdEncoding.AppendDecode(nil, code); err != nil {
			return nil, fmt.Errorf("robots_b64 is not base64: %w", err)
		}
	} else {
		body = unquote(make([]byte, 0, len(text)), text)
	}
	if limit > 0 && len(body)-1 > limit {
		body = bytes.Clone(body[:limit+1])
	}
	a.body, a.coded, a.limit, a.parsed = bytes.Clone(text), coded, limit, robots.Parse(body)
	return a.parsed, nil
}

// forget lets go of a large line.
func (a *answerer) forget() {
	*a = answerer{defaults: a.defaults, now: a.now}
}

// wholeNumber reads a JSON number that is a number of bytes, however it is
// written: 1e3 is 1000.
func wholeNumber(text []byte) (int, error) {
	if c := text[0]; c == '-' || '0' <= c && c <= '9' {
		if n, err := parseMaxBytes(string(text)); err == nil {
			return n, nil
		}
		f, err := strconv.ParseFloat(string(text), 64)
		switch {
		case math.IsInf(f, 1):
			return math.MaxInt, nil
		case err == nil && f >= 0 && f == math.Trunc(f):
			if f >= math.MaxInt {
				return math.MaxInt, nil
			}
			return int(f), nil
		}
	}
	return 0, fmt.Errorf("is %s, not a number of bytes, 0 or more", clip(string(text)))
}
