package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// siteFlags are the flags of the verbs that fetch from sites.
type siteFlags struct {
	set           pflag.FlagSet // these
	cache         string
	redis         string
	allowEviction bool
	pages         bool // pages are requested too
	downloads     bool // a list of URLs is downloaded, even with a robots.txt that is a file
	userAgent     string
	timeout       time.Duration
	proxy         string
	allowPrivate  bool
	probe         bool
	addressPaces  []string
}

// register declares the flags that fetching verbs share.
func (s *siteFlags) register(cmd *cobra.Command) {
	f := &s.set
	f.StringVar(&s.cache, "cache", "", "`FILE` file that keeps each robots.txt until it expires")
	f.StringVar(&s.redis, "redis", "", "`URL` Redis that a fleet shares, such as rediss://user@host:6379?prefix=robots")
	f.BoolVar(&s.allowEviction, "allow-eviction", false, "accept a Redis that evicts keys when its memory is full")
	s.agentFlag(f)
	f.DurationVar(&s.timeout, "timeout", 30*time.Second, "`DURATION` timeout per robots.txt fetch, redirects included")
	s.requestFlags(f)
	usage := "`PREFIX=RATE` rate limit per IP address, such as 104.16.0.0/13=50/s (repeat for more; default 10/s)"
	f.StringArrayVar(&s.addressPaces, "address-pace", nil, usage)
	cmd.Flags().AddFlagSet(f)
}

// registerWay declares the flags of a verb that fetches other files than robots.txt.
func (s *siteFlags) registerWay(cmd *cobra.Command) {
	s.agentFlag(&s.set)
	s.requestFlags(&s.set)
	cmd.Flags().AddFlagSet(&s.set)
}

func (s *siteFlags) agentFlag(f *pflag.FlagSet) {
	f.StringVar(&s.userAgent, "user-agent", "", "`HEADER` User-Agent of requests (default "+strconv.Quote(defaultUserAgent())+")")
}

func (s *siteFlags) requestFlags(f *pflag.FlagSet) {
	f.StringVar(&s.proxy, "proxy", "", "`URL` proxy (http, https, socks5, socks5h), env for HTTPS_PROXY and HTTP_PROXY, or none")
	f.BoolVar(&s.allowPrivate, "allow-private", false, "also fetch from private and loopback addresses")
}

// registerProbe declares --probe.
func (s *siteFlags) registerProbe(cmd *cobra.Command) {
	s.set.BoolVar(&s.probe, "probe", false, "after a 5xx, test if missing pages give 5xx (a 404 in "+strings.Join(probing(), ", ")+")")
	cmd.Flags().AddFlagSet(&s.set)
}

// probing returns the names of the dialects that use the result of a probe.
func probing() []string {
	var names []string
	for _, d := range robots.Dialects() {
		if d.ServerErrorsMayMiss {
			names = append(names, d.Name)
		}
	}
	return names
}

// isSet reports whether a flag was given.
func (s *siteFlags) isSet(name string) bool { return s.set.Changed(name) }

// unused returns an error if one of these flags is given and nothing is fetched.
func (s *siteFlags) unused(when string) (err error) {
	s.set.VisitAll(func(f *pflag.Flag) {
		if f.Changed && err == nil {
			err = errors.New("--" + f.Name + " has no use " + when + ": nothing is fetched then")
		}
	})
	return err
}

var errTimeout = errors.New("--timeout must be more than 0")

// options checks the flags.
func (s *siteFlags) options() (o source.Options, err error) {
	switch {
	case s.isSet("cache") && s.cache == "":
		return o, errors.New("--cache is empty; name a file")
	case s.isSet("user-agent") && strings.TrimSpace(s.userAgent) == "":
		return o, errors.New("--user-agent is empty; name the crawler and a contact")
	case s.isSet("timeout") && s.timeout <= 0:
		return o, errTimeout
	case s.isSet("cache") && s.redis != "":
		return o, errors.New("--cache and --redis exclude each other")
	case s.isSet("allow-eviction") && s.redis == "":
		return o, errors.New("--allow-eviction requires --redis")
	case s.isSet("redis") && s.redis == "":
		return o, errors.New("--redis: no URL given; write redis://host:6379, or rediss:// for TLS")
	}
	o = source.Options{
		Cache:         s.cache,
		Redis:         s.redis,
		AllowEviction: s.allowEviction,
		Pages:         s.pages,
		UserAgent:     cmp.Or(s.userAgent, defaultUserAgent()),
		Timeout:       s.timeout,
		AllowPrivate:  s.allowPrivate,
		Probe:         s.probe,
	}
	if o.Proxy, err = s.parseProxy(); err != nil {
		return o, err
	}
	if o.Paces, err = source.AddressPaces(s.addressPaces); err != nil {
		return o, fmt.Errorf("--address-pace: %w", err)
	}
	return o, nil
}

// parseProxy reads the value of --proxy, nil for none.
func (s *siteFlags) parseProxy() (func(*http.Request) (*url.URL, error), error) {
	switch {
	case !s.isSet("proxy") || s.proxy == "none":
		return nil, nil
	case s.proxy == "env":
		return http.ProxyFromEnvironment, nil
	}
	u, err := url.Parse(s.proxy) //nolint:forbidigo // not the URL of a site
	if err == nil && u.User != nil {
		if _, given := u.User.Password(); given {
			return nil, errors.New("--proxy: others can see a password on the command line; set HTTPS_PROXY and HTTP_PROXY, and give --proxy env")
		}
	}
	if err != nil || u.Hostname() == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return nil, errors.New("--proxy is not a URL such as http://proxy:3128 or socks5://proxy:1080, env or none")
	}
	return http.ProxyURL(u), nil
}

// open returns the client that fetches from sites, which the caller closes. A robots.txt is fetched up to the largest size limit of
// the dialects, or to maxBytes unless that is 0.
func (s *siteFlags) open(std *screen.Streams, dialects []robots.Dialect, maxBytes int) (*source.Live, error) {
	options, err := s.options()
	if err != nil {
		return nil, err
	}
	return source.NewLive(std, options, dialects, maxBytes)
}

// wanted returns the request for named robots.txt files, with the options of the flags if a site is among them.
func (s *siteFlags) wanted(dialects []robots.Dialect, maxBytes int, names []string) (w source.Wanted, err error) {
	w = source.Wanted{Names: names, Dialects: dialects, MaxBytes: maxBytes}
	if err := source.StdinOnce(names...); err != nil {
		return w, err
	}
	if !slices.ContainsFunc(names, ask.NamesSite) {
		if s.downloads {
			return w, nil
		}
		return w, s.unused("with a file")
	}
	w.Options, err = s.options()
	return w, err
}

// named returns the robots.txt of files, standard input and sites, to judge by, and warns about oddities in them as read by the first
// dialect. The caller closes the client.
func (s *siteFlags) named(
	ctx context.Context, r *source.Reader, dialects []robots.Dialect, maxBytes int, names ...string,
) ([]source.Text, *source.Live, error) {
	w, err := s.wanted(dialects, maxBytes, names)
	if err != nil {
		return nil, nil, err
	}
	return r.Named(ctx, &w)
}

// known is named, and returns an error if the rules of a site are not known.
func (s *siteFlags) known(ctx context.Context, r *source.Reader, dialects []robots.Dialect, names ...string) ([]source.Text, error) {
	w, err := s.wanted(dialects, 0, names)
	if err != nil {
		return nil, err
	}
	return r.Known(ctx, &w)
}

// completeFiles reads files and sites before any is processed; one that is truncated is an error.
func (s *siteFlags) completeFiles(ctx context.Context, r *source.Reader, names []string) ([]source.Text, error) {
	if len(names) == 0 {
		return nil, errors.New("no file given; name one, - for standard input, or the URL of a site")
	}
	w, err := s.wanted(robots.Dialects(), 0, names)
	if err != nil {
		return nil, err
	}
	return r.Whole(ctx, &w)
}
