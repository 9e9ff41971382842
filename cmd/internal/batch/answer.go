package batch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/quote"
)

// An Answerer answers questions, one after another. The last file is kept with its rules, as
// many lines often have one file. It is not safe for concurrent use.
type Answerer struct {
	*Defaults

	given []byte // the agents of the defaults as JSON

	bodies *bodies // of rows, nil without
	last   Last    // answer

	robots, robotsB64 []byte       // the members of the last line that has one of them
	file              *robots.File // parsed

	dialect string        // the word of the last line
	agent   []byte        // its member
	crawler *crawlerRules // that these name, nil for none
	known   map[agentKey]*crawlerRules
	from    basis // from which the rules of all known crawlers are made
	rules   int   // their number
}

// An agentKey is what names a crawler in a line: the word for the dialect, and the member agent.
type agentKey struct{ dialect, agent string }

// A crawlerRules is a crawler that lines name, with its rules in the last file, nil for none.
type crawlerRules struct {
	answer.Crawler
	rules *answer.RuleSet
}

// maxKnown limits the crawlers that an answerer keeps, as lines often name a few in turn.
const maxKnown = 1000

// maxRules limits the rules of all crawlers that an answerer keeps together, of about 20 bytes each.
const maxRules = 1 << 18

// A basis is everything that rules are made from, except the dialect and the agent.
type basis struct {
	source.RobotsTXT
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
		a.given = quote.Append(nil, d.Agents[0])
	default:
		a.given = answer.AppendStrings(nil, d.Agents)
	}
	return a
}

// Append appends the answer to a question that needs no fetch (Defaults.Site), without a line
// end.
func (a *Answerer) Append(dst []byte, q *Question) []byte {
	return a.AppendRecord(dst, q, nil, time.Time{})
}

// AppendRecord appends the answer to a question about the site of r, at now unless the line or
// the defaults have another time. Records are compared by pointer.
func (a *Answerer) AppendRecord(dst []byte, q *Question, r *fetch.Record, now time.Time) []byte {
	start := len(dst)
	if !q.row {
		dst = append(q.appendID(dst), ',')
	}
	dst, err := a.judge(dst, q, r, now)
	crawler := a.crawler
	if len(q.robots)+len(q.robotsB64)+len(q.agent) > maxRemembered {
		*a = Answerer{Defaults: a.Defaults, given: a.given, bodies: a.bodies, last: a.last}
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
	return append(crawler.AppendJSON(append(dst, ','), crawler.rules.Rules), '}')
}

// AppendError appends an error instead of an answer.
func AppendError(dst []byte, q *Question, code Code, err error) []byte {
	if q.row {
		return appendRowError(dst, err)
	}
	dst = q.appendID(dst)
	dst = append(dst, `,"error":`...)
	dst = quote.Append(dst, err.Error())
	dst = append(dst, `,"code":"`...)
	dst = append(dst, code...)
	return append(dst, `"}`...)
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
	d, auto, err := a.dialectOf(q)
	if err != nil {
		return dst, err
	}
	word := d.Name
	if auto {
		word = ask.AutoDialect
		if err := a.setCrawler(q, word, robots.RFC9309); err != nil {
			return dst, err
		}
		d = a.crawler.Dialect
	}
	var from basis
	if from.maxBytes, err = a.limitOf(q); err != nil {
		return dst, err
	}
	at, err := q.time()
	if err != nil {
		return dst, err
	}
	at = cmp.Or(at, a.At, now)
	if from.user, err = a.userOf(q); err != nil {
		return dst, err
	}
	if q.url == nil {
		return dst, coded{BadURL, errors.New("url is missing")}
	}
	fetched := a.fetches(q)
	url, ok := q.string(q.url)
	if !ok {
		return dst, coded{BadURL, errors.New("url is not a string")}
	}
	if exceeds(len(url), a.Limits.URL) {
		return dst, coded{BadURL, fmt.Errorf("url has more than %d bytes", a.Limits.URL)}
	}
	_, path, err := ask.URL(d, url, fetched)
	if err != nil {
		return dst, coded{BadURL, err}
	}
	if err := a.setCrawler(q, word, d); err != nil {
		return dst, err
	}
	switch {
	case !fetched: // its verdicts do not depend on the time
		if from.File, err = a.fileOf(q); err != nil {
			return dst, err
		}
	case r == nil:
		return dst, coded{Pending, errors.New("its robots.txt is not there")}
	default:
		from.Record, from.at = r, at
	}
	if a.from != from {
		a.from = from
		a.dropRules()
	}
	if a.crawler.rules == nil {
		if err := a.Budget.Work(budget.Reading(from.Size())); err != nil {
			return dst, err
		}
		rules := from.Obey(d, from.maxBytes, at, a.crawler.Tokens)
		if from.user {
			rules = rules.UserInitiated()
		}
		if a.rules += rules.Len(); a.rules > maxRules {
			a.dropRules()
			a.rules = rules.Len()
		}
		a.crawler.rules = &answer.RuleSet{Rules: rules, Limits: a.Limits.Answer, Budget: a.Budget}
	}
	v, err := a.crawler.rules.Judge(path)
	if err != nil {
		return dst, err
	}
	a.last = Last{true, v.Allowed, v.Undecided()}
	if q.row {
		return appendRow(dst, v), nil
	}
	// What is echoed can have control characters and bytes that are not UTF-8.
	if dst, err = a.crawler.rules.AppendWithin(dst, v, 6*len(url)+3*(len(q.id)+len(q.agent))+len(a.given)+answer.MaxAboutJSON); err != nil {
		return dst, err
	}
	dst = append(dst, `,"url":`...)
	before := len(dst)
	dst = quote.Append(dst, url)
	a.Budget.Free(6*len(url) - (len(dst) - before))
	return dst, nil
}

// dropRules drops the rules of all crawlers.
func (a *Answerer) dropRules() {
	a.rules = 0
	a.crawler.rules = nil
	for _, c := range a.known {
		c.rules = nil
	}
}

// setCrawler sets the crawler of a question in a dialect, or as its word auto means it.
func (a *Answerer) setCrawler(q *Question, word string, d robots.Dialect) error {
	if a.crawler != nil && a.dialect == word && bytes.Equal(a.agent, q.agent) {
		return nil
	}
	crawler := a.known[agentKey{word, string(q.agent)}]
	if crawler == nil {
		tokens, err := a.tokensOf(q, d)
		if err != nil {
			return err
		}
		crawler = &crawlerRules{Crawler: answer.InDialect(d, "", tokens...)}
		if word == ask.AutoDialect {
			crawler.Crawler = answer.Auto("", tokens...)
		}
		if len(q.agent) <= maxRemembered/maxKnown {
			if a.known == nil || len(a.known) == maxKnown {
				a.known = map[agentKey]*crawlerRules{}
			}
			a.known[agentKey{word, string(q.agent)}] = crawler
		}
	}
	a.crawler = crawler
	a.dialect = word
	a.agent = append(a.agent[:0], q.agent...)
	if a.Heard != nil && q.agent != nil {
		for _, t := range crawler.Given() {
			a.Heard(t, crawler.Dialect)
		}
	}
	return nil
}

// fileOf returns the file of a question: that of the defaults, or its own.
func (a *Answerer) fileOf(q *Question) (*robots.File, error) {
	switch {
	case q.row && q.robotsB64 != nil:
		if a.bodies == nil {
			a.bodies = newBodies()
		}
		return a.bodies.file(q.robotsB64)
	case q.robots == nil && q.robotsB64 == nil:
		return a.File, nil // as fetches is false
	case a.file != nil && bytes.Equal(a.robots, q.robots) && bytes.Equal(a.robotsB64, q.robotsB64):
		return a.file, nil
	}
	a.file = nil
	body, err := q.body()
	if err != nil {
		return nil, err
	}
	a.robots = q.robots
	a.robotsB64 = q.robotsB64
	a.file = robots.Parse(body)
	return a.file, nil
}
