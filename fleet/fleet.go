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
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/robotskit/robots/cache"
	cacheredis "github.com/robotskit/robots/cache/redis"
	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
	paceredis "github.com/robotskit/robots/pace/redis"
)

// Options are the settings of a Fleet. All its workers must use the same ones, except
// Name and RecordsOnly. The zero value is right for one fleet on a server of its own.
type Options struct {
	// Prefix begins the names of all keys, in braces: that of the URL if empty, as
	// in ?prefix=crawl, or else "robots". Fleets with different prefixes know
	// nothing of each other.
	Prefix string
	// Password is that of the user in the URL, or of the default user. If it is empty
	// the password in the URL counts.
	Password string
	// SentinelUser and SentinelPassword are for the sentinels, if they need any: the
	// sentinels never get those of the server. They need a URL with master_set.
	SentinelUser, SentinelPassword string
	// TLS is for a rediss:// server: by default the authorities that the machine trusts.
	// An empty ServerName is taken from the URL.
	TLS *tls.Config
	// Pace are the settings of the limiter. Its Now and MaxBytes have no meaning
	// here.
	Pace pace.Options
	// MaxMemoryBytes bounds the memory of this worker: 256 MiB if 0, at least MinMemoryBytes. A
	// half is for the records that a polite.Transport holds, or whoever asks
	// CacheMemory; a quarter for the pace of sites while Redis is down; and a quarter for
	// what is small or passes: what has to be carried to Redis, what is compressed, buffers.
	// Files and pages that are being fetched are not in it: see fetch.Options.Connections.
	MaxMemoryBytes int64
	// WhenDown is what becomes of the pace while Redis is down: Divide if zero.
	WhenDown paceredis.Policy
	// Workers is the least number of workers to divide by while Redis is down. The limiter
	// counts the workers itself; set it where they are started one by one.
	Workers int
	// Leased gives each site to one worker at a time, for crawlers whose frontier is
	// partitioned by host: the worker has a lease of the site for a minute at a time, and
	// keeps its pace by itself (redis.Leased of package pace/redis). While Redis is down
	// it goes on with its sites until their leases end, whatever WhenDown says.
	Leased bool
	// RecordsOnly is for a worker that shares the records and asks for no pages: its limiter
	// grants nothing. It may join whether the others are Leased or not.
	RecordsOnly bool
	// AllowEviction accepts a server whose maxmemory-policy is not noeviction. To make
	// room such a server drops leases, and the pace of sites, which are then asked too
	// often, without a sign. Use it only where the server never runs out of memory.
	AllowEviction bool
	// Name is what robots fleet status calls this worker, and what the others are told where
	// it has a site: the name of the host and the number of the process if empty, at most
	// 100 bytes.
	Name string
	// Observe, if not nil, is told what the worker does. It costs nothing if it is nil.
	Observe Observer
	// Log, if not nil, gets a line when Redis goes or comes back, has lost its memory, or
	// the others took this worker for gone.
	Log *slog.Logger
}

// A Fleet is what a worker shares with the others. It is safe for concurrent use.
type Fleet struct {
	client  rueidis.Client
	prefix  string // of all keys
	shared  *cacheredis.Store
	limiter limiter
	memory  int64 // of a cache

	observer Observer // nil for none
}

// limiter is what the limiters of paceredis have in common.
type limiter interface {
	pace.Limiter
	DownSince() time.Time
	Drained() bool
	Close() error
}

// Open joins the fleet at a Redis URL. The error says in one sentence what is wrong: an
// option, the URL, the server, the user's rights, or that the others
// are Leased and this worker is not, or it is and they are not (paceredis.ErrMixed). That a server
// answers and takes no writes at present is no error: the fleet begins as if Redis were
// down.
func Open(ctx context.Context, url string, o Options) (*Fleet, error) {
	option, prefix, err := o.check(url)
	if err != nil {
		return nil, err
	}
	o.complete(&option)
	client, err := connect(ctx, option)
	if err != nil {
		return nil, err
	}
	f := &Fleet{client: client, observer: o.Observe}
	if err := f.setUp(ctx, serverName(option), prefix, o); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// setUp checks the server, whose name is for errors, and makes store and limiter.
func (f *Fleet) setUp(ctx context.Context, server, prefix string, o Options) error {
	all := nodes(ctx, f.client)
	if !o.AllowEviction {
		for _, n := range all {
			if policy := n.evicts(); policy != "" {
				return fmt.Errorf("Redis at %s has maxmemory-policy %s and may drop the pace of sites: a fleet needs noeviction", n.addr, policy)
			}
		}
	}
	prefix, err := script.Prefix(prefix)
	if err != nil {
		return err
	}
	f.prefix = prefix
	if err := rights(ctx, f.client, all, prefix); err != nil {
		return fmt.Errorf("%s: %w", server, err)
	}
	if f.shared, err = cacheredis.New(f.client, cacheredis.Options{Prefix: prefix}); err != nil {
		return err
	}
	if f.limiter, err = o.open(f.client, prefix); err != nil {
		return err
	}
	f.memory = 2 * o.share()
	return nil
}

// MinMemoryBytes is the least that Options.MaxMemoryBytes may be, but for 0: a quarter of it
// holds what has bounds of its own, some 15 MiB.
const MinMemoryBytes = 64 << 20

const memoryDefault = 256 << 20

// share is one of the parts of the memory of a worker, in bytes.
func (o Options) share() int64 { return cmp.Or(o.MaxMemoryBytes, memoryDefault) / 4 }

// limiter returns the options of the limiter.
func (o Options) limiter(prefix string) paceredis.Options {
	o.Pace.Observe = o.observed()
	o.Pace.MaxBytes = int(min(o.share(), math.MaxInt))
	return paceredis.Options{Options: o.Pace, Prefix: prefix, WhenDown: o.WhenDown, Workers: o.Workers, Name: o.Name, RecordsOnly: o.RecordsOnly}
}

// open makes the limiter.
func (o Options) open(client rueidis.Client, prefix string) (limiter, error) {
	if o.Leased && !o.RecordsOnly {
		l, err := paceredis.NewLeased(client, o.limiter(prefix))
		if err != nil {
			return nil, err
		}
		return l, nil
	}
	l, err := paceredis.New(client, o.limiter(prefix))
	if err != nil {
		return nil, err
	}
	return l, nil
}

// check reads a URL and checks the options with it. No error repeats a password.
func (o Options) check(s string) (option rueidis.ClientOption, prefix string, err error) {
	option, err = rueidis.ParseURL(s)
	u, unread := url.Parse(s) //nolint:forbidigo // it is no URL of a site
	switch {
	case s == "":
		return option, "", errors.New("no Redis URL given: it is redis://host:6379, or rediss:// for TLS")
	case unread != nil:
		return option, "", errors.New("the Redis URL cannot be read: it is redis://user@host:6379/0, with special characters of a password as %XX")
	case !slices.Contains(schemes, u.Scheme):
		return option, "", fmt.Errorf("Redis URL %s: it begins with redis://, rediss:// for TLS, or unix://", u.Redacted())
	case u.Scheme == "unix" && u.Path == "":
		return option, "", errors.New("the Redis URL names no socket: it is unix:///run/redis.sock")
	case strayKey(u.Query()) != "":
		return option, "", fmt.Errorf("Redis URL %s: unknown %q after the question mark: there are %s", u.Redacted(), strayKey(u.Query()), strings.Join(keys, ", "))
	case err != nil:
		return option, "", fmt.Errorf("Redis URL %s: %s", u.Redacted(), strings.TrimPrefix(err.Error(), "redis: "))
	case (o.SentinelUser != "" || o.SentinelPassword != "") && option.Sentinel.MasterSet == "":
		return option, "", fmt.Errorf("Redis URL %s has no master_set, which a user or password for sentinels needs", u.Redacted())
	case o.TLS != nil && option.TLSConfig == nil:
		return option, "", fmt.Errorf("Redis URL %s does not begin with rediss://, which settings for TLS need", u.Redacted())
	}
	if o.MaxMemoryBytes != 0 && o.MaxMemoryBytes < MinMemoryBytes {
		return option, "", fmt.Errorf("fleet.Options.MaxMemoryBytes is %d: it must be %d or more, or 0 for the default", o.MaxMemoryBytes, int64(MinMemoryBytes))
	}
	prefix = cmp.Or(o.Prefix, u.Query().Get("prefix"))
	return option, prefix, o.limiter(prefix).Check()
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
	option.Sentinel.TLSConfig, option.Sentinel.Dialer = option.TLSConfig, option.Dialer
	option.Sentinel.Username, option.Sentinel.Password = o.SentinelUser, o.SentinelPassword
	// A client that misses the sentinels' notice would stay with a demoted server
	// for as long as that one lives.
	option.Sentinel.TopologyRefreshInterval = sentinelsEvery
	option.ConnWriteTimeout = cmp.Or(option.ConnWriteTimeout, answerLimit)
	// cache.Cache has a memory already.
	option.DisableCache = true
	// One connection, with buffers for the answers of a full pipeline: a fleet has many
	// workers, and each connection costs the server memory.
	option.PipelineMultiplex = -1
	option.ReadBufferEachConn, option.WriteBufferEachConn = 64<<10, 64<<10
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

// Schemes returns with what a Redis URL may begin.
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

// connect connects and checks that the server is one for a fleet.
func connect(ctx context.Context, option rueidis.ClientOption) (rueidis.Client, error) {
	server := serverName(option)
	client, err := dial(ctx, option)
	switch {
	case option.Sentinel.MasterSet != "" && script.Says(err, "NOAUTH", "WRONGPASS"):
		return nil, fmt.Errorf("%s, of which each has a password of its own: %w", server, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", server, err)
	}
	// A server that lost its primary, or cannot write to its disk, is down for a while,
	// and no option is wrong.
	if err := client.Do(ctx, client.B().Ping().Build()).Error(); err != nil && !script.Says(err, "MASTERDOWN", "MISCONF") {
		client.Close()
		return nil, fmt.Errorf("%s: %w", server, err)
	}
	// Without the right to INFO an old server fails with the first script.
	if info, err := infoOf(ctx, client); err == nil {
		if version := (&node{info: info}).tooOld(); version != "" {
			client.Close()
			return nil, fmt.Errorf("%s is version %s: a fleet needs Redis 7.0 or later, or Valkey", server, version)
		}
	}
	return client, nil
}

// dial is rueidis.NewClient with a context.
func dial(ctx context.Context, option rueidis.ClientOption) (rueidis.Client, error) {
	type made struct {
		client rueidis.Client
		err    error
	}
	making := make(chan made, 1)
	go func() {
		c, err := rueidis.NewClient(option)
		making <- made{c, err}
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

//go:embed rights.lua
var rightsLua string

// rights returns an error that names what the user lacks, of the commands and keys that
// store and limiter use with a prefix. Without this check a missing right would look like a
// server that is down, as soon as it is needed. It asks all servers of a cluster, each of
// which has users of its own, but those that do not answer.
func rights(ctx context.Context, client rueidis.Client, all []node, prefix string) error {
	lacks, err := lacking(ctx, client, prefix, "{"+prefix+"}:")
	if err != nil {
		return err
	}
	if lacks == "" && client.Mode() == rueidis.ClientModeCluster {
		for _, n := range all {
			if n.err != nil && script.KindOf(n.err) == script.Lost {
				continue
			}
			if lacks, _ = lacking(ctx, n.client, prefix); lacks != "" {
				lacks = n.addr + ": " + lacks
				break
			}
		}
	}
	if lacks != "" {
		return errors.New(lacks)
	}
	return nil
}

// lacking returns what a user lacks at one server, or at that with a key, "" for nothing.
// The error is that it does not answer.
func lacking(ctx context.Context, client rueidis.Client, prefix string, key ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	reply, err := client.Do(ctx, client.B().Eval().Script(rightsLua).Numkeys(int64(len(key))).Key(key...).
		Arg(prefix, strconv.Itoa(paceredis.Parts)).Build()).AsStrSlice()
	keys := fmt.Sprintf("with the keys {%s}:*, {%s:*}:pace:* and %s:{*", prefix, prefix, prefix)
	switch {
	case script.Says(err, "NOPERM"):
		return fmt.Sprintf("a fleet needs more, %s: %v", keys, err), nil
	case script.Says(err, "MOVED"): // a client that may not ask for the nodes of a cluster takes this one for a server
		return "it is a member of a cluster, and a fleet needs more than this user may do: cluster|slots, cluster|shards", nil
	case err != nil && script.KindOf(err) == script.Lost:
		return "", err
	case err != nil || len(reply) == 0: // a server that is in trouble, or cannot check rights
		return "", nil
	case reply[0] != "":
		return fmt.Sprintf("a fleet needs more than this user may do: %s, %s", reply[0], keys), nil
	case len(reply) > 1:
		lacks := "a fleet needs more than this user may do: to read and write the keys " + reply[1] + "*"
		if n := len(reply) - 2; n > 0 {
			lacks += fmt.Sprintf(", and those of %d other kinds", n)
		}
		return lacks, nil
	}
	return "", nil
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

// CacheMemory returns how many bytes the records in a cache over Store may take: it is
// for cache.Options.Memory, of one cache (Options.MaxMemoryBytes).
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

// Secret returns 32 random bytes that all workers of the fleet have and nobody else who
// may not read its keys: the first who asks makes them. A server that lost its memory
// gets others. The error says that the server did not answer, or holds something else.
func (f *Fleet) Secret(ctx context.Context) ([]byte, error) {
	own := make([]byte, secretBytes)
	_, _ = rand.Read(own) // which never fails
	key := "{" + f.prefix + "}:secret"
	err := f.client.Do(ctx, f.client.B().Set().Key(key).Value(string(own)).Nx().Build()).Error()
	if err != nil && !rueidis.IsRedisNil(err) {
		return nil, fmt.Errorf("the fleet's secret: %w", err)
	}
	// What is there counts, also where the reply to the first call was lost.
	secret, err := f.client.Do(ctx, f.client.B().Get().Key(key).Build()).ToString()
	switch {
	case err != nil:
		return nil, fmt.Errorf("the fleet's secret: %w", err)
	case len(secret) != secretBytes:
		return nil, fmt.Errorf("the fleet's secret, key %s, has %d bytes and not %d: delete it, and a new one is made", key, len(secret), secretBytes)
	}
	return []byte(secret), nil
}

// DownSince returns since when Redis has not answered, the zero time while it does.
func (f *Fleet) DownSince() time.Time {
	a, b := f.shared.DownSince(), f.limiter.DownSince()
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Drained reports whether an operator has told this worker to take no grants any more: its
// limiter fails with paceredis.ErrDrained, and it is to end (Operator.Drain), unless the
// operator has it go on (Operator.Resume). It also does so of a worker that joined while
// Redis was down, and to which the others then turned out to keep another pace (ErrMixed).
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
