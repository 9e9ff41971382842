package pace

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The values that zero fields of Options stand for.
const (
	// DefaultAddressInterval is the time between two requests to one IP address,
	// whatever sites they are for.
	DefaultAddressInterval = 500 * time.Millisecond
	// DefaultFetchInterval is the time between two fetches of robots.txt from one IP
	// address: 10 a second (D-57).
	DefaultFetchInterval = 100 * time.Millisecond
)

// An AddressPace is the pace at each address of a prefix. One machine with many
// sites on it and a network that answers for 10^7 of them look alike from outside;
// whoever crawls broadly knows the second kind by their published prefixes.
type AddressPace struct {
	// Prefix is the addresses it is for. 0.0.0.0/0 and ::/0 are all of a family.
	Prefix netip.Prefix
	// Interval is the time between two requests to one address of the prefix, and
	// also, beside it and on its own, between two fetches of robots.txt from there.
	// Below 0 for no pace; 0 is an error.
	Interval time.Duration
}

// ParseAddressPace reads a pace such as 104.16.0.0/13=50/s: a prefix or a single
// address, and how often one address of it may be asked, a number and a time with
// the unit s, m, h or d as in 50/s, 1/30s or 400/h; or none.
func ParseAddressPace(s string) (AddressPace, error) {
	var p AddressPace
	where, rate, ok := strings.Cut(s, "=")
	if !ok {
		return p, fmt.Errorf("address pace %.80q is not PREFIX=RATE, such as 104.16.0.0/13=50/s or 127.0.0.0/8=none", s)
	}
	var err error
	if p.Prefix, err = netip.ParsePrefix(where); err != nil {
		addr, err := netip.ParseAddr(where)
		if err != nil || addr.Zone() != "" {
			return p, fmt.Errorf("address pace %.80q does not begin with a prefix such as 104.16.0.0/13, or an address", s)
		}
		p.Prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	p.Prefix = unmapped(p.Prefix)
	if rate == "none" {
		p.Interval = -1
		return p, nil
	}
	if p.Interval, ok = parseRate(rate); !ok {
		return p, fmt.Errorf("address pace %.80q does not end with a rate such as 50/s, 1/30s or 400/h, or none", s)
	}
	return p, nil
}

// parseRate returns the interval of N/[P]unit, a nanosecond at the least.
func parseRate(s string) (time.Duration, bool) {
	many, each, ok := strings.Cut(s, "/")
	n, err := strconv.ParseUint(many, 10, 32)
	if !ok || err != nil || n == 0 || each == "" {
		return 0, false
	}
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}
	unit, period := units[each[len(each)-1]], uint64(1)
	if each = each[:len(each)-1]; each != "" {
		if period, err = strconv.ParseUint(each, 10, 32); err != nil {
			return 0, false
		}
	}
	if unit == 0 || period == 0 || period > uint64(MaxInterval/unit) {
		return 0, false
	}
	return max(time.Duration(period)*unit/time.Duration(n), 1), true
}

// unmapped returns a prefix of IPv4 addresses written as IPv6 as what it is, like
// the addresses it is compared with.
func unmapped(p netip.Prefix) netip.Prefix {
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	return p.Masked()
}

// filledAddresses returns the paces in the order in which they are asked: the
// longest prefix first.
func filledAddresses(list []AddressPace) ([]AddressPace, error) {
	list = slices.Clone(list)
	for i := range list {
		p := &list[i]
		switch {
		case !p.Prefix.IsValid():
			return nil, fmt.Errorf("the pace of addresses number %d has no prefix", i+1)
		case p.Interval == 0:
			return nil, fmt.Errorf("the pace of %s has no interval: one below 0 is none", p.Prefix)
		}
		p.Prefix, p.Interval = unmapped(p.Prefix), max(min(p.Interval, MaxInterval), -1)
	}
	slices.SortStableFunc(list, func(a, b AddressPace) int { return cmp.Compare(b.Prefix.Bits(), a.Prefix.Bits()) })
	for i := range list {
		for j := i + 1; j < len(list) && list[j].Prefix.Bits() == list[i].Prefix.Bits(); j++ {
			if list[i].Prefix == list[j].Prefix {
				return nil, fmt.Errorf("the pace of %s is given twice", list[i].Prefix)
			}
		}
	}
	return list, nil
}

// At returns the time between two requests to an address, and between two fetches
// of robots.txt from it, 0 for no pace. o must come from Filled.
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
