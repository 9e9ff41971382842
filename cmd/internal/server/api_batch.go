package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/batch"
)

// checkMany answers POST /v1/check.
func (s *Service) checkMany(r *request) *response {
	b := &questionBatch{request: r, wait: r.timeout("query.wait", r.query.Get("wait"))}
	text, media := r.body(typeJSON, typeLines)
	begin := ""
	separator := "\n"
	end := "\n"
	var list []batch.Question
	switch {
	case r.problem != nil:
	case media == typeLines:
		r.fail(tooManyQuestions(bytes.Count(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))+1, "lines"))
		if r.problem != nil {
			return nil
		}
		for line := range bytes.Lines(text) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			list = append(list, batch.Read(bytes.TrimSuffix(line, []byte("\r"))))
		}
		if len(list) == 0 {
			end = ""
		}
		b.readDefaults(nil)
	default:
		begin = `{"answers":[`
		separator = ",\n"
		end = "]}\n"
		list = b.read(text)
	}
	if r.problem == nil {
		r.problem = r.exchange.charge(len(list))
	}
	if r.problem != nil {
		return nil
	}
	body := append(make([]byte, 0, usualAnswer), begin...)
	return &response{kind: media, body: append(b.appendAnswers(body, list, separator), end...)}
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
func (b *questionBatch) read(body []byte) (list []batch.Question) {
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
		count++
		if count <= mostQuestions {
			list = append(list, batch.ReadValid(oneLine(question)))
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
	b.defaults = batch.Defaults{
		Dialect: b.s.dialect, Auto: b.s.parts.Dialect == ask.AutoDialect, Limits: b.s.questionLimits(), Budget: b.exchange.budget,
	}
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
		b.defaults.MaxBytes = answer.SizeLimit(*in.MaxBytes)
		if *in.MaxBytes < 0 {
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

// appendAnswers appends the answers to questions, with a separator between them. Sites that are not in
// memory are fetched concurrently.
func (b *questionBatch) appendAnswers(dst []byte, questions []batch.Question, separator string) []byte {
	sites := requestSites{}
	of := make([]*requestSite, len(questions))
	for i := range questions {
		if origin, _ := b.defaults.Site(&questions[i]); !origin.IsZero() {
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
		q := &questions[i]
		at := of[i]
		switch {
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
