package source

import (
	"net/netip"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/pace"
	paceredis "github.com/robotskit/robots/pace/redis"
)

// FleetStatus returns the workers and servers of a fleet, whose state has some parts.
func FleetStatus(s *fleet.Status, parts int) *answer.FleetStatus {
	status := &answer.FleetStatus{At: s.At, Workers: []answer.FleetWorker{}, Servers: []answer.FleetServer{}, Parts: parts}
	for _, w := range s.Workers {
		if w.Gone || w.Left {
			w.Rate = 0
		}
		status.Workers = append(status.Workers, answer.FleetWorker{
			ID: w.ID, Name: w.Name, Heartbeat: w.Beat, Away: w.Gone && !w.Left, Left: w.Left, Drained: w.Drained,
			PermitsPerSecond: w.Rate, PartsAway: w.Away,
		})
	}
	for _, n := range s.Nodes {
		status.Servers = append(status.Servers, answer.FleetServer{
			Addr: n.Addr, Error: errorText(n.Err), Replica: n.Replica, Version: n.Version, Memory: n.Memory, MaxMemory: n.MaxMemory,
			Keys: n.Keys, CommandsPerSecond: n.Rate, Up: answer.Interval(n.Up), WriteError: errorText(n.WriteErr),
		})
	}
	return status
}

// errorText returns the text of an error, nil for none.
func errorText(err error) *string {
	if err == nil {
		return nil
	}
	return new(err.Error())
}

// FleetConfig returns the options that all workers share.
func FleetConfig(c *paceredis.Config) *answer.FleetConfig {
	return &answer.FleetConfig{
		Version: c.Version, Concurrency: c.Concurrency, AddressInterval: answer.Interval(c.AddressInterval),
		FetchInterval: answer.Interval(c.FetchInterval), Lifetime: answer.Interval(c.Lifetime),
	}
}

// FleetHold returns what an operator holds.
func FleetHold(h paceredis.Held, now time.Time) *answer.FleetHold {
	hold := &answer.FleetHold{Target: h.Target.String()}
	if h.Until.Sub(now) < paceredis.Forever/2 {
		hold.Until = &h.Until
	}
	return hold
}

// FleetSite returns the state of a site, with the next request of a crawler.
func FleetSite(s *fleet.Site, crawler answer.Crawler) *answer.FleetSite {
	p := &s.Pace
	retryAfter := p.State.NotBefore
	if retryAfter.Equal(p.Held) {
		retryAfter = time.Time{}
	}
	site := &answer.FleetSite{
		Origin: s.Origin.String(), At: p.At, Lease: answer.Interval(s.LeaseLeft), Last: answer.OrNull(p.State.Last),
		RetryAfter: answer.OrNull(retryAfter),
		BackOff:    int(p.State.BackOff), Overload: answer.OrNull(p.Overload), Held: answer.OrNull(p.Held),
		Permits: []answer.FleetSitePermit{}, Reasons: []string{},
		WriteError: errorText(p.WriteError), LastUnknown: !p.Known, HeldForever: p.Held.Sub(p.At) > paceredis.Forever/2,
	}
	if r := s.Record; r != nil {
		site.Record = &answer.FleetRecord{
			Outcome: r.Outcome.String(), Status: r.Status, Cause: r.Cause.String(), Bytes: len(r.Body), Fetched: r.Fetched,
			Expires: r.Expires, NextTry: r.NextTry, Answered: r.Outcome.Good(), Problem: r.Cause.Sentence(),
		}
	}
	for _, permit := range p.Permits {
		one := answer.FleetSitePermit{Worker: answer.OrNull(permit.Worker), Start: permit.Start, End: permit.Expires}
		site.Permits = append(site.Permits, one)
	}
	setNextRequest(site, s, crawler)
	return site
}

// setNextRequest sets the next request of a crawler to a site, or why there is none.
func setNextRequest(s *answer.FleetSite, site *fleet.Site, crawler answer.Crawler) {
	p := &site.Pace
	switch {
	case s.WriteError != nil:
		s.NoNext = "none while its Redis server refuses writes: " + robots.Printable(*s.WriteError)
		return
	case s.Record == nil:
		s.NoNext = "unknown without a robots.txt"
		return
	}
	rules := site.Record.Rules(crawler.Dialect, p.At, crawler.Tokens...)
	if _, without := rules.FallbackReason(); without && !rules.Allowed(robots.RawPath("/")) {
		s.NoNext = "none while robots.txt is unavailable: the site counts as disallowed"
		return
	}
	schedule, _ := pace.NewSchedule(rules, pace.Policy{}) // a policy without limits is valid
	start, reasons := schedule.Explain(p.At, p.State)
	s.Next = &start
	for _, r := range reasons {
		if r.Cause == pace.CauseRetryAfter && r.Until.Equal(p.Held) {
			r.Cause = pace.CauseHeld
		}
		s.Reasons = append(s.Reasons, r.String())
	}
}

// FleetAddress returns the state of an IP address.
func FleetAddress(addr netip.Addr, a paceredis.Address) *answer.FleetAddress {
	return &answer.FleetAddress{Addr: addr, At: a.At, Page: answer.OrNull(a.Page), Fetch: answer.OrNull(a.Fetch)}
}
