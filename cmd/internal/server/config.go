package server

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/pace"
)

// A Config has the settings of a service. Each field but Tokens is a flag, an environment variable and a key of the file of
// settings, all with one name: see Flags and Load.
type Config struct {
	Listen, Admin           string
	Public, Anonymous       bool
	Hosts, CORS             []string
	TrustedProxies          []string
	TokensFile              string
	Tokens                  string // the content of such a file, from ROBOTS_TOKENS
	Store                   string
	Keep, KeepOnce          time.Duration
	AllowEviction           bool
	RedisOptional           bool
	Memory                  Size
	Dialect                 string
	UserAgent               string
	FetchTimeout            time.Duration
	AddressPaces            []string
	FTP, AllowPrivate       bool
	ClientRate, ClientBurst int
	NewOrigins              int
	Concurrency, Fetches    int
	Queue                   int
	QueueTime               time.Duration
	HeaderBytes, URLBytes   Size
	BodyBytes, BatchBytes   Size
	HeaderTime, BodyTime    time.Duration
	WriteTime, IdleTime     time.Duration
	DrainDelay, Grace       time.Duration
	LogURLs                 bool
	Demo                    bool

	bounds []func() error
	where  map[string]string // the origin of each setting in messages, by its name
}

// validate returns what is wrong with the configuration, in one sentence.
func (c *Config) validate() error {
	return cmp.Or(c.checkAddresses(), c.checkCallers(), c.checkStore(), c.checkBounds())
}

// bad is the error of a setting.
func (c *Config) bad(name, format string, args ...any) error {
	return fmt.Errorf("%s %s", c.where[name], fmt.Sprintf(format, args...))
}

func (c *Config) checkAddresses() error {
	listen, err := netip.ParseAddrPort(c.Listen)
	if err != nil {
		return c.bad("listen", "%q is not an IP address and a port such as 127.0.0.1:8780", ask.Clip(c.Listen))
	}
	if c.Admin != "none" {
		admin, err := netip.ParseAddrPort(c.Admin)
		switch {
		case err != nil:
			return c.bad("admin", "%q is not an IP address and a port such as 127.0.0.1:8781, or none", ask.Clip(c.Admin))
		case admin == listen && admin.Port() != 0:
			return c.bad("admin", "is the address of --listen; use another one")
		case !admin.Addr().IsLoopback() && !c.Public:
			return c.bad("admin",
				"%s can be reached by other machines, and shows profiles of the process; use a loopback address, or add --public", admin)
		}
	}
	switch {
	case listen.Addr().IsLoopback():
	case !c.Public:
		return c.bad("listen", "%s can be reached by other machines; add --public to allow it", listen)
	case c.Tokens == "" && c.TokensFile == "" && !c.Anonymous:
		return c.bad("listen", "%s can be reached by other machines; "+
			"name a file of tokens with --tokens-file, or add --anonymous to answer any client", listen)
	}
	for _, h := range c.Hosts {
		if name, _ := hostOf(h); name != strings.ToLower(h) || name == "" || strings.ContainsAny(h, "*/@? ") {
			return c.bad("host", "%q is not a name as in Host, without a port, such as robots.example", ask.Clip(h))
		}
	}
	return nil
}

func (c *Config) checkCallers() error {
	for _, o := range c.CORS {
		origin, path, err := robots.ParseURL(o)
		if err != nil || path.String() != "/" || origin.String() != o {
			return c.bad("cors", "%q is not an origin such as https://tools.example", ask.Clip(o))
		}
	}
	for _, p := range c.TrustedProxies {
		if _, err := ask.Prefix(p); err != nil {
			return c.bad("trusted-proxy", "%v", err)
		}
	}
	if c.Tokens != "" && c.TokensFile != "" {
		return c.bad("tokens", "and tokens-file are both given; use one of them")
	}
	return nil
}

func (c *Config) checkStore() error { // and fetching
	redis := c.Shared()
	switch {
	case c.Store == "":
		return c.bad("store", "is empty; name a file, a redis:// URL, or memory")
	case strings.Contains(c.Store, "://") && !redis:
		return c.bad("store", "has an unknown scheme (known: %s)", strings.Join(fleet.Schemes(), ", "))
	case redis && c.Memory < fleet.MinMemoryBytes:
		return c.bad("memory", "%s is too small; with Redis the minimum is %s", c.Memory, Size(fleet.MinMemoryBytes))
	case c.KeepOnce > c.Keep:
		return c.bad("keep-once", "%s is more than keep, %s", TimeText(c.KeepOnce), TimeText(c.Keep))
	case c.AllowEviction && !redis:
		return c.bad("allow-eviction", "requires a Redis as --store")
	case c.RedisOptional && !redis:
		return c.bad("redis-optional", "requires a Redis as --store")
	}
	for _, text := range c.AddressPaces {
		if err := new(pace.AddressPace).Set(text); err != nil {
			return c.bad("address-pace", "%q: %s", ask.Clip(text), err)
		}
	}
	if _, err := ask.DialectFor(c.Dialect); err != nil {
		return c.bad("dialect", "%q is unknown (known: %s, %s)", ask.Clip(c.Dialect), ask.AutoDialect, strings.Join(ask.DialectNames(), ", "))
	}
	return nil
}

// Shared reports whether the store is a Redis.
func (c *Config) Shared() bool {
	scheme, _, ok := strings.Cut(c.Store, "://")
	return ok && slices.Contains(fleet.Schemes(), scheme)
}

// bound makes checkBounds check that a setting is from least to most.
func bound[T cmp.Ordered](c *Config, p *T, name string, least, most T, text func(T) string) {
	c.bounds = append(c.bounds, func() error {
		if *p < least || *p > most {
			return c.bad(name, "%s is out of range, %s to %s", text(*p), text(least), text(most))
		}
		return nil
	})
}

func (c *Config) checkBounds() error {
	for _, check := range c.bounds {
		if err := check(); err != nil {
			return err
		}
	}
	if c.URLBytes > c.HeaderBytes {
		return c.bad("url-size", "%s is more than header-size, %s, which includes the URL", c.URLBytes, c.HeaderBytes)
	}
	return nil
}

// hostOf returns the name of a Host without its port, in lower case, or the address if it is one, "" for an invalid host.
func hostOf(host string) (name string, addr netip.Addr) {
	name = host
	if h, port, err := net.SplitHostPort(host); err == nil {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", addr
		}
		name = h
	} else if inner, ok := strings.CutPrefix(host, "["); ok {
		name, ok = strings.CutSuffix(inner, "]")
		if !ok {
			return "", addr
		}
	} else if strings.Contains(host, ":") {
		return "", addr
	}
	addr, _ = netip.ParseAddr(name)
	return strings.ToLower(name), addr
}
