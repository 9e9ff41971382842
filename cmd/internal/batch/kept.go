package batch

import (
	"errors"
	"time"
)

// Kept returns the members of a line that archives a robots.txt: the URL of its site, the body,
// and the time in the member at, zero without one. It ignores all other members.
func (q *Question) Kept() (url string, body []byte, at time.Time, err error) {
	switch {
	case q.bad != nil:
		return "", nil, at, q.bad
	case q.url == nil:
		return "", nil, at, errors.New("url is missing")
	case q.robots == nil && q.robotsB64 == nil:
		return "", nil, at, errors.New("robots and robots_b64 are both missing")
	}
	url, ok := decodeString(q.url)
	if !ok {
		return "", nil, at, errors.New("url is not a string")
	}
	if at, err = (&Defaults{}).timeOf(q); err != nil {
		return "", nil, at, err
	}
	var a Answerer
	a.Defaults = &Defaults{}
	if _, err = a.fileOf(q, 0); err != nil {
		return "", nil, at, err
	}
	return url, a.body, at, nil
}
