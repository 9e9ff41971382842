package polite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
)

// Options configure a Transport. The zero value suits a crawler on the public internet.
type Options struct {
	// Tokens are further product tokens of the crawler, tried in order after its name: for an
	// image crawler that of the main crawler (AGENT-04, D-04).
	Tokens []string
	// UserAgent is the User-Agent of requests that set none, and of those for robots.txt: the
	// name if empty. It should contain the name, so that sites find it in their logs
	// (AGENT-08), and a way to contact the operator.
	UserAgent string
	// Dialect is how robots.txt is read: robots.RFC9309 if zero. If the Transport makes its
	// own Cache, it fetches as much of a file as the dialect reads.
	Dialect robots.Dialect
	// Policy is the operator's limits for crawl rates.
	Policy pace.Policy
	// Failure is the operator's policy for sites whose robots.txt cannot be fetched.
	Failure fetch.Policy
	// AllowPrivate permits sites in private networks and on this machine. Otherwise robots.txt
	// and pages at such addresses are refused, whatever name or redirect led there.
	AllowPrivate bool

	// Fetch configures how robots.txt is fetched and, with a nil Base, how pages are: Proxy,
	// Dial, TLS, Resolver, Guard or a Transport apply to both. UserAgent and AllowPrivate
	// above are added; Limits are raised to what the Dialect reads; a nil Start is that of the
	// Limiter.
	Fetch fetch.Options
	// Base sends the requests. If nil, it is Fetch.Transport or else a transport with
	// Go's usual limits, whose connections are guarded, at most two per request
	// (fetch.Client.Transport). Any other Base is not guarded. Unless Fetch configures the
	// connection, robots.txt is fetched through Base too: with the Proxy, DialContext and
	// TLSClientConfig of an *http.Transport, or with another RoundTripper as
	// fetch.Options.Transport.
	Base http.RoundTripper
	// Store keeps robots.txt files for a day or longer, such as a cache/bolt file, so that a
	// crawl of any number of sites and its next run fetch each once. Close does not close it.
	Store cache.Store
	// Memory limits robots.txt files and their rules in memory, in bytes: 64 MiB if 0, 20,000
	// sites with files of 11 KB, about 40,000 usual sites. Without a Store, a crawl of more
	// sites fetches files again and again (cache.EventEvicted); with one, it only gets slower.
	Memory int64
	// Cache is used instead of one that the Transport makes with Store and Memory. It can be
	// shared, and Close does not close it.
	Cache *cache.Cache
	// Limiter decides when requests and fetches of robots.txt start. If nil, the Transport makes
	// one for itself: transports that crawl the same sites must share a Limiter.
	Limiter pace.Limiter
	// Fleet provides a Store and a Limiter that are shared with other processes. It must have
	// been opened without an error, and is not closed.
	Fleet Fleet
	// Observe gets what happens, for metrics and logs. A given Cache, Limiter or Fleet has an
	// Observe of its own for records and permits.
	Observe Observer
}

// A Fleet is shared by the workers of a crawler, such as *fleet.Fleet on Redis.
type Fleet interface {
	Store() cache.Store
	Limiter() pace.Limiter
	CacheMemory() int64  // limits the Transport's own Cache, in bytes
	Observe(cache.Event) // gets the events of that
}

// Transport is an http.RoundTripper that obeys robots.txt. It is safe for
// concurrent use.
type Transport struct {
	options  Options
	crawler  cache.Crawler
	sites    sites
	ownCache *cache.Cache // made by New
	closed   atomic.Bool

	otherAgent sync.Once // the report of a request's own User-Agent
}

// New returns a transport for the crawler with this product token. A name with a version or
// spaces, a list with commas, or a full User-Agent header stands for the product tokens in it
// (robots.ProductTokens, D-03). The error says what is invalid.
//
// A name has no meaning beyond itself. All that the directory documents of a known crawler is
// c := crawlers.Resolve(name), with Options.Tokens: c.Tokens[1:] and Options.Dialect: c.ReadAs().
func New(name string, o Options) (*Transport, error) {
	o, err := o.filled(name)
	if err != nil {
		return nil, err
	}
	t := &Transport{crawler: cache.Crawler{Dialect: o.Dialect, Tokens: append([]string{name}, o.Tokens...), Failure: o.Failure}}
	if o.Limiter == nil {
		o.Limiter, _ = pace.NewLocal(pace.Options{Observe: o.Observe.Pace}) // no error: the zero Options are valid
	}
	if o.Fetch.Start == nil {
		o.Fetch.Start = o.Limiter.StartFetch
	}
	if o.Fetch.Redirected == nil {
		o.Fetch.Redirected = o.Limiter.Requested
	}
	client, err := fetch.New(o.Fetch)
	if err != nil {
		return nil, err
	}
	if o.Base == nil {
		o.Base = client.Transport()
	}
	if o.Cache == nil {
		cacheOptions := cache.Options{Fetcher: client, Store: o.Store, Memory: o.Memory, Observe: o.Observe.Cache}
		if o.Fleet != nil {
			cacheOptions.Memory = o.Fleet.CacheMemory()
			cacheOptions.Observe = func(e cache.Event) {
				o.Fleet.Observe(e)
				o.Observe.Cache(e)
			}
		}
		if t.ownCache, err = cache.New(cacheOptions); err != nil {
			return nil, err
		}
		o.Cache = t.ownCache
	}
	t.options = o
	return t, nil
}

// filled returns the options with defaults, or an error for invalid ones.
func (o Options) filled(name string) (Options, error) {
	if n := strings.Trim(name, " \t"); n == "" || n == "*" {
		return o, fmt.Errorf("crawler name %q is not a product token such as MyBot", name)
	}
	if strings.ContainsAny(name, "\r\n") {
		return o, fmt.Errorf("crawler name %q contains a line end", name)
	}
	if err := o.Policy.Check(); err != nil {
		return o, err
	}
	if o.Fleet != nil {
		if o.Cache != nil || o.Store != nil || o.Limiter != nil {
			return o, errors.New("a Fleet is the store and the limiter: set Fleet, or Cache or Store and Limiter, but not both")
		}
		o.Store = o.Fleet.Store()
		o.Limiter = o.Fleet.Limiter()
		if o.Store == nil || o.Limiter == nil {
			return o, errors.New("the Fleet has no store or no limiter: it must be one that fleet.Open returned without an error")
		}
	}
	if o.Cache != nil && (o.Store != nil || o.Memory != 0) {
		return o, errors.New("a Cache has its own store and memory: set Cache or Store and Memory, but not both")
	}
	if o.Fleet != nil && o.Memory != 0 {
		return o, errors.New("a Fleet limits the memory for records: set fleet.Options.MaxMemoryBytes instead of Memory")
	}
	if o.Observe == nil {
		o.Observe = unobserved{}
	}
	o.UserAgent = cmp.Or(o.UserAgent, o.Fetch.UserAgent, name)
	if strings.ContainsAny(o.UserAgent, "\r\n") {
		return o, fmt.Errorf("user agent %q contains a line end", o.UserAgent)
	}
	o.Dialect = cmp.Or(o.Dialect, robots.RFC9309)
	o.Fetch.UserAgent = o.UserAgent
	o.Fetch.Guard.AllowPrivate = o.Fetch.Guard.AllowPrivate || o.AllowPrivate
	o.Fetch.Limits = o.Fetch.Limits.For(o.Dialect)
	o.useOneDialer()
	return o, nil
}

// useOneDialer makes robots.txt and pages use the same proxy, Dial and TLS settings. Otherwise pages could be
// fetched from a host whose robots.txt was read elsewhere.
func (o *Options) useOneDialer() {
	f := &o.Fetch
	switch base, ok := o.Base.(*http.Transport); {
	case o.Base == nil:
		o.Base = f.Transport
	case f.Transport != nil || f.Proxy != nil || f.Dial != nil || f.TLS != nil: // Fetch says how
	//nolint:staticcheck // deprecated, but still used by net/http
	case !ok || base.DialTLSContext != nil || base.DialTLS != nil || base.Dial != nil:
		f.Transport = o.Base
	default:
		f.Proxy = base.Proxy
		f.Dial = base.DialContext
		f.TLS = base.TLSClientConfig
	}
}

// Client returns an http.Client for the crawler with this product token, over a Transport with
// zero Options. For a name that New refuses, each request fails with the error of New. Options,
// such as a Store for many sites, go to New.
func Client(name string) *http.Client {
	t, err := New(name, Options{})
	if err != nil {
		return &http.Client{Transport: errorTransport{err}}
	}
	return &http.Client{Transport: t}
}

// errorTransport is the transport of a client whose name is unusable.
type errorTransport struct{ err error }

func (r errorTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	return nil, closeBody(req, r.err)
}

// A DisallowedError reports that a request was not sent because robots.txt disallows it or is
// unreachable.
type DisallowedError struct {
	URL     string // without a password
	Verdict robots.Verdict

	private bool // AllowPrivate would permit the address that the guard refused
}

func (e *DisallowedError) Error() string {
	text := "robots.txt: " + robots.Printable(e.URL) + " is " + e.Verdict.String()
	if e.private {
		text += "; Options.AllowPrivate permits sites in private networks and on this machine"
	}
	return text
}

// Undecided reports whether robots.txt could not be fetched, so that the request might be
// allowed later. The verdict's State has the time of the next attempt.
func (e *DisallowedError) Undecided() bool { return e.Verdict.Undecided() }

type userKey struct{}

// UserInitiated returns a context for requests that a user started, such as a translation or a
// check. They need not obey robots.txt (WHO-02), do not wait, and do not count.
func UserInitiated(ctx context.Context) context.Context {
	return context.WithValue(ctx, userKey{}, true)
}

// Verdict returns the verdict of robots.txt for a URL, without requesting it.
func (t *Transport) Verdict(ctx context.Context, url string) (robots.Verdict, error) {
	origin, path, err := t.sites.parse(url)
	if err != nil {
		return robots.Verdict{}, err
	}
	rules, _, err := t.rules(ctx, origin)
	if err != nil {
		return robots.Verdict{}, err
	}
	return rules.Match(path), nil
}

// NotBefore returns when a request to a URL could start by the crawl rate, and why, as a refused
// permit. It acquires nothing, and does not say whether robots.txt allows the URL.
func (t *Transport) NotBefore(ctx context.Context, url string) (pace.Permit, error) {
	origin, _, err := t.sites.parse(url)
	if err != nil {
		return pace.Permit{}, err
	}
	rules, record, err := t.rules(ctx, origin)
	if err != nil {
		return pace.Permit{}, err
	}
	schedule, _ := pace.NewSchedule(rules, t.options.Policy) // no error: New has checked the policy
	permits, err := t.options.Limiter.Try(
		ctx, []pace.Request{{Origin: origin, Schedule: schedule, Addr: record.Addr(), Fetched: record.Fetched}}, 0,
	)
	if err != nil {
		return pace.Permit{}, err
	}
	return permits[0], nil
}

// rules returns the rules of a site for this crawler, and its record.
func (t *Transport) rules(ctx context.Context, origin robots.Origin) (*robots.Rules, *fetch.Record, error) {
	return t.options.Cache.Rules(ctx, origin, &t.crawler)
}

// maxDials limits the connections of a request: a second for one that the site closed before
// it took the request.
const maxDials = 2

// RoundTrip sends a request if robots.txt allows it, when the limiter permits it. It uses the
// robots.txt of the dialed site and refuses a request whose Host differs. A request that
// net/http repeats on another connection waits again. Timeouts, except the end of the caller's
// context, slow down later requests.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.roundTrip(req)
	if disallowed, is := errors.AsType[*DisallowedError](err); is {
		t.observe(Event{Kind: EventDisallowed, Err: disallowed}, req)
	} else if _, is := errors.AsType[*notStartedError](err); is {
		t.observe(Event{Kind: EventUnsent, Err: err}, req)
	}
	return resp, err
}

// observe reports an event of a request.
func (t *Transport) observe(e Event, req *http.Request) { t.options.Observe.Request(e.of(req)) }

func (t *Transport) roundTrip(req *http.Request) (*http.Response, error) {
	user, _ := req.Context().Value(userKey{}).(bool)
	r := request{called: time.Now()}
	var err error
	switch {
	case req.URL == nil:
		err = errors.New("the request has no URL")
	case t.closed.Load():
		err = fmt.Errorf("request for %s: the polite transport is closed", robots.Printable(req.URL.Redacted()))
	case !user:
		err = r.judge(t, req)
	}
	if err != nil {
		return nil, closeBody(req, &notStartedError{err: err})
	}
	send := req.Clone(req.Context())
	if agent, set := send.Header["User-Agent"]; !set {
		if send.Header == nil {
			send.Header = make(http.Header)
		}
		send.Header.Set("User-Agent", t.options.UserAgent)
	} else if !user && len(agent) > 0 && !t.isOurs(agent[0]) {
		t.otherAgent.Do(func() {
			err := fmt.Errorf(
				"the request's own User-Agent %q names another crawler than %q, whose rules it obeys", agent[0], t.crawler.Tokens[0],
			)
			t.observe(Event{Kind: EventOtherAgent, Err: err}, req)
		})
	}
	if user {
		return t.options.Base.RoundTrip(send.WithContext(fetch.WithDials(req.Context(), maxDials, nil)))
	}
	if err := r.acquire(req.Context()); err != nil {
		return nil, closeBody(send, &notStartedError{err: err})
	}
	return r.send(send)
}

// isOurs reports whether a User-Agent header names the crawler, or none.
func (t *Transport) isOurs(agent string) bool {
	named := robots.ProductTokens(agent)
	for _, name := range t.crawler.Tokens {
		for _, token := range robots.ProductTokens(name) {
			if slices.ContainsFunc(named, func(n string) bool { return strings.EqualFold(n, token) }) {
				return true
			}
		}
	}
	return len(named) == 0
}

// closeBody closes the body of a request that is not sent, as a RoundTripper must, and returns
// the error.
func closeBody(req *http.Request, err error) error {
	if req.Body != nil {
		req.Body.Close()
	}
	return err
}

// A request is a request that robots.txt allows.
type request struct {
	*Transport
	req    *http.Request // of the caller
	origin robots.Origin
	path   robots.Path
	called time.Time // RoundTrip
	record *fetch.Record
	rules  *robots.Rules

	schedule *pace.Schedule
	permit   pace.Permit
}

// judge reads a request of the caller, and returns an error unless it is allowed.
func (r *request) judge(t *Transport, req *http.Request) (err error) {
	r.Transport = t
	r.req = req
	if r.origin, r.path, err = target(req); err != nil {
		return err
	}
	if r.rules, r.record, err = t.rules(req.Context(), r.origin); err != nil {
		return err
	}
	r.schedule, _ = pace.NewSchedule(r.rules, t.options.Policy) // no error: New has checked the policy
	return r.allowed(r.rules, r.record)
}

// allowed returns an error if the rules of a record disallow the request.
func (r *request) allowed(by *robots.Rules, from *fetch.Record) error {
	if v := by.Match(r.path); !v.Allowed {
		return &DisallowedError{URL: r.req.URL.Redacted(), Verdict: v, private: v.Reason == robots.ReasonRefused && from.Private()}
	}
	return nil
}

// judgeAgain judges the request by the site's current robots.txt. It reports whether the request
// can start: not within an interval after that was fetched.
func (r *request) judgeAgain(ctx context.Context) (canStart bool, err error) {
	rules, record, err := r.Transport.rules(ctx, r.origin)
	if err != nil {
		return true, nil // the rules of before still apply
	}
	if rules != r.rules {
		if err := r.allowed(rules, record); err != nil {
			return false, err
		}
	}
	if !record.Fetched.After(r.record.Fetched) {
		return true, nil
	}
	r.rules = rules
	r.record = record
	r.schedule, _ = pace.NewSchedule(rules, r.options.Policy)
	now := time.Now()
	state := (&pace.Request{Fetched: record.Fetched}).AfterFetch(now)
	return !r.schedule.Next(now, state).After(now), nil
}

// acquire waits for a permit of the origin.
func (r *request) acquire(ctx context.Context) (err error) {
	r.permit, err = r.options.Limiter.Acquire(ctx, pace.Request{Origin: r.origin, Schedule: r.schedule, Fetched: r.record.Fetched})
	return err
}

// release releases the permit if there is one. If that fails, the permit expires, and the
// response is still valid.
func (r *request) release(result pace.Result) {
	if r.permit.OK() {
		_ = r.options.Limiter.Release(context.WithoutCancel(r.req.Context()), r.permit, result)
	}
	r.permit = pace.Permit{}
}

// begin waits until the request can be written to an address. If the address is not ready while
// the permit is valid, or the site has another robots.txt, another permit is acquired.
func (r *request) begin(ctx context.Context, addr netip.Addr, unused bool) error {
	if unused {
		r.release(pace.Result{Unused: true})
		if err := r.acquire(ctx); err != nil {
			return err
		}
	}
	for {
		err := r.options.Limiter.Start(ctx, r.permit, addr)
		missed, again := errors.AsType[*pace.MissedError](err)
		if err != nil && !again {
			return err
		}
		if again {
			r.release(pace.Result{Unused: true})
			select {
			case <-time.After(time.Until(missed.Permit.NotBefore)):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		} else {
			// The site's robots.txt might have been fetched during the wait.
			canStart, err := r.judgeAgain(ctx)
			if err != nil {
				return err
			}
			if canStart {
				r.observe(Event{Kind: EventStarted, Took: time.Since(r.called)}, r.req)
				return nil
			}
			r.release(pace.Result{Unused: true})
		}
		if err := r.acquire(ctx); err != nil {
			return err
		}
	}
}

// send sends the request when its address is ready, and releases the permit.
func (r *request) send(req *http.Request) (*http.Response, error) {
	s := newStartGate(r.options.Base, req, r.begin)
	// The permit is released even if the caller's context has ended or the Base panics, and at
	// the end of the body if there is one.
	result := pace.Result{Unused: true}
	done := func() {
		r.release(result)
		s.cancel(nil)
	}
	inBody := false
	defer func() {
		if !inBody {
			done()
		}
	}()
	result.Unused = false // if the Base panics
	resp, err := s.send(r.options.Base, req, r.record.Addr())
	result = ResultOf(r.req.Context(), resp, err)
	if err != nil {
		return nil, err
	}
	inBody = hasBody(req.Method, resp)
	if inBody {
		resp.Body = newBody(resp.Body, done)
	}
	return resp, nil
}

// CloseIdleConnections closes the idle connections of the Base.
func (t *Transport) CloseIdleConnections() { closeIdleConnections(t.options.Base) }

func closeIdleConnections(base http.RoundTripper) {
	if b, ok := base.(interface{ CloseIdleConnections() }); ok {
		b.CloseIdleConnections()
	}
}

// Close ends the fetches of the Transport's own cache and closes idle connections. It does not
// close the caller's Cache, Store or Fleet. Later requests fail.
func (t *Transport) Close() error {
	t.closed.Store(true)
	t.CloseIdleConnections()
	if t.ownCache != nil {
		return t.ownCache.Close()
	}
	return nil
}
