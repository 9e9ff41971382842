package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/robotskit/robots"
)

// DefaultUserAgent is sent unless Options name another. A crawler sends its own,
// with a way to reach whoever runs it.
const DefaultUserAgent = "robotskit (+https://github.com/robotskit/robots)"

// Options are the settings of a Client. The zero value is right for fetching on
// behalf of others.
type Options struct {
	UserAgent string // DefaultUserAgent if empty
	Limits    Limits
	Guard     Guard
	// Resolver looks names up. If nil, it is the machine's file of hosts and then
	// Go's own resolver, and not that of the C library, which cannot be
	// interrupted and takes numbers such as 2130706433 for addresses.
	Resolver *net.Resolver
	// Proxy returns the proxy through which a request goes, or nil for none; if it
	// is nil itself, none is used: http.ProxyFromEnvironment is one that asks the
	// environment. The URL of a proxy has the scheme http, https, socks5 or socks5h,
	// and may hold a user and a password, which only the proxy sees. It must not be
	// changed later. A proxy gets literal addresses that the Guard has checked from
	// socks5, names that it looks up itself from the other schemes. The Guard is not
	// asked about the address of the proxy itself. Behind one that gets names,
	// PerAddress and Start have no address to count by, and Connections alone bounds.
	Proxy func(*http.Request) (*url.URL, error)
	// Dial opens the connections, of TCP and without TLS: that to a site, whose
	// address is a literal that the Guard has checked, or that to a proxy, under the
	// name in its URL. Where a connection names its remote address the Guard checks
	// that too. Connections must keep deadlines, as net.Conn says. If nil, the
	// system's are used.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS is how https is spoken, to proxies too: its issuers, client certificates,
	// versions. It is copied, and ServerName and NextProtos of the copy are not its
	// own. If nil, the issuers are those of the system.
	TLS *tls.Config
	// Transport makes the requests in place of all that is described here, for
	// whoever has no other way: proxies of another kind, measurements. It excludes
	// Proxy, Dial and TLS. What is lost then is said in the package documentation.
	Transport http.RoundTripper
	// Connections is how many connections may be open at once, over all fetches of
	// the client: 512 if 0. As many names may be looked up beside them. What
	// fetches hold in memory is this number times the size of one, with usual
	// limits at most some 600 KB.
	Connections int
	// PerAddress is how many of them may be open to one IP address: 16 if 0 (D-57).
	// Every port, scheme and name of the address counts, redirects too. The two
	// connections of FTP are one. Whoever comes later waits in the order of coming
	// until the context ends, which is not counted against Limits.Total, and
	// delays nobody at another address.
	PerAddress int
	// Start is the pace at which connections to one address are opened, shared
	// with other clients, or none if nil. A limiter of package pace or pace/redis
	// is one: 10 a second at an address by default. That wait is not counted either.
	Start func(ctx context.Context, origin robots.Origin, addr netip.Addr) error
	// Probe lets a fetch that got a 5xx ask for the home page and for a page
	// that cannot exist, to learn whether the site answers 5xx for missing pages
	// (HTTP-07). It is off by default: it asks for pages that no rules have
	// allowed, and only two historic dialects make use of it.
	Probe bool
}

// Limits bound a fetch. A zero field has the default in the comment.
type Limits struct {
	Total   time.Duration // the whole fetch, redirects included: 30 s
	DNS     time.Duration // one lookup: 5 s
	Connect time.Duration // one connection, all addresses of the host: 5 s
	TLS     time.Duration // one handshake: 5 s
	Header  time.Duration // from the request to the end of the headers, and each reply of FTP: 10 s

	// LeastRate is the least bytes a second of a body once Grace is over:
	// 1024 after 5 s.
	LeastRate int64
	Grace     time.Duration

	MaxBodyBytes   int64 // bytes of the file, decoded: 512,000
	MaxRawBytes    int64 // bytes of a body on the wire with its framing: 1 MiB, or twice MaxBodyBytes if that is more
	MaxHeaderBytes int64 // bytes of all headers of a hop, replies of FTP: 64 KiB

	// Redirects is the number of redirects followed: 5, none if negative. With
	// fewer than five a chain that goes on is a failure and no missing file.
	Redirects int
}

// bodySlack is what is kept of a file over its limit, so that a dialect sees
// that the file goes on and cuts at its last whole line (D-17).
const bodySlack = 1 << 10

// filled returns the limits with the defaults for zero fields.
func (l Limits) filled() Limits {
	fill(&l.Total, 30*time.Second)
	fill(&l.DNS, 5*time.Second)
	fill(&l.Connect, 5*time.Second)
	fill(&l.TLS, 5*time.Second)
	fill(&l.Header, 10*time.Second)
	fill(&l.LeastRate, 1<<10)
	fill(&l.Grace, 5*time.Second)
	fill(&l.MaxBodyBytes, int64(robots.RFC9309.MaxFileBytes))
	fill(&l.MaxRawBytes, max(1<<20, 2*l.MaxBodyBytes))
	fill(&l.MaxHeaderBytes, 64<<10)
	fill(&l.Redirects, robots.RFC9309.Redirects)
	return l
}

// For returns the limits of a client that fetches for dialects: where one of them
// reads further than the default, MaxBodyBytes is raised to the largest of their size
// limits. A dialect without a limit raises nothing. Where one would have read on
// after MaxBodyBytes, its verdicts say so, see robots.State.CutAt.
func (l Limits) For(dialects ...robots.Dialect) Limits {
	for _, d := range dialects {
		if size := min(int64(d.MaxFileBytes), 1<<40); size > max(l.MaxBodyBytes, int64(robots.RFC9309.MaxFileBytes)) {
			l.MaxBodyBytes = size
		}
	}
	return l
}

func fill[T int | int64 | time.Duration](v *T, value T) {
	if *v == 0 {
		*v = value
	}
}

// A Client fetches robots.txt files. It is safe for concurrent use, keeps
// nothing between fetches and starts no goroutines that outlive one, but for HTTP/2,
// whose end at once, and for a caller's Dial or Transport that ignores its context.
type Client struct {
	options Options
	limits  Limits
	pool    *pool
	// hosts knows the names in the machine's file and no other: a name server
	// would be asked with a dot at the end, with which Go does not find them there.
	hosts *net.Resolver // nil with a Resolver of the caller
	// connect opens a connection through a guarded dialer; tests replace it to
	// make connections fail.
	connect func(ctx context.Context, d *net.Dialer, address string) (net.Conn, error)
}

// New returns a client. The error says which option cannot be used.
func New(o Options) (*Client, error) {
	if o.UserAgent == "" {
		o.UserAgent = DefaultUserAgent
	}
	if len(o.UserAgent) > 512 {
		return nil, fmt.Errorf("user agent of %d bytes: at most 512 are sent", len(o.UserAgent))
	}
	for i := range len(o.UserAgent) {
		if c := o.UserAgent[i]; c < ' ' || c >= 0x7F {
			return nil, fmt.Errorf("user agent %q: only printable ASCII can be sent", o.UserAgent)
		}
	}
	for _, l := range []struct {
		name  string
		value int64
	}{
		{"total time", int64(o.Limits.Total)}, {"DNS time", int64(o.Limits.DNS)}, {"connect time", int64(o.Limits.Connect)},
		{"TLS time", int64(o.Limits.TLS)}, {"header time", int64(o.Limits.Header)}, {"grace", int64(o.Limits.Grace)},
		{"least rate", o.Limits.LeastRate}, {"body size", o.Limits.MaxBodyBytes}, {"raw size", o.Limits.MaxRawBytes}, {"header size", o.Limits.MaxHeaderBytes},
	} {
		if l.value < 0 {
			return nil, errors.New("limit of " + l.name + " is negative: " + strconv.FormatInt(l.value, 10))
		}
	}
	if o.Connections < 0 {
		return nil, errors.New("number of connections is negative: " + strconv.Itoa(o.Connections))
	}
	if o.PerAddress < 0 {
		return nil, errors.New("number of connections to an address is negative: " + strconv.Itoa(o.PerAddress))
	}
	fill(&o.Connections, 512)
	fill(&o.PerAddress, 16)
	if o.Transport != nil && (o.Proxy != nil || o.Dial != nil || o.TLS != nil) {
		return nil, errors.New("a Transport has its own proxies, connections and TLS: give a Transport, or Proxy, Dial and TLS")
	}
	o.TLS = o.TLS.Clone()
	c := &Client{limits: o.Limits.filled(), pool: newPool(o.Connections, o.PerAddress, o.Start)}
	if o.Resolver == nil {
		o.Resolver = &net.Resolver{PreferGo: true, Dial: dialName}
		c.hosts = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.ErrUnsupported }}
	}
	c.options = o
	c.connect = func(ctx context.Context, d *net.Dialer, address string) (net.Conn, error) {
		return d.DialContext(ctx, "tcp", address)
	}
	return c, nil
}

// dialName connects to a name server. A lookup that is given up closes its
// connection: otherwise it would go on reading in a goroutine of its own until
// the time of the resolver's configuration is over.
func dialName(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, address)
	if err == nil {
		context.AfterFunc(ctx, func() { c.Close() })
	}
	return c, err
}

// standard is the client behind the function Fetch.
var standard = sync.OnceValue(func() *Client {
	c, _ := New(Options{}) // which are possible
	return c
})

// Fetch gets the robots.txt of an origin with a Client of zero Options.
func Fetch(ctx context.Context, origin robots.Origin) (*Record, error) {
	return standard().Fetch(ctx, origin)
}

// Fetch gets the robots.txt of an origin. Whatever the site and the network do is a
// Record; an error means that the origin is invalid, or that ctx ended first.
func (c *Client) Fetch(ctx context.Context, origin robots.Origin) (*Record, error) {
	return c.FetchAfter(ctx, origin, func() error { return nil })
}

// FetchAfter is Fetch for a caller that needs a lock: it calls before when the fetch has
// looked up the host and has a free connection, and sends nothing until that returns. So
// nobody holds a lock during the wait. An error of before ends the fetch and is wrapped in
// the error of FetchAfter. Time spent in before does not count against Limits.Total.
func (c *Client) FetchAfter(ctx context.Context, origin robots.Origin, before func() error) (*Record, error) {
	switch origin.Scheme() {
	case "http", "https", "ftp":
	case "":
		return nil, errors.New("fetch of an empty origin: get one from ParseURL and a URL such as https://example.com/")
	default:
		return nil, fmt.Errorf("fetch %s: unknown scheme %q (known: http, https, ftp)", origin.RobotsURL(), origin.Scheme())
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("fetch %s: %w", origin.RobotsURL(), err)
	}
	now := time.Now()
	s := &session{
		client: c,
		caller: ctx,
		until:  now.Add(c.limits.Total),
		record: &Record{Origin: origin, URL: origin.RobotsURL(), Started: now, Hops: []Hop{{URL: origin.RobotsURL()}}},
	}
	defer s.leave()
	if s.resolve(origin); s.failed == nil {
		s.failed = s.enter(s.at[0].Addr())
	}
	if s.err == nil {
		_ = s.wait(before) // the error is s.err
	}
	if err := s.aborted(); err != nil {
		return nil, err
	}
	if origin.Scheme() == "ftp" {
		s.ftp()
	} else {
		s.http()
	}
	if err := s.aborted(); err != nil && !s.record.Outcome.Good() {
		return nil, err
	}
	r := s.record
	r.Fetched = time.Now()
	if r.Outcome.Good() {
		r.Expires = r.Fetched.Add(r.Lifetime(LifeFloor, LifeCeiling))
		return r, nil
	}
	return r.After(nil), nil
}

// aborted returns an error if the fetch ended for a reason on the caller's side: its context
// ended, or a wait failed.
func (s *session) aborted() error {
	err := ended(s.caller)
	if err == nil {
		err = s.err
	}
	if err != nil {
		return fmt.Errorf("fetch %s: %w", s.record.Origin.RobotsURL(), err)
	}
	return nil
}

// ended returns why the caller's context has ended. A connection may see its
// deadline pass a moment before the context does, and what follows from the
// caller's deadline must not be told as a failure of the site.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t, ok := ctx.Deadline(); ok && !time.Now().Before(t) {
		return context.DeadlineExceeded
	}
	return nil
}

// errTotal is the cause of a context that ends with the time of the fetch.
var errTotal = errors.New("time for the fetch is over")

// session is one fetch in progress.
type session struct {
	client *Client
	caller context.Context
	ctx    context.Context // ends with caller, or at until; see limit
	cancel context.CancelFunc
	until  time.Time
	record *Record
	err    error // of a wait, on the caller's side

	// The current hop. Before resolve, at and failed are both unset. An address that only a
	// proxy or a Transport will resolve is invalid, but has its port.
	host    string
	proxy   *url.URL
	refused int // the status with which the proxy refused to connect
	at      []netip.AddrPort
	failed  *failure

	entered bool       // holds a place in the pool
	addr    netip.Addr // of that place
	begun   bool       // held a place before
}

// end notes how the fetch ended.
func (s *session) end(c Cause, detail string) {
	s.record.Outcome, s.record.Cause, s.record.Detail = c.Outcome(), c, clean(detail)
}

// fail notes a failure as it was found.
func (s *session) fail(f *failure) { s.end(f.cause, f.detail) }

// hop returns the request under way.
func (s *session) hop() *Hop { return &s.record.Hops[len(s.record.Hops)-1] }

// failure is a cause on its way up.
type failure struct {
	cause  Cause
	detail string
}

func (f *failure) Error() string { return f.cause.Sentence() + ": " + f.detail }

// clean makes what a site or a library said fit for a record: printable and short.
func clean(s string) string {
	const most = 200
	if s = robots.Printable(s); len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
