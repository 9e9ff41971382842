package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/bolt"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/pace"
)

const (
	// MaxConnections limits concurrent connections, and so the files of half a megabyte in
	// memory. It is several times what fetch allows per address, so that an unresponsive
	// address delays no other.
	MaxConnections = 64
	// CacheBytes is the memory for records. What does not fit is read from the store again, or
	// fetched again without one.
	CacheBytes = 96 << 20
)

// FetchMargin is added to --timeout before the cache gives a fetch up, so that the fetch reports
// its own timeout. Tests shorten it.
var FetchMargin = 10 * time.Second

// Live fetches from sites, many at a time, each once in a run.
type Live struct {
	Client      *fetch.Client
	Options     fetch.Options // of the client
	Limiter     pace.Limiter  // of pages
	Fleet       *fleet.Fleet  // of --redis, nil without
	Store       cache.Store   // for the next run: that of the fleet, the file of --cache, or nil
	Progress    Progress
	Std         *screen.Streams // of warnings
	began       time.Time
	Cache       *cache.Cache // of records, see CacheOf
	unstored    *cache.Cache // without the store
	credentials credentials
}

// Options are how robots.txt files are fetched. The zero value fetches without a store and a proxy.
type Options struct {
	Cache         string // file that keeps each robots.txt, "" for none
	Redis         string // URL of the Redis of a fleet, "" for none
	AllowEviction bool   // of keys by Redis
	Pages         bool   // pages are requested too
	UserAgent     string
	Timeout       time.Duration // of a fetch, redirects included; 0 for 30 s
	Proxy         func(*http.Request) (*url.URL, error)
	AllowPrivate  bool // addresses
	Probe         bool // after a 5xx
	Paces         pace.Options
}

// NewLive opens the cache. A file is fetched up to the largest limit of the dialects, or to maxBytes.
func NewLive(std *screen.Streams, o Options, dialects []robots.Dialect, maxBytes int) (l *Live, err error) {
	l = &Live{began: std.Now().Truncate(time.Millisecond), Std: std}
	l.credentials.byOrigin = map[robots.Origin]*url.Userinfo{}
	if l.Limiter, err = pace.NewLocal(o.Paces); err != nil {
		return nil, fmt.Errorf("--address-pace: %w", err)
	}
	if maxBytes > 0 {
		dialects = []robots.Dialect{{MaxFileBytes: min(maxBytes, MaxFile)}}
	}
	l.Options = l.fetchOptions(o, dialects)
	if l.Client, err = fetch.New(l.Options); err != nil {
		return nil, fmt.Errorf("--user-agent: %w", err)
	}
	if err := l.openStore(o); err != nil {
		return nil, err
	}
	return l, l.openCaches()
}

// fetchOptions returns the options of the client.
func (l *Live) fetchOptions(o Options, dialects []robots.Dialect) fetch.Options {
	total := min(cmp.Or(o.Timeout, 30*time.Second), 24*time.Hour)
	return fetch.Options{
		UserAgent: o.UserAgent,
		Limits:    fetch.Limits{Total: total}.For(dialects...),
		Guard:     fetch.Guard{AllowPrivate: o.AllowPrivate},
		Start: func(ctx context.Context, origin robots.Origin, addr netip.Addr) error {
			return l.Limiter.StartFetch(ctx, origin, addr)
		},
		Redirected:  func(ctx context.Context, origin robots.Origin) { l.Limiter.Requested(ctx, origin) },
		Proxy:       o.Proxy,
		Credentials: l.credentialsOf,
		Connections: MaxConnections,
		Probe:       o.Probe,
	}
}

// openStore opens the store for the next run, if there is one: that of a fleet, whose limiter replaces the local one, or a file.
func (l *Live) openStore(o Options) (err error) {
	switch {
	case o.Redis != "":
		options := fleet.Options{Pace: o.Paces, AllowEviction: o.AllowEviction, RecordsOnly: !o.Pages}
		if l.Fleet, err = Join("--redis", o.Redis, options); err != nil {
			return err
		}
		l.Store = l.Fleet.Store()
		l.Limiter = l.Fleet.Limiter()
	case o.Cache != "":
		l.Store, err = bolt.Open(o.Cache, bolt.Options{})
	}
	return err
}

// openCaches opens the cache, and the one without the store.
func (l *Live) openCaches() (err error) {
	total := l.Options.Limits.Total
	options := cache.Options{
		Fetcher:    l.Client,
		Memory:     CacheBytes,
		FetchLimit: 24 * time.Hour, // the client ends each fetch in time; a wait for a busy address is not limited
		UseToEnd:   true,           // a run is short, and gets each record twice
		// A person would rather wait than get a stale answer.
		StaleWait: total + 2*FetchMargin,
		Observe:   l.Observe,
	}
	if l.Fleet != nil {
		options.FetchLimit = total + FetchMargin // a lease lasts as long, if this process dies
	}
	if l.unstored, err = cache.New(options); err != nil { // only for a negative option, and there is none
		return err
	}
	l.Cache = l.unstored
	if l.Store != nil {
		options.Store = l.Store
		l.Cache, err = cache.New(options)
	}
	return err
}

// Close ends the fetches and closes the store.
func (l *Live) Close() {
	if l == nil {
		return
	}
	_ = l.Cache.Close() // it has nothing to report
	_ = l.unstored.Close()
	if l.Fleet != nil {
		if err := l.Fleet.Close(); err != nil {
			l.Std.Warn("cannot leave the fleet of --redis: %w", screen.Cause(err))
		}
	} else if l.Store != nil {
		if err := l.Store.Close(); err != nil {
			l.Std.Warn("cannot close the file of --cache: %w", screen.Cause(err))
		}
	}
}

// Observe warns of failures of the store.
func (l *Live) Observe(e cache.Event) {
	if e.Kind != cache.EventStoreFailed {
		return
	}
	what := "file of --cache"
	effect := "so some files are not kept"
	if l.Fleet != nil {
		what = "Redis of --redis"
		effect = "so nothing is fetched until it answers"
	}
	if !errors.Is(e.Err, context.DeadlineExceeded) {
		l.Std.WarnOnce("store failed", "the %s fails, %s: %w", what, effect, e.Err)
		return
	}
	effect = "read, so robots.txt is fetched"
	if e.Record != nil {
		effect = "write, so some files might not be kept"
	}
	l.Std.WarnOnce("store late", "the %s took longer than 5 s to %s: %w", what, effect, e.Err)
}
