package batch

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
)

// This file reads the values of members.

// time returns the time at which a question is judged, zero without one.
func (q *Question) time() (at time.Time, err error) {
	if q.at == nil {
		return at, nil
	}
	text, ok := decodeString(q.at)
	if !ok {
		return at, errors.New("at is not a string")
	}
	if at, err = ask.Time(text); err != nil {
		return at, fmt.Errorf("at %w", err)
	}
	return at, nil
}

// userOf reports whether a user started the fetch.
func (d *Defaults) userOf(q *Question) (bool, error) {
	switch string(q.userInitiated) {
	case "":
		return d.UserInitiated, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errors.New("user_initiated is neither true nor false")
}

// dialectOf returns the dialect of a line, or true for AutoDialect, whose dialect its agent has.
func (d *Defaults) dialectOf(q *Question) (dialect robots.Dialect, auto bool, err error) {
	if q.dialect == nil {
		return d.Dialect, d.Auto, nil
	}
	name, ok := q.string(q.dialect)
	switch {
	case !ok:
		return dialect, false, errors.New("dialect is not a string")
	case name == ask.AutoDialect:
		return dialect, true, nil
	case name == ask.AllDialects:
		return dialect, false, errors.New("dialect is all: a question has one dialect")
	}
	dialect, err = ask.Dialect(name)
	return dialect, false, err
}

// limitOf returns the size limit of the file, 0 for that of the dialect.
func (d *Defaults) limitOf(q *Question) (int, error) {
	if q.maxBytes == nil {
		return d.MaxBytes, nil
	}
	n, err := wholeNumber(q.maxBytes)
	if err != nil {
		return 0, fmt.Errorf("max_bytes %w", err)
	}
	return answer.SizeLimit(n), nil
}

// tokensOf returns the tokens of a question, or those of the defaults.
func (d *Defaults) tokensOf(q *Question, dialect robots.Dialect) ([]string, error) {
	tokens := d.Agents
	if q.agent != nil {
		var err error
		if tokens, err = q.tokens(d.Limits.Tokens); err != nil {
			return nil, err
		}
	}
	for _, t := range tokens {
		if exceeds(len(t), d.Limits.Token) {
			return nil, fmt.Errorf("agent has a product token of more than %d bytes: use one such as MyBot", d.Limits.Token)
		}
		if names := ask.Listed(t); names != nil && !dialect.RawTokens {
			return nil, fmt.Errorf(
				"agent %s contains several tokens: use a list of strings (in a TSV row, separate them with spaces), most specific first, such as %s",
				strconv.Quote(ask.Clip(t)), answer.AppendStrings(nil, names),
			)
		}
	}
	return tokens, nil
}

// tokens returns the tokens in the member agent, at most limit, 0 for all.
func (q *Question) tokens(limit int) (tokens []string, err error) {
	isList := q.row && bytes.HasPrefix(q.agent, []byte("[")) // the only way to name a token with a space in a row
	if token, ok := q.string(q.agent); ok && !isList {
		if list := strings.Fields(token); q.row && len(list) > 1 && !strings.ContainsAny(token, "/(),;") {
			return list, nil // as in tables of robots-bulk
		}
		return []string{token}, nil
	}
	fits := true
	count := 0
	list := (!q.row || isJSON(q.agent)) && Elements(q.agent, func(value []byte) {
		count++
		if exceeds(count, limit) {
			return
		}
		token, ok := decodeString(value)
		tokens = append(tokens, token)
		fits = fits && ok
	})
	switch {
	case !list || !fits:
		return nil, errors.New("agent is neither a string nor a list of strings")
	case exceeds(count, limit):
		return nil, fmt.Errorf("agent has %d product tokens: at most %d are allowed", count, limit)
	}
	return tokens, nil
}

// wholeNumber returns a JSON number that is a number of bytes, in any notation: 1e3 is 1000.
func wholeNumber(text []byte) (int, error) {
	n, err := strconv.ParseFloat(string(text), 64)
	switch {
	case n >= math.MaxInt:
		return math.MaxInt, nil
	case err == nil && n >= 0 && n == math.Trunc(n):
		return int(n), nil
	}
	return 0, fmt.Errorf("is %s, not a number of bytes, 0 or more", ask.Clip(string(text)))
}
