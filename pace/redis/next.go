package redis

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

var _ pace.Chooser = (*Limiter)(nil)

// Next grants starts to the first k of the asked sites that are ready. It gives back what
// has ended, up to 32 of a tag in one script. Then it looks at the states of all sites, a GET
// of each in one pipeline, and finds in this process which may be ready. Only about those
// that it chooses a script decides, up to 32 of a tag in one.
func (l *Limiter) Next(ctx context.Context, asked []pace.Question, k int) ([]pace.Grant, error) {
	began := l.options.Asked()
	l.giveBack(ctx, asked)
	sites := make([]*askedSite, len(asked))
	for i, q := range asked {
		sites[i] = &askedSite{decision: decision{key: q.Key, schedule: q.Schedule, grant: pace.Grant{Key: q.Key}}, tag: l.tagOf(q.Key.Origin.String())}
	}
	if err := l.refuses(ctx, len(asked)); err != nil {
		return nil, err
	}
	l.look(ctx, sites)
	for k > 0 {
		chosen := choose(sites, k, func(s *askedSite) bool { return (s.ready || !s.known) && !l.waited(s.key.Origin) })
		if len(chosen) == 0 {
			break
		}
		l.decideAll(ctx, chosen)
		for _, s := range chosen {
			if s.grant.OK() {
				k--
			}
		}
	}
	for {
		unknown := choose(sites, len(sites), func(s *askedSite) bool { return !s.known })
		if len(unknown) == 0 {
			break
		}
		for _, s := range unknown {
			s.peek = true
		}
		l.decideAll(ctx, unknown)
	}
	answers := make([]pace.Grant, len(sites))
	err := l.refuses(ctx, len(asked))
	for i, s := range sites {
		if answers[i] = s.grant; err != nil {
			l.unused(ctx, s.grant)
		}
	}
	if err != nil {
		return nil, err
	}
	for _, g := range answers {
		if g.OK() {
			l.options.TellDecided(g.Key.Origin, began, g, nil)
		}
	}
	return answers, nil
}

// refuses returns why so many sites cannot be asked for.
func (l *Limiter) refuses(ctx context.Context, sites int) error {
	switch {
	case ctx.Err() != nil:
		return waiting(ctx, fmt.Sprintf("for %d sites", sites))
	case l.closing.Err() != nil:
		return errClosed
	}
	return l.stopped()
}

// An askedSite is a site that a frontier asks for.
type askedSite struct {
	decision
	tag   *tag
	known bool // there is an answer, by a look or by the server's decision
	ready bool // by a look a request may start now
}

// choose returns the first of the sites that will do, at most so many and each origin once:
// a script knows of an origin only what was there before it.
func choose(sites []*askedSite, most int, will func(*askedSite) bool) (chosen []*askedSite) {
	origins := map[robots.Origin]bool{}
	for _, s := range sites {
		if len(chosen) == most {
			break
		}
		if !origins[s.key.Origin] && will(s) {
			origins[s.key.Origin] = true
			chosen = append(chosen, s)
		}
	}
	return chosen
}

// giveBack gives back what has ended.
func (l *Limiter) giveBack(ctx context.Context, asked []pace.Question) {
	ends := map[*tag][]release{}
	for i := range asked {
		if t, rel, tell := l.ending(ctx, asked[i].Ended, asked[i].Result); tell {
			ends[t] = append(ends[t], rel)
		}
	}
	eachBatch(ends, func(t *tag, list []release) {
		_ = l.tell(ctx, t, list...) // what cannot be told is kept, or ends by itself
	})
	for i := range asked {
		l.options.TellDone(asked[i].Ended, asked[i].Result, nil)
		if asked[i].Result.Unused {
			l.signal(asked[i].Ended.Key.Origin)
		}
	}
}

// batchesAtOnce is how many batches of a tag are on their way together: they keep a server
// busy for 10 ms.
const batchesAtOnce = 64

// eachBatch calls f for all tags at the same time, with at most maxBatch at once: the client
// sends their calls together.
func eachBatch[T any](of map[*tag][]T, f func(*tag, []T)) {
	var all sync.WaitGroup
	for t, list := range of {
		batches := slices.Collect(slices.Chunk(list, maxBatch))
		var taken atomic.Int64
		for range min(len(batches), batchesAtOnce) {
			all.Go(func() {
				for n := taken.Add(1); n <= int64(len(batches)); n = taken.Add(1) {
					f(t, batches[n-1])
				}
			})
		}
	}
	all.Wait()
}

// look finds what the states of the sites say. It leaves out those of which a look cannot
// say enough: there is an outage, or was one, or nobody knows the server's clock.
func (l *Limiter) look(ctx context.Context, sites []*askedSite) {
	var asked []*askedSite
	var cmds rueidis.Commands
	for _, s := range sites {
		if t := s.tag; t.outage.Load() == nil && clock().UnixNano() > t.localUntil.Load() && t.clock.known() {
			asked = append(asked, s)
			// Pinned as in tag.join.
			cmds = append(cmds, l.client.B().Get().Key(l.key("origin", s.key.Origin.String())).Build().Pin())
		}
	}
	if len(asked) == 0 {
		return
	}
	others := l.others()
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	sent := clock()
	replies := l.client.DoMulti(ctx, cmds...)
	received := clock()
	for i, s := range asked {
		value, err := replies[i].ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			if kind := script.KindOf(err); parent.Err() == nil && (kind == script.Lost || kind == script.Down) {
				s.tag.goDown(err)
			}
			continue
		}
		r := reading{microsAt(s.tag.clock.estimate()), sent, received}
		site, ok := l.siteOf(value, r.now, others)
		if !ok {
			continue
		}
		s.known = true
		s.ready = !site.State.Busy && !s.schedule.NextIn(timeAt(r.now), site.State).After(timeAt(r.now))
		s.grant = s.result(answer{code: codeRefused, state: site.State, held: site.Held.Equal(site.State.NotBefore) && !site.Held.IsZero()}, r, 0)
	}
}

// siteOf reads the state of an origin, "" for none. It is not ok if that is for the script
// alone: what is damaged, a clock that was set back, a grant whose worker is gone.
func (l *Limiter) siteOf(value string, now micros, others list) (s Site, ok bool) {
	if value == "" {
		return s, true
	}
	ok = s.parse(value, now, &l.options, others.gone)
	return s, ok && s.moved <= microsOf(clockSlack)
}

// decideAll makes the decisions about sites, all tags at once. A site whose tag is down, and
// where the policy is to stop, is refused.
func (l *Limiter) decideAll(ctx context.Context, sites []*askedSite) {
	open := map[*tag][]*askedSite{}
	for _, s := range sites {
		open[s.tag] = append(open[s.tag], s)
		s.known, s.ready = true, false
	}
	eachBatch(open, func(t *tag, list []*askedSite) {
		decisions := make([]*decision, len(list))
		for i, s := range list {
			decisions[i] = &s.decision
		}
		o := t.outage.Load()
		if o == nil {
			err := t.decide(ctx, decisions...)
			if err == nil || ended(ctx) {
				return
			}
			o = t.goDown(err)
		}
		for _, d := range decisions {
			if !d.decided {
				d.grant = t.alone(ctx, o, d)
			}
		}
	})
}

// alone is decideAlone for one of many sites.
func (t *tag) alone(ctx context.Context, o *outage, d *decision) pace.Grant {
	g, err := t.decideAlone(ctx, o, d)
	if err != nil {
		again := clock().Add(jittered(longestAlone))
		turn := d.schedule.TurnIn(again, pace.State{})
		turn.Reasons = slices.Insert(turn.Reasons, 0, pace.Reason{Cause: pace.CauseDegraded, Until: again})
		g = pace.Grant{Key: d.key, Turn: turn}
	}
	return g
}
