package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/batch"
	"github.com/robotskit/robots/fetch"
)

// Verdicts for one URL or for many.

const (
	mostQuestions = 1000 // per batch
	typeLines     = "application/x-ndjson"
)

// check answers GET /v1/check.
func (s *Service) check(r *request) (*answer, *Problem) {
	ctx := r.Context()
	url, p := r.requiredURL()
	if p == nil {
		p = tooMany("query.agent", len(r.query["agent"]), mostAgents)
	}
	userInitiated, wrongFlag := r.flag("user_initiated")
	as, wrongWord := r.word("as", "status")
	if p = cmp.Or(p, wrongFlag, wrongWord); p != nil {
		exchangeOf(ctx).answered("", OutcomeBad)
		return nil, p
	}
	q, p := s.question(ctx, url, r.query["agent"], r.query.Get("dialect"), userInitiated, r.query.Get("wait"), "query.")
	if p != nil {
		var origin string
		if q != nil {
			origin = q.origin.String()
		}
		exchangeOf(ctx).answered(origin, p.outcome())
		return nil, p
	}
	v := q.terms.rules.Match(q.path)
	exchangeOf(ctx).answered(q.origin.String(), outcomeOf(batch.Last{Answered: true, Allowed: v.Allowed, Undecided: v.Undecided()}))
	if as != "" {
		return s.asStatus(q, v)
	}
	body := make([]byte, 0, 512+len(url))
	body = append(q.appendVerdict(append(body, '{'), v), "}\n"...)
	return &answer{kind: typeJSON, caching: s.maxAge(q.record), body: body}, nil
}

// asStatus answers by the status alone.
func (s *Service) asStatus(q *question, v robots.Verdict) (*answer, *Problem) {
	switch {
	case v.Allowed:
		return &answer{status: http.StatusNoContent, caching: s.maxAge(q.record)}, nil
	case v.Undecided():
		return nil, NewProblem(Pending, "robots.txt of "+q.origin.String()+": "+v.String()).After(s.lifetime(q.record))
	}
	return nil, NewProblem(Disallowed, "the URL is "+v.String())
}

// outcomeOf returns the outcome of an answer for logs and metrics.
func outcomeOf(l batch.Last) Outcome {
	switch {
	case !l.Answered:
		return OutcomeBad
	case l.Allowed:
		return OutcomeAllowed
	case l.Undecided:
		return OutcomeUndecided
	}
	return OutcomeDisallowed
}

// outcome returns the outcome of a problem for logs and metrics.
func (p *Problem) outcome() Outcome {
	if p.code() == batch.Code(Pending) {
		return OutcomePending
	}
	return OutcomeBad
}

// A question is a question about a live site, with the site's terms.
type question struct {
	url    string
	agents []string
	origin robots.Origin
	path   robots.Path
	record *fetch.Record
	terms  *terms
}

// question parses a question and gets the site's terms. Location is the prefix of its parts,
// such as "query.".
func (s *Service) question(ctx context.Context, url string, agents []string, dialect string, userInitiated bool, wait, location string) (*question, *Problem) {
	d, p := s.crawlerOf(agents, dialect, location)
	q := &question{url: url, agents: agents}
	if p == nil {
		q.origin, q.path, p = siteOf(d, url, location+"url")
	}
	var timeout time.Duration
	if p == nil {
		timeout, p = timeoutOf(wait, location+"wait")
	}
	if p == nil {
		q.record, q.terms, p = s.get(ctx, &crawler{cache.Crawler{Dialect: d, Tokens: agents}, userInitiated}, q.origin, timeout)
	}
	return q, p
}

// appendVerdict appends the members of an answer, without braces.
func (q *question) appendVerdict(dst []byte, v robots.Verdict) []byte {
	dst = append(v.AppendDecisionJSON(dst), ',')
	dst = append(q.terms.rules.AppendCommonJSON(dst), `,"url":`...)
	dst = append(robots.AppendQuoted(dst, q.url), ',')
	return appendAgent(dst, q.agents)
}

// checkMany answers POST /v1/check.
func (s *Service) checkMany(r *request) (*answer, *Problem) {
	ctx := r.Context()
	wait, p := timeoutOf(r.query.Get("wait"), "query.wait")
	if p != nil {
		return nil, p
	}
	media, p := r.mediaType(typeJSON, typeLines)
	if p != nil {
		return nil, p
	}
	text, p := r.readBody()
	if p == nil && len(text) == 0 && media == typeJSON {
		p = emptyBody()
	}
	if p != nil {
		return nil, p
	}
	b := &lines{s: s}
	var list [][]byte
	begin, separator, end := []byte(nil), "\n", "\n"
	if media == typeLines {
		for line := range bytes.Lines(text) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			list = append(list, bytes.TrimSuffix(line, []byte("\r")))
		}
		if len(list) == 0 {
			end = ""
		}
		if p = tooManyQuestions(len(list), "lines"); p == nil {
			p = b.readDefaults([]byte("{}"))
		}
	} else {
		begin, separator, end = []byte(`{"answers":[`), ",\n", "]}\n"
		list, p = b.read(text)
		if p == nil && b.wait != "" {
			wait, p = timeoutOf(b.wait, "body.defaults.wait")
		}
	}
	if p == nil {
		p = exchangeOf(ctx).charge(len(list))
	}
	if p != nil {
		return nil, p
	}
	body, p := b.answer(ctx, begin, list, separator, wait)
	if p != nil {
		return nil, p
	}
	return &answer{kind: media, body: append(body, end...)}, nil
}

func tooManyQuestions(n int, what string) *Problem {
	if n <= mostQuestions {
		return nil
	}
	return NewProblem(TooMany, fmt.Sprintf("the body has %d %s; send at most %d at a time", n, what, mostQuestions))
}

// lines are the questions of a request.
type lines struct {
	s        *Service
	defaults batch.Defaults
	wait     string // of the defaults
}

// read splits a body of application/json: each question is read like a line of a batch,
// everything around the questions strictly.
func (b *lines) read(body []byte) (list [][]byte, p *Problem) {
	if err := shallow(body); err != nil {
		return nil, NewProblem(BadJSON, "the body "+err.Error())
	}
	questions, defaults := []byte(nil), []byte("{}")
	if p := members(body, "body", map[string]*[]byte{"questions": &questions, "defaults": &defaults}); p != nil {
		return nil, p
	}
	if questions == nil || !batch.Elements(questions, func(q []byte) { list = append(list, oneLine(q)) }) {
		return nil, wrong(BadParameter, "body", "", "must have the member questions, a list")
	}
	if p := tooManyQuestions(len(list), "questions"); p != nil {
		return nil, p
	}
	return list, b.readDefaults(defaults)
}

// members splits an object into known members. Null is the same as absent; repeated members
// are a problem.
func members(text []byte, location string, known map[string]*[]byte) *Problem {
	var p *Problem
	seen := map[string]bool{}
	object, valid := batch.Members(text, func(name string, value []byte) {
		at := known[name]
		switch {
		case p != nil:
		case at == nil:
			p = wrong(BadParameter, location+"."+ask.Clip(name), "", isUnknown+suggestion(name, slices.Sorted(maps.Keys(known))))
		case seen[name]:
			p = NewProblem(BadJSON, describe(location)+" has the member "+name+" twice")
		case string(value) != "null":
			*at = value
		}
		seen[name] = true
	})
	switch {
	case !valid:
		return NewProblem(BadJSON, "the body "+syntaxText(jsonv2.Unmarshal(text, new(any))))
	case !object:
		return wrong(BadParameter, location, "", "must be an object")
	}
	return p
}

// oneLine returns a JSON text without line ends between its tokens, which would end up in the
// answer.
func oneLine(text []byte) []byte {
	if bytes.IndexByte(text, '\n') < 0 {
		return text
	}
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}

// readDefaults reads the defaults for members that questions omit.
func (b *lines) readDefaults(text []byte) *Problem {
	var in struct {
		Agent         Agents  `json:"agent"`
		Dialect       string  `json:"dialect"`
		MaxBytes      *int    `json:"max_bytes"`
		At            *string `json:"at"`
		Robots        *string `json:"robots"`
		UserInitiated bool    `json:"user_initiated"`
		Wait          string  `json:"wait"`
	}
	if p := bodyProblem("body.defaults", unmarshal(text, &in)); p != nil {
		return p
	}
	d, p := b.s.crawlerOf(in.Agent, in.Dialect, "body.defaults.")
	if p != nil {
		return p
	}
	b.wait = in.Wait
	b.defaults = batch.Defaults{
		Agents: in.Agent, Dialect: d, Auto: cmp.Or(in.Dialect, b.s.parts.Dialect) == ask.AutoDialect,
		MaxBytes: ask.NoLimit, UserInitiated: in.UserInitiated,
	}
	if in.MaxBytes != nil {
		if b.defaults.MaxBytes = *in.MaxBytes; *in.MaxBytes < 0 {
			return wrong(BadParameter, "body.defaults.max_bytes", strconv.Itoa(*in.MaxBytes), "must be a number of bytes, 0 or more")
		}
	}
	if in.At != nil {
		var err error
		if b.defaults.At, err = ask.Time(*in.At); err != nil {
			return wrong(BadParameter, "body.defaults.at", *in.At, "is not a time such as 2026-01-31T18:00:00Z")
		}
	}
	if in.Robots != nil {
		b.defaults.File = robots.Parse([]byte(*in.Robots))
	}
	return nil
}

// sample is the number of answers after which the total length is estimated.
const sample = 16

// answer appends the answers to lines, with a separator between them. Sites that are not in
// memory are fetched concurrently.
func (b *lines) answer(ctx context.Context, dst []byte, list [][]byte, separator string, wait time.Duration) ([]byte, *Problem) {
	type site struct {
		record  *fetch.Record
		problem *Problem
	}
	sites := map[robots.Origin]*site{}
	questions := make([]batch.Question, len(list))
	of := make([]*site, len(list))
	missing := map[robots.Origin]*site{}
	for i, line := range list {
		questions[i] = batch.Read(line)
		origin, fetched := b.defaults.Site(&questions[i])
		if !fetched {
			continue
		}
		at := sites[origin]
		if at == nil {
			at = &site{}
			sites[origin] = at
			if at.record = b.s.held(origin); at.record == nil {
				missing[origin] = at
			}
		}
		of[i] = at
	}
	inParallel(ctx, missing, func(origin robots.Origin, at *site) { at.record, at.problem = b.s.record(ctx, origin, wait) })
	a := batch.NewAnswerer(&b.defaults)
	now := b.s.now()
	for i := range questions {
		if p := exchangeOf(ctx).overworked(); p != nil {
			return nil, p
		}
		switch i {
		case 0:
		case sample: // the others are about as long
			dst = slices.Grow(dst, len(dst)/sample*(len(list)-sample)*9/8)
			fallthrough
		default:
			dst = append(dst, separator...)
		}
		switch q, at := &questions[i], of[i]; {
		case at == nil:
			dst = a.Append(dst, q)
		case at.problem != nil:
			dst = batch.AppendError(dst, q, at.problem.code(), at.problem)
			exchangeOf(ctx).answered("", at.problem.outcome())
			continue
		default:
			dst = a.AppendRecord(dst, q, at.record, now)
		}
		exchangeOf(ctx).answered("", outcomeOf(a.Last()))
	}
	return dst, nil
}
