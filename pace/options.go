package pace

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/robotskit/robots/pace/internal/limiters"
)

// Defaults of Options.
const (
	// defaultAddressInterval is the time between two requests to one IP address, for any
	// sites.
	defaultAddressInterval = 500 * time.Millisecond
	// defaultFetchInterval is the time between a fetch of robots.txt and any other start at
	// one IP address: 10 a second (D-57).
	defaultFetchInterval = 100 * time.Millisecond
)

// Options configure a limiter. The zero value suits one crawler.
type Options struct {
	// Concurrency is the number of concurrent requests to one origin: 1 if 0. Their starts
	// still keep the interval.
	Concurrency int
	// AddressInterval is the time between two requests to one IP address:
	// half a second if 0, no limit if negative. Multiply it by the number of crawlers
	// that share no limiter.
	AddressInterval time.Duration
	// FetchInterval is the time between a fetch of robots.txt and any other start at one IP
	// address: 100 ms if 0, no limit if negative.
	FetchInterval time.Duration
	// Addresses are the rates for prefixes, instead of the two intervals; the longest matching
	// prefix decides. Large crawls need them: content delivery networks and site builders
	// serve 10^5 to 10^7 sites from one address, where 10 a second take 28 hours for a million
	// robots.txt files.
	Addresses []AddressPace
	// Lifetime is how long after its start a permit expires: 10 minutes if 0.
	Lifetime time.Duration
	// MaxRetryAfter is the longest Retry-After that is followed in full: 24 h if 0.
	MaxRetryAfter time.Duration
	// MaxBackOff is how long after the last overload a back-off ends even without responses:
	// 24 h if 0.
	MaxBackOff time.Duration
	// MaxBytes limits the memory for sites: 512 MiB if 0, about a million. A site takes memory
	// only until its interval, Retry-After and back-off have passed. While there is no room, other
	// sites get no permit (CauseFull). Waiting callers are not counted.
	MaxBytes int
	// Now is the clock, time.Now if nil. A shared limiter ignores it. Sleeps use the system
	// clock.
	Now func() time.Time
	// Observe gets the limiter's events. It is called from many goroutines, so it must be
	// fast, and must not call the limiter.
	Observe func(Event)
}

// The limiter of pace/redis uses these functions too.
func init() {
	limiters.Register(limiters.Functions[Options, Request, Permit]{
		Fill: Options.filled, LifetimeOf: (*Options).lifetimeOf, IntervalsAt: (*Options).intervalsAt, Decided: (*Options).decided,
	})
}

// filled returns the options with defaults. The error names the invalid field and the valid values.
func (o Options) filled() (Options, error) {
	wrong := func(field string, value any, right string) (Options, error) {
		return o, fmt.Errorf("pace.Options.%s is %v: %s", field, value, right)
	}
	for _, n := range [...]struct {
		name      string
		field     *int
		otherwise int
	}{{"Concurrency", &o.Concurrency, 1}, {"MaxBytes", &o.MaxBytes, 512 << 20}} {
		if *n.field < 0 {
			return wrong(n.name, *n.field, "it must be 1 or more, or 0 for the default")
		}
		*n.field = cmp.Or(*n.field, n.otherwise)
	}
	for _, d := range [...]struct {
		name      string
		field     *time.Duration
		otherwise time.Duration
	}{
		{"AddressInterval", &o.AddressInterval, defaultAddressInterval},
		{"FetchInterval", &o.FetchInterval, defaultFetchInterval},
		{"Lifetime", &o.Lifetime, 10 * time.Minute},
		{"MaxRetryAfter", &o.MaxRetryAfter, 24 * time.Hour},
		{"MaxBackOff", &o.MaxBackOff, 24 * time.Hour},
	} {
		if *d.field < 0 && d.otherwise > defaultAddressInterval { // a negative interval is no limit
			return wrong(d.name, *d.field, "it must be positive, or 0 for the default")
		}
		*d.field = min(max(cmp.Or(*d.field, d.otherwise), 0), maxInterval)
	}
	o.Addresses = slices.Clone(o.Addresses)
	seen := map[netip.Prefix]bool{}
	for i := range o.Addresses {
		p := &o.Addresses[i]
		field := "Addresses[" + strconv.Itoa(i) + "]"
		if !p.Prefix.IsValid() {
			return wrong(field+".Prefix", "empty", "it must be a prefix such as 104.16.0.0/13")
		}
		p.Prefix = unmapped(p.Prefix)
		p.Interval = min(p.Interval, maxInterval)
		if p.Interval == 0 {
			return wrong(
				field+".Interval", 0,
				"it must be the time between two requests to an address of "+p.Prefix.String()+", or negative for no pace",
			)
		}
		if seen[p.Prefix] { // for example by repeated flags
			return o, fmt.Errorf("the pace of %s is set twice", p.Prefix)
		}
		seen[p.Prefix] = true
	}
	// The longest prefix is tried first.
	slices.SortStableFunc(o.Addresses, func(a, b AddressPace) int { return cmp.Compare(b.Prefix.Bits(), a.Prefix.Bits()) })
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default
	}
	if o.Observe == nil {
		o.Observe = func(Event) {}
	}
	return o, nil
}

// lifetimeOf returns how long after its start a permit for r expires.
func (o *Options) lifetimeOf(r *Request) time.Duration {
	if r.Lifetime > 0 {
		return min(r.Lifetime, maxLifetime)
	}
	return o.Lifetime
}

// intervalsAt returns the time between two requests to an address, and between two fetches of
// robots.txt, 0 for no limit.
func (o *Options) intervalsAt(addr netip.Addr) (requests, fetches time.Duration) {
	if !addr.IsValid() {
		return 0, 0
	}
	addr = addr.Unmap().WithZone("")
	for i := range o.Addresses {
		if p := &o.Addresses[i]; p.Prefix.Contains(addr) {
			d := max(p.Interval, 0)
			return d, d
		}
	}
	return o.AddressInterval, o.FetchInterval
}
