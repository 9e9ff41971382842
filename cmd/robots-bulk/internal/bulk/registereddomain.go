package bulk

import (
	"net/netip"

	"golang.org/x/net/publicsuffix"
)

// registeredDomain returns the registered domain of a host by the Public Suffix List, private
// suffixes included: example.co.uk for www.example.co.uk, a.github.io for a.github.io. It returns ""
// for an IP address, and for a host that is itself a public suffix.
func registeredDomain(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return ""
	}
	return domain
}
