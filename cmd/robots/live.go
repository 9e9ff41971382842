package main

import (
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
	"github.com/spf13/cobra"
)

const (
	// maxFetches is how many sites are asked at a time, each over one connection.
	maxFetches = 16
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
}

// register declares the flags that fetching verbs share.
func (l *liveFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(&l.cache, "cache", "keep what is fetched in this `FILE`, and ask a site again only when\nit is due")
	f.Var(&l.redis, "redis", "share what is fetched with the fleet on the Redis at this `URL`, as in\nrediss://user@host:6379?prefix=robots; its password comes from the\nenvironment: "+passwordName+", or "+passwordFileName+",\nwhich names a file. --cache is then a copy, for when it goes away")
	f.Var(&l.userAgent, "user-agent", "the User-Agent `STRING` of requests (default\n\""+fetch.DefaultUserAgent+"\")")
	f.Var(&l.timeout, "timeout", "most `TIME` for one robots.txt, redirects included (default 30s)")
	f.BoolVar(&l.allowPrivate, "allow-private", false, "fetch from private and loopback addresses too")
}

// unused returns an error if a flag about fetching is given though nothing will
// be fetched.
func (l *liveFlags) unused() error {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"--cache", l.cache.given}, {"--redis", l.redis.given}, {"--user-agent", l.userAgent.given},
		{"--timeout", l.timeout.given}, {"--allow-private", l.allowPrivate},
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

// live gets robots.txt files from their sites: one access to an origin in a run,
// many origins at a time, and one connection to a host.
type live struct {
	client  *fetch.Client
	cache   *cache.Cache
	store   cache.Store  // of --cache or --redis, nil without
	fleet   *fleet.Fleet // of --redis, nil without
	began   time.Time
	private bool // --allow-private
	warn    func(format string, args ...any)
	trouble sync.Once // of the store, said once
	hinted  sync.Once

	mu    sync.Mutex
	hosts map[string]chan struct{} // closed when the last in the queue for a host is done
}

// newLive checks the flags and opens the cache. Of a file no more than maxBytes
// or the usual limit is fetched, whichever is more.
func newLive(std *streams, name string, l *liveFlags, maxBytes int) (*live, error) {
	timeout, err := l.parseTimeout()
	if err != nil {
		return nil, err
	}
	if l.userAgent.given && strings.TrimSpace(l.userAgent.text) == "" {
		return nil, errors.New("--user-agent is empty: name yourself and how to reach you")
	}
	limits := fetch.Limits{Total: timeout}
	if maxBytes > robots.RFC9309.SizeLimit {
		limits.Body = int64(min(maxBytes, maxFile))
		limits.Raw = 2 * limits.Body
	}
	client, err := fetch.New(fetch.Options{
		UserAgent: l.userAgent.text,
		Limits:    limits,
		Guard:     fetch.Guard{AllowPrivate: l.allowPrivate},
	})
	if err != nil {
		return nil, fmt.Errorf("--user-agent: %w", err)
	}
	v := &live{
		client:  client,
		began:   std.now().Truncate(time.Millisecond),
		private: l.allowPrivate,
		warn:    func(format string, args ...any) { warn(std, name, format, args...) },
		hosts:   map[string]chan struct{}{},
	}
	if l.cache.given && l.cache.text == "" {
		return nil, errors.New("the name after --cache is empty")
	}
	switch {
	case l.redis.given:
		if v.fleet, err = l.join(); err != nil {
			return nil, err
		}
		v.store = v.fleet.Store()
	case l.cache.given:
		store, err := bolt.Open(l.cache.text, bolt.Options{})
		if err != nil {
			return nil, err
		}
		v.store = store
	}
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	v.cache, err = cache.New(cache.Options{
		Fetcher:    client,
		Store:      v.store,
		Fetches:    maxFetches,
		FetchLimit: timeout + fetchMargin,
		// Whoever asks by hand would rather wait than be given the old answer.
		StaleWait: timeout + 2*fetchMargin,
		Observe:   v.observe,
	})
	if err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// Where the password of --redis comes from: a flag would show it to everybody on
// the machine, and keep it in the history of the shell.
const (
	passwordName     = "ROBOTS_REDIS_PASSWORD"
	passwordFileName = "ROBOTS_REDIS_PASSWORD_FILE"
)

// join joins the fleet of --redis.
func (l *liveFlags) join() (*fleet.Fleet, error) {
	if u, err := url.Parse(l.redis.text); err == nil { //nolint:forbidigo // it is no URL of a site
		if _, shown := u.User.Password(); shown {
			return nil, fmt.Errorf("--redis %s has a password that others can see: leave it out and set %s, or name a file in %s", u.Redacted(), passwordName, passwordFileName)
		}
	}
	o := fleet.Options{Copy: l.cache.text, Password: os.Getenv(passwordName)}
	if name := os.Getenv(passwordFileName); name != "" {
		if o.Password != "" {
			return nil, fmt.Errorf("both %s and %s are set: one password is enough", passwordName, passwordFileName)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", passwordFileName, err)
		}
		o.Password = strings.TrimRight(string(text), "\r\n")
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
		if err := l.store.Close(); err != nil {
			l.warn("cannot close the file of --cache: %w", cause(err))
		}
	}
}

// observe is told what the cache does.
func (l *live) observe(e cache.Event) {
	if e.Kind == cache.StoreFailed {
		what := "file of --cache"
		if l.fleet != nil {
			what = "Redis of --redis"
		}
		l.trouble.Do(func() { l.warn("the %s fails, going on without it: %w", what, e.Err) })
	}
}

// refresh asks the site, whatever is held. Where nothing is to be kept the answer
// is not given the cache's random life.
func (l *live) refresh(ctx context.Context, origin robots.Origin) (*fetch.Record, error) {
	if l.store == nil {
		return l.client.Fetch(ctx, origin)
	}
	return l.cache.Refresh(ctx, origin)
}

// queue takes a place in the queue for a host, which moves on when done is
// called: a host is asked one thing at a time, in the order of the questions.
// Whoever waits here takes up no place among the fetches.
func (l *live) queue(host string) (turn <-chan struct{}, done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, mine := l.hosts[host], make(chan struct{})
	if before == nil {
		before = make(chan struct{})
		close(before)
	}
	l.hosts[host] = mine
	return before, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(mine)
		if l.hosts[host] == mine {
			delete(l.hosts, host)
		}
	}
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
	ready  chan struct{} // closed when the rest is set
	record *fetch.Record
	err    error
}

// start gets the robots.txt of an origin while its caller does something else,
// and calls then.
func (l *live) start(ctx context.Context, s *site, then func()) {
	turn, done := l.queue(s.origin.Host())
	go func() {
		defer close(s.ready)
		defer then()
		defer done()
		select {
		case <-turn:
			s.record, s.err = l.cache.Get(ctx, s.origin)
		case <-ctx.Done():
			s.err = ctx.Err()
		}
	}()
}

func newSite(origin robots.Origin) *site { return &site{origin: origin, ready: make(chan struct{})} }

// rulesOf returns what a crawler obeys by a record, with maxBytes in place of
// the dialect's size limit.
func rulesOf(r *fetch.Record, d robots.Dialect, maxBytes int, now time.Time, tokens ...string) *robots.Rules {
	switch {
	case maxBytes > 0:
		d.SizeLimit = maxBytes
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
