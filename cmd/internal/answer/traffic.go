package answer

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
)

const (
	// MaxVisits limits what Traffic counts before its addresses are verified: some 10 MB.
	// An address that returns later is verified and counted again.
	MaxVisits = 1 << 16
	// maxFakes limits the addresses that are listed per crawler.
	maxFakes = 5
	// maxSample is how much of a request target is kept, in characters.
	maxSample = 120
)

// Traffic counts the requests of crawlers in access logs of any length, in bounded memory. Add the
// requests; whenever Full, and at the end, verify the addresses of Claims and Settle them.
type Traffic struct {
	// Disallows returns the rule of a robots.txt for which a request of a crawler is refused, the zero value if
	// it passes, and false if the target is invalid; nil without a robots.txt. It is the decision of package guard.
	Disallows func(LogRequest) (rule robots.Rule, valid bool)
	As        string // name of the only crawler that is counted, "" for all
	Owners    bool   // requests without a User-Agent count for the owner of a verified address

	Lines       int  // of requests
	NoUserAgent int  // lines in the common format, which has none
	Unreadable  int  // requests without a readable target, not checked with Disallows
	Failed      bool // a name server or list was unavailable

	visits      map[visit]int
	visitors    map[string]*visitor // by name
	ipv4        int                 // addresses
	ipv4Network int                 // those that end in .0
}

// A LogRequest is a request in an access log.
type LogRequest struct {
	Address   netip.Addr // the zero value if the log has none
	UserAgent string
	Common    bool   // the log has no User-Agent
	Target    string // as sent, "" if it is not readable
}

// A visit is what requests have in common that are counted together.
type visit struct {
	address netip.Addr
	by      *visitor // nil without a User-Agent
	line    int      // of robots.txt, which disallows them; 0 counts all
}

// A visitor is a crawler with its requests.
type visitor struct {
	crawlers.Crawler
	all       RequestCounts
	addresses int
	lines     map[int]*ForbiddenRequests // by line of robots.txt
	unknown   crawlers.Identity          // the first one that is unknown
	fakes     []FakeAddress
}

// Counts reports whether requests of a crawler are counted.
func (t *Traffic) Counts(c crawlers.Crawler) bool {
	if t.As != "" {
		return c.Name == t.As
	}
	return c.Status == crawlers.Used
}

// Concerns reports whether requests of a crawler have been added, or can be among those without a
// User-Agent.
func (t *Traffic) Concerns(c crawlers.Crawler) bool {
	return t.visitors[c.Name] != nil || t.NoUserAgent > 0 && t.Counts(c)
}

// Add counts a request.
func (t *Traffic) Add(r LogRequest) {
	t.Lines++
	v := visit{address: r.Address}
	if r.Common {
		t.NoUserAgent++
		if !t.Owners {
			return
		}
	} else {
		c, ok := crawlers.Sender(r.UserAgent)
		if !ok || t.As != "" && !t.Counts(c) {
			return
		}
		v.by = t.visitor(c)
	}
	if t.visits == nil {
		t.visits = map[visit]int{}
	}
	t.visits[v]++
	if v.by == nil || t.Disallows == nil {
		return
	}
	v.line = t.forbids(v.by, r)
	if v.line > 0 {
		t.visits[v]++
	}
}

// Full reports whether the addresses must be verified before more requests are added.
func (t *Traffic) Full() bool { return len(t.visits) >= MaxVisits }

// visitor returns a crawler with its requests.
func (t *Traffic) visitor(c crawlers.Crawler) *visitor {
	v := t.visitors[c.Name]
	if v != nil {
		return v
	}
	v = &visitor{Crawler: c, lines: map[int]*ForbiddenRequests{}, fakes: []FakeAddress{}}
	if t.visitors == nil {
		t.visitors = map[string]*visitor{}
	}
	t.visitors[c.Name] = v
	return v
}

// forbids returns the line of robots.txt that disallows a request, 0 if none does or the
// request has no readable target.
func (t *Traffic) forbids(by *visitor, r LogRequest) int {
	if r.Target == "" {
		t.Unreadable++
		return 0
	}
	rule, valid := t.Disallows(r)
	if !valid {
		t.Unreadable++
		return 0
	}
	line := rule.Line()
	if line > 0 && by.lines[line] == nil {
		by.lines[line] = &ForbiddenRequests{Line: line, Rule: rule.String(), Sample: strings.Clone(sampleOf(r.Target))}
	}
	return line
}

// sampleOf returns the beginning of a request target.
func sampleOf(target string) string {
	if runes := []rune(target); len(runes) > maxSample {
		return string(runes[:maxSample]) + "…"
	}
	return target
}

// Claims are the crawlers that requests from an address name.
type Claims struct {
	Address  netip.Addr
	Crawlers []crawlers.Crawler
	NoName   bool // some requests have no User-Agent

	visits []visit // in the order of Crawlers, at last the one without a name
}

// Identities are those of an address for its claims.
type Identities struct {
	Crawlers []crawlers.Identity // for each of the crawlers
	Owner    crawlers.Identity   // for requests without a User-Agent
}

// Claims returns the addresses that must be verified, in order.
func (t *Traffic) Claims() []Claims {
	byAddress := map[netip.Addr]*Claims{}
	var unnamed []visit
	for v := range t.visits {
		c := byAddress[v.address]
		if c == nil {
			c = &Claims{Address: v.address}
			byAddress[v.address] = c
		}
		if v.by == nil {
			unnamed = append(unnamed, v)
			continue
		}
		c.Crawlers = append(c.Crawlers, v.by.Crawler)
		c.visits = append(c.visits, v)
	}
	for _, v := range unnamed {
		c := byAddress[v.address]
		c.NoName = true
		c.visits = append(c.visits, v)
	}
	var list []Claims
	for _, address := range slices.SortedFunc(maps.Keys(byAddress), netip.Addr.Compare) {
		list = append(list, *byAddress[address])
	}
	return list
}

// Settle counts the requests of claims by their identities, and makes room for more requests.
func (t *Traffic) Settle(claims []Claims, found []Identities) {
	for i, c := range claims {
		for k, v := range c.visits {
			id := found[i].Owner
			if k < len(found[i].Crawlers) {
				id = found[i].Crawlers[k]
			}
			t.settle(v, id)
		}
		if c.Address.Is4() {
			t.ipv4++
			if c.Address.As4()[3] == 0 {
				t.ipv4Network++
			}
		}
	}
	clear(t.visits)
}

// settle counts a visit. A request without a User-Agent claims nothing, so it counts only if its
// address is verified.
func (t *Traffic) settle(v visit, id crawlers.Identity) {
	t.Failed = t.Failed || id.Failed
	requests := t.visits[v]
	if v.by == nil {
		if id.Result != crawlers.Verified {
			return
		}
		v.by = t.visitor(id.Crawlers[0])
	}
	if v.line > 0 {
		v.by.lines[v.line].add(requests, id.Result)
		return
	}
	v.by.all.add(requests, id.Result)
	v.by.addresses++
	switch {
	case id.Result == crawlers.Faked:
		v.by.addFake(FakeAddress{v.address.String(), requests, id.Why})
	case id.Result == crawlers.Unknown && v.by.unknown.Why == "":
		v.by.unknown = id
	}
}

// addFake keeps the fake addresses with most requests.
func (v *visitor) addFake(f FakeAddress) {
	if i := slices.IndexFunc(v.fakes, func(k FakeAddress) bool { return k.Address == f.Address }); i >= 0 {
		v.fakes[i].Requests += f.Requests
	} else {
		v.fakes = append(v.fakes, f)
	}
	slices.SortStableFunc(v.fakes, func(a, b FakeAddress) int { return b.Requests - a.Requests })
	v.fakes = v.fakes[:min(len(v.fakes), maxFakes)]
}

// Anonymized reports whether all addresses look as if their last byte was removed.
func (t *Traffic) Anonymized() bool { return t.ipv4 >= 3 && t.ipv4Network == t.ipv4 }

// Crawlers returns the requests of all crawlers, those with most requests first.
func (t *Traffic) Crawlers() []CrawlerRequests {
	list := []CrawlerRequests{}
	for _, v := range t.visitors {
		list = append(list, v.requests(t.Disallows != nil))
	}
	slices.SortFunc(list, func(a, b CrawlerRequests) int {
		return cmp.Or(b.Requests-a.Requests, strings.Compare(a.Name, b.Name))
	})
	return list
}

// requests returns the requests of the crawler, with those that a robots.txt disallows if there is one.
func (v *visitor) requests(withFile bool) CrawlerRequests {
	r := CrawlerRequests{
		Name: v.Name, Operator: v.Operator, Purpose: v.Purpose, RequestCounts: v.all, Addresses: v.addresses,
		Why: OrNull(v.unknown.Why), Fakes: v.fakes, Crawler: v.Crawler, Unknown: v.unknown,
	}
	if withFile {
		r.Forbidden = []ForbiddenRequests{}
	}
	for _, line := range v.lines {
		r.Forbidden = append(r.Forbidden, *line)
	}
	slices.SortFunc(r.Forbidden, func(a, b ForbiddenRequests) int {
		return cmp.Or(b.Requests-a.Requests, a.Line-b.Line)
	})
	return r
}

// Misbehaves reports whether requests are faked, or disallowed by the file.
func (r *CrawlerRequests) Misbehaves() bool { return r.Faked > 0 || len(r.Forbidden) > 0 }
