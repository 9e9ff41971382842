// Package guard enforces a robots.txt: it decides for each request whether the crawler that the
// User-Agent header names may send it, and answers 403 if not.
//
//	site := guard.NewSite(body)
//	g, err := guard.New(guard.Options{
//		Site:    func(string) *guard.Site { return site },
//		Enforce: true,
//		Report:  func(d guard.Decision) { log.Println(d.Request.Target, d.Reason()) },
//	})
//	http.ListenAndServe(addr, g.Middleware(app)) // serves /robots.txt, checks every request
//
// [Guard.Middleware] protects a Go program, [Guard.ForwardAuth] answers a web server that calls it
// before each request, and [Guard.Decide] only decides. Without Options.Enforce a guard reports what
// it would refuse, and refuses nothing.
//
// Requests that name no crawler of package crawlers pass: a crawler that poses as a browser is not
// stopped.
package guard

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"

	"github.com/hashicorp/golang-lru/v2"
	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
)

// Options configure a Guard.
type Options struct {
	// Site returns the robots.txt of a host, in lower case and without a port; nil if it has none,
	// then its requests pass. It is called once or twice per request.
	Site func(host string) *Site
	// Enforce answers refused requests with 403. Otherwise all requests pass.
	Enforce bool
	// RefuseFaked also refuses requests that the robots.txt allows, if they name a crawler
	// that does not use their address.
	RefuseFaked bool
	// Verifier identifies the addresses of crawlers, nil for none. Its lists are read within a request.
	// Its Resolver is queried after the request, for those that follow: no request waits for the DNS.
	Verifier *crawlers.Verifier
	// Report gets each decision of Middleware and ForwardAuth other than Pass, nil for none. It is
	// called within the request, concurrently.
	Report func(Decision)
	// TrustedProxies are the addresses of proxies, besides loopback addresses, whose X-Forwarded
	// headers count.
	TrustedProxies []netip.Prefix
}

// A Guard decides which requests pass. It is safe for concurrent use.
type Guard struct {
	options    Options
	senders    *lru.Cache[string, int] // of User-Agent headers: indexes in the directory, noCrawler for other clients
	identities *lru.Cache[claim, remembered]
	lookups    chan struct{} // running DNS lookups
}

// noCrawler is the index of a client that is no known crawler.
const noCrawler = -1

// Limits of what is read and remembered, some 10 MiB in all.
const (
	maxSenders    = 8192
	maxHeader     = 1024 // bytes of a remembered User-Agent header
	maxIdentities = 16384
	readHeader    = 4096 // bytes of a User-Agent header that are read
)

// New returns a guard. The error states an invalid option.
func New(o Options) (*Guard, error) {
	if o.Site == nil {
		return nil, errors.New("guard: Options.Site is nil")
	}
	directory() // so that the first request does not wait for it
	senders, err := lru.New[string, int](maxSenders)
	if err != nil {
		return nil, err
	}
	identities, err := lru.New[claim, remembered](maxIdentities)
	if err != nil {
		return nil, err
	}
	return &Guard{options: o, senders: senders, identities: identities, lookups: make(chan struct{}, maxLookups)}, nil
}

// A Site is a robots.txt with the rules of all known crawlers. It is immutable.
type Site struct {
	body  []byte
	rules []*robots.Rules // in the order of the directory
}

// NewSite reads a robots.txt, which must not be changed afterwards. Any bytes are one.
func NewSite(body []byte) *Site {
	return &Site{body: body, rules: directory().callers.Rules(robots.Parse(body))}
}

// knownCrawlers are the crawlers of the directory.
type knownCrawlers struct {
	list    []crawlers.Crawler
	indexes map[string]int // by Name
	callers *robots.Crawlers
}

var directory = sync.OnceValue(func() *knownCrawlers {
	known := &knownCrawlers{list: crawlers.All(), indexes: map[string]int{}}
	known.callers = crawlers.Callers(known.list)
	for i := range known.list {
		known.indexes[known.list[i].Name] = i
	}
	return known
})

// A Request is what a decision depends on.
type Request struct {
	Host      string     // with or without a port
	UserAgent string     // the header, of which the first 4,096 bytes count
	Address   netip.Addr // of the client, the zero value if it is not known
	Target    string     // as the client sent it: "/page?q=1", "*", or an absolute URL
}

// Action is the kind of a decision.
type Action string

// The actions.
const (
	Pass  Action = "pass"
	Block Action = "block" // robots.txt disallows the target
	Faked Action = "faked" // it does not, but the crawler does not use this address
)

// A Decision is the decision on a request.
type Decision struct {
	Request  Request
	Action   Action
	Refused  bool              // a guard that enforces answers 403
	Crawler  *crawlers.Crawler // that the User-Agent header names, nil for none
	Identity crawlers.Identity // of the address, without its Crawlers; verified, faked or unknown
	Verdict  robots.Verdict    // of the robots.txt for the crawler, the zero value without either
	reason   string            // instead of the verdict, "" for that
}

// Reason returns the reason in one line: "GPTBot: disallowed by line 4: Disallow: /basket".
func (d Decision) Reason() string {
	switch {
	case d.Crawler == nil:
		return d.reason
	case d.reason != "":
		return d.Crawler.Name + ": " + d.reason
	case d.Action == Faked:
		return d.Crawler.Name + ": faked: " + robots.Printable(d.Identity.Why)
	}
	return d.Crawler.Name + ": " + d.Verdict.String()
}

// Decide decides on a request. It uses no network. A header and an address that are remembered, and a
// target without escapes, cost no allocation. A target that is not valid is refused to known crawlers.
func (g *Guard) Decide(r Request) Decision {
	d := Decision{Request: r, Action: Pass}
	index := g.sender(r.UserAgent)
	if index == noCrawler {
		d.reason = "the User-Agent names no known crawler"
		return d
	}
	d.Crawler = &directory().list[index]
	t, valid := parseTarget(r.Target)
	if valid && t.exempt() {
		d.reason = "robots.txt and /.well-known/ may always be fetched"
		return d
	}
	site := g.options.Site(hostName(r.Host))
	if site == nil {
		d.reason = "the host has no robots.txt"
		return d
	}
	if valid {
		d.judge(site.rules[index], t)
	} else {
		d.Action = Block
		d.reason = "the target is not valid"
	}
	d.Identity = g.identify(r.Address, index)
	if d.Action == Pass && d.Identity.Result == crawlers.Faked {
		d.Action = Faked
		d.reason = ""
	}
	d.Refused = d.Action == Block || d.Action == Faked && g.options.RefuseFaked
	return d
}

// judge sets the verdict of the crawler's rules, and blocks what they disallow.
func (d *Decision) judge(rules *robots.Rules, t target) {
	binds := d.Crawler.Binds()
	if binds == crawlers.BindsNo {
		d.reason = "robots.txt does not apply to it, as a person requests its pages"
		return
	}
	d.Verdict = rules.Match(t.path)
	if d.Verdict.Allowed && t.changes {
		d.Verdict = rules.Match(t.served)
	}
	switch {
	case d.Verdict.Allowed:
	case binds == crawlers.BindsNotByStar && d.Verdict.Group.Token() == "*":
		d.reason = "it obeys only a group that names it"
	default:
		d.Action = Block
	}
}

// sender returns the place of the crawler that a User-Agent header names.
func (g *Guard) sender(header string) int {
	header = header[:min(len(header), readHeader)]
	if index, ok := g.senders.Get(header); ok {
		return index
	}
	index := noCrawler
	if c, ok := crawlers.Sender(header); ok {
		index = directory().indexes[c.Name]
	}
	if len(header) <= maxHeader {
		g.senders.Add(strings.Clone(header), index)
	}
	return index
}

// hostName returns a host in lower case without a port and a final dot.
func hostName(host string) string {
	if strings.Contains(host, ":") {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
