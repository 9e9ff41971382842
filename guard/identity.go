package guard

import (
	"context"
	"net/netip"
	"time"

	"github.com/robotskit/robots/crawlers"
)

// maxLookups limits concurrent DNS lookups. Addresses beyond are unknown until a later request.
const maxLookups = 8

// How long an identity is used before it is checked again; an old one is used until then.
const (
	identityLifetime = 6 * time.Hour
	retryAfter       = time.Minute // a lookup that runs or failed
)

// A claim is an address that a crawler is said to use.
type claim struct {
	address netip.Addr
	index   int // of the crawler
}

// A remembered identity is used until a time.
type remembered struct {
	identity crawlers.Identity
	until    time.Time
}

func now() time.Time { return time.Now() } //nolint:forbidigo // tests have the clock of a synctest bubble

var sharedAddresses = netip.MustParsePrefix("100.64.0.0/10") // RFC 6598

// isPublic reports whether an address can be that of a crawler on the internet.
func isPublic(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.IsPrivate() && !sharedAddresses.Contains(a)
}

// identify returns what is known of the address of a crawler, from lists and earlier lookups. It
// starts a lookup if there is none.
func (g *Guard) identify(address netip.Addr, index int) crawlers.Identity {
	address = address.Unmap()
	verifier := g.options.Verifier
	if verifier == nil || !isPublic(address) {
		return crawlers.Identity{Result: crawlers.Unknown, Why: "the address is not known or not checked"}
	}
	key := claim{address, index}
	known, found := g.identities.Get(key)
	if found && now().Before(known.until) {
		return known.identity
	}
	crawler := directory().list[index]
	if !found {
		lists := crawlers.Verifier{Lists: verifier.Lists}
		known.identity = identity(&lists, address, crawler)
	}
	if verifier.Resolver == nil || crawler.ReverseDNS == crawlers.Unknown ||
		known.identity.By == crawlers.ByList && known.identity.Result == crawlers.Verified {
		g.remember(key, known.identity, identityLifetime)
		return known.identity
	}
	if !found {
		known.identity = crawlers.Identity{Result: crawlers.Unknown, Why: "the DNS is queried after the request"}
	}
	select {
	case g.lookups <- struct{}{}:
		g.remember(key, known.identity, retryAfter)
		go g.lookUp(key, crawler)
	default:
	}
	return known.identity
}

// lookUp verifies an address, and remembers the result for later requests.
func (g *Guard) lookUp(key claim, crawler crawlers.Crawler) {
	defer func() { <-g.lookups }()
	found := identity(g.options.Verifier, key.address, crawler)
	lifetime := identityLifetime
	if found.Failed {
		lifetime = retryAfter
	}
	g.remember(key, found, lifetime)
}

func (g *Guard) remember(key claim, id crawlers.Identity, lifetime time.Duration) {
	g.identities.Add(key, remembered{id, now().Add(lifetime)})
}

// identity verifies an address for a crawler.
func identity(v *crawlers.Verifier, address netip.Addr, c crawlers.Crawler) crawlers.Identity {
	id := v.Verify(context.Background(), address, c)[0]
	id.Crawlers = nil
	return id
}
