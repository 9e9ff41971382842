package bulk

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
)

// SURT returns the key under which indexes of archives (CDX, the columnar index of
// Common Crawl) have the pages of a site, as far as it names the host: its labels from
// the last to the first, without www and its number, and the port if it is not that of
// the scheme.
// Sites that differ by www and scheme have one key, so whoever joins by it compares
// origins, too. An address stands as it is.
func SURT(o robots.Origin) string {
	host := o.Host()
	switch at, err := netip.ParseAddr(host); {
	case err == nil && at.Is6():
		host = "[" + host + "]"
	case err != nil:
		labels := strings.Split(withoutWWW(host), ".")
		slices.Reverse(labels)
		host = strings.Join(labels, ",")
	}
	if port := o.Port(); port != defaultPorts[o.Scheme()] {
		host += ":" + strconv.Itoa(port)
	}
	return host
}

var defaultPorts = map[string]int{"http": 80, "https": 443, "ftp": 21}

// withoutWWW takes a first label away that is www and perhaps a number, as the Python
// package surt does, of which the indexes are made.
func withoutWWW(host string) string {
	rest, ok := strings.CutPrefix(host, "www")
	if !ok {
		return host
	}
	rest = strings.TrimLeft(rest, "0123456789")
	if rest, ok = strings.CutPrefix(rest, "."); ok && rest != "" {
		return rest
	}
	return host
}
