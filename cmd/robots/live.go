package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/bolt"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/pace"
	"github.com/spf13/cobra"
)

const (
	// maxConnections is how many connections there are at a time, and so how many
	// files of half a megabyte are on their way from sites and to the disk: several
	// times as many as fetch lets go to one address, so that silent ones keep nobody
	// waiting.
	maxConnections = 64
	// hotBytes is what of the records is kept in memory before the store.
	hotBytes = 32 << 20
	// fetchMargin is what the cache grants a fetch beyond --timeout before it
	// gives it up: the fetch itself is to say that it took too long.
	fetchMargin = 10 * time.Second
)

// liveFlags are the flags of the verbs that fetch, as written.
type liveFlags struct {
	cache        optional
	redis        optional
	userAgent    optional
	timeout      optional
	allowPrivate bool
	probe        bool
	addressPaces []string
}

// register declares the flags that fetching verbs share.
func (l *liveFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(&l.cache, "cache", "keep what is fetched in this `FILE`, and ask a site again only when\nit is due")
	f.Var(&l.redis, "redis", "share what is fetched with the fleet on the Redis at this `URL`, as in\nrediss://user@host:6379?prefix=robots; its password comes from the\nenvironment: "+passwordName+" (that of sentinels:\n"+sentinelPasswordName+"), or from the file\nthat the same with "+inFile+" names. --cache is then a copy, for when\nit goes away")
	f.Var(&l.userAgent, "user-agent", "the User-Agent `STRING` of requests (default\n\""+fetch.DefaultUserAgent+"\")")
	f.Var(&l.timeout, "timeout", "most `TIME` for one robots.txt, redirects included (default 30s)")
	f.BoolVar(&l.allowPrivate, "allow-private", false, "fetch from private and loopback addresses too")
	f.StringArrayVar(&l.addressPaces, "address-pace", nil, "fetch from each address of a prefix at this `PREFIX=RATE`, as in\n104.16.0.0/13=50/s or 127.0.0.0/8=none; repeat it for more, the longest\nprefix decides (default 10/s)")
}

// registerProbe declares --probe, for the verbs whose answers it can change or
// that show what it finds.
func (l *liveFlags) registerProbe(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&l.probe, "probe", false, "after a 5xx ask for the home page and for a page that cannot exist, to\nlearn whether the site answers 5xx for missing pages; then its 5xx\ncounts as 404 in "+strings.Join(probing(), " and ")+", and in no other dialect")
}

// probing returns the names of the dialects that use what a probe finds.
func probing() []string {
	var names []string
	for _, d := range robots.Dialects() {
		if d.ServerErrorsMayMiss {
			names = append(names, d.Name)
		}
	}
	return names
}

// unused returns an error if a flag about fetching is given though nothing will
// be fetched.
func (l *liveFlags) unused() error {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"--cache", l.cache.given}, {"--redis", l.redis.given}, {"--user-agent", l.userAgent.given},
		{"--timeout", l.timeout.given}, {"--allow-private", l.allowPrivate}, {"--probe", l.probe},
		{"--address-pace", len(l.addressPaces) > 0},
	} {
		if f.given {
			return errors.New(f.name + " has no use with -f: nothing is fetched then")
		}
	}
	return nil
}

// parseTimeout returns the value of --timeout, 0 if it was not given.
func (l *liveFlags) parseTimeout() (time.Duration, error) {
	if !l.timeout.given {
		return 0, nil
	}
	d, err := time.ParseDuration(l.timeout.text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("--timeout %q is not a time such as 10s or 1m30s", clip(l.timeout.text))
	}
	return min(d, 24*time.Hour), nil
}

// parseAddressPaces returns the values of --address-pace.
func (l *liveFlags) parseAddressPaces() (list []pace.AddressPace, err error) {
	for _, text := range l.addressPaces {
		p, err := pace.ParseAddressPace(text)
		if err != nil {
			return nil, fmt.Errorf("--address-pace: %w", err)
		}
		list = append(list, p)
	}
	if _, err := (pace.Options{Addresses: list}).Filled(); err != nil {
		return nil, fmt.Errorf("--address-pace: %w", err)
	}
	return list, nil
}

// live gets robots.txt files from their sites: one access to an origin in a run,
// many origins at a time. Who waits for whom is for package fetch to say.
type live struct {
	client  *fetch.Client
	cache   *cache.Cache
	kept    bool         // for the next run: --cache or --redis is given
	fleet   *fleet.Fleet // of --redis, or
	store   cache.Store  // the file of --cache or a spill
	began   time.Time
	private bool // --allow-private
	warn    func(format string, args ...any)
	failing sync.Once // of the store, said once
	slow    sync.Once // likewise
	hinted  sync.Once
}

// newLive checks the flags and opens the cache. Files are fetched as far as the
// dialects read them, with maxBytes in place of their limits.
func newLive(std *streams, name string, l *liveFlags, maxBytes int, ds ...robots.Dialect) (*live, error) {
	paces, err := l.parseAddressPaces()
	if err != nil {
		return nil, err
	}
	asking, err := l.asking(paces, maxBytes, ds)
	if err != nil {
		return nil, err
	}
	v := &live{
		began:   std.now().Truncate(time.Millisecond),
		private: l.allowPrivate,
		warn:    func(format string, args ...any) { warn(std, name, format, args...) },
		kept:    l.cache.given || l.redis.given,
	}
	// The client ends each fetch in time. What is beyond is the wait for an address
	// that others have been redirected to.
	fetchLimit := 24 * time.Hour
	switch {
	case l.redis.given:
		if v.fleet, err = l.join(paces); err != nil {
			return nil, err
		}
		if shared, ok := v.fleet.Limiter().(fetch.Starts); ok {
			asking.Starts = shared
		}
		fetchLimit = asking.Limits.Total + fetchMargin // a lease lasts as long, if this process dies
	case l.cache.given:
		file, err := bolt.Open(l.cache.text, bolt.Options{})
		if err != nil {
			return nil, err
		}
		v.store = file
	default:
		v.store = newSpill()
	}
	store := v.store
	if v.fleet != nil {
		store = v.fleet.Store()
	}
	if v.client, err = fetch.New(asking); err != nil {
		v.close()
		return nil, err
	}
	v.cache, err = cache.New(cache.Options{
		Fetcher:    v.client,
		Store:      store,
		Memory:     hotBytes,
		FetchLimit: fetchLimit,
		// Whoever asks by hand would rather wait than be given the old answer.
		StaleWait: asking.Limits.Total + 2*fetchMargin,
		Observe:   v.observe,
	})
	if err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// asking checks the flags before anything is opened, and returns how to fetch.
func (l *liveFlags) asking(paces []pace.AddressPace, maxBytes int, ds []robots.Dialect) (asking fetch.Options, err error) {
	timeout, err := l.parseTimeout()
	if err != nil {
		return asking, err
	}
	if l.userAgent.given && strings.TrimSpace(l.userAgent.text) == "" {
		return asking, errors.New("--user-agent is empty: name yourself and how to reach you")
	}
	limits := fetch.Limits{Total: cmp.Or(timeout, 30*time.Second)}
	for _, d := range ds {
		_, d = limited(nil, d, maxBytes)
		limits = limits.For(d)
	}
	limits.MaxBodyBytes = min(limits.MaxBodyBytes, maxFile)
	asking = fetch.Options{
		UserAgent:   l.userAgent.text,
		Limits:      limits,
		Guard:       fetch.Guard{AllowPrivate: l.allowPrivate},
		Connections: maxConnections,
		Probe:       l.probe,
	}
	if _, err := fetch.New(asking); err != nil {
		return asking, fmt.Errorf("--user-agent: %w", err)
	}
	if l.cache.given && l.cache.text == "" {
		return asking, errors.New("the name after --cache is empty")
	}
	if asking.Starts, err = pace.NewLocal(pace.Options{Addresses: paces}); err != nil {
		return asking, fmt.Errorf("--address-pace: %w", err)
	}
	return asking, nil
}

// Where the passwords of --redis come from: a flag would show them to everybody on
// the machine, and keep them in the history of the shell. Each may be in the file
// that NAME_FILE names instead.
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
		return "", fmt.Errorf("both %s and %s are set: one password is enough", name, name+inFile)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name+inFile, err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// join joins the fleet of --redis.
func (l *liveFlags) join(paces []pace.AddressPace) (*fleet.Fleet, error) {
	if u, err := url.Parse(l.redis.text); err == nil { //nolint:forbidigo // it is no URL of a site
		if _, shown := u.User.Password(); shown {
			return nil, fmt.Errorf("--redis %s has a password that others can see: leave it out and set %s, or name a file in %s", u.Redacted(), passwordName, passwordName+inFile)
		}
	}
	o := fleet.Options{Copy: l.cache.text, Pace: pace.Options{Addresses: paces}, SentinelUser: os.Getenv(sentinelUserName)}
	var err error
	if o.Password, err = secret(passwordName); err != nil {
		return nil, err
	}
	if o.SentinelPassword, err = secret(sentinelPasswordName); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchMargin)
	defer cancel()
	f, err := fleet.Open(ctx, l.redis.text, o)
	if err != nil {
		return nil, fmt.Errorf("--redis: %w", err)
	}
	return f, nil
}

// close ends what is under way and closes what keeps it.
func (l *live) close() {
	if l == nil {
		return
	}
	if l.cache != nil {
		_ = l.cache.Close() // it has nothing to report
	}
	switch {
	case l.fleet != nil:
		if err := l.fleet.Close(); err != nil {
			l.warn("cannot leave the fleet of --redis: %w", cause(err))
		}
	case l.store != nil:
		if err := l.store.Close(); err != nil && l.kept {
			l.warn("cannot close the file of --cache: %w", cause(err))
		}
	}
}

// observe is told what the cache does.
func (l *live) observe(e cache.Event) {
	if e.Kind != cache.StoreFailed {
		return
	}
	what, fails := "file of --cache", "the file of --cache fails, so not everything is kept: %w"
	switch {
	case l.fleet != nil:
		what, fails = "Redis of --redis", "the Redis of --redis fails, going on without it: %w"
	case !l.kept:
		what, fails = "temporary file", "memory is full, so sites may be asked again before they are due: %w"
	}
	putting := e.Record != nil
	switch {
	case !errors.Is(e.Err, context.DeadlineExceeded):
		l.failing.Do(func() { l.warn(fails, e.Err) })
	case putting:
		l.slow.Do(func() {
			l.warn("the %s took longer than 5 s to write, what was fetched may be kept all the same: %w", what, e.Err)
		})
	default:
		l.slow.Do(func() { l.warn("the %s took longer than 5 s to read, so the site is asked: %w", what, e.Err) })
	}
}

// refresh asks the site, whatever is held. Where nothing is to be kept the answer
// is not given the cache's random life.
func (l *live) refresh(ctx context.Context, origin robots.Origin) (*fetch.Record, error) {
	if !l.kept {
		return l.client.Fetch(ctx, origin)
	}
	return l.cache.Refresh(ctx, origin)
}

// hint says once, for answers that have no room for it, which flag permits what
// the guard has refused.
func (l *live) hint(r *fetch.Record) {
	if h := l.permit(r); h != "" {
		l.hinted.Do(func() { l.warn("%s is not asked: %s", r.Origin.RobotsURL(), h) })
	}
}

// permit names the flag that may permit what the guard has refused, "" if there
// is none.
func (l *live) permit(r *fetch.Record) string {
	if r.Cause != fetch.AddressRefused || l.private {
		return ""
	}
	return "--allow-private permits private and loopback addresses"
}

// A site is an origin whose robots.txt a run needs.
type site struct {
	origin robots.Origin
	ready  chan struct{} // closed when the cache has it, or err is set
	err    error
}

func newSite(origin robots.Origin) *site { return &site{origin: origin, ready: make(chan struct{})} }

// start gets the robots.txt of a site into the cache while its caller does
// something else, and calls then.
func (l *live) start(ctx context.Context, s *site, then func(*fetch.Record)) {
	go func() {
		defer close(s.ready)
		var r *fetch.Record
		r, s.err = l.cache.Get(ctx, s.origin)
		then(r)
	}()
}

// get returns the robots.txt of a site that is ready.
func (l *live) get(ctx context.Context, s *site) (*fetch.Record, error) {
	if s.err != nil {
		return nil, s.err
	}
	return l.cache.Get(ctx, s.origin)
}

// rulesOf returns what a crawler obeys by a record, with maxBytes in place of
// the dialect's size limit.
func rulesOf(r *fetch.Record, d robots.Dialect, maxBytes int, now time.Time, tokens ...string) *robots.Rules {
	switch {
	case maxBytes > 0:
		d.MaxFileBytes = maxBytes
	case maxBytes == 0: // see limited
		none := *r
		none.Body, none.Truncated = nil, false
		if r.LastGood != nil {
			held := *r.LastGood
			held.Body, held.Truncated = nil, false
			none.LastGood = &held
		}
		r = &none
	}
	return r.Rules(d, now, tokens...)
}

// parseLive splits a URL whose robots.txt is to be fetched. A path alone names
// no site, in no dialect.
func parseLive(d robots.Dialect, url string) (robots.Origin, robots.Path, error) {
	if strings.HasPrefix(url, "/") {
		return robots.Origin{}, robots.Path{}, fmt.Errorf("URL %s names no site to fetch robots.txt from: write https://example.com/page, or name a file with -f FILE", strconv.Quote(clip(url)))
	}
	origin, path, err := robots.ParseURL(url)
	if err != nil {
		return origin, path, err
	}
	switch origin.Scheme() {
	case "http", "https", "ftp":
	default:
		return origin, path, fmt.Errorf("URL %s: robots.txt is fetched over http, https and ftp, not %s", strconv.Quote(clip(url)), clip(origin.Scheme()))
	}
	if d.Escapes == robots.EscapesRaw {
		path = robots.RawPath(url)
	}
	return origin, path, nil
}

// undecided reports whether a verdict says not now rather than no: it is for the
// want of an answer that nothing is allowed.
func undecided(v robots.Verdict) bool {
	if v.Allowed {
		return false
	}
	return v.Reason == robots.ReasonUnreachable || v.Reason == robots.ReasonRefused || v.Reason == robots.ReasonUndefined
}

// errInterrupted is the end of a run that somebody has ended.
var errInterrupted = errors.New("interrupted")

// interruptible returns a context that ends with Ctrl-C or a request to
// terminate. After the first one a second ends the program at once.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
