package polite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
)

// Options are the settings of a Transport. The zero value is right for one
// crawler on the public internet.
type Options struct {
	// Tokens are further product tokens of the crawler, tried in order after its
	// name: for an image crawler the name of the main one (AGENT-04, D-04).
	Tokens []string
	// UserAgent is the User-Agent of every request that sets none, and of those
	// for robots.txt: the name as it was given if empty. It should hold the name, so
	// that sites find it in their logs (AGENT-08), and a way to reach its operator.
	UserAgent string
	// Dialect is how robots.txt is read: robots.RFC9309 if it is the zero value. As
	// much of a file is fetched as it reads, if the Cache is the Transport's own.
	Dialect robots.Dialect
	// Policy is what the operator says about pace.
	Policy pace.Policy
	// Failure is what the operator decides or knows about sites whose robots.txt
	// cannot be fetched.
	Failure fetch.Policy
	// AllowPrivate permits sites in the caller's own networks and on this
	// machine. Otherwise both robots.txt and pages of such addresses are refused,
	// whatever name or redirect led there.
	AllowPrivate bool

	// Fetch says how robots.txt is fetched, and, with a nil Base, which way pages go
	// too: Proxy, Dial, TLS, Resolver, Guard, or a Transport, are given here once and
	// hold for both. UserAgent and AllowPrivate above are added to it; Limits are
	// raised to what the Dialect reads; Start is that of the Limiter if it is nil.
	Fetch fetch.Options
	// Base sends the requests that may be sent. If nil, it is that of Fetch: a
	// transport with the limits of http.DefaultTransport whose connections pass the
	// address guard, at most two for one request (fetch.Client.Transport), or
	// Fetch.Transport. A Base of the caller guards itself, and robots.txt goes its
	// way: an *http.Transport lends its Proxy, DialContext and TLSClientConfig, any
	// other fetches robots.txt itself (fetch.Options.Transport, with what is lost
	// then), unless Fetch names a way.
	Base http.RoundTripper
	// Cache answers with robots.txt files. If nil, the Transport makes one in
	// memory, which Close ends; with Store, that store is behind it. A Cache of
	// the caller is shared and left open.
	Cache *cache.Cache
	Store cache.Store
	// Limiter decides when requests and fetches of robots.txt start. If nil, it is one of
	// this process. Transports that share a Limiter share their pace.
	Limiter pace.Limiter
	// Fleet is Store and Limiter in one, shared with other processes: one that was
	// opened without an error. It stays open: it belongs to whoever opened it.
	Fleet Fleet
}

// A Fleet is what the workers of a crawler share. *fleet.Fleet is one, on Redis. If it has
// a method CacheMemory() int64, that bounds the Transport's own Cache, in bytes; a method
// Observe(cache.Event) receives its events.
type Fleet interface {
	Store() cache.Store
	Limiter() pace.Limiter
}

// Transport is an http.RoundTripper that obeys robots.txt. It is safe for
// concurrent use.
type Transport struct {
	name    string
	options Options
	tokens  []string
	crawler cache.Crawler
	own     *cache.Cache // made here
	closed  atomic.Bool
}

// New returns a transport for the crawler with this product token. A name with a
// version or blanks, a list with commas and a whole User-Agent header stand for
// the product tokens in them, see robots.ProductTokens (D-03). The error says in
// one sentence what cannot be used.
func New(name string, o Options) (*Transport, error) {
	o, err := o.filled(name)
	if err != nil {
		return nil, err
	}
	t := &Transport{name: name, tokens: append([]string{name}, o.Tokens...)}
	if o.Limiter == nil {
		if o.Limiter, err = pace.NewLocal(pace.Options{}); err != nil {
			return nil, err
		}
	}
	if o.Fetch.Start == nil {
		o.Fetch.Start = o.Limiter.StartFetch
	}
	client, err := fetch.New(o.Fetch)
	if err != nil {
		return nil, err
	}
	if o.Base == nil {
		o.Base = client.Transport()
	}
	if o.Cache == nil {
		own := cache.Options{Fetcher: client, Store: o.Store}
		if f, ok := o.Fleet.(interface{ CacheMemory() int64 }); ok {
			own.Memory = f.CacheMemory()
		}
		if f, ok := o.Fleet.(interface{ Observe(e cache.Event) }); ok {
			own.Observe = f.Observe
		}
		if t.own, err = cache.New(own); err != nil {
			return nil, err
		}
		o.Cache = t.own
	}
	t.options = o
	t.crawler = cache.Crawler{Dialect: o.Dialect, Tokens: t.tokens, Failure: o.Failure}
	return t, nil
}

// filled returns the options with what they leave out, or the one sentence that
// says what cannot be used.
func (o Options) filled(name string) (Options, error) {
	switch strings.Trim(name, " \t") {
	case "", "*":
		return o, fmt.Errorf("crawler name %q is no product token such as MyBot", name)
	}
	if strings.ContainsAny(name, "\r\n") {
		return o, fmt.Errorf("crawler name %q holds a line end", name)
	}
	if err := o.Policy.Check(); err != nil {
		return o, err
	}
	if o.Fleet != nil {
		if o.Cache != nil || o.Store != nil || o.Limiter != nil {
			return o, errors.New("a Fleet is the store and the limiter: give a Fleet, or a Cache or Store and a Limiter, not both")
		}
		if o.Store, o.Limiter = o.Fleet.Store(), o.Fleet.Limiter(); o.Store == nil || o.Limiter == nil {
			return o, errors.New("the Fleet has no store or no limiter: it must be one that fleet.Open has returned, without an error")
		}
	}
	if o.Cache != nil && o.Store != nil {
		return o, errors.New("a Cache has its own store: give a Cache or a Store, not both")
	}
	o.UserAgent = cmp.Or(o.UserAgent, o.Fetch.UserAgent, name)
	if strings.ContainsAny(o.UserAgent, "\r\n") {
		return o, fmt.Errorf("user agent %q holds a line end", o.UserAgent)
	}
	if o.Dialect == (robots.Dialect{}) {
		o.Dialect = robots.RFC9309
	}
	o.Fetch.UserAgent = o.UserAgent
	o.Fetch.Guard.AllowPrivate = o.Fetch.Guard.AllowPrivate || o.AllowPrivate
	o.Fetch.Limits = o.Fetch.Limits.For(o.Dialect)
	o.shareWay()
	return o, nil
}

// shareWay lets robots.txt go the way of pages, or pages that of robots.txt. A name
// or an address that only one of them reaches would be judged by nothing.
func (o *Options) shareWay() {
	f := &o.Fetch
	if f.Transport != nil || f.Proxy != nil || f.Dial != nil || f.TLS != nil || o.Base == nil {
		if o.Base == nil && f.Transport != nil {
			o.Base = f.Transport
		}
		return
	}
	base, ok := o.Base.(*http.Transport)
	if !ok || base.DialTLSContext != nil || base.DialTLS != nil || base.Dial != nil { //nolint:staticcheck // deprecated, and used all the same
		f.Transport = o.Base
		return
	}
	f.Proxy, f.Dial, f.TLS = base.Proxy, base.DialContext, base.TLSClientConfig
}

// Client returns an http.Client for the crawler with this product token, over a
// Transport with at most one Options. It panics with the sentence of New if the
// name or the options are impossible, and if there are several, since these are
// written in the program; where they come from a user, call New.
func Client(name string, o ...Options) *http.Client {
	var options Options
	switch len(o) {
	case 0:
	case 1:
		options = o[0]
	default:
		panic(fmt.Sprintf("polite: Client takes one Options, not %d", len(o)))
	}
	t, err := New(name, options)
	if err != nil {
		panic("polite: " + err.Error())
	}
	return &http.Client{Transport: t}
}

// A DisallowedError says that a request was not sent because robots.txt does not
// allow it, or because nobody could know.
type DisallowedError struct {
	URL     string
	Verdict robots.Verdict
}

func (e *DisallowedError) Error() string {
	return "robots.txt: " + robots.Printable(e.URL) + " is " + e.Verdict.String()
}

// Undecided reports whether the answer is "not now" and not "no": robots.txt
// could not be fetched, and what it says is not known. The verdict's State says
// when it is asked for again.
func (e *DisallowedError) Undecided() bool { return e.Verdict.Undecided() }

type userKey struct{}

// UserInitiated returns a context for requests that a user asked for, such as a
// translation or a check: they need not follow robots.txt (WHO-02), and they
// neither wait nor count. It is for the caller to know that no crawler is behind
// them.
func UserInitiated(ctx context.Context) context.Context {
	return context.WithValue(ctx, userKey{}, true)
}

// Verdict returns what robots.txt says about a URL, without a request to it.
func (t *Transport) Verdict(ctx context.Context, url string) (robots.Verdict, error) {
	origin, path, err := parseURL(url)
	if err != nil {
		return robots.Verdict{}, err
	}
	_, rules, err := t.rules(ctx, origin)
	if err != nil {
		return robots.Verdict{}, err
	}
	return rules.Match(path), nil
}

// NotBefore returns when a request to a URL might start, and why: a refused permit. It
// acquires nothing.
func (t *Transport) NotBefore(ctx context.Context, url string) (pace.Permit, error) {
	origin, _, err := parseURL(url)
	if err != nil {
		return pace.Permit{}, err
	}
	record, rules, err := t.rules(ctx, origin)
	if err != nil {
		return pace.Permit{}, err
	}
	permits, err := t.options.Limiter.Try(ctx, []pace.Request{{Origin: origin, Schedule: t.scheduleOf(rules), Addr: record.Addr()}}, 0)
	if err != nil {
		return pace.Permit{}, err
	}
	return permits[0], nil
}

// rules returns the rules of a site for this crawler.
func (t *Transport) rules(ctx context.Context, origin robots.Origin) (*fetch.Record, *robots.Rules, error) {
	rules, record, err := t.options.Cache.Rules(ctx, origin, &t.crawler)
	if err != nil {
		return nil, nil, fmt.Errorf("robots.txt of %s: %w", origin, err)
	}
	return record, rules, nil
}

// scheduleOf returns the schedule of rules.
func (t *Transport) scheduleOf(rules *robots.Rules) *pace.Schedule {
	s, _ := pace.NewSchedule(rules, t.options.Policy) // the error is about the policy, which New has checked
	return s
}

// maxDials is how many connections one request may open: a second for the one
// that ended before the site took the request.
const maxDials = 2

// RoundTrip sends a request that is allowed, when the pace permits it. It judges
// by the robots.txt of the site that is dialled: a request whose Host names
// another one is refused. Where net/http sends a request again, since the site closed a
// kept connection, that waits for the interval of the site. A request that ends with its caller's context says
// nothing about the site; any other timeout slows the next ones down.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	user, _ := req.Context().Value(userKey{}).(bool)
	var r request
	var err error
	switch {
	case req.URL == nil:
		err = errors.New("the request has no URL")
	case t.closed.Load():
		err = fmt.Errorf("request for %s: the polite transport is closed", robots.Printable(req.URL.Redacted()))
	case !user:
		r, err = t.judged(req)
	}
	if err != nil {
		return nil, closeBody(req, err)
	}
	send := req.Clone(req.Context())
	if _, set := send.Header["User-Agent"]; !set {
		if send.Header == nil {
			send.Header = make(http.Header)
		}
		send.Header.Set("User-Agent", t.options.UserAgent)
	}
	if user {
		return t.options.Base.RoundTrip(send.WithContext(fetch.WithDials(req.Context(), maxDials, nil)))
	}
	for {
		if err := r.acquire(req.Context()); err != nil {
			return nil, closeBody(send, err)
		}
		resp, err := r.send(send)
		missed, again := errors.AsType[*pace.MissedError](err)
		if !again || req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
			return resp, err
		}
		// The address was not ready in time: the site needs another permit.
		if err := sleepTo(req.Context(), missed.Permit.NotBefore); err != nil {
			return nil, err
		}
		if req.GetBody != nil {
			if send.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// closeBody closes the body of a request that is not sent, as a RoundTripper does always,
// and returns the error.
func closeBody(req *http.Request, err error) error {
	if req.Body != nil {
		req.Body.Close()
	}
	return err
}

// sleepTo sleeps until an instant, or returns the cause of the end of a context.
func sleepTo(ctx context.Context, at time.Time) error {
	t := time.NewTimer(time.Until(at))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A request is one that robots.txt allows.
type request struct {
	*Transport
	ctx    context.Context //nolint:containedctx // that of the request
	url    string
	origin robots.Origin
	path   robots.Path
	record *fetch.Record
	rules  *robots.Rules

	schedule *pace.Schedule
	permit   pace.Permit
}

// judged returns a request that is allowed.
func (t *Transport) judged(req *http.Request) (request, error) {
	origin, path, err := target(req)
	if err != nil {
		return request{}, err
	}
	r := request{Transport: t, ctx: req.Context(), url: req.URL.String(), origin: origin, path: path}
	if r.record, r.rules, err = t.rules(r.ctx, origin); err != nil {
		return request{}, err
	}
	r.schedule = t.scheduleOf(r.rules)
	return r, r.allowed(r.rules)
}

// allowed returns the error of a request that is not.
func (r *request) allowed(by *robots.Rules) error {
	if v := by.Match(r.path); !v.Allowed {
		return &DisallowedError{URL: r.url, Verdict: v}
	}
	return nil
}

// acquire waits for a permit of the origin.
func (r *request) acquire(ctx context.Context) (err error) {
	r.permit, err = r.options.Limiter.Acquire(ctx, pace.Request{Origin: r.origin, Schedule: r.schedule})
	return err
}

// release releases the permit. If the limiter fails, the permit expires, and the response
// has come all the same.
func (r *request) release(result pace.Result) {
	_ = r.options.Limiter.Release(context.WithoutCancel(r.ctx), r.permit, result)
}

// send sends the request when its address is ready too, and releases the permit.
func (r *request) send(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	s := &starts{request: r, ctx: ctx, cancel: cancel, proxied: r.proxied(req)}
	// A permit is released even when the caller's context has ended, and when the Base
	// panics: here, unless there is a body, which then does it at its end.
	result := pace.Result{Unused: true}
	done := func() {
		r.release(result)
		cancel(nil)
	}
	inBody := false
	defer func() {
		if !inBody {
			done()
		}
	}()
	if _, traced := r.options.Base.(*http.Transport); s.proxied || !traced {
		addr := netip.Addr{}
		if !s.proxied { // it might not report its connections
			addr = r.record.Addr()
		}
		if err := s.dial(ctx, addr); err != nil {
			return nil, closeBody(req, err)
		}
	}
	result.Unused = false
	resp, err := r.options.Base.RoundTrip(req.WithContext(s.trace()))
	if written, failed := s.end(); failed != nil {
		if resp != nil && resp.Body != nil {
			resp.Body.Close()
		}
		result.Unused = !written
		return nil, failed
	}
	if err != nil {
		result.Timeout = timedOut(err) && !ended(r.ctx)
		return nil, err
	}
	if resp == nil {
		return nil, fmt.Errorf("the Base, a %T, gave neither a response nor an error for %s", r.options.Base, r.origin)
	}
	result.Status = resp.StatusCode
	result.RetryAfter = fetch.RetryAfter(resp.Header, time.Now())
	if inBody = hasBody(req.Method, resp); inBody {
		resp.Body = newBody(resp.Body, done)
	}
	return resp, nil
}

// CloseIdleConnections closes those of the base, as http.Client expects.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.options.Base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// Close ends what the transport started: the fetches of its own cache and idle
// connections. It leaves open what the caller brought. Requests fail afterwards.
func (t *Transport) Close() error {
	t.closed.Store(true)
	t.CloseIdleConnections()
	if t.own != nil {
		return t.own.Close()
	}
	return nil
}
