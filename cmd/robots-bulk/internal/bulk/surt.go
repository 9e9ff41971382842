package bulk

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
)

// SURT returns the host part of the key of a site in archive indexes (CDX, Common Crawl's
// columnar index): its labels in reverse order, without www and its number, and the port if
// it is not the default. Sites that differ by www or scheme share a key. An IP address is
// unchanged.
func SURT(o robots.Origin) string {
	host := o.Host()
	switch at, err := netip.ParseAddr(host); {
	case err == nil && at.Is6():
		host = "[" + host + "]"
	case err != nil:
		labels := strings.Split(trimWWW(host), ".")
		slices.Reverse(labels)
		host = strings.Join(labels, ",")
	}
	if port := o.Port(); port != defaultPorts[o.Scheme()] {
		host += ":" + strconv.Itoa(port)
	}
	return host
}

var defaultPorts = map[string]int{"http": 80, "https": 443, "ftp": 21}

// trimWWW removes a first label of www and digits, as the Python package surt does. The host
// has no dot at its end.
func trimWWW(host string) string {
	rest, ok := strings.CutPrefix(host, "www")
	if !ok {
		return host
	}
	rest = strings.TrimLeft(rest, "0123456789")
	if rest, ok = strings.CutPrefix(rest, "."); ok {
		return rest
	}
	return host
}
