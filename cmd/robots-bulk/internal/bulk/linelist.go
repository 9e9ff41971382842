package bulk

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/robotskit/robots/cmd/internal/lines"
)

// startsWithCDXJ reports whether a text begins with a line of CDXJ, or with one of its head.
func startsWithCDXJ(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if bytes.HasPrefix(line, []byte("!")) {
		return true
	}
	fields := bytes.Fields(line)
	return len(fields) > 2 && len(fields[1]) == 14 && len(bytes.Trim(fields[1], "0123456789")) == 0 && fields[2][0] == '{'
}

// readLineList reads JSON Lines and CDXJ, whose lines have a key and a time before.
func readLineList(b *bufio.Reader, name string, fn func(p rowPosition, l listedURL) (bool, error)) error {
	for r := lines.NewReader(b, maxLineBytes); ; {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if errors.Is(err, lines.ErrLong) {
			return fmt.Errorf("%s line %d: %w", name, r.Number, errLongLine)
		} else if err != nil {
			return fmt.Errorf("%s after line %d: %w", name, r.Number, err)
		}
		if text := bytes.TrimSpace(line); len(text) > 0 && text[0] != '!' {
			p := rowPosition{name, "line", r.Number}
			l, err := readLine(text)
			if err != nil {
				return fmt.Errorf("%s %w", p, err)
			}
			if more, err := fn(p, l); err != nil || !more {
				return err
			}
		}
	}
}

// readLine reads a line of JSON or CDXJ.
func readLine(line []byte) (l listedURL, err error) {
	object := line
	var key, at []byte
	if line[0] != '{' {
		key, object, _ = bytes.Cut(line, []byte(" "))
		at, object, _ = bytes.Cut(object, []byte(" "))
	}
	var row struct {
		URL       *string        `json:"url"`
		At        jsontext.Value `json:"at"`
		FetchTime jsontext.Value `json:"fetch_time"`
		Timestamp jsontext.Value `json:"timestamp"`
		SURTKey   string         `json:"url_surtkey"`
		URLKey    string         `json:"urlkey"`
	}
	switch err := json.Unmarshal(object, &row, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); {
	case err != nil:
		return l, fmt.Errorf("is not JSON or CDXJ: %w", err)
	case row.URL == nil:
		return l, errors.New("has no url")
	}
	l = listedURL{*row.URL, time.Time{}, cmp.Or(string(key), row.SURTKey, row.URLKey)}
	if len(at) > 0 {
		l.at, err = listTime(string(at))
	} else {
		l.at, err = memberTime(row.At, row.FetchTime, row.Timestamp)
	}
	if err != nil {
		return l, fmt.Errorf("is invalid: %w", err)
	}
	l.setSiteKey()
	return l, nil
}

// memberTime returns the time in the first of some members that is neither absent nor null nor empty.
func memberTime(members ...jsontext.Value) (at time.Time, err error) {
	for _, member := range members {
		switch member.Kind() {
		case '"':
			text, _ := jsontext.AppendUnquote(nil, member) // invalid UTF-8 becomes U+FFFD
			if len(text) == 0 {
				continue
			}
			return listTime(string(text))
		case '0':
			return at, errNumber(string(member))
		}
	}
	return at, nil
}
