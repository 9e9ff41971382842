package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/batch"
	"github.com/robotskit/robots/fetch"
)

// The questions whether a crawler may fetch a URL: one, or many at a time.

const (
	mostQuestions = 1000 // of a batch
	typeLines     = "application/x-ndjson"
)

type checkInput struct {
	URL           string   `query:"url" required:"true" maxLength:"8192" doc:"URL to check" example:"https://shop.example/basket"`
	Agent         []string `query:"agent,explode" maxItems:"20" doc:"product token of the crawler; repeated: the tokens of one crawler, most specific first; default: a crawler without a group" example:"MyBot"`
	Dialect       string   `query:"dialect" doc:"dialect of the rules"`
	UserInitiated bool     `query:"user_initiated" doc:"a user requested the page, so robots.txt does not apply"`
	Wait          string   `query:"wait" default:"10s" doc:"timeout for a robots.txt without a record, 0s to 30s"`
	As            string   `query:"as" enum:"status" doc:"status: return only a status, 204 allowed, 403 disallowed, 503 with Retry-After undecided"`
}

func (s *Service) registerCheck() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "check", Method: http.MethodGet, Path: "/v1/check",
		Summary:     "Check a URL",
		Description: "A disallowed URL is an answer with the status 200. The members are those of docs/batch.md.",
		Responses:   map[string]*huma.Response{"204": {Description: "Allowed, of as=status"}},
	}, map[string]*huma.Schema{typeJSON: s.schema(Check{})}), s.check)

	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "check-many", Method: http.MethodPost, Path: "/v1/check",
		Summary: "Check many URLs",
		Description: "Questions and answers are those of docs/batch.md, byte for byte: each line of application/x-ndjson, or each entry of questions, is " +
			"one question, and the answers keep the order. Sites without a record are fetched in parallel within wait; the answers of sites that " +
			"take longer have the code pending. An invalid question gets the members error and code; the status stays 200.",
		MaxBodyBytes: s.parts.BatchBytes + 1,
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			typeJSON:  {Schema: s.schema(Questions{})},
			typeLines: {Schema: &huma.Schema{Type: huma.TypeString, Description: "JSON Lines, one question each, at most 1,000 and " + Size(s.parts.BatchBytes).String()}},
		}},
		SkipValidateBody: true,
	}, map[string]*huma.Schema{
		typeJSON:  s.schema(Answers{}),
		typeLines: {Type: huma.TypeString, Description: "JSON Lines, one answer each"},
	}), s.checkMany)
}

// check answers one question.
func (s *Service) check(ctx context.Context, in *checkInput) (*answer, error) {
	q, p := s.question(ctx, in.URL, in.Agent, in.Dialect, in.UserInitiated, in.Wait, "query.")
	if p != nil {
		var origin string
		if q != nil {
			origin = q.origin.String()
		}
		Answered(ctx, origin, p.outcome())
		return nil, p
	}
	v := q.terms.rules.Match(q.path)
	Answered(ctx, q.origin.String(), outcomeOf(batch.Last{Answered: true, Allowed: v.Allowed, Undecided: v.Undecided()}))
	if in.As != "" {
		return s.asStatus(q, v)
	}
	body := make([]byte, 0, 512+len(in.URL))
	body = append(q.appendVerdict(append(body, '{'), v), "}\n"...)
	return &answer{Status: http.StatusOK, ContentType: typeJSON, CacheControl: s.maxAge(q.record), Body: body}, nil
}

// asStatus answers by the status.
func (s *Service) asStatus(q *question, v robots.Verdict) (*answer, error) {
	switch {
	case v.Allowed:
		return &answer{Status: http.StatusNoContent, CacheControl: s.maxAge(q.record)}, nil
	case v.Undecided():
		return nil, NewProblem(Pending, "robots.txt of "+q.origin.String()+": "+v.String()).After(s.lifetime(q.record))
	}
	return nil, NewProblem(Disallowed, "the URL is "+v.String())
}

// outcomeOf is an answer for the log and the metrics.
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

// outcome is a problem in place of an answer for the log and the metrics.
func (p *Problem) outcome() Outcome {
	if p.code() == batch.Code(Pending) {
		return OutcomePending
	}
	return OutcomeBad
}

// A question is one about a live site, with what the site says.
type question struct {
	url    string
	agents []string
	origin robots.Origin
	path   robots.Path
	record *fetch.Record
	terms  *terms
}

// question reads the parts of a question and gets what the site says. The location begins
// that of each part, such as "query.".
func (s *Service) question(ctx context.Context, url string, agents []string, dialect string, userInitiated bool, wait, location string) (*question, *Problem) {
	if !CallerOf(ctx).May(ScopeCheck) {
		return nil, NewProblem(Unauthorized, "a token with the scope check is needed")
	}
	d, p := s.dialectOf(dialect, location+"dialect")
	if p == nil {
		p = checkAgents(agents, d, location+"agent")
	}
	q := &question{url: url, agents: agents}
	if p == nil {
		q.origin, q.path, p = siteOf(d, url, location+"url")
	}
	var patient time.Duration
	if p == nil {
		patient, p = patience(wait, location+"wait")
	}
	if p == nil {
		q.record, q.terms, p = s.get(ctx, &asker{cache.Crawler{Dialect: d, Tokens: agents}, userInitiated}, q.origin, patient)
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

type checkManyInput struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	Wait        string `query:"wait" doc:"timeout for all questions together, 0s to 30s; in application/json also the member wait of defaults"`
	RawBody     []byte
}

// checkMany answers questions.
func (s *Service) checkMany(ctx context.Context, in *checkManyInput) (*answer, error) {
	if !CallerOf(ctx).May(ScopeCheck) {
		return nil, NewProblem(Unauthorized, "a token with the scope check is needed")
	}
	wait, p := patience(in.Wait, "query.wait")
	if p != nil {
		return nil, p
	}
	media, _, err := mime.ParseMediaType(in.ContentType)
	if in.ContentType == "" {
		media, err = typeJSON, nil
	}
	b := &lines{s: s, defaults: batch.Defaults{Dialect: s.parts.Dialect, MaxBytes: ask.NoLimit}}
	out := &answer{Status: http.StatusOK, ContentType: media, CacheControl: "no-store"}
	switch {
	case err == nil && media == typeLines:
		var list [][]byte
		for line := range bytes.Lines(in.RawBody) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			list = append(list, bytes.TrimSuffix(line, []byte("\r")))
		}
		if len(list) > mostQuestions {
			return nil, tooManyQuestions(len(list), "lines")
		}
		if p := charge(ctx, len(list)); p != nil {
			return nil, p
		}
		if out.Body, p = b.answer(ctx, nil, list, "\n", wait); p != nil {
			return nil, p
		}
		if len(list) > 0 {
			out.Body = append(out.Body, '\n')
		}
		return out, nil
	case err == nil && media == typeJSON:
		list, p := b.read(in.RawBody)
		if p != nil {
			return nil, p
		}
		if b.wait != "" {
			if wait, p = patience(b.wait, "body.defaults.wait"); p != nil {
				return nil, p
			}
		}
		if p := charge(ctx, len(list)); p != nil {
			return nil, p
		}
		if out.Body, p = b.answer(ctx, []byte(`{"answers":[`), list, ",\n", wait); p != nil {
			return nil, p
		}
		out.Body = append(out.Body, "]}\n"...)
		return out, nil
	}
	return nil, NewProblem(UnsupportedType, "the Content-Type must be "+typeJSON+" or "+typeLines)
}

// charge takes the questions of a batch from what its caller may ask.
func charge(ctx context.Context, n int) *Problem {
	if ok, after := Charge(ctx, max(0, n-1)); !ok {
		return NewProblem(RateLimited, fmt.Sprintf("%d questions exceed your current rate limit; send fewer at a time, or later", n)).After(after)
	}
	return nil
}

func tooManyQuestions(n int, what string) *Problem {
	return NewProblem(TooMany, fmt.Sprintf("the body has %d %s; send at most %d at a time", n, what, mostQuestions))
}

// lines are the questions of one request.
type lines struct {
	s        *Service
	defaults batch.Defaults
	wait     string // of the defaults
}

// read reads a body of application/json: what is around the questions strictly, each
// question as a line of a batch.
func (b *lines) read(body []byte) (list [][]byte, p *Problem) {
	if err := shallow(body); err != nil {
		return nil, NewProblem(BadJSON, "the body "+err.Error())
	}
	var questions, defaults []byte
	if p := members(body, "body", map[string]*[]byte{"questions": &questions, "defaults": &defaults}); p != nil {
		return nil, p
	}
	if questions == nil || !batch.Elements(questions, func(q []byte) { list = append(list, oneLine(q)) }) {
		return nil, wrong(BadParameter, "body", "", "must have the member questions, a list")
	}
	if len(list) > mostQuestions {
		return nil, tooManyQuestions(len(list), "questions")
	}
	return list, b.readDefaults(defaults)
}

// members splits an object into the members that it may have, of which each may be there
// once. A member that is null is one that is absent.
func members(text []byte, location string, known map[string]*[]byte) *Problem {
	var p *Problem
	seen := map[string]bool{}
	object, valid := batch.Members(text, func(name string, value []byte) {
		at := known[name]
		switch {
		case p != nil:
		case at == nil:
			names := slices.Sorted(maps.Keys(known))
			message := isUnknown + " (known: " + strings.Join(names, ", ") + ")"
			if meant := ask.Nearest(name, names); meant != "" {
				message = isUnknown + " (did you mean " + meant + "?)"
			}
			p = wrong(BadParameter, location+"."+ask.Clip(name), "", message)
		case seen[name]:
			p = NewProblem(BadJSON, describe(location)+" has the member "+name+" twice")
		case string(value) != "null":
			*at = value
		}
		seen[name] = true
	})
	switch {
	case !valid:
		return NewProblem(BadJSON, "the body "+strictJSON(text).Error())
	case !object:
		return wrong(BadParameter, location, "", "must be an object")
	}
	return p
}

// oneLine returns a JSON text without line ends between its tokens, which its members
// would take into the answer.
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

// readDefaults reads what stands for members that a question leaves out.
func (b *lines) readDefaults(text []byte) *Problem {
	if text == nil {
		return nil
	}
	var agent, dialect, maxBytes, at, file, userInitiated, wait []byte
	if p := members(text, "body.defaults", map[string]*[]byte{
		"agent": &agent, "dialect": &dialect, "max_bytes": &maxBytes, "at": &at, "robots": &file, "user_initiated": &userInitiated, "wait": &wait,
	}); p != nil {
		return p
	}
	d := &b.defaults
	var dialectName, when, body string
	for _, m := range []struct {
		name string
		text []byte
		to   any
		what string
	}{
		{"agent", agent, (*Agents)(&d.Agents), "must be a string or a list of strings"},
		{"dialect", dialect, &dialectName, "must be a string"},
		{"max_bytes", maxBytes, &d.MaxBytes, "must be a whole number of bytes"},
		{"at", at, &when, "must be a string"},
		{"robots", file, &body, "must be a string"},
		{"user_initiated", userInitiated, &d.UserInitiated, "must be true or false"},
		{"wait", wait, &b.wait, "must be a string such as 5s"},
	} {
		if m.text != nil && json.Unmarshal(m.text, m.to) != nil {
			return wrong(BadParameter, "body.defaults."+m.name, string(m.text), m.what)
		}
	}
	var p *Problem
	if d.Dialect, p = b.s.dialectOf(dialectName, "body.defaults.dialect"); p == nil {
		p = checkAgents(d.Agents, d.Dialect, "body.defaults.agent")
	}
	if p == nil && maxBytes != nil && d.MaxBytes < 0 {
		p = wrong(BadParameter, "body.defaults.max_bytes", string(maxBytes), "must be a number of bytes, 0 or more")
	}
	if p != nil {
		return p
	}
	if at != nil {
		var err error
		if d.At, err = ask.Time(when); err != nil {
			return wrong(BadParameter, "body.defaults.at", when, "is not a time such as 2026-01-31T18:00:00Z")
		}
	}
	if file != nil {
		d.File = robots.Parse([]byte(body))
	}
	return nil
}

// sample is after how many answers the length of all of them is guessed.
const sample = 16

// answer appends the answers to lines, with a separator between them. The sites that are not held are fetched at the same time.
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
	if len(missing) > 0 {
		Wait(ctx, func() {
			var asking sync.WaitGroup
			for origin, at := range missing {
				asking.Go(func() { at.record, at.problem = b.s.record(ctx, origin, wait) })
			}
			asking.Wait()
		})
	}
	a := batch.NewAnswerer(&b.defaults)
	now := b.s.now()
	for i := range questions {
		if p := Overworked(ctx); p != nil {
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
			Answered(ctx, "", at.problem.outcome())
			continue
		default:
			dst = a.AppendRecord(dst, q, at.record, now)
		}
		Answered(ctx, "", outcomeOf(a.Last()))
	}
	return dst, nil
}
