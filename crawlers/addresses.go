package crawlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"
)

// Addresses is an operator's published list of a crawler's addresses. It is immutable and safe
// for concurrent use. The zero value is empty.
type Addresses struct {
	// Created is the creation date in the list, such as 2026-01-31, or "".
	Created string
	// Problems describes the first ten invalid lines or values, with their line numbers; Bad
	// counts all. The crawler might also use addresses in these lines.
	Problems []string
	Bad      int

	prefixes map[netip.Prefix]bool
	lengths  map[int]bool // of the prefixes
	size     int          // number of prefixes, repeated ones included
}

const (
	mostProblems = 10
	// shortestIPv4 and shortestIPv6 are the minimum lengths of a prefix. No crawler has more
	// addresses: a list with 0.0.0.0/0, by mistake or intent, would verify every client.
	shortestIPv4 = 8
	shortestIPv6 = 16
)

// ReadAddresses reads a published list: JSON, in which members count whose name contains
// address, prefix or IP, as in {"prefixes": [{"ipv4Prefix": ...}]}, or text with one address
// or prefix per line, in which anything after a comma, space or # is ignored (RFC 8805).
// Invalid lines are Problems, as are prefixes shorter than /8 (IPv6: /16). The error says that the text is not a list: it has no address,
// or is incomplete JSON.
func ReadAddresses(text []byte) (*Addresses, error) {
	a := &Addresses{prefixes: map[netip.Prefix]bool{}, lengths: map[int]bool{}}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	var err error
	if begin := bytes.TrimLeft(text, " \t\r\n"); len(begin) > 0 && (begin[0] == '{' || begin[0] == '[') {
		err = a.readJSON(text)
	} else {
		a.readText(text)
	}
	switch {
	case err != nil:
		return nil, err
	case a.size == 0 && a.Bad > 0:
		return nil, errors.New("it contains no address: " + a.Problems[0])
	case a.size == 0:
		return nil, errors.New("it contains no address")
	}
	return a, nil
}

// Len returns the number of addresses and prefixes in the list.
func (a *Addresses) Len() int { return a.size }

// Contains reports whether the list contains an address. An IPv4 address can be written as an
// IPv6 address (::ffff:192.0.2.1).
func (a *Addresses) Contains(address netip.Addr) bool {
	if address.Zone() != "" {
		return false
	}
	for length := range a.lengths {
		if p, err := address.Unmap().Prefix(length); err == nil && a.prefixes[p] { // an error: of IPv6, longer than IPv4
			return true
		}
	}
	return false
}

func (a *Addresses) readText(text []byte) {
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line, _, _ = bytes.Cut(line, []byte("#"))
		value := strings.TrimSpace(string(line))
		if i := strings.IndexAny(value, ", \t;"); i >= 0 {
			value = value[:i]
		}
		if value != "" || len(bytes.TrimSpace(line)) > 0 {
			a.add(number, value)
		}
	}
}

// readJSON reads the values of all members with addresses.
func (a *Addresses) readJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	type value struct {
		member string // that it is the value of
		object bool
	}
	var open []value // objects and arrays
	line := 1        // of the decoder
	counted := 0     // offset up to which lines are counted
	member := ""
	isName := false
	for {
		token, err := d.Token()
		if err == io.EOF && len(open) == 0 {
			return nil
		}
		if err == io.EOF {
			return errors.New("it is incomplete JSON")
		}
		if err != nil {
			return fmt.Errorf("it is not JSON: %w", err)
		}
		at := min(int(d.InputOffset()), len(text))
		line += bytes.Count(text[counted:at], []byte("\n"))
		counted = at
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				open = append(open, value{member, token == '{'})
			} else {
				member = open[len(open)-1].member
				open = open[:len(open)-1]
			}
		case string:
			if isName {
				member = token
				isName = false
				continue
			}
			switch {
			case strings.EqualFold(member, "creationTime") && a.Created == "":
				if _, err := time.Parse(time.DateOnly, token[:min(len(token), len(time.DateOnly))]); err == nil {
					a.Created = token[:len(time.DateOnly)]
				}
			case speaksOfAddresses(member) && strings.TrimSpace(token) != "":
				a.add(line, strings.TrimSpace(token))
			}
		}
		isName = len(open) > 0 && open[len(open)-1].object
	}
}

// speaksOfAddresses reports whether the values of a member are addresses: ipv4Prefix, ip,
// ip_address, addresses, cidr.
func speaksOfAddresses(member string) bool {
	m := strings.ToLower(member)
	return m == "" || strings.HasPrefix(m, "ip") || strings.Contains(m, "prefix") || strings.Contains(m, "address") ||
		strings.Contains(m, "cidr")
}

// add reads an address or prefix in a line.
func (a *Addresses) add(number int, value string) {
	p, why := parsePrefix(value)
	if why != "" {
		a.Bad++
		if len(a.Problems) < mostProblems {
			const most = 80
			if len(value) > most {
				value = value[:most] + "..."
			}
			a.Problems = append(a.Problems, fmt.Sprintf("line %d: %q %s", number, value, why))
		}
		return
	}
	a.size++
	a.prefixes[p] = true
	a.lengths[p.Bits()] = true
}

// parsePrefix reads an address or a prefix; bits after the prefix are ignored. If it is
// invalid, why is the reason.
func parsePrefix(value string) (p netip.Prefix, why string) {
	if address, err := netip.ParseAddr(value); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), ""
	}
	p, err := netip.ParsePrefix(value)
	if err != nil {
		return p, "is not an address or a prefix"
	}
	least := shortestIPv6
	if address := p.Addr(); address.Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(address.Unmap(), p.Bits()-96)
	}
	if p.Addr().Is4() {
		least = shortestIPv4
	}
	if p.Bits() < least {
		return p, fmt.Sprintf("contains more addresses than any crawler has (shorter than /%d)", least)
	}
	return p.Masked(), ""
}
