package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/batch"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/quote"
)

// Verdicts for one URL or for many.

const typeLines = "application/x-ndjson"

// check answers GET /v1/check.
func (s *Service) check(r *request) *response {
	url, agents, userInitiated, asStatus := r.queryURL(), r.queryAgents(), r.flag("user_initiated"), r.word("as", "status")
	q := r.question("query.", url, agents, r.query.Get("dialect"), r.query.Get("wait"))
	v := r.verdict(q, userInitiated)
	switch {
	case r.problem != nil:
		return nil
	case !asStatus:
		return &response{kind: typeJSON, caching: s.maxAge(q.record), body: append(q.appendVerdict([]byte("{"), v), "}\n"...)}
	case v.Allowed:
		return &response{status: http.StatusNoContent, caching: s.maxAge(q.record)}
	case v.Undecided():
		r.fail(NewProblem(Pending, "robots.txt of "+q.origin.String()+": "+v.String()).After(s.lifetime(q.record)))
	default:
		r.fail(NewProblem(Disallowed, "the URL is "+v.String()))
	}
	return nil
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

// A siteQuestion is a question about a live site, with the site's rules once there is a verdict.
type siteQuestion struct {
	url     string
	agents  []string // as given
	crawler answer.Crawler
	origin  robots.Origin
	path    robots.Path
	wait    time.Duration
	rules   *robots.Rules
	record  *fetch.Record
}

// question reads a question. Location is the prefix of its parts, such as "query.".
func (r *request) question(location, url string, agents []string, dialect, wait string) *siteQuestion {
	q := &siteQuestion{url: url, agents: agents, crawler: r.crawler(location, dialect, agents)}
	q.origin, q.path = r.site(location+"url", q.crawler.Dialect, url)
	q.wait = r.timeout(location+"wait", wait)
	return q
}

// verdict waits for the rules of a question, and counts its outcome, a problem too.
func (r *request) verdict(q *siteQuestion, userInitiated bool) (v robots.Verdict) {
	if r.problem == nil {
		q.rules, q.record, r.problem = r.s.rules(r.Context(), &cache.Crawler{Dialect: q.crawler.Dialect, Tokens: q.crawler.Tokens}, q.origin, q.wait)
	}
	if r.problem == nil && userInitiated {
		q.rules = q.rules.UserInitiated()
	}
	if r.problem == nil {
		v = q.rules.Match(q.path)
	}
	r.exchange.judged(q.origin, v, r.problem)
	return v
}

// judged counts the outcome of a question about a live site: a verdict or a problem.
func (v *exchange) judged(origin robots.Origin, verdict robots.Verdict, p *Problem) {
	outcome := outcomeOf(batch.Last{Answered: true, Allowed: verdict.Allowed, Undecided: verdict.Undecided()})
	if p != nil {
		outcome = p.outcome()
	}
	v.answered(origin.String(), outcome)
}

// appendVerdict appends the members of an answer, without braces.
func (q *siteQuestion) appendVerdict(dst []byte, v robots.Verdict) []byte {
	dst = append(v.AppendJSON(dst), ',')
	dst = append(q.rules.AppendJSON(dst, answerLimits), `,"url":`...)
	dst = append(quote.Append(dst, q.url), ',')
	dst = append(appendAgent(dst, q.agents), ',')
	return q.crawler.AppendJSON(dst, q.rules)
}

// checkMany answers POST /v1/check.
func (s *Service) checkMany(r *request) *response {
	b := &questionBatch{request: r, wait: r.timeout("query.wait", r.query.Get("wait"))}
	text, media := r.body(typeJSON, typeLines)
	begin, separator, end := "", "\n", "\n"
	var list [][]byte
	switch {
	case r.problem != nil:
	case media == typeLines:
		r.fail(tooManyQuestions(bytes.Count(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))+1, "lines"))
		if r.problem != nil {
			return nil
		}
		for line := range bytes.Lines(text) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			list = append(list, bytes.TrimSuffix(line, []byte("\r")))
		}
		if len(list) == 0 {
			end = ""
		}
		b.readDefaults(nil)
	default:
		begin, separator, end = `{"answers":[`, ",\n", "]}\n"
		list = b.read(text)
	}
	if r.problem == nil {
		r.problem = r.exchange.charge(len(list))
	}
	if r.problem != nil {
		return nil
	}
	return &response{kind: media, body: append(b.appendAnswers([]byte(begin), list, separator), end...)}
}

func tooManyQuestions(n int, what string) *Problem {
	if n <= mostQuestions {
		return nil
	}
	return NewProblem(TooMany, fmt.Sprintf("the body has %d %s; send at most %d at a time", n, what, mostQuestions))
}

// A questionBatch is the questions of a request.
type questionBatch struct {
	*request
	defaults batch.Defaults
	wait     time.Duration
}

// read splits a body of application/json: each question is read like a line of a batch,
// everything around the questions strictly. Null is the same as absent.
func (b *questionBatch) read(body []byte) (list [][]byte) {
	if err := shallow(body); err != nil {
		b.fail(NewProblem(BadJSON, "the body "+err.Error()))
		return nil
	}
	members := map[string][]byte{}
	object, valid := batch.Members(body, func(name string, value []byte) {
		if b.problem != nil {
			return
		}
		if name != "questions" && name != "defaults" {
			b.fail(wrong(BadParameter, "body."+ask.Clip(name), "", isUnknown+suggestion(name, []string{"defaults", "questions"})))
		}
		if members[name] != nil {
			b.fail(NewProblem(BadJSON, "the body has the member "+name+" twice"))
		}
		members[name] = value
	})
	count := 0
	keep := func(question []byte) {
		if count++; count <= mostQuestions {
			list = append(list, oneLine(question))
		}
	}
	switch {
	case !valid:
		b.problem = NewProblem(BadJSON, "the body "+syntaxText(jsonv2.Unmarshal(body, new(any))))
	case !object:
		b.fail(wrong(BadParameter, "body", "", "must be an object"))
	case !batch.Elements(members["questions"], keep):
		b.fail(wrong(BadParameter, "body", "", "must have the member questions, a list"))
	}
	b.fail(tooManyQuestions(count, "questions"))
	b.readDefaults(members["defaults"])
	return list
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
func (b *questionBatch) readDefaults(text []byte) {
	var in struct {
		Agent         Agents  `json:"agent"`
		Dialect       string  `json:"dialect"`
		MaxBytes      *int    `json:"max_bytes"`
		At            *string `json:"at"`
		Robots        *string `json:"robots"`
		UserInitiated bool    `json:"user_initiated"`
		Wait          string  `json:"wait"`
	}
	b.defaults = batch.Defaults{Dialect: b.s.dialect, Auto: b.s.parts.Dialect == ask.AutoDialect, Limits: b.s.questionLimits(), Budget: b.exchange.budget}
	if text == nil {
		return
	}
	b.fail(bodyProblem("body.defaults", unmarshal(text, &in)))
	b.defaults.Agents = in.Agent
	b.defaults.Dialect = b.crawler("body.defaults.", in.Dialect, in.Agent).Dialect
	b.defaults.Auto = cmp.Or(in.Dialect, b.s.parts.Dialect) == ask.AutoDialect
	b.defaults.UserInitiated = in.UserInitiated
	b.wait = b.duration("body.defaults.wait", in.Wait, b.wait, 0, mostWait)
	if in.MaxBytes != nil {
		if b.defaults.MaxBytes = answer.SizeLimit(*in.MaxBytes); *in.MaxBytes < 0 {
			b.fail(wrong(BadParameter, "body.defaults.max_bytes", strconv.Itoa(*in.MaxBytes), "must be a number of bytes, 0 or more"))
		}
	}
	if in.At != nil {
		var err error
		if b.defaults.At, err = ask.Time(*in.At); err != nil {
			b.fail(wrong(BadParameter, "body.defaults.at", *in.At, "is not a time such as 2026-01-31T18:00:00Z"))
		}
	}
	if in.Robots != nil {
		b.defaults.File = robots.Parse([]byte(*in.Robots))
	}
}

// appendAnswers appends the answers to lines, with a separator between them. Sites that are not in
// memory are fetched concurrently.
func (b *questionBatch) appendAnswers(dst []byte, list [][]byte, separator string) []byte {
	sites := requestSites{}
	questions := make([]batch.Question, len(list))
	of := make([]*requestSite, len(list))
	for i, line := range list {
		questions[i] = batch.Read(line)
		if origin := b.defaults.Site(&questions[i]); !origin.IsZero() {
			of[i] = sites.of(origin)
		}
	}
	b.find(sites, b.wait)
	a := batch.NewAnswerer(&b.defaults)
	now := b.s.now()
	for i := range questions {
		if i > 0 {
			dst = append(dst, separator...)
		}
		switch q, at := &questions[i], of[i]; {
		case at == nil:
			dst = a.Append(dst, q)
			b.exchange.answered("", outcomeOf(a.Last()))
		case at.problem != nil:
			dst = batch.AppendError(dst, q, at.problem.code(), at.problem)
			b.exchange.answered(at.origin.String(), at.problem.outcome())
		default:
			dst = a.AppendRecord(dst, q, at.record, now)
			b.exchange.answered(at.origin.String(), outcomeOf(a.Last()))
		}
	}
	return dst
}

// A requestSite is a site of a request with its record, or the problem why there is none.
type requestSite struct {
	origin  robots.Origin
	record  *fetch.Record
	problem *Problem
}

// requestSites are the sites of a request.
type requestSites map[robots.Origin]*requestSite

// of returns the site with an origin, and adds it if it is new.
func (s requestSites) of(origin robots.Origin) *requestSite {
	at := s[origin]
	if at == nil {
		at = &requestSite{origin: origin}
		s[origin] = at
	}
	return at
}

// find finds the records of sites, as many as the budget of the request has room for. Those that are
// not in memory are fetched concurrently, within a wait.
func (r *request) find(all requestSites, wait time.Duration) {
	keep := func(at *requestSite, record *fetch.Record, p *Problem) {
		if p == nil {
			p = r.exchange.keep(len(record.Body))
		}
		if at.problem = p; p == nil {
			at.record = record
		}
	}
	missing := requestSites{}
	for origin, at := range all {
		if record := r.s.held(origin); record != nil {
			keep(at, record, nil)
		} else {
			missing[origin] = at
		}
	}
	inParallel(r.Context(), missing, func(origin robots.Origin, at *requestSite) {
		if r.exchange.files.Full() { // so that a file is not read for nothing
			at.problem = OverBudget(budget.ErrBytes)
			return
		}
		record, p := r.s.record(r.Context(), origin, wait)
		keep(at, record, p)
	})
}
