package crawlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Resolver queries the DNS. *net.Resolver is one.
type Resolver interface {
	// LookupAddr returns the names of an address (PTR records).
	LookupAddr(ctx context.Context, addr string) ([]string, error)
	// LookupNetIP returns the addresses of a name; network is ip4 or ip6.
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// A Verifier checks whether an address belongs to a crawler in the two ways that operators
// document: forward-confirmed reverse DNS, and lists of addresses. The zero value has neither,
// so it verifies nothing. It is safe for concurrent use if its Resolver is.
type Verifier struct {
	// Resolver queries the DNS, nil for no queries.
	Resolver Resolver
	// Lists are the addresses of crawlers by their Name.
	Lists map[string]*Addresses
	// Timeout limits all DNS queries for one address: 10 s if 0.
	Timeout time.Duration
}

// Result is the result of a verification.
type Result string

// The results, besides unknown: no source is known, none was queried, or the name server did
// not answer.
const (
	Verified Result = "verified"
	Faked    Result = "faked"
)

// The methods of verification.
const (
	ByDNS  = "dns"
	ByList = "list"
)

// An Identity is what is known of an address.
type Identity struct {
	Result Result
	// Crawlers are the owners of the address or, if it is not verified, those that it claims
	// to be.
	Crawlers []Crawler
	By       string // the method that decided, "" if the result is unknown
	Name     string // the name of the address that decided, or ""
	Why      string // the reason, as a phrase about the address: "its name ... resolves back to it"
	// Failed is set if a name server did not answer; try again later.
	Failed bool
}

// mostNames limits the names of an address that are resolved. A crawler's address has one; the
// owner of an address can publish thousands.
const mostNames = 10

// Verify reports for each crawler whether the address belongs to it. The result is Verified if
// a list or the DNS confirms it, Faked if all sources deny it, and Unknown if there is no
// source or one failed. The DNS is queried once for all crawlers.
func (v *Verifier) Verify(ctx context.Context, address netip.Addr, as ...Crawler) []Identity {
	q := v.newLookup(ctx, address)
	defer q.cancel()
	all := make([]Identity, len(as))
	for i, c := range as {
		all[i] = q.verify(c)
		all[i].Crawlers = []Crawler{c}
	}
	return all
}

// Identify returns the owner of an address: the crawlers in use whose list contains it, or
// else those whose domain its name is in. The result is Faked if the name does not resolve
// back to the address.
func (v *Verifier) Identify(ctx context.Context, address netip.Addr) Identity {
	q := v.newLookup(ctx, address)
	defer q.cancel()
	if !q.possible() {
		return unknown(noAddress)
	}
	var found []Crawler
	domains := []string{}
	for i := range index().entries {
		c := index().entry(i)
		if c.Status != Used {
			continue
		}
		if list := v.Lists[c.Name]; list != nil && list.Contains(address) {
			found = append(found, *c)
		}
		domains = append(domains, c.domains()...)
	}
	if len(found) > 0 {
		return Identity{Result: Verified, Crawlers: found, By: ByList, Why: "it is in " + listOf(found[0], v.Lists[found[0].Name])}
	}
	switch {
	case v.Resolver == nil && len(v.Lists) == 0:
		return unknown("no list was given, and DNS was not queried")
	case v.Resolver == nil:
		return unknown("it is in no given list, and DNS was not queried")
	}
	slices.Sort(domains)
	id := q.dns(slices.Compact(domains))
	switch {
	case id.Result == Unknown:
		return id
	case id.Name == "":
		return unknown(id.Why + "; crawlers without names are identified by their lists")
	}
	for i := range index().entries {
		c := index().entry(i)
		if c.Status == Used && inDomains(id.Name, c.domains()) {
			id.Crawlers = append(id.Crawlers, *c)
		}
	}
	return id
}

// domains returns the domains of a crawler's host names.
func (c *Crawler) domains() []string {
	if c.ReverseDNS == Unknown {
		return nil
	}
	return strings.Fields(c.ReverseDNS)
}

// listOf describes the list of a crawler with its date, as an old list lacks new addresses.
func listOf(c Crawler, list *Addresses) string {
	text := "the list of " + c.Name
	if list.Created != "" {
		text += " of " + list.Created
	}
	return text
}

// lookup is the DNS queries for one address, with their answers.
type lookup struct {
	*Verifier
	ctx     context.Context
	cancel  context.CancelFunc
	address netip.Addr

	names func() ([]string, error) // reverse, once
	leads map[string]error         // of names: nil if it resolves back to the address, errElsewhere, or why that is unknown
}

func (v *Verifier) newLookup(ctx context.Context, address netip.Addr) *lookup {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(v.Timeout, 10*time.Second))
	q := &lookup{Verifier: v, ctx: ctx, cancel: cancel, address: address.Unmap(), leads: map[string]error{}}
	q.names = sync.OnceValues(q.reverse)
	return q
}

// possible reports whether a crawler can have the address.
func (q *lookup) possible() bool { return q.address.IsValid() && q.address.Zone() == "" }

const noAddress = "it is not an address on the internet"

func unknown(why string) Identity { return Identity{Result: Unknown, Why: why} }

// verify returns the identity of a crawler that the address claims to be.
func (q *lookup) verify(c Crawler) Identity {
	list := q.Lists[c.Name]
	domains := c.domains()
	switch {
	case !q.possible():
		return unknown(noAddress)
	case list != nil && list.Contains(q.address):
		return Identity{Result: Verified, By: ByList, Why: "it is in " + listOf(c, list)}
	case len(domains) > 0 && q.Resolver != nil:
		id := q.dns(domains)
		if list != nil && list.Bad == 0 && id.Result == Faked {
			id.Why += ", and it is not in " + listOf(c, list)
		}
		return id
	case list != nil && list.Bad > 0:
		return unknown("it is not in " + listOf(c, list) + ", which has invalid lines")
	case list != nil:
		return Identity{Result: Faked, By: ByList, Why: "it is not in " + listOf(c, list)}
	case len(domains) > 0:
		return unknown("DNS was not queried")
	case c.Addresses == Unknown:
		return unknown("the directory has no way to verify " + c.Name)
	}
	return unknown("its operator publishes a list, which was not given: " + c.Addresses)
}

// dns checks whether a name of the address is in one of the domains and resolves back to it.
// Without such a name the address is faked, and Name is empty.
func (q *lookup) dns(domains []string) Identity {
	names, failed := q.names()
	unanswered := func(what string, err error) Identity {
		return Identity{Result: Unknown, Failed: true, Why: "the name server did not return " + what + ": " + reasonOf(err)}
	}
	faked := Identity{Result: Faked, By: ByDNS, Why: "it has no name"}
	if len(names) > 0 {
		faked.Why = "its name " + cut(names[0]) + " is not in the domain of a crawler"
		if len(domains) > 0 && len(domains) < 10 { // of one crawler
			faked.Why = "its name " + cut(names[0]) + " is not in " + strings.Join(domains, " or ")
		}
	}
	var open error // a failed lookup
	looked := 0
	for _, name := range names {
		if !inDomains(name, domains) {
			continue
		}
		looked++
		if looked > mostNames {
			break
		}
		switch err := q.forward(name); {
		case err == nil:
			return Identity{Result: Verified, By: ByDNS, Name: name, Why: "its name " + cut(name) + " resolves back to it"}
		case !errors.Is(err, errElsewhere):
			open = err
		}
		if faked.Name == "" {
			faked.Name = name
			faked.Why = "its name " + cut(name) + " does not resolve back to it"
		}
	}
	switch {
	case failed != nil:
		return unanswered("its name", failed)
	case open != nil:
		return unanswered("the address of its name "+cut(faked.Name), open)
	}
	return faked
}

// reverse looks up the names of the address, in lower case without the final dot.
func (q *lookup) reverse() ([]string, error) {
	found, err := q.Resolver.LookupAddr(q.ctx, q.address.String())
	var names []string
	for _, name := range found {
		name = strings.ToLower(strings.TrimSuffix(name, "."))
		if name != "" {
			names = append(names, name)
		}
	}
	if len(found) > 0 || absent(err) { // with names, the error means that others are malformed
		err = nil
	}
	return names, err
}

var errElsewhere = errors.New("the name does not resolve to the address")

// forward resolves a name. The final dot excludes the machine's search domains and hosts file.
func (q *lookup) forward(name string) error {
	if err, ok := q.leads[name]; ok {
		return err
	}
	network := "ip6"
	if q.address.Is4() {
		network = "ip4"
	}
	list, err := q.Resolver.LookupNetIP(q.ctx, network, name+".")
	switch {
	case slices.ContainsFunc(list, func(a netip.Addr) bool { return a.Unmap() == q.address }):
		err = nil
	case err == nil || absent(err):
		err = errElsewhere
	}
	q.leads[name] = err
	return err
}

// inDomains reports whether a name equals one of the domains or is below one. Names are in
// lower case.
func inDomains(name string, domains []string) bool {
	return slices.ContainsFunc(domains, func(d string) bool {
		rest, ok := strings.CutSuffix(name, strings.ToLower(d))
		return ok && (rest == "" || rest[len(rest)-1] == '.')
	})
}

// absent reports whether an error means that there is no such name or record.
func absent(err error) bool {
	e, ok := errors.AsType[*net.DNSError](err)
	return ok && e.IsNotFound
}

// reasonOf returns in a few words why a lookup failed.
func reasonOf(err error) string {
	e, ok := errors.AsType[*net.DNSError](err)
	switch {
	case ok && e.IsTimeout || errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case ok:
		return e.Err
	}
	return err.Error()
}

// cut shortens a name, which the owner of an address chooses.
func cut(name string) string {
	const most = 100
	if len(name) > most {
		name = name[:most] + "..."
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f {
			return fmt.Sprintf("%q", name)
		}
	}
	return name
}
