package server

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/batch"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/quote"
	"github.com/robotskit/robots/pace"
)

// Permits for many sites, with one call of the limiter.

// A wantedPage is a URL of a request, with its verdict and its permit.
type wantedPage struct {
	url      string
	path     robots.Path
	site     *wantedSite
	problem  *Problem
	allowed  bool
	outcome  Outcome
	decision []byte // members of the answer
	permit   pace.Permit
}

// A wantedSite is a site of a request, with what its pages share.
type wantedSite struct {
	*requestSite
	pages    []*wantedPage
	schedule *pace.Schedule
	addr     netip.Addr
	fetched  time.Time // of the robots.txt
	common   []byte    // members of each answer
	about    []byte    // and those about the crawler
}

// A permitsBody is the body of POST /v1/permits/next.
type permitsBody struct {
	URLs    []string `json:"urls"`
	Most    *int     `json:"most"`
	Agent   Agents   `json:"agent"`
	Dialect string   `json:"dialect"`
	Wait    string   `json:"wait"`
	Hold    string   `json:"hold"`
	Done    []Return `json:"done"`
}

// most returns how many permits the client wants.
func (b *permitsBody) most(r *request) int {
	most := len(b.URLs)
	switch {
	case b.URLs == nil:
		r.fail(wrong(BadParameter, "body.urls", "", isMissing))
	case most == 0:
		r.fail(wrong(BadParameter, "body.urls", "", "must not be empty"))
	case b.Most != nil:
		most = *b.Most
		r.fail(outOfRange("body.most", float64(most), 1, mostURLs))
	}
	r.fail(tooMany("body.urls", len(b.URLs), mostURLs))
	return most
}

// permits answers POST /v1/permits/next.
func (s *Service) permits(r *request) *response {
	var b permitsBody
	r.decode(&b)
	most := b.most(r)
	hold := r.hold(b.Hold)
	wait := r.timeout("body.wait", b.Wait)
	crawler := r.crawler("body.", b.Dialect, b.Agent)
	if r.problem == nil {
		r.problem = r.exchange.charge(len(b.URLs))
	}
	returned := r.releaseAll(b.Done)
	if r.problem != nil {
		return nil
	}
	pages := r.pages(b.URLs, &crawler, wait)
	r.permitPages(pages, most, hold)
	if r.problem != nil {
		return nil
	}
	agent := append(appendAgent([]byte{','}, b.Agent), ',')
	out := []byte(`{"answers":[`)
	for i := range pages {
		if i > 0 {
			out = append(out, ",\n"...)
		}
		out = r.appendPage(out, &pages[i], agent, hold)
	}
	return permitsOf(append(out, ']'), returned)
}

// permitPages requests permits for the first allowed pages whose sites are ready, at most so many.
func (r *request) permitPages(pages []wantedPage, most int, hold time.Duration) {
	var allowed []*wantedPage
	var requests []pace.Request
	for i := range pages {
		q := &pages[i]
		if !q.allowed {
			continue
		}
		allowed = append(allowed, q)
		requests = append(requests, pace.Request{
			Origin: q.site.origin, Schedule: q.site.schedule, Addr: q.site.addr, Fetched: q.site.fetched,
			Lifetime: hold, Untrusted: r.exchange.Anonymous,
		})
	}
	list := r.try(requests, most)
	if r.problem != nil {
		return
	}
	for i, q := range allowed {
		q.permit = list[i]
	}
}

// appendPage appends the answer to a page, or its problem. Agent is the member agent between commas.
func (r *request) appendPage(dst []byte, q *wantedPage, agent []byte, hold time.Duration) []byte {
	size := 0
	if q.problem == nil {
		size = len(q.decision) + len(q.site.common) + 6*len(q.url) + len(agent) + len(q.site.about) + longestPermit
		if err := r.exchange.budget.Hold(size); err != nil {
			q.problem = OverBudget(err)
		}
	}
	if q.problem != nil {
		return append(dst, answer.JSON(LineError{Error: q.problem.Error(), Code: string(q.problem.code())})...)
	}
	before := len(dst)
	dst = append(dst, `{"verdict":{`...)
	dst = append(dst, q.decision...)
	dst = append(dst, ',')
	dst = append(dst, q.site.common...)
	dst = append(dst, `,"url":`...)
	dst = quote.Append(dst, q.url)
	dst = append(dst, agent...)
	dst = append(dst, q.site.about...)
	dst = append(dst, '}')
	dst = append(r.s.appendPermit(dst, q.allowed, q.permit, hold), '}')
	r.exchange.budget.Free(size - (len(dst) - before))
	return dst
}

// pages finds the verdicts for URLs. Sites that are not in memory are fetched concurrently; then one
// site after another is judged, so that only one file at a time is read.
func (r *request) pages(urls []string, c *answer.Crawler, wait time.Duration) []wantedPage {
	pages := make([]wantedPage, len(urls))
	all := requestSites{}
	var wanted []*wantedSite
	known := map[robots.Origin]*wantedSite{}
	for i, url := range urls {
		q := &pages[i]
		q.url = url
		if longest := r.s.parts.URLBytes; int64(len(url)) > longest {
			q.problem = wrong(BadURL, "body.urls", url, fmt.Sprintf("has a URL of more than %d bytes", longest))
			continue
		}
		var origin robots.Origin
		origin, q.path, q.problem = siteOf(c.Dialect, url, "body.urls")
		if q.problem != nil {
			continue
		}
		at := known[origin]
		if at == nil {
			at = &wantedSite{requestSite: all.of(origin)}
			known[origin] = at
			wanted = append(wanted, at)
		}
		q.site = at
		at.pages = append(at.pages, q)
	}
	r.find(all, wait)
	for _, at := range wanted {
		r.judge(at, c)
	}
	for i := range pages {
		q := &pages[i]
		switch {
		case q.site == nil:
			r.exchange.answered("", q.problem.outcome())
		case q.problem != nil:
			r.exchange.answered(q.site.origin.String(), q.problem.outcome())
		default:
			r.exchange.answered(q.site.origin.String(), q.outcome)
		}
	}
	return pages
}

// judge finds the verdicts for the pages of a site, and its schedule if one is allowed. It then keeps
// neither the record nor the rules.
func (r *request) judge(at *wantedSite, c *answer.Crawler) {
	record := at.record
	b := r.exchange.budget
	at.record = nil
	p := at.problem
	var rules answer.RuleSet
	if p == nil {
		defer r.exchange.files.Free(len(record.Body))
		rules = answer.RuleSet{Limits: answerLimits, Budget: b}
		var err error
		if at.common, err = r.rulesOf(&rules, record, c); err != nil {
			p = OverBudget(err)
		}
		if p == nil {
			at.about = c.AppendJSON(nil, rules.Rules)
		}
		at.addr = record.Addr()
		at.fetched = record.Fetched
	}
	for _, q := range at.pages {
		q.problem = p
		if p != nil {
			continue
		}
		v, err := rules.Judge(q.path)
		if err == nil {
			err = b.Hold(answer.LongestDecision(v))
		}
		if err == nil && v.Allowed && at.schedule == nil {
			if err = b.Work(budget.Scheduling(len(record.Body))); err == nil {
				at.schedule = r.s.paceOf(rules.Rules)
				err = b.Hold(bytesOfEntry * len(at.schedule.Entries()))
			}
		}
		if err != nil {
			q.problem = OverBudget(err)
			continue
		}
		q.allowed = v.Allowed
		q.decision = v.AppendJSON(nil)
		q.outcome = outcomeOf(batch.Last{Answered: true, Allowed: v.Allowed, Undecided: v.Undecided()})
	}
}

// rulesOf sets the rules of a record for a crawler, those that the cache keeps if it still has the
// record, and returns the members that their answers share.
func (r *request) rulesOf(rules *answer.RuleSet, record *fetch.Record, c *answer.Crawler) ([]byte, error) {
	if err := rules.Budget.Work(source.RobotsTXT{Record: record}.Reading()); err != nil {
		return nil, err
	}
	kept, of, err := r.s.cache.Rules(ended, record.Origin, &cache.Crawler{Dialect: c.Dialect, Tokens: c.Tokens})
	if err != nil || of != record {
		kept = record.Rules(c.Dialect, r.s.now(), c.Tokens...)
	}
	rules.Rules = kept
	common, err := rules.Common()
	if err == nil {
		err = rules.Budget.Hold(len(common))
	}
	return common, err
}
