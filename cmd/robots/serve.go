package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/bolt"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/server"
	"github.com/robotskit/robots/cmd/internal/server/web"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/pace"
	"github.com/spf13/cobra"
	"golang.org/x/time/rate"
)

func serveCommand(std *screen.Streams) *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use: "serve",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noArguments(args); err != nil {
				return err
			}
			origins, err := flags.config.Load(flags.set, os.LookupEnv, cmp.Or(flags.file, os.Getenv("ROBOTS_CONFIG")))
			if err != nil {
				return err
			}
			if flags.print {
				flags.write(std, origins)
				return nil
			}
			signal.Ignore(syscall.SIGPIPE) // else the end of whoever reads the log would be that of the service
			ctx, stop := screen.Interruptible(cmd.Context())
			defer stop()
			return serve(ctx, std, &flags.config, flags.reload)
		},
	}
	flags.register(cmd)
	return cmd
}

// A service is what robots serve runs on.
type service struct {
	config  *server.Config
	now     func() time.Time
	log     *slog.Logger
	metrics *server.Metrics
	api     *server.Service
	fleet   *fleet.Fleet // nil without a Redis
	local   *pace.Local  // the limiter without one
	file    *bolt.Store  // nil without a file
	store   cache.Store  // of the fleet or the file, nil for memory alone
	demo    demo         // without sites unless there is --demo
	failing rate.Sometimes
}

// serve runs a service until ctx ends. At each SIGHUP it applies the configuration that reload returns.
func serve(ctx context.Context, std *screen.Streams, c *server.Config, reload func() (*server.Config, []string, error)) (err error) {
	s := &service{config: c, now: std.Now, log: slog.New(slog.NewJSONHandler(screen.JSON(std.Err), nil)), metrics: server.NewMetrics(), failing: rate.Sometimes{Interval: time.Minute}}
	gate, err := server.NewGate(c, s.log, s.metrics)
	if err != nil {
		return err
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	// As many requests work at a time as there are processors. One thread more takes in what
	// comes meanwhile: else it would wait for them where nobody counts it and nobody refuses it.
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(c.Memory) + restBytes)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.open(ctx); err != nil {
		return err
	}
	return server.Run(ctx, gate, s.handler(), s.ready, func(at, admin net.Addr) {
		store := c.Store
		if s.fleet != nil {
			store = "redis"
		}
		list := []any{"open", "http://" + reachable(at) + "/", "store", store}
		if admin != nil {
			list = append(list, "admin", "http://"+admin.String()+"/")
		}
		s.demo.print(std.Out, reachable(at))
		_ = std.Out.Flush() // the last flush reports its error
		if c.Public && len(c.Hosts) == 0 {
			s.log.Warn("requests get 421 unless their host is localhost or a loopback address; name other hosts with --host")
		}
		s.log.Info("serving", append(list, "version", programVersion())...)
		go s.reloadAt(ctx, hangups, gate, reload)
	})
}

// restBytes is the memory of a process without records. Near it and --memory, memory is collected more often,
// so that strangers cannot make the process twice as large as its records.
const restBytes = 32 << 20

// reloadAt applies the configuration at each signal, until ctx ends.
func (s *service) reloadAt(ctx context.Context, hangups <-chan os.Signal, gate *server.Gate, reload func() (*server.Config, []string, error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		c, changed, err := reload()
		if err == nil {
			err = gate.Reload(c)
		}
		if err != nil {
			s.log.Error("the configuration is not reloaded", "error", err.Error())
			continue
		}
		s.log.Info("reloaded", "changed", changed)
		if later := slices.DeleteFunc(changed, func(name string) bool { return slices.Contains(server.Reloaded, name) }); len(later) > 0 {
			s.log.Warn("these settings change when the service is restarted", "settings", later)
		}
	}
}

// reachable is an address at which a browser on this machine finds what listens.
func reachable(at net.Addr) string {
	a, err := netip.ParseAddrPort(at.String())
	if err == nil && a.Addr().IsUnspecified() {
		return fmt.Sprintf("localhost:%d", a.Port())
	}
	return at.String()
}

// guardFor returns the guard of a service. For strangers it permits only the ports of http and https, for redirects too.
func guardFor(c *server.Config) fetch.Guard {
	g := fetch.Guard{Allow: ownSites}
	if c.Anonymous && c.Public || c.Public && c.TokensFile == "" && c.Tokens == "" {
		g.Ports = []uint16{80, 443}
	}
	return g
}

// open makes the parts: store, limiter, and the service on them.
func (s *service) open(ctx context.Context) error {
	c := s.config
	paces, err := source.AddressPaces(c.AddressPaces)
	if err != nil {
		return err
	}
	parts := server.Parts{
		Fetch: fetch.Options{
			UserAgent:   cmp.Or(c.UserAgent, defaultUserAgent()),
			Limits:      fetch.Limits{Total: c.FetchTimeout}.For(robots.Dialects()...),
			Guard:       guardFor(c),
			Connections: c.Fetches,
		},
		Cache:    cache.Options{Keep: c.Keep, KeepOnce: c.KeepOnce, FetchLimit: c.FetchTimeout + source.FetchMargin, Observe: s.observe},
		Fetches:  c.Fetches,
		FTP:      c.FTP,
		URLBytes: int64(c.URLBytes),
		Dialect:  c.Dialect,
		Version:  programVersion(),
		Now:      s.now,
	}
	if c.Demo { // the guard permits its sites, and nothing else of this machine
		if err := s.demo.start(ctx); err != nil {
			return err
		}
		parts.Fetch.Guard.Allow = s.demo.allow
		c.Store = filepath.Join(s.demo.folder, "robots.cache")
	}
	if c.Shared() {
		err = s.openFleet(ctx, &parts, paces)
	} else {
		err = s.openAlone(ctx, &parts, paces)
	}
	if err == nil && c.Demo {
		err = s.demo.remember(ctx, s.store, s.now())
	}
	if err != nil {
		return err
	}
	parts.Cache.Store = s.store
	if s.api, err = server.New(parts); err != nil {
		return err
	}
	s.metrics.Held(s.api.Cache().Usage)
	return nil
}

// openFleet joins a fleet, which has store and limiter.
func (s *service) openFleet(ctx context.Context, parts *server.Parts, paces pace.Options) error {
	c := s.config
	var err error
	if s.fleet, err = source.Join("--store", c.Store, fleet.Options{
		MaxMemoryBytes: int64(c.Memory), Pace: paces, AllowEviction: c.AllowEviction, Observe: s.metrics, Log: s.log,
	}); err != nil {
		return err
	}
	if parts.Secret, err = s.fleet.Secret(ctx); err != nil {
		return fmt.Errorf("--store: %w", err)
	}
	s.store, parts.Limiter, parts.Cache.Memory = s.fleet.Store(), s.fleet.Limiter(), s.fleet.CacheMemory()
	parts.DownSince = s.fleet.DownSince
	s.metrics.Degraded(s.fleet.DownSince)
	return nil
}

// openAlone makes a limiter of this process, and opens the file of the store if there is one.
func (s *service) openAlone(ctx context.Context, parts *server.Parts, paces pace.Options) (err error) {
	c := s.config
	// As in a fleet (fleet.Options.MaxMemoryBytes).
	paces.MaxBytes, parts.Cache.Memory = int(min(int64(c.Memory)/4, math.MaxInt)), int64(c.Memory)/2
	paces.Observe = s.metrics.Pace
	if s.local, err = pace.NewLocal(paces); err != nil {
		return err
	}
	parts.Limiter = s.local
	if c.Store == "memory" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(c.Store), 0o700); err != nil {
		return fmt.Errorf("cannot make the folder of the store: %w", err)
	}
	if s.file, err = bolt.Open(c.Store, bolt.Options{}); err != nil {
		return err
	}
	s.store, parts.Secret = s.file, s.resume(ctx)
	s.metrics.StoreSize(func() (size int64) {
		if info, err := os.Stat(c.Store); err == nil {
			size = info.Size()
		}
		return size
	})
	return nil
}

// ownSites are servers of this machine that the guard lets through. Tests have some;
// no setting gives any.
var ownSites []netip.AddrPort

// handler is what is behind the gates: the API, and the page for people.
func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", s.api.Handler())
	people := web.Handler(web.Options{Sites: s.demo.sites})
	mux.Handle("/{$}", people)
	mux.Handle("/page/", people)
	mux.Handle("/favicon.ico", people)
	return mux
}

// ready returns why the service is not ready, nil if it is.
func (s *service) ready(ctx context.Context) error {
	if s.store == nil {
		return nil
	}
	origin, _, _ := robots.ParseURL("https://ready.invalid/") // it is valid
	_, err := s.store.Get(ctx, origin)
	switch {
	case s.fleet != nil && s.fleet.Drained():
		return errors.New("an operator has drained this server, or its options differ from those of the fleet")
	case s.fleet != nil && s.config.RedisOptional:
		return nil
	case s.fleet != nil && !s.fleet.DownSince().IsZero():
		return errors.New("Redis is unreachable")
	case err != nil && !errors.Is(err, cache.ErrAbsent):
		return fmt.Errorf("the store failed: %w", err)
	}
	return nil
}

// observe counts the events of the cache, and logs errors of the store, at most one per minute.
func (s *service) observe(e cache.Event) {
	s.metrics.Cache(e)
	if e.Kind == cache.EventStoreFailed {
		s.failing.Do(func() { s.log.Warn("the store failed; continuing without it", "error", e.Err.Error()) })
	}
}

// close ends fetches in progress and closes the stores.
func (s *service) close() error {
	if s.api != nil {
		_ = s.api.Close() // it has nothing to report
	}
	var err error
	switch {
	case s.fleet != nil:
		err = s.fleet.Close()
	case s.file != nil:
		err = errors.Join(s.file.Keep(context.Background(), permitsName, s.local.Snapshot()), s.file.Close())
	}
	s.demo.close()
	if err != nil {
		return fmt.Errorf("cannot close the store: %w", err)
	}
	return nil
}
