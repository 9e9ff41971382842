package batch

import (
	"bytes"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/quote"
)

// An Answerer answers questions, one after another. The last file is kept with its rules, as
// many lines often have one file. It is not safe for concurrent use.
type Answerer struct {
	*Defaults

	defaultAgents []byte // as JSON

	bodies *bodies // of rows, nil without
	last   Last    // answer

	robots, robotsB64 []byte       // the members of the last line that has one of them
	file              *robots.File // parsed

	dialect string        // the word of the last line
	agent   []byte        // its member
	crawler *crawlerRules // that these name, nil for none

	crawlers  map[agentKey]*crawlerRules // of recent lines
	key       rulesKey                   // of the rules of all these crawlers
	ruleCount int                        // in all
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

// A rulesKey is everything that rules are made from, except the dialect and the agent.
type rulesKey struct {
	source.RobotsTXT
	maxBytes      int
	at            time.Time // of a record
	userInitiated bool
}

// maxRemembered is the longest body that an answerer keeps, in bytes.
const maxRemembered = 1 << 20

// NewAnswerer returns an answerer with defaults.
func NewAnswerer(d *Defaults) *Answerer {
	a := &Answerer{Defaults: d}
	switch len(d.Agents) {
	case 0:
		a.defaultAgents = []byte(`"*"`)
	case 1:
		a.defaultAgents = quote.Append(nil, d.Agents[0])
	default:
		a.defaultAgents = answer.AppendStrings(nil, d.Agents)
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
		*a = Answerer{Defaults: a.Defaults, defaultAgents: a.defaultAgents, bodies: a.bodies, last: a.last}
	}
	if err != nil {
		a.last = Last{}
		return AppendError(dst[:start], q, CodeOf(err), err)
	}
	if q.row {
		return dst
	}
	dst = append(dst, `,"agent":`...)
	if q.agent != nil {
		dst = appendMember(dst, q.agent)
	} else {
		dst = append(dst, a.defaultAgents...)
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
	return appendMember(dst, q.id)
}

// appendMember appends the text of a member as written, except raw CR between tokens and bytes
// that are not UTF-8, which would break the line for its reader.
func appendMember(dst, text []byte) []byte {
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
