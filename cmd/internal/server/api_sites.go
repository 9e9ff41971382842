package server

import (
	"context"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/fetch"
	"golang.org/x/sync/errgroup"
)

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
	if len(all) == 0 {
		return
	}
	keep := func(at *requestSite, record *fetch.Record, p *Problem) {
		if p == nil {
			p = r.exchange.keep(len(record.Body))
		}
		at.problem = p
		if p == nil {
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

// inParallel calls get for all missing sites concurrently, within one wait.
func inParallel[T any](ctx context.Context, missing map[robots.Origin]T, get func(robots.Origin, T)) {
	if len(missing) == 0 {
		return
	}
	exchangeOf(ctx).wait(func() {
		var gets errgroup.Group
		gets.SetLimit(mostParallel)
		for origin, site := range missing {
			gets.Go(func() error {
				get(origin, site)
				return nil
			})
		}
		_ = gets.Wait()
	})
}
