package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/batch"
	"github.com/robotskit/robots/fetch"
)

// The questions whether a crawler may fetch a URL: one, or many at a time.

// Bounds of a batch.
const (
	mostQuestions = 1000
	batchBytes    = 8 << 20
	typeLines     = "application/x-ndjson"
)

type checkInput struct {
	URL           string   `query:"url" required:"true" maxLength:"8192" doc:"the URL that a crawler wants" example:"https://shop.example/basket"`
	Agent         []string `query:"agent,explode" maxItems:"20" doc:"the crawler's product token; repeated, the tokens of one crawler, the most wanted first; without it a crawler that nobody names" example:"MyBot"`
	Dialect       string   `query:"dialect" doc:"how robots.txt is read"`
	UserInitiated bool     `query:"user_initiated" doc:"a user asked for the page, so robots.txt need not be followed"`
	Wait          string   `query:"wait" default:"10s" doc:"how long to wait for a robots.txt that is not held, 0s to 30s"`
	As            string   `query:"as" enum:"status" doc:"status: the answer is the status alone, 204 allowed, 403 disallowed, 503 with Retry-After where nobody can know"`
}

func (s *Service) registerCheck() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "check", Method: http.MethodGet, Path: "/v1/check",
		Summary:     "May a crawler fetch a URL?",
		Description: "A URL that is disallowed is an answer with the status 200. The members are those of docs/batch.md.",
		Responses:   map[string]*huma.Response{"204": {Description: "Allowed, of as=status"}},
	}, map[string]*huma.Schema{typeJSON: s.schema(Check{})}), s.check)

	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "check-many", Method: http.MethodPost, Path: "/v1/check",
		Summary: "May crawlers fetch these URLs?",
		Description: "Questions and answers are those of docs/batch.md, byte for byte. A line of application/x-ndjson is one question, and so is " +
			"an entry of questions; the answers have the same order. Sites that are not held are asked at the same time, and wait counts for " +
			"the whole: what is not there then has the code pending. A question that is wrong has the members error and code, and the status stays 200.",
		MaxBodyBytes: batchBytes + 1,
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			typeJSON:  {Schema: s.schema(Questions{})},
			typeLines: {Schema: &huma.Schema{Type: huma.TypeString, Description: "JSON Lines, each a question: 1,000 of them, 8 MiB"}},
		}},
		SkipValidateBody: true,
	}, map[string]*huma.Schema{
		typeJSON:  s.schema(Answers{}),
		typeLines: {Type: huma.TypeString, Description: "JSON Lines, each an answer"},
	}), s.checkMany)
}

// check answers one question.
func (s *Service) check(ctx context.Context, in *checkInput) (*answer, error) {
	q, p := s.question(ctx, in.URL, in.Agent, in.Dialect, in.UserInitiated, in.Wait, "query.")
	if p != nil {
		return nil, p
	}
	v := q.terms.rules.Match(q.path)
	if in.As != "" {
		return s.asStatus(q, v)
	}
	body := make([]byte, 0, 512+len(q.terms.common)+len(in.URL))
	body = append(q.appendVerdict(append(body, '{'), v), "}\n"...)
	return &answer{Status: http.StatusOK, ContentType: typeJSON, CacheControl: s.maxAge(q.record), Body: body}, nil
}

// asStatus answers by the status.
func (s *Service) asStatus(q *question, v robots.Verdict) (*answer, error) {
	switch {
	case v.Allowed:
		return &answer{Status: http.StatusNoContent, CacheControl: s.maxAge(q.record)}, nil
	case undecided(v):
		return nil, NewProblem(Pending, "robots.txt of "+q.origin.String()+": "+v.String()).After(s.lifetime(q.record))
	}
	return nil, NewProblem(Disallowed, "the URL is "+v.String())
}

// undecided reports whether a verdict is "not now" and not "no".
func undecided(v robots.Verdict) bool {
	switch v.Reason {
	case robots.ReasonUnreachable, robots.ReasonUndefined, robots.ReasonRefused:
		return true
	}
	return false
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
		q.record, q.terms, p = s.get(ctx, s.view(d, agents, userInitiated), q.origin, patient)
	}
	return q, p
}

// appendVerdict appends the members of an answer, without braces.
func (q *question) appendVerdict(dst []byte, v robots.Verdict) []byte {
	dst = append(v.AppendDecisionJSON(dst), ',')
	dst = append(append(dst, q.terms.common...), `,"url":`...)
	dst = append(robots.AppendQuoted(dst, q.url), ',')
	return appendAgent(dst, q.agents)
}

type checkManyInput struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	Wait        string `query:"wait" doc:"how long all questions together may wait, 0s to 30s; of application/json the member wait of defaults does the same"`
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
		for _, a := range b.answer(ctx, list, wait) {
			out.Body = append(append(out.Body, a...), '\n')
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
		out.Body = append(out.Body, `{"answers":[`...)
		for i, a := range b.answer(ctx, list, wait) {
			if i > 0 {
				out.Body = append(out.Body, ",\n"...)
			}
			out.Body = append(out.Body, a...)
		}
		out.Body = append(out.Body, "]}\n"...)
		return out, nil
	}
	return nil, NewProblem(UnsupportedType, "the Content-Type must be "+typeJSON+" or "+typeLines)
}

func tooManyQuestions(n int, what string) *Problem {
	return NewProblem(TooMany, fmt.Sprintf("the body has %d %s: send %d at a time", n, what, mostQuestions))
}

// lines are the questions of one request.
type lines struct {
	s        *Service
	defaults batch.Defaults
	wait     string // of the defaults
}

// read reads a body of application/json.
func (b *lines) read(body []byte) ([][]byte, *Problem) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, NewProblem(BadJSON, "the body is empty: it must be a JSON object")
	}
	if err := strictJSON(body); err != nil {
		return nil, NewProblem(BadJSON, "the body "+err.Error())
	}
	// The whole is read strictly, the questions as lines of a batch are.
	var in struct {
		Defaults  json.RawMessage   `json:"defaults"`
		Questions []json.RawMessage `json:"questions"`
	}
	if p := b.strict(body, "body", &in, "defaults", "questions"); p != nil {
		return nil, p
	}
	switch {
	case in.Questions == nil:
		return nil, wrong(BadParameter, "body", "", "must have the member questions, a list")
	case len(in.Questions) > mostQuestions:
		return nil, tooManyQuestions(len(in.Questions), "questions")
	}
	if p := b.readDefaults(in.Defaults); p != nil {
		return nil, p
	}
	list := make([][]byte, len(in.Questions))
	for i, q := range in.Questions {
		list[i] = oneLine(q)
	}
	return list, nil
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

// strict reads an object with no other members than these.
func (b *lines) strict(text []byte, location string, v any, known ...string) *Problem {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return wrong(BadParameter, location, "", "must be an object")
	}
	for name := range members {
		is := false
		for _, k := range known {
			is = is || k == name
		}
		if is {
			continue
		}
		message := isUnknown
		if meant := ask.Nearest(name, known); meant != "" {
			message += ": is " + meant + " meant?"
		} else {
			message += ": there are " + strings.Join(known, ", ")
		}
		return wrong(BadParameter, location+"."+name, "", message)
	}
	if err := json.Unmarshal(text, v); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return wrong(BadParameter, location+"."+e.Field, "", "is a "+e.Value+", which is of another type than its description says")
		}
		return wrong(BadParameter, location, "", "cannot be read: "+err.Error())
	}
	return nil
}

// readDefaults reads what stands for members that a question leaves out.
func (b *lines) readDefaults(text []byte) *Problem {
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	var in Defaults
	p := b.strict(text, "body.defaults", &in, "agent", "dialect", "max_bytes", "at", "robots", "user_initiated", "wait")
	if p != nil {
		return p
	}
	d := &b.defaults
	if d.Dialect, p = b.s.dialectOf(in.Dialect, "body.defaults.dialect"); p != nil {
		return p
	}
	if d.Agents = in.Agent; len(d.Agents) > 0 {
		if p := checkAgents(d.Agents, d.Dialect, "body.defaults.agent"); p != nil {
			return p
		}
	}
	if in.MaxBytes != nil {
		if d.MaxBytes = *in.MaxBytes; d.MaxBytes < 0 {
			return wrong(BadParameter, "body.defaults.max_bytes", strconv.Itoa(d.MaxBytes), "must be a number of bytes, 0 or more")
		}
	}
	if in.At != "" {
		at, err := ask.Time(in.At)
		if err != nil {
			return wrong(BadParameter, "body.defaults.at", in.At, "is not a time such as 2026-01-31T18:00:00Z")
		}
		d.At = at
	}
	if in.Robots != nil {
		d.File = robots.Parse([]byte(*in.Robots))
	}
	d.UserInitiated, b.wait = in.UserInitiated, in.Wait
	return nil
}

// answer answers lines. The sites that are not held are asked at the same time.
func (b *lines) answer(ctx context.Context, list [][]byte, wait time.Duration) [][]byte {
	type site struct {
		record  *fetch.Record
		problem *Problem
	}
	sites := map[robots.Origin]*site{}
	questions := make([]batch.Question, len(list))
	of := make([]*site, len(list))
	var asking sync.WaitGroup
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
				asking.Go(func() { at.record, at.problem = b.s.record(ctx, origin, wait) })
			}
		}
		of[i] = at
	}
	asking.Wait()
	a := batch.NewAnswerer(&b.defaults)
	now := b.s.now()
	out := make([][]byte, len(list))
	for i := range questions {
		switch q, at := &questions[i], of[i]; {
		case at == nil:
			out[i] = a.Append(nil, q)
		case at.problem != nil:
			out[i] = batch.AppendError(nil, q, at.problem.code(), at.problem)
		default:
			out[i] = a.AppendRecord(nil, q, at.record, now)
		}
	}
	return out
}
