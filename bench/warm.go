package main

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/polite"
)

const (
	warmURLs = 10_000 // that a pass asks
	warmSame = 512    // of a site, at most, as in the rows of match
)

// A crawl is URLs and the transports that are asked about them, which share a cache.
type crawl struct {
	urls       []string
	transports []*polite.Transport
}

// fetcher has the robots.txt of every site.
type fetcher map[string][]byte

func (f fetcher) Fetch(_ context.Context, origin robots.Origin) (*fetch.Record, error) {
	now := time.Now()
	return &fetch.Record{
		Origin: origin, URL: origin.RobotsURL(), Outcome: fetch.Success, Cause: fetch.OK, Status: 200,
		Body: f[origin.Host()], Started: now, Fetched: now,
	}, nil
}

// idle is a Limiter that does nothing, so that of NotBefore only that is measured
// which comes before it.
type idle struct{ pace.Limiter }

func (idle) NotBefore(context.Context, pace.Key, *pace.Schedule) (pace.Turn, error) {
	return pace.Turn{}, nil
}

// newCrawl returns a crawl by crawlers of these tokens over so many sites with so
// many rules each, in random order.
func newCrawl(seed uint64, sites, rules int, tokens ...string) *crawl {
	rng := newRand(seed, 11)
	files := fetcher{}
	c := &crawl{}
	for i := range sites {
		host := fmt.Sprintf("www.site%d.example", i)
		list := literalRules(rng, rules)
		files[host] = fileOf(list)
		own := make([]string, min(warmURLs/sites, warmSame))
		for k := range own {
			own[k] = "https://" + host + makeQuery(rng, list).raw
		}
		for k := range warmURLs / sites {
			c.urls = append(c.urls, own[k%len(own)])
		}
	}
	rng.Shuffle(len(c.urls), func(i, k int) { c.urls[i], c.urls[k] = c.urls[k], c.urls[i] })
	kept, err := cache.New(cache.Options{Fetcher: files})
	for _, token := range tokens {
		var t *polite.Transport
		if err == nil {
			t, err = polite.New(token, polite.Options{Cache: kept, Limiter: idle{}})
		}
		c.transports = append(c.transports, t)
	}
	if err != nil {
		panic(err) // the options are written above
	}
	return c
}

// verdicts asks every URL, the crawlers in turn.
func (c *crawl) verdicts(int) (n int) {
	for i, u := range c.urls {
		v, err := c.transports[i%len(c.transports)].Verdict(context.Background(), u)
		n += count(err == nil && v.Allowed)
	}
	return n
}

// turns asks when each URL may be requested.
func (c *crawl) turns(int) (n int) {
	for i, u := range c.urls {
		_, err := c.transports[i%len(c.transports)].NotBefore(context.Background(), u)
		n += count(err == nil)
	}
	return n
}

// parses is what the times are compared with.
func (c *crawl) parses(int) (n int) {
	for _, u := range c.urls {
		_, err := url.Parse(u)
		n += count(err == nil)
	}
	return n
}

// measureWarm measures what an answer costs once the robots.txt of its site is in
// memory, from a URL through polite and cache. What is compared is measured in the
// same rounds, which are many and short, one beside the other.
func measureWarm(o options, seed uint64, selected *regexp.Regexp) []fact {
	if !selected.MatchString("warm") {
		return nil
	}
	o = o.short()
	var facts []fact
	add := func(f fact) {
		progress("%s", f.line())
		facts = append(facts, f)
	}
	one := newCrawl(seed, 1, 13, "ExampleBot")
	for _, k := range []struct {
		name, unit string
		crawl      *crawl
		per        *crawl // whose verdicts the verdicts are compared with, nil for net/url.Parse
		goal       goal
	}{
		{"verdict", "one site, 13 rules", one, nil, goal{atMost, 1.5, 1}},
		{"verdict-rules", "10,000 rules", newCrawl(seed, 1, 10_000, "ExampleBot"), one, goal{atMost, 1.5, 1.5}},
		{"verdict-sites", "10,000 sites", newCrawl(seed, warmURLs, 13, "ExampleBot"), nil, goal{atMost, 2.5, 2}},
		{"verdict-crawlers", "two tokens in turn", newCrawl(seed, 1, 13, "ExampleBot", "ExampleBot-Image"), one, goal{atMost, 2, 2}},
	} {
		const verdict, turn, parse, base = "verdict", "turn", "parse", "base"
		w := &work{ops: warmURLs, engines: []engine{{name: turn, pass: k.crawl.turns}, {name: verdict, pass: k.crawl.verdicts}, {name: parse, pass: k.crawl.parses}}}
		per, unit := parse, "× net/url.Parse"
		if k.per != nil {
			per, unit = base, "× warm/verdict"
			w.engines = append(w.engines, engine{name: base, pass: k.per.verdicts})
		}
		ns := measure(w, o)
		ratio := func(name, unit string, g goal, of func(i int) float64) {
			add(ofRounds("warm/"+name, unit+": "+k.unit, o.rounds, g, of))
		}
		ratio(k.name, unit, k.goal, func(i int) float64 { return ns[verdict][i] / ns[per][i] })
		ratio("schedule-of-"+k.name, "× net/url.Parse beyond a verdict", goal{atMost, 0.3, 0.3}, func(i int) float64 {
			return (ns[turn][i] - ns[verdict][i]) / ns[parse][i]
		})
		least := max(allocs(w, w.engines[0]), allocs(w, w.engines[1]))
		add(fact{"warm/allocs-of-" + k.name, "allocations per operation", map[string]float64{ours: least}, goal{atMost, 0, 0}})
	}
	return facts
}
