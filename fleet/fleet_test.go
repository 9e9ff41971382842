package fleet_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/polite"
)

func open(t *testing.T, url string, o fleet.Options) *fleet.Fleet {
	t.Helper()
	f, err := fleet.Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return f
}

var until = redistest.Until

func originOf(t *testing.T, host string) robots.Origin {
	t.Helper()
	o, _, err := robots.ParseURL("https://" + host + "/")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestMistakes: invalid input is reported in one sentence that never contains the password.
func TestMistakes(t *testing.T) {
	s := redistest.Start(t, redistest.Options{Config: []string{"requirepass geheim"}})
	for _, tt := range []struct {
		url  string
		o    fleet.Options
		want string
	}{
		{"", fleet.Options{}, "no Redis URL"},
		{"localhost:6379", fleet.Options{}, "unknown scheme (known: redis and valkey, rediss and valkeys for TLS, unix)"},
		{"http://u:geheim@localhost", fleet.Options{}, "unknown scheme"},
		{"redis://u:geheim@local host", fleet.Options{}, "invalid Redis URL"},
		{"redis://:ge%zzheim@localhost", fleet.Options{}, "invalid Redis URL"},
		{"redis://:geheim@localhost/zero", fleet.Options{}, "database"},
		{"redis://:geheim@localhost?prefx=crawl", fleet.Options{}, "prefx"},
		{"unix://", fleet.Options{}, "unix:///"},
		{"redis://:geheim@127.0.0.1:1", fleet.Options{}, "connect"},
		{"redis://" + s.Addr, fleet.Options{}, "NOAUTH"},
		{"redis://" + s.Addr, fleet.Options{Password: "geheimer"}, "WRONGPASS"},
		{"redis://:geheim@" + s.Addr, fleet.Options{TLS: &tls.Config{}}, "rediss://"},
		{"redis://:geheim@" + s.Addr, fleet.Options{SentinelPassword: "geheim"}, "master_set"},
		{"redis://:geheim@" + s.Addr + "?prefix={a}", fleet.Options{}, "prefix"},
		{"redis://:geheim@" + s.Addr, fleet.Options{Prefix: "a b"}, "prefix"},
		{"redis://:geheim@" + s.Addr, fleet.Options{Pace: pace.Options{Lifetime: -1}}, "Lifetime"},
		{"redis://:geheim@127.0.0.1:1", fleet.Options{MaxMemoryBytes: 1 << 20}, "MaxMemoryBytes is 1048576: the least is 67108864"}, // before it connects
	} {
		f, err := fleet.Open(t.Context(), tt.url, tt.o)
		if err == nil {
			f.Close()
			t.Errorf("%q, %+v: no error, want one with %q", tt.url, tt.o, tt.want)
			continue
		}
		if m := err.Error(); !strings.Contains(m, tt.want) || strings.Contains(m, "geheim") || strings.Contains(m, "\n") {
			t.Errorf("%q: %q, want %q in it and no password", tt.url, m, tt.want)
		}
	}
	f := open(t, "redis://:wrong@"+s.Addr, fleet.Options{Password: "geheim", MaxMemoryBytes: fleet.MinMemoryBytes}) // the one given apart counts
	if use(t, f); f.CacheMemory() != fleet.MinMemoryBytes/2 {
		t.Errorf("the cache may have %d bytes", f.CacheMemory())
	}
}

// use makes one call of each kind.
func use(t *testing.T, f *fleet.Fleet) {
	t.Helper()
	ctx := t.Context()
	origin := originOf(t, "site.example")
	store := f.Store().(cache.Locker)
	token, err := store.Lock(ctx, origin, time.Minute)
	if err != nil {
		t.Fatalf("lock: %v", err)
	}
	r := cachetest.Record(origin, "User-agent: *\n")
	if err := store.Put(ctx, cache.Entry{Record: r, Fence: token}, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := store.Unlock(ctx, origin, token); err != nil {
		t.Fatal(err)
	}
	if e, err := store.Get(ctx, origin); err != nil || string(e.Record.Body) != "User-agent: *\n" {
		t.Fatalf("get: %+v, %v", e, err)
	}
	if err := store.Delete(ctx, origin); err != nil {
		t.Fatal(err)
	}
	fast, err := pace.NewSchedule(nil, pace.Policy{Default: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	addr := netip.MustParseAddr("192.0.2.1")
	if err := f.Limiter().StartFetch(ctx, origin, addr); err != nil {
		t.Fatalf("start of a fetch: %v", err)
	}
	permit, err := f.Limiter().Acquire(ctx, pace.Request{Origin: origin, Schedule: fast})
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	if err := f.Limiter().Start(ctx, permit, addr); err != nil {
		t.Fatalf("start: %v", err)
	}
	if err := f.Limiter().Release(ctx, permit, pace.Result{Status: 200}); err != nil {
		t.Fatal(err)
	}
	if refused, err := f.Limiter().Try(ctx, []pace.Request{{Origin: origin}}, 1); err != nil || refused[0].OK() || time.Until(refused[0].NotBefore) < time.Second {
		t.Fatalf("right after a request: %+v, %v", refused, err)
	}
	if !f.DownSince().IsZero() {
		t.Errorf("down since %v", f.DownSince())
	}
}

// TestEviction: a server that can evict the state of a site is refused, unless that is accepted.
func TestEviction(t *testing.T) {
	t.Parallel()
	refused := func(url string, o fleet.Options) {
		t.Helper()
		f, err := fleet.Open(t.Context(), url, o)
		if err == nil {
			f.Close()
			t.Errorf("%s: no error", url)
		} else if m := err.Error(); !strings.Contains(m, "maxmemory-policy") || !strings.Contains(m, "noeviction") || strings.Contains(m, "\n") {
			t.Errorf("%s: %q, want one line that names maxmemory-policy and noeviction", url, m)
		}
	}
	s := redistest.Start(t, redistest.Options{})
	for _, policy := range strings.Fields("allkeys-lru allkeys-lfu allkeys-random volatile-lru volatile-lfu volatile-random volatile-ttl") {
		s.Do("CONFIG", "SET", "maxmemory-policy", policy)
		refused(s.URL(), fleet.Options{})
	}
	use(t, open(t, s.URL(), fleet.Options{AllowEviction: true}))
	s.Do("FLUSHALL")
	s.Do(append([]string{"ACL", "SETUSER", "robots"}, redistest.AccessRule(t, "../docs/fleet.md")...)...)
	refused("redis://robots@"+s.Addr, fleet.Options{Password: "SECRET"})
	sentinel := redistest.Start(t, redistest.Options{Watch: s})
	refused(sentinel.URL()+"?master_set=fleet", fleet.Options{})

	nodes := redistest.StartCluster(t, 3)
	for i, n := range nodes { // whichever has the keys
		n.Do("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
		refused(nodes[(i+1)%len(nodes)].URL(), fleet.Options{})
		n.Do("CONFIG", "SET", "maxmemory-policy", "noeviction")
	}
	use(t, open(t, nodes[0].URL(), fleet.Options{}))
}

// TestTLS: a server with a private certificate authority, and an ACL user with only the
// documented rights.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{TLS: true})
	s.Do(append([]string{"ACL", "SETUSER", "robots"}, redistest.AccessRule(t, "../docs/fleet.md")...)...)
	s.Do("ACL", "SETUSER", "default", "off")
	use(t, open(t, "rediss://robots@"+s.Addr, fleet.Options{TLS: s.TLS, Password: "SECRET"}))
	if _, err := fleet.Open(t.Context(), "rediss://robots@"+s.Addr, fleet.Options{Password: "SECRET"}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server of an unknown authority: %v", err)
	}
}

// TestCluster: a fleet continues when the keys of a site move to another node, and names the
// node on which the user lacks a right.
func TestCluster(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	f := open(t, nodes[0].URL(), fleet.Options{})
	use(t, f)
	const key = "robots:{https://site.example}:pace"
	from := redistest.Holder(t, nodes, key)
	to := (from + 1) % len(nodes)
	redistest.MoveSlot(t, nodes, key, to)
	use(t, f)
	if nodes[to].Do("KEYS", key) == "[]" {
		t.Errorf("node %d has no key %s", to, key)
	}
	for _, n := range nodes {
		n.Do(append([]string{"ACL", "SETUSER", "robots"}, redistest.AccessRule(t, "../docs/fleet.md")...)...)
	}
	for i, n := range nodes { // each has users of its own
		n.Do("ACL", "SETUSER", "robots", "-setrange")
		if f, err := fleet.Open(t.Context(), "redis://robots@"+nodes[0].Addr, fleet.Options{Password: "SECRET"}); err == nil {
			f.Close()
			t.Errorf("a worker begins without the right to setrange on node %d", i)
		} else if m := err.Error(); !strings.Contains(m, "setrange") || !strings.Contains(m, n.Addr) && i != to || strings.Contains(m, "\n") {
			t.Errorf("without setrange on %s: %v", n.Addr, err)
		}
		n.Do("ACL", "SETUSER", "robots", "+setrange")
	}
	for _, n := range nodes {
		n.Do("ACL", "SETUSER", "robots", "-cluster|slots", "-cluster|shards")
	}
	other := (to + 1) % len(nodes)
	if _, err := fleet.Open(t.Context(), "redis://robots@"+nodes[other].Addr, fleet.Options{Password: "SECRET"}); err == nil || !strings.Contains(err.Error(), "cluster|slots") {
		t.Errorf("a user who may not ask for the shape of the cluster: %v", err)
	}
}

// TestSentinel: a fleet that finds its server through a sentinel continues with the promoted
// replica and its state, and no page in progress makes another start too early.
func TestSentinel(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t, redistest.Options{})
	replica := primary.Replica(redistest.Options{})
	sentinel := redistest.Start(t, redistest.Options{Watch: primary})
	if found, err := fleet.Examine(t.Context(), sentinel.URL(), fleet.Options{}); err != nil || len(found) != 1 || found[0].Check != "role" {
		t.Errorf("a sentinel without its fleet: %+v, %v", found, err)
	}
	until(t, "the sentinel to find the replica", func() bool {
		return strings.Contains(sentinel.Do("SENTINEL", "REPLICAS", "fleet"), replica.Addr)
	})
	var workers []worker
	for range campaign.Size(2, 2, 4) {
		workers = append(workers, newWorker(t, sentinel.URL()+"?master_set=fleet", fleet.Options{Pace: brisk}))
	}
	f := workers[0].fleet
	use(t, f)
	origin := originOf(t, "kept.example")
	if err := f.Store().Put(t.Context(), cache.Entry{Record: cachetest.Record(origin, "User-agent: *\n")}, time.Hour); err != nil {
		t.Fatal(err)
	}
	site := newSite(t)
	var crawl sync.WaitGroup
	defer crawl.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, w := range workers {
		crawl.Go(func() {
			for ctx.Err() == nil {
				w.must(site.URL)
			}
		})
	}
	more := func(n int) {
		_, before := site.counts()
		until(t, "more pages", func() bool { _, now := site.counts(); return now >= before+n })
	}
	more(5)
	primary.Kill()
	until(t, "the fleet to find the promoted server", func() bool {
		err := f.Store().Put(t.Context(), cache.Entry{Record: cachetest.Record(origin, "new")}, time.Hour)
		return err == nil && f.DownSince().IsZero()
	})
	more(10)
	site.check(t)
	if !strings.Contains(replica.Do("KEYS", "*"), "kept.example") {
		t.Error("the promoted server has no record of kept.example")
	}
	use(t, f)
}

// TestSentinelFailovers: a fleet continues through primaries that hang, return and become replicas,
// and while no sentinel answers, without an early page or an error of one.
func TestSentinelFailovers(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t, redistest.Options{})
	for url, want := range map[string]string{
		redistest.Start(t, redistest.Options{Watch: primary}).URL() + "?master_set=other": `they monitor no server named "other"`,
		primary.URL() + "?master_set=fleet":                                               "not a sentinel",
	} {
		if f, err := fleet.Open(t.Context(), url, fleet.Options{}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, %v, want %q", url, f, err, want)
		}
		if found := examined(t, url, fleet.Options{}); len(found) != 1 || !strings.HasPrefix(found[0], "role: ") || !strings.Contains(found[0], want) {
			t.Errorf("%s: %q, want %q", url, found, want)
		}
	}
	replica := primary.Replica(redistest.Options{})
	sentinel := redistest.Start(t, redistest.Options{Watch: primary})
	site := newSite(t)
	var crawl sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	linked := regexp.MustCompile(`"master-link-status"[^{]*{"Value":"ok"`)
	knowsReplica := func() bool { // a server closes connections when its role changes, so only the sentinel can report it
		list := sentinel.Do("SENTINEL", "REPLICAS", "fleet")
		return strings.Contains(list, replica.Addr) && linked.MatchString(list)
	}
	until(t, "the sentinel to find the replica", knowsReplica)
	for range 3 {
		w := newWorker(t, sentinel.URL()+"?master_set=fleet", fleet.Options{Pace: brisk})
		crawl.Go(func() {
			for ctx.Err() == nil {
				w.must(site.URL)
			}
		})
	}
	more := func(what string) {
		_, before := site.counts()
		until(t, "pages "+what, func() bool { _, now := site.counts(); return now >= before+5 })
	}
	more("at first")
	for range campaign.Size(1, 1, 10) {
		primary.Freeze()
		more("from a promoted replica")
		primary.Thaw()
		primary, replica = replica, primary
		until(t, "a replica again", knowsReplica)
		more("with the old primary as a replica")
		sentinel.Kill()
		more("without a sentinel")
		sentinel.Up()
		until(t, "the sentinel to find the replica", knowsReplica)
	}
	cancel()
	crawl.Wait()
	site.check(t)
}

// TestUnopened: a Fleet that Open has not returned is refused in one sentence.
func TestUnopened(t *testing.T) {
	for name, f := range map[string]*fleet.Fleet{"nil": nil, "zero": {}} {
		if _, err := polite.New("MyBot", polite.Options{Fleet: f}); err == nil || !strings.Contains(err.Error(), "fleet.Open") {
			t.Errorf("a Fleet that is %s: %v, want an error that names fleet.Open", name, err)
		}
	}
}

// TestRights removes the documented rights of a user one after another: Open names the missing
// one, for all but a few that are for clusters or optional.
func TestRights(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	words := redistest.AccessRule(t, "../docs/fleet.md")
	without := strings.Fields("+hello +auth +cluster|slots +cluster|shards")
	said := map[string]string{"~robots:{*": "keys"}
	for i, word := range words {
		want, known := said[word]
		if !known {
			if want, known = strings.CutPrefix(word, "+"); !known {
				continue
			}
		}
		s.Do("FLUSHALL") // with the pace of the last one
		s.Do("ACL", "SETUSER", "robots", "reset")
		s.Do(append([]string{"ACL", "SETUSER", "robots"}, slices.Delete(slices.Clone(words), i, i+1)...)...)
		f, err := fleet.Open(t.Context(), "redis://robots@"+s.Addr, fleet.Options{Password: "SECRET"})
		switch {
		case slices.Contains(without, word):
			if err != nil {
				t.Errorf("without %s: %v", word, err)
				continue
			}
			use(t, f)
		case err == nil:
			t.Errorf("without %s: no error", word)
		case !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "SECRET"):
			t.Errorf("without %s: %q, want one line with %q", word, err, want)
		}
		if err == nil {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// ailments keep a server from accepting writes for some time.
var ailments = []struct {
	name     string
	ail, end func(t *testing.T, s *redistest.Server)
	unread   bool // it answers no reads either
}{
	{
		"replica",
		func(t *testing.T, s *redistest.Server) { s.Follow(redistest.Start(t, redistest.Options{})) },
		func(_ *testing.T, s *redistest.Server) { s.Promote() },
		false,
	},
	{
		"orphan",
		func(_ *testing.T, s *redistest.Server) {
			s.Do("CONFIG", "SET", "replica-serve-stale-data", "no")
			s.Do("REPLICAOF", "127.0.0.1", "1")
		},
		func(_ *testing.T, s *redistest.Server) { s.Promote() },
		true,
	},
	{
		"full",
		func(_ *testing.T, s *redistest.Server) { s.Do("CONFIG", "SET", "maxmemory", "1") },
		func(_ *testing.T, s *redistest.Server) { s.Do("CONFIG", "SET", "maxmemory", "0") },
		false,
	},
	{
		"no replicas",
		func(_ *testing.T, s *redistest.Server) { s.Do("CONFIG", "SET", "min-replicas-to-write", "1") },
		func(_ *testing.T, s *redistest.Server) { s.Do("CONFIG", "SET", "min-replicas-to-write", "0") },
		false,
	},
	{
		"no disk",
		func(t *testing.T, s *redistest.Server) {
			dir := filepath.Join(t.TempDir(), "gone")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			s.Do("CONFIG", "SET", "dir", dir)
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
			s.Do("CONFIG", "SET", "save", "3600 1")
			s.Do("BGSAVE")
			until(t, "a save that fails", func() bool {
				return strings.Contains(s.Do("INFO", "persistence"), "rdb_last_bgsave_status:err")
			})
		},
		func(_ *testing.T, s *redistest.Server) { s.Do("CONFIG", "SET", "stop-writes-on-bgsave-error", "no") },
		false,
	},
}

// TestBegin: a server that answers but accepts no writes at present is not a mistake of the
// user. The fleet opens, acquires no permits meanwhile, and works afterwards.
func TestBegin(t *testing.T) {
	t.Parallel()
	for _, tt := range ailments {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, redistest.Options{Config: []string{"enable-protected-configs yes"}}) // for the folder
			tt.ail(t, s)
			f := open(t, s.URL(), fleet.Options{})
			origin := originOf(t, "site.example")
			for began := time.Now(); time.Since(began) < 2*time.Second; time.Sleep(5 * time.Millisecond) {
				if got, err := f.Limiter().Try(t.Context(), []pace.Request{{Origin: origin, Within: time.Minute}}, 1); err != nil || got[0].OK() {
					t.Fatalf("a permit %v after it began: %v, %v", time.Since(began), got, err)
				}
				if _, err := f.Store().Get(t.Context(), origin); errors.Is(err, cache.ErrAbsent) == tt.unread {
					t.Fatalf("get: %v, want ErrAbsent: %t", err, !tt.unread)
				}
			}
			tt.end(t, s)
			until(t, "Redis to be back", func() bool { return f.DownSince().IsZero() })
			use(t, f)
		})
	}
}

// TestSecret: all workers of a fleet have one secret, other fleets on the server have another.
func TestSecret(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	secret := func(prefix string) string {
		b, err := open(t, s.URL(), fleet.Options{Prefix: prefix}).Secret(t.Context())
		if err != nil || len(b) != 32 {
			t.Fatalf("%x, %v", b, err)
		}
		return string(b)
	}
	first := secret("")
	if again := secret(""); again != first {
		t.Errorf("two workers have two secrets")
	}
	if other := secret("other"); other == first {
		t.Errorf("two fleets have one secret")
	}
	s.Do("SET", "robots:{secret}", "short")
	if b, err := open(t, s.URL(), fleet.Options{}).Secret(t.Context()); err == nil || !strings.Contains(err.Error(), "robots:{secret}") {
		t.Errorf("a secret of 5 bytes: %x, %v, want an error that names the key", b, err)
	}
}

// TestSentinelPassword: sentinels have their own password, and get no other.
func TestSentinelPassword(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t, redistest.Options{Config: []string{"requirepass geheim"}})
	for _, tt := range []struct {
		name   string
		config []string
		o      fleet.Options
		want   string // in the error, "" for none
	}{
		{"none", nil, fleet.Options{}, ""},
		{"password", []string{"requirepass wachsam"}, fleet.Options{SentinelPassword: "wachsam"}, ""},
		{"user", []string{"user guest on >wachsam ~* &* +@all", "requirepass andere"}, fleet.Options{SentinelUser: "guest", SentinelPassword: "wachsam"}, ""},
		{"missing", []string{"requirepass wachsam"}, fleet.Options{}, "sentinel"},
		{"wrong", []string{"requirepass wachsam"}, fleet.Options{SentinelPassword: "geheim"}, "sentinel"},
	} {
		config := append([]string{"sentinel auth-pass fleet geheim"}, tt.config...)
		sentinel := redistest.Start(t, redistest.Options{Watch: primary, Config: config})
		tt.o.Password, tt.o.Prefix = "geheim", tt.name
		f, err := fleet.Open(t.Context(), sentinel.URL()+"?master_set=fleet", tt.o)
		if tt.want != "" {
			if err == nil {
				f.Close()
				t.Errorf("%s: no error", tt.name)
			} else if m := err.Error(); !strings.Contains(m, tt.want) || strings.Contains(m, "geheim") || strings.Contains(m, "wachsam") || strings.Contains(m, "\n") {
				t.Errorf("%s: %q, want %q in it and no password", tt.name, m, tt.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		use(t, f)
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSocket: a server on this machine with a Unix socket.
func TestSocket(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	redistest.Start(t, redistest.Options{Config: []string{"unixsocket " + socket}})
	use(t, open(t, "unix://"+socket+"?db=1", fleet.Options{}))
}

// site is a real server that counts its requests.
type site struct {
	*httptest.Server
	mu     sync.Mutex
	robots int
	pages  []time.Time
	early  []time.Duration // after the page before, less than siteInterval
}

// siteInterval is the time between two pages of a site.
const siteInterval = 50 * time.Millisecond

// brisk is the policy of a test whose sites share the address of this machine.
var brisk = pace.Options{AddressInterval: 5 * time.Millisecond, FetchInterval: 5 * time.Millisecond}

func newSite(t *testing.T) *site {
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.URL.Path == "/robots.txt" {
			s.robots++
			io.WriteString(w, "User-agent: *\nDisallow: /x\n")
			return
		}
		at := time.Now()
		if n := len(s.pages); n > 0 && at.Sub(s.pages[n-1]) < siteInterval {
			s.early = append(s.early, at.Sub(s.pages[n-1]))
		}
		s.pages = append(s.pages, at)
	}))
	t.Cleanup(s.Close)
	return s
}

// check checks that robots.txt was fetched once and that no page was requested early.
func (s *site) check(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.robots != 1 || len(s.early) > 0 {
		t.Errorf("%d fetches of robots.txt; of %d pages some so soon after the one before: %v, want %v", s.robots, len(s.pages), s.early, siteInterval)
	}
}

func (s *site) counts() (robots, pages int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.robots, len(s.pages)
}

// A worker simulates a process of a fleet inside a test.
type worker struct {
	*testing.T
	*polite.Transport
	fleet *fleet.Fleet
}

func newWorker(t *testing.T, url string, o fleet.Options) worker {
	t.Helper()
	f := open(t, url, o)
	p, err := polite.New("MyBot", polite.Options{Fleet: f, AllowPrivate: true, Policy: pace.Policy{Default: siteInterval}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return worker{t, p, f}
}

func (w worker) get(url string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(w.Context(), limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		w.Fatal(err)
	}
	resp, err := w.RoundTrip(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (w worker) must(url string) {
	w.Helper()
	if err := w.get(url, time.Minute); err != nil {
		w.Errorf("%s: %v", url, err)
	}
}

func (w worker) degraded(url string) bool {
	w.Helper()
	v, err := w.Verdict(w.Context(), url+"/x")
	if err != nil || v.Allowed {
		w.Errorf("%s: %v, %v, want a disallow", url, v, err)
	}
	return v.State != nil && v.State.Degraded
}

// TestOutage is a day of a fleet: the server goes down and comes back empty.
func TestOutage(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	first, second := newSite(t), newSite(t)
	a, b := newWorker(t, s.URL(), fleet.Options{Pace: brisk}), newWorker(t, s.URL(), fleet.Options{})
	a.must(first.URL)
	b.must(first.URL)
	first.check(t)
	if a.degraded(first.URL) || b.degraded(first.URL) {
		t.Error("degraded while the server answers")
	}

	s.Kill()
	for _, url := range []string{first.URL, second.URL} {
		if err := a.get(url, 3*time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a page while the server is down: %v", err)
		}
	}
	if !a.degraded(first.URL) || a.fleet.DownSince().IsZero() {
		t.Error("not degraded while the server is down")
	}
	if _, pages := first.counts(); pages != 2 {
		t.Errorf("%d pages of the first site, want 2", pages)
	}

	s.Replace()
	b.must(first.URL)
	a.must(first.URL)
	a.must(second.URL)
	until(t, "an answer that is not degraded", func() bool { return !a.degraded(first.URL) && a.fleet.DownSince().IsZero() })
	// A new worker gets the records of the others.
	newWorker(t, s.URL(), fleet.Options{}).must(second.URL)
	first.check(t)
	second.check(t)
}
