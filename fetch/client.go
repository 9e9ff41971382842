package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/robotskit/robots"
)

// DefaultUserAgent is sent if Options.UserAgent is empty. A crawler should send its own, with
// a way to contact its operator.
const DefaultUserAgent = "robotskit (+https://github.com/robotskit/robots)"

// Options configure a Client. The zero value suits a crawler on the public internet.
type Options struct {
	UserAgent string // DefaultUserAgent if empty
	Limits    Limits
	Guard     Guard
	// Resolver looks up hosts. If nil, the hosts file and then Go's resolver are used. The C
	// library's resolver cannot be interrupted and reads numbers such as 2130706433 as
	// addresses.
	Resolver *net.Resolver
	// Proxy returns the proxy for a request, or nil for none; http.ProxyFromEnvironment is
	// such a function. The URL has the scheme http, https, socks5 or socks5h; its user and
	// password are sent only to the proxy. A socks5 proxy gets literal addresses that the
	// Guard has checked, others get host names, to which PerAddress and Start do not apply.
	Proxy func(*http.Request) (*url.URL, error)
	// Dial opens TCP connections, without TLS: to a literal address of a site that the Guard
	// has checked, or to the host of a proxy. If the connection has a remote address, the
	// Guard checks that too. Connections must support deadlines (net.Conn). If nil, a
	// net.Dialer is used.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS configures https, for proxies too: root certificates, client certificates, versions.
	// It is copied; its ServerName and NextProtos are ignored. If nil, the system's roots are
	// used.
	TLS *tls.Config
	// Credentials returns the user and password of the caller for an origin, nil for none. They
	// are sent as Basic authentication (RFC 7617) over http and https, to that origin alone, also
	// when it redirects to another one, and no Record contains them. A store that keeps a Record
	// returns it to crawlers without the password too, so cache such origins separately. If nil,
	// no origin has credentials.
	Credentials func(robots.Origin) *url.Userinfo
	// Transport sends the requests instead of the client's own code, for other kinds of
	// proxies or measurements. It excludes Proxy, Dial and TLS. The package documentation
	// lists the promises that do not hold then.
	Transport http.RoundTripper
	// Connections limits concurrent connections of the client: 512 if 0. The same number of
	// lookups can run in addition. With the default Limits a fetch takes at most about 600 KB
	// of memory.
	Connections int
	// PerAddress limits concurrent connections to one IP address: 16 if 0 (D-57). All ports,
	// schemes and hosts of the address count, after redirects too; the two connections of FTP
	// count once. Further fetches wait in order until ctx ends. That wait does not count
	// against Limits.Total and delays no fetch from another address.
	PerAddress int
	// Start is called before each connection and waits until the address may be requested; nil
	// for no wait. pace.Limiter.StartFetch is such a function, by default 10 starts per second
	// and address. The wait does not count against Limits.Total.
	Start func(ctx context.Context, origin robots.Origin, addr netip.Addr) error
	// Redirected is called when a request to another origin has ended, to which robots.txt was
	// redirected; nil for no call. pace.Limiter.Requested is such a function.
	Redirected func(ctx context.Context, origin robots.Origin)
	// Probe requests, after a 5xx, the home page and a page that cannot exist, to find out
	// whether the site answers missing pages with 5xx (HTTP-07). It is off by default, since
	// no rules have allowed these requests and only two historic dialects use the result.
	Probe bool
}

// Limits bound a fetch. A zero field means the default in its comment.
type Limits struct {
	Total   time.Duration // whole fetch with redirects: 30 s
	DNS     time.Duration // one lookup: 5 s; two fifths of it for a silent address family
	Connect time.Duration // one connection, over all addresses of the host: 5 s
	TLS     time.Duration // one handshake: 5 s
	Header  time.Duration // from the request to the end of the headers, and each FTP reply: 10 s

	// LeastRate is the minimum rate of a body in bytes per second, after Grace: 1024, after 5
	// s.
	LeastRate int64
	Grace     time.Duration

	MaxBodyBytes   int64 // decoded file: 512,000; up to 1,024 bytes more are kept
	MaxRawBytes    int64 // body as transferred, framing included: 1 MiB, or 2*MaxBodyBytes if that is more
	MaxHeaderBytes int64 // all headers of a hop, or FTP replies: 64 KiB

	// Redirects is the number of redirects that are followed: 5, none if negative. With fewer
	// than five, Record.Rules count a longer chain as unreachable rather than as a missing file.
	Redirects int
}

// bodySlack is the number of bytes kept beyond the size limit, so that a dialect notices the
// truncation and discards the partial line (D-17).
const bodySlack = 1 << 10

// filled returns the limits with defaults for zero fields.
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

// For raises MaxBodyBytes to the largest size limit of the dialects, so that each of them can
// read as much of a file as it would. A dialect without a limit raises nothing; the verdicts
// of a dialect that would have read further say so (robots.State.CutAt).
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

// A Client fetches robots.txt files. It is safe for concurrent use and keeps nothing between
// fetches. It leaves no goroutine behind, except of a caller's Dial or Transport that ignores
// its context.
type Client struct {
	options Options
	limits  Limits
	pool    *pool
	// hosts reads only the hosts file, in which Go does not find the names with a final dot
	// that are sent to name servers.
	hosts *net.Resolver // nil if the caller set Resolver
	// connect opens a connection with a guarded dialer or Options.Dial. Tests replace it to
	// simulate failures.
	connect func(ctx context.Context, d *net.Dialer, address string) (net.Conn, error)
}

// New returns a client. The error names the invalid option.
func New(o Options) (*Client, error) {
	if o.UserAgent == "" {
		o.UserAgent = DefaultUserAgent
	}
	if len(o.UserAgent) > 512 {
		return nil, fmt.Errorf("user agent of %d bytes: at most 512 are sent", len(o.UserAgent))
	}
	if strings.ContainsFunc(o.UserAgent, func(c rune) bool { return c < ' ' || c >= 0x7F }) {
		return nil, fmt.Errorf("user agent %q: only printable ASCII can be sent", o.UserAgent)
	}
	l := &o.Limits
	for name, value := range map[string]int64{
		"limit of total time": int64(l.Total), "limit of DNS time": int64(l.DNS), "limit of connect time": int64(l.Connect),
		"limit of TLS time": int64(l.TLS), "limit of header time": int64(l.Header), "limit of grace": int64(l.Grace),
		"limit of least rate": l.LeastRate, "limit of body size": l.MaxBodyBytes, "limit of raw size": l.MaxRawBytes,
		"limit of header size": l.MaxHeaderBytes, "number of connections": int64(o.Connections),
		"number of connections to an address": int64(o.PerAddress),
	} {
		if value < 0 {
			return nil, fmt.Errorf("%s is negative: %d", name, value)
		}
	}
	fill(&o.Connections, 512)
	fill(&o.PerAddress, 16)
	if o.Transport != nil && (o.Proxy != nil || o.Dial != nil || o.TLS != nil) {
		return nil, errors.New("a Transport has its own proxies, connections and TLS: give a Transport, or Proxy, Dial and TLS")
	}
	o.TLS = o.TLS.Clone()
	c := &Client{limits: o.Limits.filled(), pool: newPool(o)}
	if o.Resolver == nil {
		o.Resolver = &net.Resolver{PreferGo: true, Dial: dialName}
		c.hosts = &net.Resolver{
			PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.ErrUnsupported },
		}
	}
	if o.Redirected == nil {
		o.Redirected = func(context.Context, robots.Origin) {}
	}
	c.options = o
	c.connect = func(ctx context.Context, d *net.Dialer, address string) (net.Conn, error) {
		if o.Dial == nil {
			return d.DialContext(ctx, "tcp", address)
		}
		return awaitCallback(ctx, func() (net.Conn, error) { return o.Dial(ctx, "tcp", address) }, func(conn net.Conn) { conn.Close() })
	}
	return c, nil
}

// dialName connects to a name server. A canceled lookup closes its connection: otherwise a
// goroutine would read until the resolver's own timeout.
func dialName(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, address)
	if err == nil {
		context.AfterFunc(ctx, func() { c.Close() })
	}
	return c, err
}

// standard is the client of the function Fetch.
var standard = sync.OnceValue(func() *Client {
	c, _ := New(Options{}) // the zero Options are valid
	return c
})

// Fetch fetches the robots.txt of an origin with a Client of zero Options.
func Fetch(ctx context.Context, origin robots.Origin) (*Record, error) {
	return standard().Fetch(ctx, origin)
}

// Fetch fetches the robots.txt of an origin. Responses and failures of the site and the
// network are Records; an error means that the origin is invalid or that ctx ended first.
func (c *Client) Fetch(ctx context.Context, origin robots.Origin) (*Record, error) {
	return c.FetchAfter(ctx, origin, func() error { return nil })
}

// FetchAfter is Fetch for a caller that needs a lock, which must not be held during a wait:
// it calls before when the host is resolved and a connection is free, and sends nothing until
// before returns. An error of before ends the fetch and is wrapped in the returned error. Time
// spent in before does not count against Limits.Total.
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
		client:        c,
		caller:        ctx,
		totalDeadline: now.Add(c.limits.Total),
		record:        &Record{Origin: origin, URL: origin.RobotsURL(), Started: now, Hops: []Hop{{URL: origin.RobotsURL()}}},
	}
	defer s.endHop()
	s.resolve(origin)
	if s.unresolved == nil {
		s.unresolved = s.acquireSlot(s.addresses[0].Addr())
	}
	if s.err == nil {
		_ = s.waitUncounted(before) // the error is s.err
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
	return s.record.finished(time.Now()), nil
}

// aborted returns an error if the fetch ended for a reason on the caller's side: its context
// ended, or a wait failed.
func (s *session) aborted() error {
	if err := cmp.Or(ended(s.caller), s.err); err != nil {
		return fmt.Errorf("fetch %s: %w", s.record.Origin.RobotsURL(), err)
	}
	return nil
}

// ended returns why the caller's context has ended. A connection can reach the deadline a
// moment before the context does, which must not count as a failure of the site.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t, ok := ctx.Deadline(); ok && !time.Now().Before(t) {
		return context.DeadlineExceeded
	}
	return nil
}

// errTotal is the cause of a context that ends with Limits.Total.
var errTotal = errors.New("time for the fetch is over")

// session is one fetch in progress.
type session struct {
	client        *Client
	caller        context.Context
	ctx           context.Context // ends with caller, or at until; see limit
	cancel        context.CancelFunc
	totalDeadline time.Time
	record        *Record
	err           error // of a wait; on the caller's side

	// The current hop. Before resolve, at and failed are both unset. An address that only a
	// proxy or a Transport will resolve is invalid, but has its port.
	host       string
	proxy      *url.URL
	refused    int // the status with which the proxy refused to connect
	addresses  []netip.AddrPort
	unresolved *failure

	holdsSlot   bool       // a slot of the pool is acquired
	slotAddress netip.Addr // of that slot
}

// end records the result of the fetch.
func (s *session) end(c Cause, detail string) {
	s.record.Outcome = c.Outcome()
	s.record.Cause = c
	s.record.Detail = printableDetail(detail)
}

// fail records a failure.
func (s *session) fail(f *failure) { s.end(f.cause, f.detail) }

// hop returns the current request.
func (s *session) hop() *Hop { return &s.record.Hops[len(s.record.Hops)-1] }

// A failure is a cause with details.
type failure struct {
	cause  Cause
	detail string
}

func (f *failure) Error() string { return f.cause.Sentence() + ": " + f.detail }

// printableDetail makes text of a site or library printable and short.
func printableDetail(s string) string {
	const most = 200
	s = robots.Printable(s)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
