package pace

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"time"
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
	// MaxBytes limits the memory for idle sites: 512 MiB if 0, about a million sites. Waiting
	// callers are not counted.
	MaxBytes int
	// Now is the clock, time.Now if nil. A shared limiter ignores it. Sleeps use the system
	// clock.
	Now func() time.Time
	// Observe gets the limiter's events. It is called from many goroutines, so it must be
	// fast, and must not call the limiter.
	Observe func(Event)
}

// Filled returns the options with defaults, for implementations of Limiter. The error names
// the invalid field and the valid values.
func (o Options) Filled() (Options, error) {
	if err := o.check(); err != nil {
		return o, err
	}
	fill(&o.Concurrency, 1)
	fill(&o.MaxBytes, 512<<20)
	for _, d := range [...]struct {
		field     *time.Duration
		otherwise time.Duration
	}{
		{&o.AddressInterval, defaultAddressInterval},
		{&o.FetchInterval, defaultFetchInterval},
		{&o.Lifetime, 10 * time.Minute},
		{&o.MaxRetryAfter, 24 * time.Hour},
		{&o.MaxBackOff, 24 * time.Hour},
	} {
		fill(d.field, d.otherwise)
		*d.field = min(max(*d.field, 0), maxInterval)
	}
	o.Addresses = slices.Clone(o.Addresses)
	for i := range o.Addresses {
		p := &o.Addresses[i]
		p.Prefix, p.Interval = unmapped(p.Prefix), min(p.Interval, maxInterval)
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

func fill[T int | time.Duration](v *T, value T) {
	if *v == 0 {
		*v = value
	}
}

// check returns what is wrong with the options.
func (o Options) check() error {
	wrong := func(field, value, right string) error {
		return errors.New("pace.Options." + field + " is " + value + ": " + right)
	}
	for _, n := range [...]struct {
		field string
		value int
	}{{"Concurrency", o.Concurrency}, {"MaxBytes", o.MaxBytes}} {
		if n.value < 0 {
			return wrong(n.field, strconv.Itoa(n.value), "it must be 1 or more, or 0 for the default")
		}
	}
	for _, d := range [...]struct {
		field string
		value time.Duration
	}{{"Lifetime", o.Lifetime}, {"MaxRetryAfter", o.MaxRetryAfter}, {"MaxBackOff", o.MaxBackOff}} {
		if d.value < 0 {
			return wrong(d.field, d.value.String(), "it must be positive, or 0 for the default")
		}
	}
	seen := map[netip.Prefix]bool{}
	for i, p := range o.Addresses {
		field := "Addresses[" + strconv.Itoa(i) + "]"
		prefix := unmapped(p.Prefix)
		switch {
		case !p.Prefix.IsValid():
			return wrong(field+".Prefix", "empty", "it must be a prefix such as 104.16.0.0/13")
		case p.Interval == 0:
			return wrong(field+".Interval", "0", "it must be the time between two requests to an address of "+prefix.String()+", or negative for no pace")
		case seen[prefix]:
			return errors.New("the pace of " + prefix.String() + " is set twice") // for example by repeated flags
		}
		seen[prefix] = true
	}
	return nil
}

// LifetimeOf returns how long after its start a permit for r expires. Call it on filled options.
func (o Options) LifetimeOf(r Request) time.Duration {
	if r.Lifetime > 0 {
		return min(r.Lifetime, maxLifetime)
	}
	return o.Lifetime
}

// At returns the time between two requests to an address, and between two fetches of
// robots.txt, 0 for no limit. Call it on filled options.
func (o Options) At(addr netip.Addr) (requests, fetches time.Duration) {
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
