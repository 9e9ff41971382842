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
		r.work(budget.Reading(len(file.Bytes())))
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

// A Diff is the comparison of two files.
type Diff struct {
	Dialect  string                      `json:"dialect"`
	Same     bool                        `json:"same"`
	Crawlers []*answer.CrawlerDifference `json:"crawlers"`
}

// diff answers POST /v1/diff.
func (s *Service) diff(r *request) *response {
	var in struct {
		Old     *string  `json:"old"`
		New     *string  `json:"new"`
		Agent   []string `json:"agent"`
		Dialect string   `json:"dialect"`
	}
	r.decode(&in)
	switch {
	case in.Old == nil:
		r.fail(wrong(BadParameter, "body.old", "", isMissing))
	case in.New == nil:
		r.fail(wrong(BadParameter, "body.new", "", isMissing))
	}
	r.fail(tooMany("body.agent", len(in.Agent), mostNamed))
	d := r.crawler("body.", in.Dialect, nil).Dialect
	if r.problem != nil {
		return nil
	}
	r.work(budget.Reading(len(*in.Old) + len(*in.New)))
	if r.problem != nil {
		return nil
	}
	before, after := robots.Parse([]byte(*in.Old)), robots.Parse([]byte(*in.New))
	var who []answer.Crawler
	for i := range in.Agent {
		who = append(who, r.crawler("body.", in.Dialect, in.Agent[i:i+1]))
		who[i].Name = in.Agent[i]
	}
	dialect := cmp.Or(in.Dialect, s.parts.Dialect)
	if len(who) == 0 && r.problem == nil {
		if dialect == ask.AutoDialect {
			d = robots.Dialect{}
		}
		who = answer.Comparable(before, after, [2]robots.Dialect{d, d})
	}
	if len(who) > mostCompared {
		r.fail(NewProblem(TooMany, fmt.Sprintf("the files name %d crawlers, but at most %d are compared: select some with agent", len(who)-1, mostCompared)))
	}
	for range who {
		r.holdText(0)
	}
	r.holdText(longestLists)
	if r.problem != nil {
		return nil
	}
	found := answer.Diff(before, after, who, answer.DiffOptions{Total: r.exchange.budget.Left(diffSteps), Changes: mostChanges, Text: longestLists})
	r.work(found.Steps)
	j := &Diff{Dialect: dialect, Same: true, Crawlers: found.Crawlers}
	for _, c := range found.Crawlers {
		j.Same = j.Same && c.Same()
	}
	return respond(j)
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
