// Package limiters passes functions of package pace to package pace/redis, so that package pace does not export
// them. It cannot import package pace, so the types of that are parameters.
package limiters

import (
	"net/netip"
	"time"

	"github.com/robotskit/robots"
)

// Functions are what all limiters do with pace.Options, pace.Request and pace.Permit. All but Fill need options
// with defaults.
type Functions[Options, Request, Permit any] struct {
	// Fill returns options with defaults. The error names the invalid field and the valid values.
	Fill func(o Options) (Options, error)
	// LifetimeOf returns how long after its start a permit for a request expires.
	LifetimeOf func(o *Options, r *Request) time.Duration
	// IntervalsAt returns the time between two requests to an address, and between two fetches of robots.txt,
	// 0 for no limit.
	IntervalsAt func(o *Options, addr netip.Addr) (requests, fetches time.Duration)
	// Decided reports the outcome of a call about an origin that began at a time.
	Decided func(o *Options, origin robots.Origin, p *Permit, called time.Time, err error)
}

var registered any

// Register sets the functions; package pace does so when it is initialized.
func Register[Options, Request, Permit any](f Functions[Options, Request, Permit]) { registered = f }

// Of returns the functions for the types of package pace.
func Of[Options, Request, Permit any]() Functions[Options, Request, Permit] {
	return registered.(Functions[Options, Request, Permit])
}
