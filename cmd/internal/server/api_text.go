package server

import (
	"cmp"
	"encoding/base64"
	"fmt"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/lint"
)

// Operations on text in the request, which is neither stored nor logged.

// A Text is a robots.txt in a request.
type Text struct {
	Robots    *string `json:"robots,omitempty"`
	RobotsB64 *string `json:"robots_b64,omitempty"`
}

// file returns the file.
func (r *request) file(t Text) *robots.File {
	switch {
	case t.Robots != nil && t.RobotsB64 != nil:
		r.fail(wrong(BadParameter, "body.robots_b64", "", "excludes robots: send only one of them"))
	case t.RobotsB64 != nil:
		body, err := base64.StdEncoding.DecodeString(*t.RobotsB64)
		if err != nil {
			r.fail(wrong(BadParameter, "body.robots_b64", "", "must be base64, padded: "+err.Error()))
		}
		return robots.Parse(body)
	case t.Robots != nil:
		return robots.Parse([]byte(*t.Robots))
	}
	r.fail(wrong(BadParameter, "body", "", "must have the member robots or robots_b64, the file"))
	return nil
}

// explain answers POST /v1/explain.
func (s *Service) explain(r *request) *response {
	var in struct {
		Text    `json:",inline"`
		URL     *string `json:"url"`
		Agent   Agents  `json:"agent"`
		Dialect string  `json:"dialect"`
	}
	r.decode(&in)
	url := r.url("body.url", in.URL)
	crawler := r.crawler("body.", in.Dialect, in.Agent)
	file := r.file(in.Text)
	if r.problem == nil {
		r.work(budget.Reading(file.Bytes()))
	}
	_, path, err := ask.URL(crawler.Dialect, url, false)
	if err != nil {
		r.fail(invalid(BadURL, "body.url", url, err))
	}
	if r.problem != nil {
		return nil
	}
	rules := file.Rules(crawler.Dialect, crawler.Tokens...)
	steps, bytes := answer.ExplainCost(rules, path)
	r.work(steps)
	r.holdBytes(bytes)
	if r.problem != nil {
		return nil
	}
	var agent any = in.Agent
	switch len(in.Agent) {
	case 0:
		agent = answer.AnyCrawler
	case 1:
		agent = in.Agent[0]
	}
	return respond(answer.Explain(rules, &crawler, path, url, agent, explainLimits))
}

// lint answers POST /v1/lint.
func (s *Service) lint(r *request) *response {
	var in struct {
		Text     `json:",inline"`
		Dialects []string `json:"dialects"`
	}
	r.decode(&in)
	r.fail(tooMany("body.dialects", len(in.Dialects), mostDialects))
	for i, name := range in.Dialects {
		if _, err := ask.Dialect(name); err != nil {
			r.fail(invalid(BadParameter, fmt.Sprintf("body.dialects[%d]", i), name, err))
		}
	}
	file := r.file(in.Text)
	if r.problem != nil {
		return nil
	}
	found, err := answer.Lint(r.exchange.budget, file, lint.Options{Dialects: in.Dialects, MaxSteps: lintSteps}, 0)
	if err != nil {
		r.fail(OverBudget(err))
		return nil
	}
	return respond(found)
}

// A diffBody is the body of POST /v1/diff.
type diffBody struct {
	Old     *string  `json:"old"`
	New     *string  `json:"new"`
	Agent   []string `json:"agent"`
	Dialect string   `json:"dialect"`
}

// files returns the two files.
func (b *diffBody) files(r *request) (before, after *robots.File) {
	switch {
	case b.Old == nil:
		r.fail(wrong(BadParameter, "body.old", "", isMissing))
	case b.New == nil:
		r.fail(wrong(BadParameter, "body.new", "", isMissing))
	}
	r.fail(tooMany("body.agent", len(b.Agent), mostNamed))
	r.crawler("body.", b.Dialect, nil) // checks the dialect
	if r.problem == nil {
		r.work(budget.Reading(*b.Old, *b.New))
	}
	if r.problem != nil {
		return nil, nil
	}
	return robots.Parse([]byte(*b.Old)), robots.Parse([]byte(*b.New))
}

// crawlers returns the crawlers of the request, or else those that the files name.
func (b *diffBody) crawlers(r *request, before, after *robots.File) (who []answer.Crawler) {
	for i := range b.Agent {
		who = append(who, r.crawler("body.", b.Dialect, b.Agent[i:i+1]))
		who[i].Name = b.Agent[i]
	}
	if len(who) == 0 && r.problem == nil {
		d := r.crawler("body.", b.Dialect, nil).Dialect
		if cmp.Or(b.Dialect, r.s.parts.Dialect) == ask.AutoDialect {
			d = robots.Dialect{}
		}
		r.work(answer.ComparableReadings() * budget.Reading(before.Bytes(), after.Bytes()))
		if r.problem != nil {
			return nil
		}
		who = answer.Comparable(before, after, [2]robots.Dialect{d, d})
	}
	if len(who) > mostCompared {
		detail := fmt.Sprintf("the files name %d crawlers, but at most %d are compared: select some with agent", len(who)-1, mostCompared)
		r.fail(NewProblem(TooMany, detail))
	}
	return who
}

// diff answers POST /v1/diff.
func (s *Service) diff(r *request) *response {
	var b diffBody
	r.decode(&b)
	before, after := b.files(r)
	if r.problem != nil {
		return nil
	}
	who := b.crawlers(r, before, after)
	for range who {
		r.holdText(0)
	}
	r.holdText(longestLists)
	if r.problem != nil {
		return nil
	}
	o := answer.DiffOptions{Total: r.exchange.budget.Left(diffSteps), Changes: mostChanges, Text: longestLists}
	found := answer.Diff(before, after, who, o)
	r.work(found.Steps)
	return respond(found.Compared(cmp.Or(b.Dialect, s.parts.Dialect)))
}

// work takes steps of the budget.
func (r *request) work(steps int) {
	if err := r.exchange.budget.Work(steps); err != nil {
		r.fail(OverBudget(err))
	}
}

// holdBytes takes bytes of the budget.
func (r *request) holdBytes(n int) {
	if err := r.exchange.budget.Hold(n); err != nil {
		r.fail(OverBudget(err))
	}
}

// holdText takes the bytes for an entry of an answer with text of some bytes. A byte of text can take
// eight in JSON, which is written once and copied once.
func (r *request) holdText(n int) {
	const entry = 1 << 10
	r.holdBytes(entry + 2*n)
}
