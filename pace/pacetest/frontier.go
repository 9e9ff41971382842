package pacetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots/pace"
)

// What a pace.Chooser says beside the rest. A limiter that is none skips these tests.

func (r *run) next(asked []pace.Question, k int) []pace.Grant {
	r.Helper()
	chooser, is := r.limiter.(pace.Chooser)
	if !is {
		r.Skip("it answers for one site at a time")
	}
	answers, err := chooser.Next(r.Context(), asked, k)
	if err != nil {
		r.Fatal(err)
	}
	if len(answers) != len(asked) {
		r.Fatalf("%d answers to %d questions", len(answers), len(asked))
	}
	for i, g := range answers {
		if g.Key != asked[i].Key {
			r.Fatalf("answer %d is about %s, asked was %s", i, g.Key, asked[i].Key)
		}
	}
	return answers
}

// questions asks for so many sites.
func (r *run) questions(name string, n int, s *pace.Schedule) []pace.Question {
	asked := make([]pace.Question, n)
	for i := range asked {
		asked[i] = pace.Question{Key: r.key(fmt.Sprint(name, i), ""), Schedule: s}
	}
	return asked
}

// which returns the numbers of what is granted.
func which(answers []pace.Grant) string {
	var which []int
	for i, g := range answers {
		if g.OK() {
			which = append(which, i)
		}
	}
	return fmt.Sprint(which)
}

// nextChooses: the first k that are ready, and the turns of all others.
func nextChooses(r *run) {
	r.make(pace.Options{})
	s := r.every(20)
	asked := r.questions("choose", 7, s)
	r.next(asked, 0)
	busy := r.granted(asked[1].Key, s)
	r.done(r.granted(asked[3].Key, s), ok)
	if got := which(r.next(asked, 0)); got != "[]" {
		r.Fatalf("with k of 0 the sites %s are granted", got)
	}
	answers := r.next(asked, 2)
	if got := which(answers); got != "[0 2]" {
		r.Fatalf("of 2 the sites %s are granted, want 0 and 2: 1 is busy and 3 was asked a moment ago", got)
	}
	if !because(answers[1].Turn, pace.CauseBusy) {
		r.Errorf("the reasons of a busy site are %v", answers[1].Reasons)
	}
	r.about(answers[3].Turn, 20)
	for i, g := range answers {
		if i == 1 || i == 3 {
			continue
		}
		if r.about(g.Turn, 0); g.OK() && !r.limiter.Valid(g) {
			r.Errorf("the grant of site %d is not valid", i)
		}
	}
	if got := which(r.next(asked, 100)); got != "[4 5 6]" {
		r.Fatalf("of the rest the sites %s are granted, want 4, 5 and 6", got)
	}
	twice := r.questions("twice", 1, s)
	if got := which(r.next(append(twice, twice[0]), 2)); got != "[0]" {
		r.Fatalf("of one site asked for twice %s is granted", got)
	}
	r.done(busy, pace.Result{Unused: true})
	r.done(r.granted(asked[1].Key, s), ok)
}

// nextGivesBack: what has ended counts before the question, and whatever becomes of that.
func nextGivesBack(r *run) {
	r.make(pace.Options{})
	s := r.every(20)
	asked := r.questions("back", 3, s)
	answers := r.next(asked, 3)
	if got := which(answers); got != "[0 1 2]" {
		r.Fatalf("granted are %s of 3 new sites", got)
	}
	for i := range asked {
		asked[i].Ended, asked[i].Result = answers[i], ok
	}
	asked[0].Result = pace.Result{Unused: true}
	asked[1].Result = pace.Result{Status: 503}
	answers = r.next(asked, 3)
	if got := which(answers); got != "[0]" {
		r.Fatalf("granted are %s, want 0, whose start was not used", got)
	}
	if base := max(20*r.Unit, time.Second); answers[1].Interval != 2*base || answers[2].Interval != 20*r.Unit {
		r.Errorf("the intervals after a 503 and a 200 are %s and %s, want %s and %s", answers[1].Interval, answers[2].Interval, 2*base, 20*r.Unit)
	}
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	asked = []pace.Question{{Key: asked[0].Key, Schedule: s, Ended: answers[0], Result: pace.Result{Unused: true}}}
	if _, err := r.limiter.(pace.Chooser).Next(ctx, asked, 1); !errors.Is(err, context.Canceled) {
		r.Errorf("Next with an ended context says %v, want an error that wraps context.Canceled", err)
	}
	r.done(r.granted(asked[0].Key, s), ok) // it was given back all the same
}

// nextYields: a site at which callers of Wait queue is theirs.
func nextYields(r *run) {
	r.make(pace.Options{})
	asked := r.questions("yield", 1, r.every(2))
	r.next(asked, 0)
	g := r.granted(asked[0].Key, asked[0].Schedule)
	var served atomic.Bool
	var all sync.WaitGroup
	all.Go(func() {
		g, err := r.limiter.Wait(r.Context(), asked[0].Key, asked[0].Schedule)
		if err != nil {
			r.Error(err)
		}
		served.Store(true)
		if err := r.limiter.Done(r.Context(), g, ok); err != nil {
			r.Error(err)
		}
	})
	r.pass(8) // in which that call begins to wait
	r.done(g, ok)
	for !r.next(asked, 1)[0].OK() {
		r.pass(0.1)
	}
	if !served.Load() {
		r.Error("Next was granted a start before a caller of Wait who came first")
	}
	all.Wait()
}

// nextMany: one call for many sites, and many callers of it.
func nextMany(r *run) {
	r.make(pace.Options{})
	s := r.every(2)
	many := r.questions("many", 500, s)
	r.next(many[:1], 0)
	degraded := 0
	for _, g := range r.next(many, len(many)) {
		switch {
		case g.OK():
		case slices.ContainsFunc(g.Reasons, func(reason pace.Reason) bool { return reason.Cause == pace.CauseDegraded }):
			degraded++ // a machine that is busy may answer too late
		default:
			r.Errorf("%v is a new site, and is refused: %v", g.Key, g.Turn)
		}
	}
	if degraded > 0 {
		r.Logf("of 500 new sites %d are out of reach for now", degraded)
	}
	const callers, sites, starts = 4, 12, 3
	asked := r.questions("hot", sites, s)
	logs := make([]arrivals, sites)
	began := r.now()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() { r.crawl(asked, logs, starts) })
	}
	all.Wait()
	for i := range logs {
		logs[i].Lock()
		logs[i].obeys(r, 2*r.Unit, max(len(logs[i].starts), starts), 1)
		logs[i].Unlock()
	}
	r.Logf("%d callers, at least %d starts at each of %d sites in %s", callers, starts, sites, r.now().Sub(began))
}

// crawl asks for sites, three of them at a time, until each was asked so often by anybody.
func (r *run) crawl(asked []pace.Question, logs []arrivals, starts int) {
	ended := map[int]pace.Grant{}
	for {
		var open []int
		var questions []pace.Question
		for i := range asked {
			logs[i].Lock()
			if g := ended[i]; g.OK() || len(logs[i].starts) < starts {
				open = append(open, i)
				questions = append(questions, pace.Question{Key: asked[i].Key, Schedule: asked[i].Schedule, Ended: g, Result: ok})
			}
			logs[i].Unlock()
			if g := ended[i]; g.OK() {
				logs[i].end()
			}
		}
		if clear(ended); len(open) == 0 {
			return
		}
		answers, err := r.limiter.(pace.Chooser).Next(r.Context(), questions, 3)
		if err != nil {
			r.Error(err)
			return
		}
		for n, g := range answers {
			if g.OK() {
				logs[open[n]].begin(g.Start)
				ended[open[n]] = g
			}
		}
		r.pass(0.25)
	}
}
