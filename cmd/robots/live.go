package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	// maxLooking is how many sites are looked for at a time, in the store or at
	// the site itself: each may have a file of half a megabyte in its hands.
	maxLooking = 2 * maxFetches
	// hotBytes is what of the records is kept in memory before the store.
	hotBytes = 32 << 20
	// handBytes is what of the records is held for lines and URLs that will ask
	// for it soon. What has no room is asked of the cache again.
	handBytes = 16 << 20
	// heapGoal is what a run over many sites keeps its heap at if it can: what is
	// in use at a time is some half of it, and without a goal garbage would be let
	// grow to as much again, in pieces of a file's size that fit no other use.
	heapGoal = 160 << 20
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
	f.Var(&l.redis, "redis", "share what is fetched with the fleet on the Redis at this `URL`, as in\nrediss://user@host:6379?prefix=robots; its password comes from the\nenvironment: "+passwordName+" (that of sentinels:\n"+sentinelPasswordName+"), or from the file\nthat the same with "+inFile+" names. --cache is then a copy, for when\nit goes away")
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
	kept    bool         // for the next run: --cache or --redis is given
	fleet   *fleet.Fleet // of --redis, or
	shelf   *shelf
	began   time.Time
	private bool // --allow-private
	warn    func(format string, args ...any)
	failing sync.Once // of the store, said once
	slow    sync.Once // likewise
	hinted  sync.Once

	looking chan struct{} // one element for each site that is looked for
	hand    atomic.Int64  // octets of records that sites hold
	// forgets is set when the store takes nothing: what memory has no room for
	// must be asked of the site again, so nothing is fetched far ahead.
	forgets atomic.Bool

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
		UserAgent:   l.userAgent.text,
		Limits:      limits,
		Guard:       fetch.Guard{AllowPrivate: l.allowPrivate},
		Connections: maxFetches,
		PerAddress:  1,
	})
	if err != nil {
		return nil, fmt.Errorf("--user-agent: %w", err)
	}
	v := &live{
		client:  client,
		began:   std.now().Truncate(time.Millisecond),
		private: l.allowPrivate,
		warn:    func(format string, args ...any) { warn(std, name, format, args...) },
		kept:    l.cache.given || l.redis.given,
		looking: make(chan struct{}, maxLooking),
		hosts:   map[string]chan struct{}{},
	}
	if l.cache.given && l.cache.text == "" {
		return nil, errors.New("the name after --cache is empty")
	}
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	// The client ends each fetch in time. What is beyond is the wait for a host
	// that others have been redirected to.
	fetchLimit := 24 * time.Hour
	var store cache.Store
	switch {
	case l.redis.given:
		if v.fleet, err = l.join(); err != nil {
			return nil, err
		}
		store = v.fleet.Store()
		fetchLimit = timeout + fetchMargin // a lease lasts as long, if this process dies
	default:
		var file *bolt.Store
		if l.cache.given {
			if file, err = bolt.Open(l.cache.text, bolt.Options{}); err != nil {
				return nil, err
			}
		}
		v.shelf = newShelf(file)
		store = v.shelf
	}
	v.cache, err = cache.New(cache.Options{
		Fetcher:    client,
		Store:      store,
		Memory:     hotBytes,
		FetchLimit: fetchLimit,
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
func (l *liveFlags) join() (*fleet.Fleet, error) {
	if u, err := url.Parse(l.redis.text); err == nil { //nolint:forbidigo // it is no URL of a site
		if _, shown := u.User.Password(); shown {
			return nil, fmt.Errorf("--redis %s has a password that others can see: leave it out and set %s, or name a file in %s", u.Redacted(), passwordName, passwordName+inFile)
		}
	}
	o := fleet.Options{Copy: l.cache.text, SentinelUser: os.Getenv(sentinelUserName)}
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
	case l.shelf != nil:
		if err := l.shelf.Close(); err != nil && l.kept {
			l.warn("cannot close the file of --cache: %w", cause(err))
		}
	}
}

// spare has the garbage collector keep the heap near heapGoal, beside what the
// questions themselves take up, until the run ends. GOMEMLIMIT, if it is set, is
// the user's word on it.
func spare(questions int64) (end func()) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	before := debug.SetMemoryLimit(heapGoal + questions)
	return func() { debug.SetMemoryLimit(before) }
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
		if putting {
			l.forgets.Store(true)
		}
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
	origin  robots.Origin
	started bool
	ahead   bool          // of its line: not worth it if nothing is kept
	ready   chan struct{} // closed when the cache has it, and the rest is set
	err     error
	record  *fetch.Record // nil if there was no room for it
}

// start gets the robots.txt of an origin into the cache while its caller does
// something else, and calls then.
func (l *live) start(ctx context.Context, s *site, then func(*fetch.Record)) {
	s.started = true
	turn, done := l.queue(s.origin.Host())
	go func() {
		var r *fetch.Record
		defer close(s.ready)
		defer func() { then(r) }()
		defer done()
		select {
		case <-turn:
		case <-ctx.Done():
			s.err = ctx.Err()
			return
		}
		select {
		case l.looking <- struct{}{}:
		case <-ctx.Done():
			s.err = ctx.Err()
			return
		}
		defer func() { <-l.looking }()
		if l.shelf != nil {
			if s.err = l.shelf.ease(ctx); s.err != nil {
				return
			}
		}
		if s.ahead && l.forgets.Load() {
			return
		}
		if r, s.err = l.cache.Get(ctx, s.origin); s.err == nil && l.hand.Add(weight(r)) <= handBytes {
			s.record = r
		} else if s.err == nil {
			l.hand.Add(-weight(r))
		}
	}()
}

// get returns the robots.txt of a site that is ready.
func (l *live) get(ctx context.Context, s *site) (*fetch.Record, error) {
	if s.err != nil || s.record != nil {
		return s.record, s.err
	}
	return l.cache.Get(ctx, s.origin)
}

// leave lets go of what a site that is ready holds.
func (l *live) leave(s *site) {
	if s.record != nil {
		l.hand.Add(-weight(s.record))
		s.record = nil
	}
}

// weight is about what a record takes up in memory.
func weight(r *fetch.Record) int64 {
	n := int64(cap(r.Body)) + 2<<10
	if r.LastGood != nil {
		n += int64(cap(r.LastGood.Body))
	}
	return n
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
