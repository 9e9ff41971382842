package batch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/quote"
)

// judge validates the members of a question, and appends the verdict and the URL. The order is fixed, so that a line with several
// mistakes always gets the same error.
func (a *Answerer) judge(dst []byte, q *Question, r *fetch.Record, now time.Time) ([]byte, error) {
	if q.bad != nil {
		return dst, q.bad
	}
	d, word, err := a.dialectWord(q)
	if err != nil {
		return dst, err
	}
	key, at, err := a.optionsOf(q, now)
	if err != nil {
		return dst, err
	}
	url, path, err := a.urlOf(q, d)
	if err != nil {
		return dst, err
	}
	if err := a.setCrawler(q, word, d); err != nil {
		return dst, err
	}
	if err := a.setRobots(&key, q, r, at); err != nil {
		return dst, err
	}
	if err := a.makeRules(key, at); err != nil {
		return dst, err
	}
	v, err := a.crawler.rules.Judge(path)
	if err != nil {
		return dst, err
	}
	a.last = Last{true, v.Allowed, v.Undecided()}
	if q.row {
		return appendRow(dst, v), nil
	}
	return a.appendVerdict(dst, q, url, v)
}

// dialectWord returns the dialect of a question, and the word that names it: with auto, the dialect is that of the crawler.
func (a *Answerer) dialectWord(q *Question) (d robots.Dialect, word string, err error) {
	d, auto, err := a.dialectOf(q)
	if err != nil || !auto {
		return d, d.Name, err
	}
	if err := a.setCrawler(q, ask.AutoDialect, robots.RFC9309); err != nil {
		return d, "", err
	}
	return a.crawler.Dialect, ask.AutoDialect, nil
}

// optionsOf returns the options of a question that change rules, and its time, now unless the line or the defaults have another.
func (a *Answerer) optionsOf(q *Question, now time.Time) (key rulesKey, at time.Time, err error) {
	if key.maxBytes, err = a.limitOf(q); err != nil {
		return key, at, err
	}
	if at, err = q.time(); err != nil {
		return key, at, err
	}
	key.userInitiated, err = a.userOf(q)
	return key, cmp.Or(at, a.At, now), err
}

// urlOf returns the URL of a question, as given and parsed.
func (a *Answerer) urlOf(q *Question, d robots.Dialect) (url string, path robots.Path, err error) {
	if q.url == nil {
		return "", path, coded{BadURL, errors.New("url is missing")}
	}
	url, ok := q.string(q.url)
	if !ok {
		return "", path, coded{BadURL, errors.New("url is not a string")}
	}
	if exceeds(len(url), a.Limits.URL) {
		return "", path, coded{BadURL, fmt.Errorf("url has more than %d bytes", a.Limits.URL)}
	}
	if _, path, err = ask.URL(d, url, a.fetches(q)); err != nil {
		return "", path, coded{BadURL, err}
	}
	return url, path, nil
}

// setRobots sets the robots.txt that answers a question: a file, or the record of its site. Only the verdicts of a record depend on the
// time.
func (a *Answerer) setRobots(key *rulesKey, q *Question, r *fetch.Record, at time.Time) (err error) {
	if !a.fetches(q) {
		key.File, err = a.fileOf(q)
		return err
	}
	if r == nil {
		return coded{Pending, errors.New("its robots.txt is not there")}
	}
	key.Record = r
	key.at = at
	return nil
}

// makeRules makes the rules of the crawler, unless those of the last question apply.
func (a *Answerer) makeRules(key rulesKey, at time.Time) error {
	if a.key != key {
		a.key = key
		a.dropRules()
	}
	if a.crawler.rules != nil {
		return nil
	}
	if err := a.Budget.Work(key.Reading()); err != nil {
		return err
	}
	rules := key.Obey(a.crawler.Dialect, key.maxBytes, at, a.crawler.Tokens)
	if key.userInitiated {
		rules = rules.UserInitiated()
	}
	a.ruleCount += rules.Len()
	if a.ruleCount > maxRules {
		a.dropRules()
		a.ruleCount = rules.Len()
	}
	a.crawler.rules = &answer.RuleSet{Rules: rules, Limits: a.Limits.Answer, Budget: a.Budget}
	return nil
}

// appendVerdict appends a verdict and the URL within the budget.
func (a *Answerer) appendVerdict(dst []byte, q *Question, url string, v robots.Verdict) ([]byte, error) {
	// Echoed members can have control characters and bytes that are not UTF-8.
	echoed := 6*len(url) + 3*(len(q.id)+len(q.agent)) + len(a.defaultAgents)
	dst, err := a.crawler.rules.AppendWithin(dst, v, echoed+answer.MaxAboutJSON)
	if err != nil {
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
	a.ruleCount = 0
	a.crawler.rules = nil
	for _, c := range a.crawlers {
		c.rules = nil
	}
}

// setCrawler sets the crawler of a question in a dialect, or as its word auto means it.
func (a *Answerer) setCrawler(q *Question, word string, d robots.Dialect) error {
	if a.crawler != nil && a.dialect == word && bytes.Equal(a.agent, q.agent) {
		return nil
	}
	crawler := a.crawlers[agentKey{word, string(q.agent)}]
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
			if a.crawlers == nil || len(a.crawlers) == maxKnown {
				a.crawlers = map[agentKey]*crawlerRules{}
			}
			a.crawlers[agentKey{word, string(q.agent)}] = crawler
		}
		if a.OnAgent != nil && q.agent != nil {
			for _, t := range crawler.Given() {
				a.OnAgent(t, crawler.Dialect)
			}
		}
	}
	a.crawler = crawler
	a.dialect = word
	a.agent = append(a.agent[:0], q.agent...)
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
