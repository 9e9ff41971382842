package pace

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// The values that zero fields of Options stand for.
const (
	// DefaultAddressInterval is the time between two requests to one IP address,
	// whatever sites they are for.
	DefaultAddressInterval = 500 * time.Millisecond
	// DefaultFetchInterval is the time between two fetches of robots.txt from one IP
	// address, or one and a page: 10 a second (D-57).
	DefaultFetchInterval = 100 * time.Millisecond
)

// Options are the settings of a limiter. The zero value is right for one crawler.
type Options struct {
	// Concurrency is how many requests to one origin may be sent at the same time: 1 if 0.
	// With more, starts still keep the interval from each other.
	Concurrency int
	// AddressInterval is the time between two requests to one IP address:
	// DefaultAddressInterval if 0, no pace per address if negative. Several
	// crawlers that share no limiter should multiply it by their number.
	AddressInterval time.Duration
	// FetchInterval is the time between a fetch of robots.txt from one IP address and
	// any other start there: DefaultFetchInterval if 0, none if negative.
	FetchInterval time.Duration
	// Addresses are the paces of prefixes. They precede the two intervals; the longest
	// prefix of an address decides. They are for crawls of many sites: content delivery
	// networks and site builders serve 10^5 to 10^7 sites from one address, and at 10 a
	// second the robots.txt files of a million sites take 28 hours.
	Addresses []AddressPace
	// Lifetime is how long after its start a permit expires: 10 minutes if 0.
	Lifetime time.Duration
	// MaxRetryAfter is the longest Retry-After that is honored in full: 24 h if 0.
	MaxRetryAfter time.Duration
	// MaxBackOff is how long after the last overload a back-off ends, however few responses
	// came since: 24 h if 0.
	MaxBackOff time.Duration
	// MaxBytes bounds the memory for idle sites: 512 MiB if 0, about 4 million sites.
	// Waiting callers are not counted.
	MaxBytes int
	// Now is the clock, time.Now if nil; a shared limiter ignores it. Sleeps are by the
	// machine's clock.
	Now func() time.Time
	// Observe receives the limiter's events. It is called from many goroutines, must be
	// fast and must not call the limiter.
	Observe func(Event)
}

// Filled returns the options with the defaults for zero fields, for implementations of
// Limiter. The error names the field that is wrong and the values that are right.
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
		{&o.AddressInterval, DefaultAddressInterval},
		{&o.FetchInterval, DefaultFetchInterval},
		{&o.Lifetime, 10 * time.Minute},
		{&o.MaxRetryAfter, 24 * time.Hour},
		{&o.MaxBackOff, 24 * time.Hour},
	} {
		fill(d.field, d.otherwise)
		*d.field = min(max(*d.field, 0), MaxInterval)
	}
	o.Addresses = slices.Clone(o.Addresses)
	for i := range o.Addresses {
		p := &o.Addresses[i]
		p.Prefix, p.Interval = unmapped(p.Prefix), min(p.Interval, MaxInterval)
	}
	// The longest prefix is tried first.
	slices.SortStableFunc(o.Addresses, func(a, b AddressPace) int { return cmp.Compare(b.Prefix.Bits(), a.Prefix.Bits()) })
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default of a clock that is an option
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
			return errors.New("the pace of " + prefix.String() + " is set twice") // as by a flag of the program
		}
		seen[prefix] = true
	}
	return nil
}

// At returns the time between two requests to an address, and between two fetches
// of robots.txt from it, 0 for no pace. o must be filled.
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
