package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/guard"
	"github.com/spf13/cobra"
)

// guardOptions are one run of robots guard.
type guardOptions struct {
	std         *screen.Streams
	args        []string
	file        string
	listen      string
	enforce     bool
	refuseFaked bool
	proxies     []string
	lists       []string
	dns         bool
	resolver    string

	log *slog.Logger
}

func newGuardCommand(std *screen.Streams) *cobra.Command {
	o := &guardOptions{std: std}
	cmd := &cobra.Command{Use: "guard", RunE: runE(std, &o.args, o.run)}
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", "", "`FILE` robots.txt to enforce, or a folder with HOST/robots.txt")
	f.BoolVar(&o.enforce, "enforce", false, "answer 403 to refused requests; without it, only report them")
	f.BoolVar(&o.refuseFaked, "refuse-faked", false, "also refuse crawlers that do not use their address")
	f.StringVar(&o.listen, "listen", "127.0.0.1:8782", "`ADDRESS` address and port to listen on")
	f.StringArrayVar(
		&o.proxies, "trusted-proxy", nil, "`PREFIX` web server that may ask, such as 10.0.0.0/8, besides loopback (repeat for more)",
	)
	f.StringArrayVar(&o.lists, "list", nil, "`NAME[,NAME]=FILE` file of address lists: JSON, or an address or prefix per line")
	f.BoolVar(&o.dns, "dns", false, "query DNS for the addresses of crawlers, after the request")
	f.StringVar(&o.resolver, "resolver", "", "`ADDRESS` name server, such as 9.9.9.9 or 127.0.0.1:5353")
	return cmd
}

func (o *guardOptions) run(ctx context.Context) (int, error) {
	options, err := o.options(ctx)
	if err != nil {
		return exitBad, err
	}
	sites, err := source.OpenGuarded(o.std, o.file)
	if err != nil {
		return exitBad, err
	}
	options.Site = sites.Site
	g, err := guard.New(options)
	if err != nil {
		return exitBad, err
	}
	signal.Ignore(syscall.SIGPIPE) // else the end of whoever reads the log would be that of the service
	ctx, stop := screen.Interruptible(ctx)
	defer stop()
	if err := o.serve(ctx, g, sites); err != nil {
		return exitBad, err
	}
	return exitAllowed, nil
}

// options checks the flags, and reads the lists of addresses.
func (o *guardOptions) options(ctx context.Context) (g guard.Options, err error) {
	switch {
	case len(o.args) > 0:
		return g, noArguments(o.args)
	case o.file == "" || o.file == "-" || ask.NamesSite(o.file):
		return g, errors.New("no file to enforce; name a robots.txt or a folder with -f")
	}
	o.log = slog.New(slog.NewJSONHandler(screen.JSON(o.std.Err), nil))
	g = guard.Options{
		Enforce: o.enforce, RefuseFaked: o.refuseFaked, Report: o.report,
		Verifier: &crawlers.Verifier{Lists: map[string]*crawlers.Addresses{}},
	}
	for _, text := range o.proxies {
		prefix, err := ask.Prefix(text)
		if err != nil {
			return g, fmt.Errorf("--trusted-proxy %w", err)
		}
		g.TrustedProxies = append(g.TrustedProxies, prefix)
	}
	lists, err := parseLists(o.lists)
	if err != nil {
		return g, err
	}
	sources := source.AddressLists{Reader: &source.Reader{Std: o.std}}
	for _, list := range lists {
		if ask.NamesSite(list.from) {
			return g, fmt.Errorf("--list %s: robots guard fetches no lists; name a file", clip(list.from))
		}
		if g.Verifier.Lists[list.crawler], err = sources.Get(ctx, list.from); err != nil {
			return g, err
		}
	}
	if o.dns || o.resolver != "" {
		resolver, err := source.NewResolver(o.resolver)
		if err != nil {
			return g, err
		}
		g.Verifier.Resolver = resolver
	}
	return g, nil
}

// Limits of the service. A web server waits for each answer, so they are short.
const (
	guardHeaderTime  = 10 * time.Second
	guardHeaderBytes = 64 << 10 // more than web servers accept
	guardIdleTime    = 2 * time.Minute
	guardGrace       = 5 * time.Second // for requests at the end
	guardReload      = time.Second
)

// serve answers requests until ctx ends.
func (o *guardOptions) serve(ctx context.Context, g *guard.Guard, sites *source.GuardedSites) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	service := &http.Server{
		Handler:           g.ForwardAuth(o.unusable),
		ReadHeaderTimeout: guardHeaderTime,
		MaxHeaderBytes:    guardHeaderBytes,
		WriteTimeout:      guardHeaderTime,
		IdleTimeout:       guardIdleTime,
		ErrorLog:          slog.NewLogLogger(o.log.Handler(), slog.LevelDebug), // mistakes of clients
	}
	ended := make(chan error, 1)
	go func() { ended <- service.Serve(listener) }()
	o.log.Info("guarding", "listen", listener.Addr().String(), "files", sites.Hosts(), "enforce", o.enforce, "version", programVersion())
	reload := time.NewTicker(guardReload) //nolint:forbidigo // the interval in which files are looked at
	defer reload.Stop()
	for {
		select {
		case err := <-ended:
			return fmt.Errorf("cannot go on listening: %w", err)
		case <-reload.C:
			o.reload(sites)
			continue
		case <-ctx.Done():
		}
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), guardGrace)
		defer cancel()
		return service.Shutdown(grace)
	}
}

// reload reads the files that have changed.
func (o *guardOptions) reload(sites *source.GuardedSites) {
	changed, err := sites.Reload()
	if len(changed) > 0 {
		slices.Sort(changed)
		o.log.Info("reloaded", "files", changed)
	}
	if err != nil {
		o.log.Error("a robots.txt cannot be read; the last content stays in force", "error", err.Error())
	}
}

// report logs a decision other than to pass.
func (o *guardOptions) report(d guard.Decision) {
	message := "would refuse"
	switch {
	case !d.Refused:
		message = "faked"
	case o.enforce:
		message = "refused"
	}
	list := []any{"crawler", d.Crawler.Name, "host", d.Request.Host, "target", d.Request.Target, "action", d.Action, "reason", d.Reason()}
	if line := d.Verdict.Rule.Line(); line > 0 && !d.Verdict.Allowed {
		list = append(list, "line", line)
	}
	if d.Request.Address != (netip.Addr{}) {
		list = append(list, "address", d.Request.Address.String())
	}
	list = append(list, "identity", d.Identity.Result, "user_agent", robots.Printable(d.Request.UserAgent))
	o.log.Info(message, list...)
}

// unusable logs why a request has no decision.
func (o *guardOptions) unusable(err error) {
	o.log.Error("a request cannot be checked; see docs/guard.md", "error", err.Error())
}
