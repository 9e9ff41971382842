package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/bolt"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/pace"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	// maxConnections limits concurrent connections, and so the files of half a megabyte in
	// memory. It is several times what fetch allows per address, so that an unresponsive
	// address delays no other.
	maxConnections = 64
	// cacheBytes is the memory for records. What does not fit is read from the store again, or
	// fetched again without one.
	cacheBytes = 96 << 20
)

// fetchMargin is added to --timeout before the cache gives a fetch up, so that the fetch reports
// its own timeout. Tests shorten it.
var fetchMargin = 10 * time.Second

// siteFlags are the flags of the verbs that fetch from sites.
type siteFlags struct {
	set           pflag.FlagSet // these
	cache         string
	redis         string
	allowEviction bool
	pages         bool // pages are requested too
	userAgent     string
	timeout       time.Duration
	proxy         string
	allowPrivate  bool
	probe         bool
	addressPaces  []string
}

// register declares the flags that fetching verbs share.
func (s *siteFlags) register(cmd *cobra.Command) {
	f := &s.set
	f.StringVar(&s.cache, "cache", "", "`FILE` file that keeps each robots.txt until it expires")
	f.StringVar(&s.redis, "redis", "", "`URL` Redis that a fleet shares, such as rediss://user@host:6379?prefix=robots")
	f.BoolVar(&s.allowEviction, "allow-eviction", false, "accept a Redis that evicts keys when its memory is full")
	s.agentFlag(f)
	f.DurationVar(&s.timeout, "timeout", 30*time.Second, "`DURATION` timeout per robots.txt fetch, redirects included")
	s.requestFlags(f)
	f.StringArrayVar(&s.addressPaces, "address-pace", nil, "`PREFIX=RATE` rate limit per IP address, such as 104.16.0.0/13=50/s (repeat for more; default 10/s)")
	cmd.Flags().AddFlagSet(f)
}

// registerWay declares the flags of a verb that fetches other files than robots.txt.
func (s *siteFlags) registerWay(cmd *cobra.Command) {
	s.agentFlag(&s.set)
	s.requestFlags(&s.set)
	cmd.Flags().AddFlagSet(&s.set)
}

func (s *siteFlags) agentFlag(f *pflag.FlagSet) {
	f.StringVar(&s.userAgent, "user-agent", "", "`HEADER` User-Agent of requests (default "+strconv.Quote(defaultUserAgent())+")")
}

func (s *siteFlags) requestFlags(f *pflag.FlagSet) {
	f.StringVar(&s.proxy, "proxy", "", "`URL` proxy (http, https, socks5, socks5h), env for HTTPS_PROXY and HTTP_PROXY, or none")
	f.BoolVar(&s.allowPrivate, "allow-private", false, "also fetch from private and loopback addresses")
}

// registerProbe declares --probe.
func (s *siteFlags) registerProbe(cmd *cobra.Command) {
	s.set.BoolVar(&s.probe, "probe", false, "after a 5xx, test if missing pages give 5xx (a 404 in "+strings.Join(probing(), ", ")+")")
	cmd.Flags().AddFlagSet(&s.set)
}

// probing returns the names of the dialects that use the result of a probe.
func probing() []string {
	var names []string
	for _, d := range robots.Dialects() {
		if d.ServerErrorsMayMiss {
			names = append(names, d.Name)
		}
	}
	return names
}

// given reports whether a flag was given.
func (s *siteFlags) given(name string) bool { return s.set.Changed(name) }

// unused returns an error if one of these flags is given and nothing is fetched.
func (s *siteFlags) unused(when string) (err error) {
	s.set.VisitAll(func(f *pflag.Flag) {
		if f.Changed && err == nil {
			err = errors.New("--" + f.Name + " has no use " + when + ": nothing is fetched then")
		}
	})
	return err
}

// live fetches from sites, many at a time, each once in a run.
type live struct {
	client   *fetch.Client
	options  fetch.Options // of the client
	limiter  pace.Limiter  // of pages
	cache    *cache.Cache
	fleet    *fleet.Fleet // of --redis, nil without
	store    cache.Store  // for the next run: that of the fleet, the file of --cache, or nil
	began    time.Time
	progress progress
	std      *screen.Streams // of warnings
}

var errTimeout = errors.New("--timeout must be more than 0")

// check returns what is wrong with the flags, and the proxy.
func (s *siteFlags) check() (proxy func(*http.Request) (*url.URL, error), err error) {
	switch {
	case s.given("cache") && s.cache == "":
		return nil, errors.New("the name after --cache is empty")
	case s.given("user-agent") && strings.TrimSpace(s.userAgent) == "":
		return nil, errors.New("--user-agent is empty: name the crawler and a contact")
	case s.given("timeout") && s.timeout <= 0:
		return nil, errTimeout
	case s.given("cache") && s.redis != "":
		return nil, errors.New("--cache and --redis exclude each other")
	case s.given("allow-eviction") && s.redis == "":
		return nil, errors.New("--allow-eviction requires --redis")
	}
	return s.parseProxy()
}

// addressPaces reads the paces of addresses.
func addressPaces(texts []string) (o pace.Options, err error) {
	for _, text := range texts {
		var p pace.AddressPace
		if err := p.Set(text); err != nil {
			return o, err
		}
		o.Addresses = append(o.Addresses, p)
	}
	return o, nil
}

// parseProxy reads the value of --proxy, nil for none.
func (s *siteFlags) parseProxy() (func(*http.Request) (*url.URL, error), error) {
	switch {
	case !s.given("proxy") || s.proxy == "none":
		return nil, nil
	case s.proxy == "env":
		return http.ProxyFromEnvironment, nil
	}
	u, err := url.Parse(s.proxy) //nolint:forbidigo // not the URL of a site
	if err == nil && u.User != nil {
		if _, given := u.User.Password(); given {
			return nil, errors.New("--proxy: others can see a password on the command line; set HTTPS_PROXY and HTTP_PROXY, and give --proxy env")
		}
	}
	if err != nil || u.Hostname() == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return nil, errors.New("--proxy is not a URL such as http://proxy:3128 or socks5://proxy:1080, env or none")
	}
	return http.ProxyURL(u), nil
}

// newLive checks the flags, and then opens the cache. A file is fetched up to the largest limit of
// the dialects, or to maxBytes.
func newLive(c *command, s *siteFlags, dialects []robots.Dialect, maxBytes int) (*live, error) {
	proxy, err := s.check()
	if err != nil {
		return nil, err
	}
	l := &live{began: c.std.Now().Truncate(time.Millisecond), std: c.std}
	paces, err := addressPaces(s.addressPaces)
	if err == nil {
		l.limiter, err = pace.NewLocal(paces)
	}
	if err != nil {
		return nil, fmt.Errorf("--address-pace: %w", err)
	}
	if maxBytes > 0 {
		dialects = []robots.Dialect{{MaxFileBytes: min(maxBytes, maxFile)}}
	}
	total := min(cmp.Or(s.timeout, 30*time.Second), 24*time.Hour)
	l.options = fetch.Options{
		UserAgent: cmp.Or(s.userAgent, defaultUserAgent()),
		Limits:    fetch.Limits{Total: total}.For(dialects...),
		Guard:     fetch.Guard{AllowPrivate: s.allowPrivate},
		Start: func(ctx context.Context, o robots.Origin, addr netip.Addr) error {
			return l.limiter.StartFetch(ctx, o, addr)
		},
		Redirected:  func(ctx context.Context, o robots.Origin) { l.limiter.Requested(ctx, o) },
		Proxy:       proxy,
		Connections: maxConnections,
		Probe:       s.probe,
	}
	if l.client, err = fetch.New(l.options); err != nil {
		return nil, fmt.Errorf("--user-agent: %w", err)
	}
	kept := cache.Options{
		Fetcher:    l.client,
		Memory:     cacheBytes,
		FetchLimit: 24 * time.Hour, // the client ends each fetch in time; a wait for a busy address is not limited
		UseToEnd:   true,           // a run is short, and gets each record twice
		// A person would rather wait than get a stale answer.
		StaleWait: total + 2*fetchMargin,
		Observe:   l.observe,
	}
	switch {
	case s.given("redis"):
		if l.fleet, err = join("--redis", s.redis, fleet.Options{Pace: paces, AllowEviction: s.allowEviction, RecordsOnly: !s.pages}); err != nil {
			return nil, err
		}
		l.store, l.limiter = l.fleet.Store(), l.fleet.Limiter()
		kept.FetchLimit = total + fetchMargin // a lease lasts as long, if this process dies
	case s.cache != "":
		if l.store, err = bolt.Open(s.cache, bolt.Options{}); err != nil {
			return nil, err
		}
	}
	kept.Store = l.store
	l.cache, err = cache.New(kept) // which fails only for a negative option, and there is none
	return l, err
}

// Environment variables with the passwords of --redis: others can see a flag, and the shell
// keeps it in its history. NAME_FILE names a file with the password.
const (
	passwordName         = "ROBOTS_REDIS_PASSWORD"
	sentinelUserName     = "ROBOTS_REDIS_SENTINEL_USER"
	sentinelPasswordName = "ROBOTS_REDIS_SENTINEL_PASSWORD"
	inFile               = "_FILE"
)

// secret returns a password from the environment, "" if there is none.
func secret(name string) (string, error) {
	word, file := os.Getenv(name), os.Getenv(name+inFile)
	switch {
	case file == "":
		return word, nil
	case word != "":
		return "", fmt.Errorf("both %s and %s are set: set only one of them", name, name+inFile)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name+inFile, err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// withPasswords adds the passwords of the environment to the options of a fleet.
func withPasswords(flag, at string, o fleet.Options) (fleet.Options, error) {
	if u, err := url.Parse(at); err == nil { //nolint:forbidigo // not the URL of a site
		if _, shown := u.User.Password(); shown {
			return o, fmt.Errorf("%s %s: others can see a password on the command line; set %s, or name a file in %s", flag, u.Redacted(), passwordName, passwordName+inFile)
		}
	}
	o.SentinelUser = os.Getenv(sentinelUserName)
	var err error
	if o.Password, err = secret(passwordName); err != nil {
		return o, err
	}
	o.SentinelPassword, err = secret(sentinelPasswordName)
	return o, err
}

// join joins the fleet on the Redis given with a flag.
func join(flag, at string, o fleet.Options) (*fleet.Fleet, error) {
	o, err := withPasswords(flag, at, o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchMargin)
	defer cancel()
	f, err := fleet.Open(ctx, at, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return f, nil
}

// close ends the fetches and closes the store.
func (l *live) close() {
	if l == nil {
		return
	}
	_ = l.cache.Close() // it has nothing to report
	if l.fleet != nil {
		if err := l.fleet.Close(); err != nil {
			l.std.Warn("cannot leave the fleet of --redis: %w", screen.Cause(err))
		}
	} else if l.store != nil {
		if err := l.store.Close(); err != nil {
			l.std.Warn("cannot close the file of --cache: %w", screen.Cause(err))
		}
	}
}

// observe warns of failures of the store.
func (l *live) observe(e cache.Event) {
	if e.Kind != cache.EventStoreFailed {
		return
	}
	what, effect := "file of --cache", "so some files are not kept"
	if l.fleet != nil {
		what, effect = "Redis of --redis", "so nothing is fetched until it answers"
	}
	if !errors.Is(e.Err, context.DeadlineExceeded) {
		l.std.WarnOnce("store failed", "the %s fails, %s: %w", what, effect, e.Err)
		return
	}
	effect = "read, so robots.txt is fetched"
	if e.Record != nil {
		effect = "write, so some files might not be kept"
	}
	l.std.WarnOnce("store late", "the %s took longer than 5 s to %s: %w", what, effect, e.Err)
}

// hint warns once which flag permits what the guard has refused, for formats other than text.
func (l *live) hint(r *fetch.Record) {
	if h := l.permit(r); h != "" {
		l.std.WarnOnce("refused", "%s is not fetched: %s", r.Origin.RobotsURL(), h)
	}
}

// permit names the flag that permits what the guard has refused, "" if there is none, as for
// the metadata address of a cloud. The detail of a refusal begins with the address.
func (l *live) permit(r *fetch.Record) string {
	text, _, _ := strings.Cut(r.Detail, ": ")
	at, err := netip.ParseAddrPort(text)
	if r.Cause != fetch.AddressRefused || l.options.Guard.AllowPrivate || err != nil || (fetch.Guard{AllowPrivate: true}).Check(at) != nil {
		return ""
	}
	return "--allow-private permits private and loopback addresses"
}

// A site is a robots.txt that a run needs.
type site struct {
	origin robots.Origin
	ready  chan struct{} // closed some time after start, when the cache has it, or err is set
	err    error

	answered bool // a URL of it has been answered
}

func newSite(origin robots.Origin) *site { return &site{origin: origin, ready: make(chan struct{})} }

// start gets the robots.txt of a site into the cache, and does not wait for it.
func (l *live) start(ctx context.Context, s *site) {
	l.progress.begun.Add(1)
	go func() {
		defer close(s.ready)
		late := time.AfterFunc(l.options.Limits.Total+fetchMargin, func() { //nolint:forbidigo // it is said to people
			l.std.WarnOnce("late", "%s is not fetched yet: its address is busy, or the Redis of --redis does not permit it; interrupt to stop waiting", s.origin.RobotsURL())
		})
		defer late.Stop()
		var r *fetch.Record
		if r, s.err = l.cache.Get(ctx, s.origin); s.err != nil || !r.Outcome.Good() {
			l.progress.failed.Add(1)
		}
		l.progress.done.Add(1)
	}()
}

// get returns the robots.txt of a site when it is ready, or errInterrupted if ctx ends before.
// Before it waits it flushes the output.
func (l *live) get(ctx context.Context, s *site) (r *fetch.Record, err error) {
	select {
	case <-s.ready:
	default:
		_ = l.std.Out.Flush() // the last flush reports its error
		<-s.ready             // soon, if ctx ends
	}
	if err = s.err; err == nil {
		r, err = l.cache.Get(ctx, s.origin)
	}
	if err != nil && ctx.Err() != nil {
		err = screen.ErrInterrupted
	}
	return r, err
}

// factOf is the note on a state without its meaning, which differs by dialect.
func factOf(s *robots.State) string {
	if s == nil {
		return ""
	}
	return s.Fact
}

// stateLine describes the fetch of a robots.txt in one line, with a note on the state of its
// rules.
func (l *live) stateLine(r *fetch.Record, s *robots.State, note string) (line string) {
	line = r.Origin.RobotsURL() + ": "
	if r.Degraded {
		defer func() { line += "; the fleet's Redis is unavailable" }()
	}
	if !r.Outcome.Good() {
		if note == "" {
			note = r.Cause.Sentence()
		}
		if h := l.permit(r); h != "" {
			note += "; " + h
		}
		if r.Outcome == fetch.Unreachable && l.store != nil {
			note += "; next try from " + render.Stamp(r.NextTry)
		}
		return line + note
	}
	if r.Fetched.Before(l.began) {
		line += "kept since " + render.Stamp(r.Fetched)
	} else {
		line += "fetched in " + render.Took(r.Took())
	}
	line += ", status " + strconv.Itoa(r.Status)
	if n := r.Redirects(); n > 0 {
		line += " after " + render.Count(n, "redirect")
		if r.Outcome == fetch.Success {
			line += " to " + r.URL
		}
	}
	switch r.Cause {
	case fetch.ClientError, fetch.FTPAbsent, fetch.FTPDenied, fetch.Empty:
		line += " (" + r.Cause.Sentence() + ")"
	}
	if s != nil && s.StaleSince.IsZero() && !r.Expires.IsZero() {
		line += ", fresh until " + render.Stamp(r.Expires)
	}
	if note != "" && note != "status "+strconv.Itoa(r.Status) {
		line += "; " + note
	}
	return line
}
