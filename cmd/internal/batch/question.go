package batch

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Question is one line: its members as JSON texts, nil for a member that is absent or
// null. It refers to the line that it was read from.
type Question struct {
	id, robots, robotsB64, agent, url, dialect, maxBytes, at, userInitiated []byte

	row bool  // the members are values (ReadRow), and a row answers
	bad error // what is wrong with the line as a whole
}

// Bad is the question of a line, or a row, that cannot be read, and so has no id.
func Bad(row bool, code Code, err error) Question { return Question{row: row, bad: coded{code, err}} }

var memberNames = []string{"id", "robots", "robots_b64", "agent", "url", "dialect", "max_bytes", "at", "user_initiated"}

// member returns where a member is kept, nil for an unknown name.
func (q *Question) member(name string) *[]byte {
	i := slices.Index(memberNames, name)
	if i < 0 {
		return nil
	}
	return [...]*[]byte{&q.id, &q.robots, &q.robotsB64, &q.agent, &q.url, &q.dialect, &q.maxBytes, &q.at, &q.userInitiated}[i]
}

// string returns the value of a member, false if it is not a string.
func (q *Question) string(member []byte) (string, bool) {
	if q.row {
		return string(member), true
	}
	return decodeString(member)
}

// Read splits a line into its members; of a name given twice the last counts. A misspelled
// name is an error of the line, whose answer has the id.
func Read(line []byte) Question {
	if !isJSON(line) {
		return Bad(false, BadJSON, jsonError(line))
	}
	return ReadValid(line)
}

// ReadValid is Read for JSON that is part of a text that Members has read.
func ReadValid(line []byte) (q Question) {
	object := membersOf(line, func(name string, value []byte) {
		if string(value) == "null" {
			value = nil
		}
		if m := q.member(name); m != nil {
			*m = value
		} else if meant := memberMeant(name); meant != "" && q.bad == nil {
			q.bad = fmt.Errorf("unknown member %s: the name is %s", strconv.Quote(name), meant)
		}
	})
	if !object {
		return Bad(false, BadJSON, errors.New("the line is JSON, but not an object"))
	}
	return q
}

// jsonError describes why a line is not JSON, and where.
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

// memberMeant returns the member that an unknown name misspells, "" if there is none: a name in
// other letter case or, if it is long, with one edit. One edit away from url and id are uri and
// uid, which other programs use.
func memberMeant(name string) string {
	for _, known := range memberNames {
		if strings.EqualFold(name, known) || len(known) > len("url") && oneEdit(name, known) {
			return known
		}
	}
	return ""
}

// oneEdit reports whether one letter of a name, or two neighbors, must be added, dropped, changed or
// swapped to turn it into a known name of ASCII. A line can have many names, so it allocates nothing.
func oneEdit(name, known string) bool {
	for name != "" && known != "" && name[0] == known[0] {
		name = name[1:]
		known = known[1:]
	}
	for name != "" && known != "" && name[len(name)-1] == known[len(known)-1] {
		name = name[:len(name)-1]
		known = known[:len(known)-1]
	}
	if len(name) == 2 && len(known) == 2 {
		return name[0] == known[1] && name[1] == known[0]
	}
	return name != known && len(known) <= 1 && len(name) <= utf8.UTFMax && utf8.RuneCountInString(name) <= 1
}

// body returns the file in a question, of which it has a member. It is not nil.
func (q *Question) body() ([]byte, error) {
	text := q.robots
	name := "robots"
	if q.robotsB64 != nil {
		text = q.robotsB64
		name = "robots_b64"
		if q.robots != nil {
			return nil, errors.New("robots and robots_b64 are both set: use one")
		}
	}
	if text[0] != '"' {
		return nil, errors.New(name + " is not a string")
	}
	value := decodeBytes(text)
	if q.robotsB64 == nil {
		return value, nil
	}
	body, err := base64.StdEncoding.AppendDecode(nil, value)
	if err != nil {
		return nil, fmt.Errorf("robots_b64 is not base64: %w", err)
	}
	return body, nil
}

// ID returns the JSON text of the member id, "" without one.
func (q *Question) ID() string {
	if q.id == nil {
		return ""
	}
	return string(appendMember(nil, q.id))
}

// Archived returns the members of a line that archives a robots.txt: the URL of its site, the body,
// and the time in the member at, zero without one. It ignores all other members.
func (q *Question) Archived() (url string, body []byte, at time.Time, err error) {
	switch {
	case q.bad != nil:
		return "", nil, at, q.bad
	case q.url == nil:
		return "", nil, at, coded{BadURL, errors.New("url is missing")}
	case q.robots == nil && q.robotsB64 == nil:
		return "", nil, at, errors.New("robots and robots_b64 are both missing")
	}
	url, ok := decodeString(q.url)
	if !ok {
		return "", nil, at, coded{BadURL, errors.New("url is not a string")}
	}
	if at, err = q.time(); err == nil {
		body, err = q.body()
	}
	return url, body, at, err
}
