package answer

import (
	"net/netip"

	"github.com/robotskit/robots/crawlers"
)

// A VerifiedAddress is whether an address belongs to a crawler.
type VerifiedAddress struct {
	Address  string          `json:"address"`  // IPv4 or IPv6
	As       *string         `json:"as"`       // usual name of the crawler given with --as
	Result   crawlers.Result `json:"result"`   // verified, faked or unknown
	By       *string         `json:"by"`       // method that decided, null if the result is unknown
	Name     *string         `json:"name"`     // of the address, if it decided
	Crawlers []string        `json:"crawlers"` // that own the address or, if it is not verified, that it claims to be
	Why      string          `json:"why"`      // a phrase about the address

	Advice string `json:"-"` // the flag that would help, "" if none would
}

// NewVerifiedAddress returns what is known of an address that claims to be the named crawler, "" for
// none.
func NewVerifiedAddress(address netip.Addr, as string, id crawlers.Identity) *VerifiedAddress {
	verified := &VerifiedAddress{
		Address: address.String(), As: OrNull(as), Result: id.Result, By: OrNull(id.By), Name: OrNull(id.Name),
		Crawlers: []string{}, Why: id.Why,
	}
	for _, c := range id.Crawlers {
		verified.Crawlers = append(verified.Crawlers, c.Name)
	}
	return verified
}

// RequestCounts are numbers of requests by the result for their addresses.
type RequestCounts struct {
	Requests int `json:"requests"` // number of all
	Verified int `json:"verified"` // from addresses that belong to the crawler
	Faked    int `json:"faked"`    // from addresses that do not
	Unknown  int `json:"unknown"`  // from other addresses
}

// A FakeAddress is an address that does not belong to the crawler it names.
type FakeAddress struct {
	Address  string `json:"address"`  // IPv4 or IPv6
	Requests int    `json:"requests"` // their number
	Why      string `json:"why"`      // a phrase about the address
}

// ForbiddenRequests are the requests of a crawler that a line of robots.txt disallows.
type ForbiddenRequests struct {
	Line int    `json:"line"` // from 1
	Rule string `json:"rule"` // with its directive
	RequestCounts
	Sample string `json:"sample"` // the first request target
}

// add counts requests from addresses with a result.
func (n *RequestCounts) add(requests int, result crawlers.Result) {
	n.Requests += requests
	switch result {
	case crawlers.Verified:
		n.Verified += requests
	case crawlers.Faked:
		n.Faked += requests
	case crawlers.Unknown:
		n.Unknown += requests
	}
}
