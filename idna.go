package robots

import (
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// lookup maps as browsers do: UTS 46, non-transitional, without the STD3 rules
// and without checks of hyphens (D-36).
var lookup = sync.OnceValue(func() *idna.Profile {
	return idna.New(
		idna.MapForLookup(),
		idna.Transitional(false),
		idna.StrictDomainName(false),
		idna.CheckHyphens(false),
	)
})

// asciiHost returns a host in lower case and in its ASCII form. An ASCII host
// already has that form, unless it contains an empty label written "xn--" (TestASCIIHost). A host
// that is not valid UTF-8 is not a name: ToASCII would read each invalid byte as U+FFFD, and make
// one origin of all such hosts.
func asciiHost(host string) (ascii string, ok bool) {
	ok = isASCII(host)
	if ok {
		host = strings.ToLower(host)
	}
	if ok && !strings.Contains(host, "xn--.") && !strings.HasSuffix(host, "xn--") || !utf8.ValidString(host) {
		return host, ok
	}
	if mapped, err := lookup().ToASCII(host); err == nil {
		return mapped, true
	}
	return host, ok
}
