package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/bolt"
	"github.com/robotskit/robots/cmd/internal/render"
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
	total := min(cmp.Or(o.Timeout, 30*time.Second), 24*time.Hour)
	l.Options = fetch.Options{
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
	if l.Client, err = fetch.New(l.Options); err != nil {
		return nil, fmt.Errorf("--user-agent: %w", err)
	}
	kept := cache.Options{
		Fetcher:    l.Client,
		Memory:     CacheBytes,
		FetchLimit: 24 * time.Hour, // the client ends each fetch in time; a wait for a busy address is not limited
		UseToEnd:   true,           // a run is short, and gets each record twice
		// A person would rather wait than get a stale answer.
		StaleWait: total + 2*FetchMargin,
		Observe:   l.Observe,
	}
	switch {
	case o.Redis != "":
		if l.Fleet, err = Join("--redis", o.Redis, fleet.Options{Pace: o.Paces, AllowEviction: o.AllowEviction, RecordsOnly: !o.Pages}); err != nil {
			return nil, err
		}
		l.Store, l.Limiter = l.Fleet.Store(), l.Fleet.Limiter()
		kept.FetchLimit = total + FetchMargin // a lease lasts as long, if this process dies
	case o.Cache != "":
		if l.Store, err = bolt.Open(o.Cache, bolt.Options{}); err != nil {
			return nil, err
		}
	}
	if l.unstored, err = cache.New(kept); err != nil { // only for a negative option, and there is none
		return l, err
	}
	l.Cache = l.unstored
	if l.Store != nil {
		kept.Store = l.Store
		l.Cache, err = cache.New(kept)
	}
	return l, err
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
	what, effect := "file of --cache", "so some files are not kept"
	if l.Fleet != nil {
		what, effect = "Redis of --redis", "so nothing is fetched until it answers"
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

// Hint warns once which flag permits what the guard has refused, for formats other than text.
func (l *Live) Hint(r *fetch.Record) {
	if h := l.Permit(r); h != "" {
		l.Std.WarnOnce("refused", "%s is not fetched: %s", r.Origin.RobotsURL(), h)
	}
}

// Permit names the flag that permits what the guard has refused, "" if there is none, as for
// the metadata address of a cloud.
func (l *Live) Permit(r *fetch.Record) string {
	if l.Options.Guard.AllowPrivate || !r.Private() {
		return ""
	}
	return "--allow-private permits private and loopback addresses"
}

// FactOf is the note on a state without its meaning, which differs by dialect.
func FactOf(s *robots.State) string {
	if s == nil {
		return ""
	}
	return s.Fact
}

// StateLine describes the fetch of a robots.txt in one line, with a note on the state of its
// rules.
func (l *Live) StateLine(r *fetch.Record, s *robots.State, note string) (line string) {
	line = r.Origin.RobotsURL() + ": "
	if r.Degraded {
		defer func() { line += "; the fleet's Redis is unavailable" }()
	}
	if !r.Outcome.Good() {
		if note == "" {
			note = r.Cause.Sentence()
		}
		if h := l.Permit(r); h != "" {
			note += "; " + h
		}
		if r.Outcome == fetch.Unreachable && l.Store != nil {
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
