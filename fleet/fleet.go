package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/robotskit/robots/cache"
	cacheredis "github.com/robotskit/robots/cache/redis"
	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
	paceredis "github.com/robotskit/robots/pace/redis"
)

// Options are the settings of a Fleet. The zero value is right for one fleet on a server of its own.
type Options struct {
	// Prefix begins the names of all keys: that of the URL if empty, as in ?prefix=crawl, or else "robots". Fleets with
	// different prefixes share nothing.
	Prefix string
	// Password overrides the password in the URL, if it is not empty.
	Password string
	// SentinelUser and SentinelPassword are for the sentinels, which never get those of the server. They need a URL with
	// master_set.
	SentinelUser, SentinelPassword string
	// TLS is for a rediss:// server; by default the authorities that the machine trusts. An empty ServerName is taken from
	// the URL.
	TLS *tls.Config
	// Pace are the settings of the limiter. The options that must agree are stored in Redis: see paceredis.Options. Now and MaxBytes
	// are not used.
	Pace pace.Options
	// MaxMemoryBytes limits the memory of this worker: 256 MiB if 0, at least MinMemoryBytes. Half is for records
	// (CacheMemory), the rest for what is queued, compressed and buffered. Pages and files that are being fetched are not
	// included: see fetch.Options.Connections.
	MaxMemoryBytes int64
	// RecordsOnly is for a worker that fetches and shares robots.txt and no pages: its limiter acquires no permits.
	RecordsOnly bool
	// AllowEviction accepts a server whose maxmemory-policy is not noeviction. To make room such a server drops locks and
	// states without a sign; a site whose state was dropped rests for one interval. Use it only where the server never runs
	// out of memory.
	AllowEviction bool
	// Name is shown to operators: the name of the host and the number of the process if empty, at most 100 bytes.
	Name string
	// Observe, if not nil, gets the events of the worker, for metrics.
	Observe Observer
	// Log, if not nil, gets a line when Redis becomes unreachable or reachable, has lost its memory, or the permits of this
	// worker have expired because its heartbeats did not arrive.
	Log *slog.Logger
}

// A Fleet is what a worker shares with the others. It is safe for concurrent use.
type Fleet struct {
	client  rueidis.Client
	prefix  string // of all keys
	shared  *cacheredis.Store
	limiter *paceredis.Limiter
	memory  int64 // of a cache

	observer Observer // nil for none
}

// Open joins the fleet at a Redis URL. The error says in one sentence what is wrong: an option, the URL, the server, the user's
// rights, or an option that differs from the fleet's. A server that answers but takes no writes at present is not an error: the fleet
// starts as if Redis were unreachable.
func Open(ctx context.Context, url string, o Options) (*Fleet, error) {
	option, prefix, err := o.check(url)
	if err != nil {
		return nil, err
	}
	client, err := connect(ctx, option)
	if err != nil {
		return nil, err
	}
	f := &Fleet{client: client, prefix: prefix, memory: cmp.Or(o.MaxMemoryBytes, memoryDefault) / 2, observer: o.Observe}
	if err := f.setUp(ctx, serverName(option), o); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// setUp checks the server, whose name is for errors, and makes store and limiter.
func (f *Fleet) setUp(ctx context.Context, server string, o Options) error {
	all := nodes(ctx, f.client)
	for _, n := range all {
		version := n.tooOld()
		policy := n.evicts()
		switch {
		case version != "":
			return fmt.Errorf("Redis at %s is version %s: a fleet needs Redis 7.0 or later, or Valkey", n.addr, version)
		case policy != "" && !o.AllowEviction:
			return fmt.Errorf("Redis at %s has maxmemory-policy %s and might drop the state of sites; a fleet needs noeviction", n.addr, policy)
		}
	}
	err := rights(ctx, f.client, all, f.prefix)
	if err != nil {
		return fmt.Errorf("%s: %w", server, err)
	}
	if f.shared, err = cacheredis.New(f.client, cacheredis.Options{Prefix: f.prefix}); err != nil {
		return err
	}
	f.limiter, err = paceredis.New(f.client, o.limiter(f.prefix))
	return err
}

// MinMemoryBytes is the least that Options.MaxMemoryBytes can be, except 0.
const MinMemoryBytes = 64 << 20

const memoryDefault = 256 << 20

// limiter returns the options of the limiter.
func (o Options) limiter(prefix string) paceredis.Options {
	o.Pace.Observe = o.observed()
	return paceredis.Options{Options: o.Pace, Prefix: prefix, Name: o.Name, RecordsOnly: o.RecordsOnly}
}

// check checks the options and returns those of a client, with the prefix of keys. No error repeats a password.
func (o Options) check(s string) (option rueidis.ClientOption, prefix string, err error) {
	option, err = rueidis.ParseURL(s)
	u, unread := url.Parse(s) //nolint:forbidigo // not the URL of a site
	switch {
	case s == "":
		return option, "", errors.New("no Redis URL given; write redis://host:6379, or rediss:// for TLS")
	case unread != nil:
		return option, "", errors.New("invalid Redis URL; write redis://user@host:6379/0, with special characters of a password as %XX")
	case !slices.Contains(schemes, u.Scheme):
		return option, "", fmt.Errorf("Redis URL %s: unknown scheme (known: redis and valkey, rediss and valkeys for TLS, unix)", u.Redacted())
	case u.Scheme == "unix" && u.Path == "":
		return option, "", errors.New("the Redis URL names no socket; write unix:///run/redis.sock")
	case strayKey(u.Query()) != "":
		return option, "", fmt.Errorf(
			"Redis URL %s: unknown parameter %q (known: %s)", u.Redacted(), strayKey(u.Query()), strings.Join(keys, ", "),
		)
	case err != nil:
		return option, "", fmt.Errorf("Redis URL %s: %s", u.Redacted(), strings.TrimPrefix(err.Error(), "redis: "))
	case (o.SentinelUser != "" || o.SentinelPassword != "") && option.Sentinel.MasterSet == "":
		return option, "", fmt.Errorf("Redis URL %s has no master_set, which a user or password for sentinels needs", u.Redacted())
	case o.TLS != nil && option.TLSConfig == nil:
		return option, "", fmt.Errorf("Redis URL %s does not begin with rediss://, which settings for TLS need", u.Redacted())
	}
	if o.MaxMemoryBytes != 0 && o.MaxMemoryBytes < MinMemoryBytes {
		return option, "", fmt.Errorf(
			"fleet.Options.MaxMemoryBytes is %d: the least is %d, or 0 for the default", o.MaxMemoryBytes, int64(MinMemoryBytes),
		)
	}
	prefix, err = script.Prefix(cmp.Or(o.Prefix, u.Query().Get("prefix")))
	o.complete(&option)
	return option, prefix, cmp.Or(err, o.limiter(prefix).Check())
}

// complete sets what is not in the URL.
func (o Options) complete(option *rueidis.ClientOption) {
	if o.TLS != nil {
		name := option.TLSConfig.ServerName
		option.TLSConfig = o.TLS.Clone()
		option.TLSConfig.ServerName = cmp.Or(option.TLSConfig.ServerName, name)
	}
	option.Password = cmp.Or(o.Password, option.Password)
	if t := &option.Dialer.Timeout; *t <= 0 || *t > dialLimit {
		*t = dialLimit
	}
	option.Sentinel.TLSConfig = option.TLSConfig
	option.Sentinel.Dialer = option.Dialer
	option.Sentinel.Username = o.SentinelUser
	option.Sentinel.Password = o.SentinelPassword
	// A client that misses the sentinels' notice would stay with a demoted server
	// for as long as that one lives.
	option.Sentinel.TopologyRefreshInterval = sentinelsEvery
	option.ConnWriteTimeout = cmp.Or(option.ConnWriteTimeout, answerLimit)
	option.DisableCache = true // cache.Cache has a memory
	// One connection, with buffers for the replies to a full pipeline: a fleet has many workers, and each connection costs
	// the server memory.
	option.PipelineMultiplex = -1
	option.ReadBufferEachConn = 64 << 10
	option.WriteBufferEachConn = 64 << 10
}

// keys are those of a URL's query. A misspelt prefix would make a fleet of its own, or
// one of two.
var keys = []string{"prefix", "db", "addr", "master_set", "dial_timeout", "write_timeout", "skip_verify", "client_name"}

func strayKey(q url.Values) string {
	for k := range q {
		if !slices.Contains(keys, k) {
			return k
		}
	}
	return ""
}

// Schemes returns the URL schemes that Open accepts.
func Schemes() []string { return slices.Clone(schemes) }

var schemes = []string{"redis", "rediss", "valkey", "valkeys", "unix"}

const (
	dialLimit   = 5 * time.Second
	answerLimit = 5 * time.Second // a server silent for so long is down

	sentinelsEvery = 5 * time.Second // what rueidis recommends
)

func serverName(option rueidis.ClientOption) string {
	at := strings.Join(option.InitAddress, ", ")
	if option.Sentinel.MasterSet != "" {
		return "Redis by the sentinels at " + at
	}
	return "Redis at " + at
}

// connect connects to a server.
func connect(ctx context.Context, option rueidis.ClientOption) (rueidis.Client, error) {
	server := serverName(option)
	client, err := dial(ctx, option)
	switch {
	case option.Sentinel.MasterSet != "" && script.Says(err, "NOAUTH", "WRONGPASS"):
		return nil, fmt.Errorf("%s, of which each has a password of its own: %w", server, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", server, err)
	}
	return client, nil
}

// dial is rueidis.NewClient with a context.
func dial(ctx context.Context, option rueidis.ClientOption) (rueidis.Client, error) {
	type dialResult struct {
		client rueidis.Client
		err    error
	}
	making := make(chan dialResult, 1)
	go func() {
		c, err := rueidis.NewClient(option)
		making <- dialResult{c, connectError(err, option)}
	}()
	select {
	case m := <-making:
		return m.client, m.err
	case <-ctx.Done():
		go func() {
			if m := <-making; m.err == nil {
				m.client.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// errMasterSet is in the errors about the parameter master_set of a URL.
var errMasterSet = errors.New("wrong master_set in the Redis URL")

// connectError returns an error of a connection through sentinels in the words of the URL.
func connectError(err error, option rueidis.ClientOption) error {
	switch reply, is := rueidis.IsRedisErr(err); {
	case !is || option.Sentinel.MasterSet == "":
		return err
	case strings.HasPrefix(reply.Error(), "No such master"):
		return fmt.Errorf("%w: they monitor no server named %q", errMasterSet, option.Sentinel.MasterSet)
	case strings.HasPrefix(reply.Error(), "unknown command"):
		return fmt.Errorf("%w: not a sentinel; without master_set the URL is that of a server", errMasterSet)
	}
	return err
}

//go:embed rights.lua
var rightsLua string

// rights returns an error that names what the user may not do, of the commands and keys that store and limiter use. Without this
// check a missing right would look like an unreachable server. It checks all servers of a cluster that answer, since each has
// users of its own.
func rights(ctx context.Context, client rueidis.Client, all []node, prefix string) error {
	key := prefix + ":{secret}"
	err := rightsOn(ctx, client, key, key)
	for _, n := range all {
		if err == nil && n.among && (n.err == nil || script.KindOf(n.err) != script.Lost) {
			if err = rightsOn(ctx, n.client, key); err != nil {
				return fmt.Errorf("%s: %w", n.addr, err)
			}
		}
	}
	return err
}

// rightsOn checks the rights on one server, or on that with a key.
func rightsOn(ctx context.Context, client rueidis.Client, pattern string, key ...string) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	missing, err := client.Do(ctx, client.B().Eval().Script(rightsLua).Numkeys(int64(len(key))).Key(key...).Arg(pattern).Build()).ToString()
	keys := strings.TrimSuffix(pattern, "secret}") + "*"
	switch {
	case script.Says(err, "NOPERM"):
		return fmt.Errorf("the user lacks rights of a fleet on the keys %s: %w", keys, err)
	case script.Says(err, "MOVED"): // a client without the right to list the nodes of a cluster takes this one for a single server
		return errors.New("the server belongs to a cluster, and the user lacks the rights cluster|slots and cluster|shards")
	case err != nil && script.KindOf(err) == script.Lost:
		return err
	case err == nil && missing != "": // another error is that of a server in trouble, or that cannot check rights
		return fmt.Errorf("the user lacks these rights of a fleet on the keys %s: %s", keys, missing)
	}
	return nil
}

// Store returns the store of cacheredis. It is a cache.Locker, so that a cache.Cache
// on it fetches each origin once in the fleet. It is closed with the Fleet, and nil if the
// Fleet is nil or was not opened.
func (f *Fleet) Store() cache.Store {
	if f == nil || f.shared == nil {
		return nil
	}
	return f.shared
}

// CacheMemory returns how many bytes the records in a cache over Store may take, for cache.Options.Memory of one cache.
func (f *Fleet) CacheMemory() int64 {
	if f == nil {
		return 0
	}
	return f.memory
}

// Limiter returns the shared limiter. It is closed with the Fleet, and nil if the Fleet is
// nil or was not opened.
func (f *Fleet) Limiter() pace.Limiter {
	if f == nil || f.limiter == nil {
		return nil
	}
	return f.limiter
}

// secretBytes is the length of a secret.
const secretBytes = 32

// Secret returns 32 random bytes that all workers of the fleet share; the first call makes them. A server that lost its memory
// gets others.
func (f *Fleet) Secret(ctx context.Context) ([]byte, error) {
	fresh := make([]byte, secretBytes)
	_, _ = rand.Read(fresh) // which never fails
	key := f.prefix + ":{secret}"
	secret, err := f.client.Do(ctx, f.client.B().Set().Key(key).Value(string(fresh)).Nx().Get().Build()).ToString()
	switch {
	case rueidis.IsRedisNil(err): // there was none
		return fresh, nil
	case err != nil:
		return nil, fmt.Errorf("the fleet's secret: %w", err)
	case len(secret) != secretBytes:
		return nil, fmt.Errorf(
			"the fleet's secret, key %s, has %d bytes instead of %d; delete it, and a new one is made", key, len(secret), secretBytes,
		)
	}
	return []byte(secret), nil
}

// DownSince returns the time since which Redis has been unreachable, or the zero time.
func (f *Fleet) DownSince() time.Time {
	return earlierDown(f.shared.DownSince(), f.limiter.DownSince())
}

// earlierDown returns the earlier of two times since which parts have been down, of which zero is not down.
func earlierDown(store, limiter time.Time) time.Time {
	if store.IsZero() || !limiter.IsZero() && limiter.Before(store) {
		return limiter
	}
	return store
}

// Drained reports whether this worker acquires no more permits, because an operator has drained it (Operator.Drain) or its options
// are not the fleet's.
func (f *Fleet) Drained() bool { return f.limiter.Drained() }

// Close leaves the fleet.
func (f *Fleet) Close() error {
	var err error
	if f.limiter != nil {
		err = f.limiter.Close()
	}
	if f.shared != nil {
		err = errors.Join(err, f.shared.Close())
	}
	f.client.Close()
	return err
}
