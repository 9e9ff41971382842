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
	"time"
)

// A Resolver asks the DNS. *net.Resolver is one.
type Resolver interface {
	// LookupAddr returns the names of an address (PTR records).
	LookupAddr(ctx context.Context, addr string) ([]string, error)
	// LookupNetIP returns the addresses of a name; the network is ip4 or ip6.
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// A Verifier says whether an address is that of a crawler, in the two ways in which
// operators let others find out: by reverse and forward DNS, and by their lists. The
// zero value knows neither, so it verifies nobody. It is safe for concurrent use if its
// Resolver is.
type Verifier struct {
	// Resolver asks the DNS. If nil, it is not asked.
	Resolver Resolver
	// Lists are the addresses of crawlers by their Name.
	Lists map[string]*Addresses
	// Timeout is the most time for all questions to the DNS about one address: 10 s if 0.
	Timeout time.Duration
}

// Result is what came of a verification.
type Result string

// The results. A third is unknown: no way to find out is known, or none that is known
// was asked, or the name server gave no answer.
const (
	Verified Result = "verified"
	Faked    Result = "faked"
)

// The ways to verify.
const (
	ByDNS  = "dns"
	ByList = "list"
)

// An Identity is what is known of an address.
type Identity struct {
	Result Result
	// Crawlers are those whose address it is. Where it is not verified they are those
	// who it claims to be.
	Crawlers []Crawler
	By       string // the way that decided, "" if the result is unknown
	Name     string // the name of the address that decided, "" if none did
	Why      string // the reason, to be read behind the address: "its name ... leads back to it"
	// Failed reports that a name server gave no answer: it may give one later.
	Failed bool
}

// mostNames is the number of names of an address that are looked up. A crawler's address has
// one; the owner of an address can publish thousands.
const mostNames = 10

// Verify reports for each crawler whether the address belongs to it. The result is Verified if
// a list or the DNS confirms it, Faked if all sources deny it, and Unknown if there is no
// source or one failed. The DNS is queried once for all crawlers.
func (v *Verifier) Verify(ctx context.Context, address netip.Addr, as ...Crawler) []Identity {
	q := v.ask(ctx, address)
	defer q.cancel()
	all := make([]Identity, len(as))
	for i, c := range as {
		all[i] = q.verify(c)
	}
	return all
}

// Identify returns the owner of an address: all crawlers in use whose list contains it, or
// else all in whose domain its name is. The result is Faked if the name does not resolve
// back to the address.
func (v *Verifier) Identify(ctx context.Context, address netip.Addr) Identity {
	q := v.ask(ctx, address)
	defer q.cancel()
	if !q.possible() {
		return Identity{Result: Unknown, Why: noAddress}
	}
	var found []Crawler
	domains := []string{}
	for _, c := range read().all {
		if c.Status != Used {
			continue
		}
		if list := v.Lists[c.Name]; list != nil && list.Contains(address) {
			found = append(found, c)
		}
		domains = append(domains, c.domains()...)
	}
	if len(found) > 0 {
		return Identity{Result: Verified, Crawlers: found, By: ByList, Why: "it is in " + listOf(found[0], v.Lists[found[0].Name])}
	}
	if v.Resolver == nil {
		why := "no list that was given holds it, and the DNS is not asked"
		if len(v.Lists) == 0 {
			why = "there is no list, and the DNS is not asked"
		}
		return Identity{Result: Unknown, Why: why}
	}
	slices.Sort(domains)
	id := q.dns(slices.Compact(domains))
	switch {
	case id.Result == Unknown:
		return id
	case id.Name == "":
		return Identity{Result: Unknown, Why: id.Why + "; crawlers without names are told by their lists"}
	}
	for _, c := range read().all {
		if c.Status == Used && inDomains(id.Name, c.domains()) {
			id.Crawlers = append(id.Crawlers, c)
		}
	}
	return id
}

// domains are the domains in which the names of its addresses are.
func (c *Crawler) domains() []string {
	if c.ReverseDNS == Unknown {
		return nil
	}
	return strings.Fields(c.ReverseDNS)
}

// listOf names the list of a crawler, with its day: an old one lacks new addresses.
func listOf(c Crawler, list *Addresses) string {
	text := "the list of " + c.Name
	if list.Created != "" {
		text += " of " + list.Created
	}
	return text
}

// questions are those about one address, with their answers.
type questions struct {
	*Verifier
	ctx     context.Context
	cancel  context.CancelFunc
	address netip.Addr

	asked  bool
	names  []string // of the address, in lower case and without the dot at the end
	failed error    // why they are not known
	leads  map[string]lead
}

// A lead is where a name leads: back to the address, elsewhere, or it is not known.
type lead struct {
	back bool
	err  error
}

func (v *Verifier) ask(ctx context.Context, address netip.Addr) *questions {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(v.Timeout, 10*time.Second))
	return &questions{Verifier: v, ctx: ctx, cancel: cancel, address: address.Unmap(), leads: map[string]lead{}}
}

// possible reports whether it is an address from which a crawler can come.
func (q *questions) possible() bool { return q.address.IsValid() && q.address.Zone() == "" }

const noAddress = "it is no address of the internet"

func (q *questions) verify(c Crawler) Identity {
	unknown := func(why string) Identity { return Identity{Result: Unknown, Crawlers: []Crawler{c}, Why: why} }
	list, domains := q.Lists[c.Name], c.domains()
	byName := len(domains) > 0
	if !q.possible() {
		return unknown(noAddress)
	}
	if list != nil && list.Contains(q.address) {
		return Identity{Result: Verified, Crawlers: []Crawler{c}, By: ByList, Why: "it is in " + listOf(c, list)}
	}
	if byName && q.Resolver != nil {
		id := q.dns(domains)
		id.Crawlers = []Crawler{c}
		if list != nil && list.Bad == 0 && id.Result == Faked {
			id.Why += ", and it is not in " + listOf(c, list)
		}
		return id
	}
	switch {
	case list != nil && list.Bad > 0:
		return unknown("it is not in " + listOf(c, list) + ", of which not all can be read")
	case list != nil:
		return Identity{Result: Faked, Crawlers: []Crawler{c}, By: ByList, Why: "it is not in " + listOf(c, list)}
	case !byName && c.Addresses == Unknown:
		return unknown("the directory knows no way to verify " + c.Name)
	case byName:
		return unknown("the DNS is not asked")
	}
	return unknown("its operator publishes a list, which is not given: " + c.Addresses)
}

// dns asks whether a name of the address is in one of the domains and leads back to it.
// Without such a name the address is faked, and Name is empty.
func (q *questions) dns(domains []string) Identity {
	if !q.asked {
		q.reverse()
	}
	unanswered := func(what string, err error) Identity {
		return Identity{Result: Unknown, Failed: true, Why: "the name server does not say " + what + ": " + reasonOf(err)}
	}
	faked := Identity{Result: Faked, By: ByDNS, Why: "it has no name"}
	if len(q.names) > 0 {
		faked.Why = "its name " + cut(q.names[0]) + " is in no domain of a crawler"
		if len(domains) > 0 && len(domains) < 10 { // those of one crawler
			faked.Why = "its name " + cut(q.names[0]) + " is not in " + strings.Join(domains, " or ")
		}
	}
	var open error // a lookup that failed
	looked := 0
	for _, name := range q.names {
		if !inDomains(name, domains) {
			continue
		}
		if looked++; looked > mostNames {
			break
		}
		l := q.forward(name)
		switch {
		case l.back:
			return Identity{Result: Verified, By: ByDNS, Name: name, Why: "its name " + cut(name) + " leads back to it"}
		case l.err != nil:
			open = l.err
		}
		if faked.Name == "" {
			faked.Name, faked.Why = name, "its name "+cut(name)+" does not lead back to it"
		}
	}
	switch {
	case q.failed != nil:
		return unanswered("its name", q.failed)
	case open != nil:
		return unanswered("where its name "+cut(faked.Name)+" leads", open)
	}
	return faked
}

// reverse asks for the names of the address.
func (q *questions) reverse() {
	q.asked = true
	names, err := q.Resolver.LookupAddr(q.ctx, q.address.String())
	for _, name := range names {
		if name = strings.ToLower(strings.TrimSuffix(name, ".")); name != "" {
			q.names = append(q.names, name)
		}
	}
	if len(names) == 0 && err != nil && !absent(err) { // beside names an error says that others are malformed
		q.failed = err
	}
}

// forward asks where a name leads. It ends in a dot, so that neither the machine's
// search list nor its file of hosts has a say.
func (q *questions) forward(name string) lead {
	if l, ok := q.leads[name]; ok {
		return l
	}
	network := "ip6"
	if q.address.Is4() {
		network = "ip4"
	}
	list, err := q.Resolver.LookupNetIP(q.ctx, network, name+".")
	var l lead
	for _, a := range list {
		l.back = l.back || a.Unmap() == q.address
	}
	if err != nil && !l.back && !absent(err) {
		l.err = err
	}
	q.leads[name] = l
	return l
}

// inDomains reports whether a name is in one of the domains: it is the domain, or ends
// in it behind a dot. Names are in lower case.
func inDomains(name string, domains []string) bool {
	return slices.ContainsFunc(domains, func(d string) bool {
		rest, ok := strings.CutSuffix(name, strings.ToLower(d))
		return ok && (rest == "" || rest[len(rest)-1] == '.')
	})
}

// absent reports whether an error is the answer that there is no such name or record.
func absent(err error) bool {
	e, ok := errors.AsType[*net.DNSError](err)
	return ok && e.IsNotFound
}

// reasonOf says in a few words why a lookup failed.
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

// cut cuts a name, which the owner of an address chooses, to what a sentence can hold.
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
