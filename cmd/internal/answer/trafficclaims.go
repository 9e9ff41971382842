package answer

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/robotskit/robots/crawlers"
)

// Claims are the crawlers that requests from an address name.
type Claims struct {
	Address netip.Addr
	NoName  bool // some requests have no User-Agent

	visits []visit // of crawlers, and at last the one without a name
}

// Crawlers are the crawlers that the requests name.
func (c *Claims) Crawlers() (list []crawlers.Crawler) {
	for _, v := range c.visits {
		if v.visitor != nil {
			list = append(list, v.visitor.Crawler)
		}
	}
	return list
}

// Identities are those of an address for its claims.
type Identities struct {
	Crawlers []crawlers.Identity // for each of the crawlers
	Owner    crawlers.Identity   // for requests without a User-Agent
}

// Claims returns the addresses that must be verified, in order.
func (t *Traffic) Claims() []Claims {
	var list []Claims
	visits := slices.SortedFunc(maps.Keys(t.visits), func(a, b visit) int { return a.address.Compare(b.address) })
	for _, v := range visits {
		if v.visitor != nil && !v.visitor.isKnown() {
			continue // of it nothing can be verified
		}
		if len(list) == 0 || list[len(list)-1].Address != v.address {
			list = append(list, Claims{Address: v.address})
		}
		c := &list[len(list)-1]
		switch {
		case v.visitor != nil && c.NoName:
			c.visits = slices.Insert(c.visits, len(c.visits)-1, v)
		default:
			c.NoName = v.visitor == nil
			c.visits = append(c.visits, v)
		}
	}
	return list
}

// Settle counts the requests of claims by their identities.
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
}

// Clear counts the requests of programs that are not in the directory, and makes room for more requests.
func (t *Traffic) Clear() {
	for v := range t.visits {
		if v.visitor != nil && !v.visitor.isKnown() {
			t.settle(v, notInDirectory)
		}
	}
	clear(t.visits)
}

// notInDirectory is the identity of every address of a program that the directory does not have.
var notInDirectory = crawlers.Identity{Result: crawlers.Unknown, Why: "not in the directory"}

// settle counts a visit. A request without a User-Agent claims nothing, so it counts only if its
// address is verified.
func (t *Traffic) settle(v visit, id crawlers.Identity) {
	t.Failed = t.Failed || id.Failed
	requests := t.visits[v]
	if v.visitor == nil {
		if id.Result != crawlers.Verified {
			return
		}
		v.visitor = t.visitor(id.Crawlers[0])
	}
	if v.line > 0 {
		v.visitor.lines[v.line].add(requests, id.Result)
		return
	}
	v.visitor.requests.add(requests, id.Result)
	v.visitor.addresses++
	switch {
	case id.Result == crawlers.Faked:
		v.visitor.addFake(FakeAddress{v.address.String(), requests, id.Why})
	case id.Result == crawlers.Unknown && v.visitor.unknown.Why == "":
		v.visitor.unknown = id
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
