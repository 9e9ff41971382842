package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/server"
	"github.com/robotskit/robots/cmd/internal/server/web"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/fetch"
	"github.com/spf13/cobra"
)

// serveOptions are one run of robots serve.
type serveOptions struct {
	std      *screen.Streams
	args     []string
	settings serveSettings
	print    bool // the settings, and exit
}

func newServeCommand(std *screen.Streams) *cobra.Command {
	o := &serveOptions{std: std}
	cmd := &cobra.Command{Use: "serve", RunE: runE(std, &o.args, o.run)}
	o.settings.register(cmd)
	cmd.Flags().BoolVar(&o.print, "print-config", false, "print the settings with their origins as such a file, and exit")
	complete(cmd, "dialect", ask.DialectNames())
	return cmd
}

func (o *serveOptions) run(ctx context.Context) (int, error) {
	if err := noArguments(o.args); err != nil {
		return exitBad, err
	}
	origins, err := o.settings.load()
	if err != nil {
		return exitBad, err
	}
	if o.print {
		o.settings.write(o.std, origins)
		return exitAllowed, nil
	}
	signal.Ignore(syscall.SIGPIPE) // else the end of whoever reads the log would be that of the service
	ctx, stop := screen.Interruptible(ctx)
	defer stop()
	if err := o.serve(ctx); err != nil {
		return exitBad, err
	}
	return exitAllowed, nil
}

// restBytes is the memory of a process without records. Near it and --memory, memory is collected more often,
// so that unauthenticated clients cannot make the process twice as large as its records.
const restBytes = 32 << 20

// reserveBytes are allocated and never written, so that memory is collected after as many bytes of garbage, not
// after each 4 MB where few records are in memory: a quarter of the CPU time of short requests. The process is as
// much larger.
const reserveBytes = 16 << 20

// serve runs a service until ctx ends.
func (o *serveOptions) serve(ctx context.Context) (err error) {
	c := &o.settings.config
	s := &service{
		std: o.std, settings: &o.settings,
		log: slog.New(slog.NewJSONHandler(screen.JSON(o.std.Err), nil)), metrics: server.NewMetrics(),
	}
	if s.gate, err = server.NewGate(c, s.log, s.metrics); err != nil {
		return err
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	// As many requests work at a time as there are processors. One thread more takes in what
	// comes meanwhile: else it would wait for them where nobody counts it and nobody refuses it.
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(c.Memory) + restBytes + reserveBytes)
		defer runtime.KeepAlive(make([]byte, reserveBytes))
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.open(ctx, c); err != nil {
		return err
	}
	return server.Run(ctx, s.gate, s.handler(), s.state.Ready, func(at, admin net.Addr) {
		s.announce(c, at, admin)
		go s.reloadAt(ctx, hangups)
	})
}

// A service is what robots serve runs.
type service struct {
	std      *screen.Streams
	settings *serveSettings
	log      *slog.Logger
	metrics  *server.Metrics
	gate     *server.Gate
	state    *server.State
	api      *server.Service
	demo     demo // without sites unless there is --demo
}

// announce reports that the service listens.
func (s *service) announce(c *server.Config, at, admin net.Addr) {
	list := []any{"open", "http://" + reachable(at) + "/", "store", s.state.Kind()}
	if admin != nil {
		list = append(list, "admin", "http://"+admin.String()+"/")
	}
	s.demo.print(s.std.Out, reachable(at))
	_ = s.std.Out.Flush() // the last flush reports its error
	if c.Public && len(c.Hosts) == 0 {
		s.log.Warn("requests get 421 unless their host is localhost or a loopback address; name other hosts with --host")
	}
	s.log.Info("serving", append(list, "version", programVersion())...)
}

// reloadAt applies the configuration at each signal, until ctx ends.
func (s *service) reloadAt(ctx context.Context, hangups <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		c, changed, err := s.settings.reload()
		if err == nil {
			err = s.gate.Reload(c)
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

// guardFor returns the guard of a service. For unauthenticated clients it permits only the ports of http and https, for redirects too.
func guardFor(c *server.Config) fetch.Guard {
	g := fetch.Guard{Allow: ownSites, AllowPrivate: c.AllowPrivate}
	if c.Anonymous && c.Public || c.Public && c.TokensFile == "" && c.Tokens == "" {
		g.Ports = []uint16{80, 443}
	}
	return g
}

// open opens the state, and makes the API on it.
func (s *service) open(ctx context.Context, c *server.Config) error {
	parts := server.Parts{
		Fetch: fetch.Options{
			UserAgent:   cmp.Or(c.UserAgent, defaultUserAgent()),
			Limits:      fetch.Limits{Total: c.FetchTimeout}.For(robots.Dialects()...),
			Guard:       guardFor(c),
			Connections: c.Fetches,
		},
		Cache:    cache.Options{Keep: c.Keep, KeepOnce: c.KeepOnce, FetchLimit: c.FetchTimeout + source.FetchMargin},
		Fetches:  c.Fetches,
		FTP:      c.FTP,
		URLBytes: int64(c.URLBytes),
		Dialect:  c.Dialect,
		Version:  programVersion(),
		Now:      s.std.Now,
	}
	if c.Demo { // the guard permits its sites, and nothing else of this machine
		if err := s.demo.start(ctx); err != nil {
			return err
		}
		parts.Fetch.Guard.Allow = s.demo.allow
		c.Store = filepath.Join(s.demo.folder, "robots.cache")
	}
	var err error
	s.state, err = server.OpenState(ctx, c, s.log, s.metrics, &parts)
	if err == nil && c.Demo {
		err = s.demo.remember(ctx, s.state.Store(), s.std.Now())
	}
	if err != nil {
		return err
	}
	if s.api, err = server.New(parts); err != nil {
		return err
	}
	s.metrics.Held(s.api.Cache().Usage)
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
	mux.Handle("/index.html", people)
	mux.Handle("/page/", people)
	mux.Handle("/docs/{$}", people)
	mux.Handle("/docs/{name}", people)
	mux.Handle("/favicon.ico", people)
	return mux
}

// close ends fetches in progress and closes the state.
func (s *service) close() error {
	if s.api != nil {
		_ = s.api.Close() // it has nothing to report
	}
	var err error
	if s.state != nil {
		err = s.state.Close()
	}
	s.demo.close()
	return err
}
