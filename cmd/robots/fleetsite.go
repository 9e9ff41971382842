package main

import (
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/duration"
	"github.com/robotskit/robots/pace"
	paceredis "github.com/robotskit/robots/pace/redis"
)

// This file has the answers of robots fleet show, and writes them as text.

// A fleetSite is the state of a site in a fleet. A crawler decides the next request.
type fleetSite struct {
	Origin     string            `json:"origin"`        // scheme, host and port
	At         time.Time         `json:"at"`            // by the clock of its server
	Record     *fleetRecord      `json:"record"`        // of its robots.txt, null if there is none
	Lease      answer.Interval   `json:"lease_seconds"` // for which a worker can still fetch robots.txt, 0 if none does
	Last       *time.Time        `json:"last"`          // end of a request, or start of the last one
	RetryAfter *time.Time        `json:"retry_after"`   // end of a Retry-After
	BackOff    int               `json:"back_off"`      // factor of the interval, 0 without overload
	Overload   *time.Time        `json:"overload"`      // when the site last signaled it
	Held       *time.Time        `json:"held"`          // end of an operator's hold
	Permits    []fleetSitePermit `json:"permits"`       // acquired ones
	Next       *time.Time        `json:"next"`          // when the next request may start, null if none may
	Reasons    []string          `json:"reasons"`       // sentences why it may not start earlier
	WriteError *string           `json:"write_error"`   // why its server refuses writes, so that nothing starts

	known  bool   // for text: Last is known
	noNext string // for text: why there is no next request
}

// A fleetRecord is a robots.txt in the shared store.
type fleetRecord struct {
	Outcome string    `json:"outcome"`           // of the fetch
	Status  int       `json:"status"`            // of the last response
	Cause   string    `json:"cause"`             // of the outcome
	Bytes   int       `json:"bytes"`             // of the file
	Fetched time.Time `json:"fetched"`           // when the fetch ended
	Expires time.Time `json:"expires,omitzero"`  // when it is fetched again
	NextTry time.Time `json:"next_try,omitzero"` // when the next attempt is due

	record *fetch.Record
}

// A fleetSitePermit is the right to send one request.
type fleetSitePermit struct {
	Worker *string   `json:"worker"` // its id, null for a client of a service
	Start  time.Time `json:"start"`  // of the request
	End    time.Time `json:"end"`    // when the permit expires
}

func newFleetSite(s *fleet.Site, crawler Crawler) *fleetSite {
	p := &s.Pace
	retryAfter := p.State.NotBefore
	if retryAfter.Equal(p.Held) {
		retryAfter = time.Time{}
	}
	site := &fleetSite{
		Origin: s.Origin.String(), At: p.At, Lease: answer.Interval(s.LeaseLeft), Last: notEmpty(p.State.Last), RetryAfter: notEmpty(retryAfter),
		BackOff: int(p.State.BackOff), Overload: notEmpty(p.Overload), Held: notEmpty(p.Held), Permits: []fleetSitePermit{}, Reasons: []string{},
		WriteError: errorText(p.WriteError), known: p.Known,
	}
	if r := s.Record; r != nil {
		site.Record = &fleetRecord{
			Outcome: r.Outcome.String(), Status: r.Status, Cause: r.Cause.String(), Bytes: len(r.Body), Fetched: r.Fetched,
			Expires: r.Expires, NextTry: r.NextTry, record: r,
		}
	}
	for _, permit := range p.Permits {
		site.Permits = append(site.Permits, fleetSitePermit{Worker: notEmpty(permit.Worker), Start: permit.Start, End: permit.Expires})
	}
	site.setNext(s, crawler)
	return site
}

// setNext sets the next request of a crawler to a site, or why there is none.
func (s *fleetSite) setNext(site *fleet.Site, crawler Crawler) {
	p := &site.Pace
	switch {
	case s.WriteError != nil:
		s.noNext = "none while its Redis server refuses writes: " + robots.Printable(*s.WriteError)
		return
	case s.Record == nil:
		s.noNext = "unknown without a robots.txt"
		return
	}
	rules := site.Record.Rules(crawler.Dialect, p.At, crawler.Tokens...)
	if _, without := rules.FallbackReason(); without && !rules.Allowed(robots.RawPath("/")) {
		s.noNext = "none while robots.txt is unavailable: the site counts as disallowed"
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

// until formats a time and how far off it is.
func until(t, now time.Time) string { return render.Stamp(t) + ", in " + duration.Text(t.Sub(now)) }

func (s *fleetSite) writeText(w io.Writer, _ render.Palette) {
	line := func(what, text string) { fmt.Fprintf(w, "  %-9s  %s\n", what, text) }
	fmt.Fprintln(w, s.Origin)
	line("record", s.Record.text())
	if s.Lease > 0 {
		line("lease", "a worker fetches robots.txt, for "+duration.Text(time.Duration(s.Lease))+" at most")
	}
	line("last", s.lastText())
	for i := range s.Permits {
		line("permit", s.Permits[i].text())
	}
	if s.BackOff > 0 {
		line("back-off", fmt.Sprintf("%d times the interval, since the site signaled overload at %s", s.BackOff, render.Stamp(valueOf(s.Overload))))
	}
	if held := valueOf(s.Held); held.Sub(s.At) > paceredis.Forever/2 {
		line("held", "until released")
	} else if held.After(s.At) {
		line("held", "until "+until(held, s.At))
	}
	switch {
	case s.Next == nil:
		line("next", s.noNext)
	case s.Next.After(s.At):
		line("next", until(*s.Next, s.At))
	default:
		line("next", "now")
	}
	for _, reason := range s.Reasons {
		line("", reason)
	}
}

// text describes a record, or that there is none.
func (r *fleetRecord) text() string {
	if r == nil {
		return "none"
	}
	text := fmt.Sprintf("fetched %s: %s, status %d, %s", render.Stamp(r.Fetched), r.Outcome, r.Status, render.Count(r.Bytes, "byte"))
	if r.record.Outcome.Good() {
		text += ", fresh until " + render.Stamp(r.Expires)
	} else {
		text += ", " + r.record.Cause.Sentence() + ", next try from " + render.Stamp(r.NextTry)
	}
	return robots.Printable(text)
}

func (s *fleetSite) lastText() string {
	switch {
	case !s.known:
		return "unknown, so the site counts as requested now"
	case s.Last == nil:
		return "no request that still matters"
	case s.Last.After(s.At):
		return "counts as requested at " + render.Stamp(*s.Last)
	}
	return "a request ended, or the last one started, at " + render.Stamp(*s.Last)
}

func (p *fleetSitePermit) text() string {
	holder := "a client of a service"
	if p.Worker != nil {
		holder = "worker " + *p.Worker
	}
	return holder + ", from " + render.Stamp(p.Start) + ", expires " + render.Stamp(p.End)
}

// A fleetAddress is the state of an IP address in a fleet.
type fleetAddress struct {
	Addr  netip.Addr `json:"addr"`  // IPv4 or IPv6
	At    time.Time  `json:"at"`    // by the clock of its server
	Page  *time.Time `json:"page"`  // last reserved start of a request for a page
	Fetch *time.Time `json:"fetch"` // last reserved start of a robots.txt fetch
}

func newFleetAddress(addr netip.Addr, a paceredis.Address) *fleetAddress {
	return &fleetAddress{Addr: addr, At: a.At, Page: notEmpty(a.Page), Fetch: notEmpty(a.Fetch)}
}

func (a *fleetAddress) writeText(w io.Writer, _ render.Palette) {
	last := func(at *time.Time) string {
		if at == nil {
			return "none that still matters"
		}
		return "last start at " + render.Stamp(*at)
	}
	fmt.Fprintf(w, "%s\n  page        %s\n  robots.txt  %s\n", a.Addr, last(a.Page), last(a.Fetch))
}
