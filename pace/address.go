package pace

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// An AddressPace is the rate limit for each address of a prefix. Networks that serve many
// sites from one address look like a single machine from outside; such networks publish their
// prefixes.
type AddressPace struct {
	// Prefix is the range of addresses. 0.0.0.0/0 and ::/0 are all addresses of a family.
	Prefix netip.Prefix
	// Interval is the time between two starts at one address, requests and fetches of
	// robots.txt alike. A negative Interval means no limit; 0 is an error.
	Interval time.Duration
}

// Set reads the text of a flag, PREFIX=RATE: a prefix or a single address, and the number of
// requests per time with the unit s, m, h or d, as in 104.16.0.0/13=50/s, 1/30s or 400/h, or
// none.
func (p *AddressPace) Set(s string) error {
	wrong := func(what string) error { return errors.New("address pace " + strconv.Quote(clip(s)) + " " + what) }
	where, rate, ok := strings.Cut(s, "=")
	if !ok {
		return wrong("is not PREFIX=RATE, such as 104.16.0.0/13=50/s or 127.0.0.0/8=none")
	}
	var err error
	if p.Prefix, err = netip.ParsePrefix(where); err != nil {
		addr, err := netip.ParseAddr(where)
		if err != nil || addr.Zone() != "" {
			return wrong("does not begin with a prefix such as 104.16.0.0/13, or an address")
		}
		p.Prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	p.Prefix = unmapped(p.Prefix)
	if rate == "none" {
		p.Interval = -1
		return nil
	}
	if p.Interval, ok = parseRate(rate); !ok {
		return wrong("does not end with a rate such as 50/s, 1/30s or 400/h, or none")
	}
	return nil
}

// parseRate returns the interval of N/[P]unit, at least a nanosecond.
func parseRate(s string) (time.Duration, bool) {
	many, each, ok := strings.Cut(s, "/")
	n, err := strconv.ParseUint(many, 10, 32)
	if !ok || err != nil || n == 0 || each == "" {
		return 0, false
	}
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}
	unit := units[each[len(each)-1]]
	period := uint64(1)
	each = each[:len(each)-1]
	if each != "" {
		if period, err = strconv.ParseUint(each, 10, 32); err != nil {
			return 0, false
		}
	}
	if unit == 0 || period == 0 || period > uint64(maxInterval/unit) {
		return 0, false
	}
	return max(time.Duration(period)*unit/time.Duration(n), 1), true
}

// unmapped returns a prefix of IPv4-mapped IPv6 addresses as an IPv4 prefix, for comparison.
func unmapped(p netip.Prefix) netip.Prefix {
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	return p.Masked()
}
