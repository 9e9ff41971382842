package server

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/yamlfile"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/pace"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
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

// Flags returns flags for the fields of c, which they set to their defaults.
func (c *Config) Flags() *pflag.FlagSet {
	f := new(pflag.FlagSet)
	number := func(p *int, name string, value, least, most int, usage string) {
		f.IntVar(p, name, value, usage)
		bound(c, p, name, least, most, strconv.Itoa)
	}
	size := func(p *Size, name string, value, least, most Size, usage string) {
		*p = value
		f.Var(p, name, usage)
		bound(c, p, name, least, most, Size.String)
	}
	duration := func(p *time.Duration, name string, value, least, most time.Duration, usage string) {
		f.DurationVar(p, name, value, usage)
		f.Lookup(name).DefValue = TimeText(value)
		bound(c, p, name, least, most, TimeText)
	}
	f.StringVar(&c.Listen, "listen", "127.0.0.1:8780", "`ADDRESS` IP address and port to serve at")
	f.StringVar(&c.Admin, "admin", "127.0.0.1:8781", "`ADDRESS` IP address and port for health, metrics and profiles, or none")
	f.BoolVar(&c.Public, "public", false, "allow addresses that other machines can reach")
	f.BoolVar(&c.Anonymous, "anonymous", false, "answer clients without a token, within the limits for unauthenticated clients")
	f.StringArrayVar(&c.Hosts, "host", nil, "`NAME` host name to accept, other than localhost and loopback addresses (repeat for more)")
	f.StringArrayVar(&c.CORS, "cors", nil, "`ORIGIN` other site whose pages can send requests, such as https://tools.example (repeat for more)")
	f.StringArrayVar(&c.TrustedProxies, "trusted-proxy", nil, "`PREFIX` proxy whose X-Forwarded-For is trusted, such as 10.0.0.0/8 or 127.0.0.1 (repeat for more)")
	f.StringVar(&c.TokensFile, "tokens-file", "", "`FILE` tokens, one per line: NAME SCOPES TOKEN (scopes: check,fetch,permit)")
	f.StringVar(&c.Store, "store", defaultStore(), "`PLACE` store of records: a file, memory, or a Redis URL such as redis://host:6379")
	duration(&c.Keep, "keep", 90*24*time.Hour, time.Hour, 10*365*24*time.Hour, "`DURATION` lifetime of records of sites that were requested again or are failing")
	duration(&c.KeepOnce, "keep-once", 14*24*time.Hour, time.Hour, 10*365*24*time.Hour, "`DURATION` lifetime of records of sites that were requested once")
	f.BoolVar(&c.AllowEviction, "allow-eviction", false, "accept a Redis that evicts keys when its memory is full")
	f.BoolVar(&c.RedisOptional, "redis-optional", false, "stay ready while Redis is unavailable")
	size(&c.Memory, "memory", 256<<20, 1<<20, 1<<40, "`SIZE` memory for records and sites, at least 64MiB with Redis")
	f.StringVar(&c.Dialect, "dialect", robots.RFC9309.Name, "`NAME` dialect for requests that name none, or auto: that of the crawler")
	f.StringVar(&c.UserAgent, "user-agent", "", "`HEADER` User-Agent of robots.txt requests")
	duration(&c.FetchTimeout, "timeout", 30*time.Second, time.Millisecond, 24*time.Hour, "`DURATION` timeout per robots.txt fetch, redirects included")
	f.StringArrayVar(&c.AddressPaces, "address-pace", nil, "`PREFIX=RATE` rate limit for each address of a prefix: 104.16.0.0/13=50/s (repeat for more)")
	f.BoolVar(&c.FTP, "ftp", false, "fetch ftp URLs")
	f.BoolVar(&c.AllowPrivate, "allow-private", false, "fetch from private networks and this machine, for an intranet")
	number(&c.ClientRate, "client-rate", 200, 0, 1e6, "`N` questions per second of an unauthenticated client, 0 for no limit")
	number(&c.ClientBurst, "client-burst", 1000, 1, 1e6, "`N` questions at once of an unauthenticated client; each question of a batch counts")
	number(&c.NewOrigins, "new-origins", 20, 1, 1e6, "`N` new sites per minute that an unauthenticated client can have fetched")
	number(&c.Concurrency, "concurrency", 0, 0, 1<<16, "`N` requests processed at a time, 0 for one per core")
	number(&c.Fetches, "fetches", 256, 1, 1<<16, "`N` sites whose robots.txt is fetched or awaited at a time")
	number(&c.Queue, "queue", 1024, 0, 1<<20, "`N` requests that can wait in the queue; further requests get status 503")
	duration(&c.QueueTime, "queue-time", time.Second, time.Millisecond, time.Minute, "`DURATION` maximum time in the queue")
	size(&c.HeaderBytes, "header-size", 16<<10, 4<<10, 1<<20, "`SIZE` maximum size of request headers")
	size(&c.URLBytes, "url-size", 8<<10, 1<<10, 1<<20, "`SIZE` maximum size of a URL")
	size(&c.BodyBytes, "body-size", 1<<20, 1<<10, 1<<30, "`SIZE` maximum size of a body")
	size(&c.BatchBytes, "batch-size", 8<<20, 1<<10, 1<<30, "`SIZE` maximum size of a batch")
	duration(&c.HeaderTime, "header-time", 5*time.Second, time.Millisecond, time.Hour, "`DURATION` timeout for request headers")
	duration(&c.BodyTime, "body-time", 15*time.Second, time.Millisecond, time.Hour, "`DURATION` timeout for a body")
	duration(&c.WriteTime, "write-time", 30*time.Second, time.Millisecond, time.Hour, "`DURATION` timeout for a client to read a response")
	duration(&c.IdleTime, "idle-time", time.Minute, time.Millisecond, time.Hour, "`DURATION` timeout of idle connections")
	duration(&c.DrainDelay, "drain-delay", 0, 0, time.Hour, "`DURATION` delay between not ready and closing after SIGTERM, for load balancers")
	duration(&c.Grace, "grace", 30*time.Second, 0, time.Hour, "`DURATION` timeout for accepted requests at the end")
	f.BoolVar(&c.LogURLs, "log-urls", false, "log the query strings of URLs")
	f.BoolVar(&c.Demo, "demo", false, "serve six demo sites on loopback, and store nothing")
	return f
}

// defaultStore is a file in the user's cache folder, "" without one.
func defaultStore() string {
	folder, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(folder, "robots", "serve.cache")
}

// envName returns the environment variable of a flag: ROBOTS_DRAIN_DELAY.
func envName(flag string) string {
	return "ROBOTS_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Load sets the flags that the command line left unset: from environment variables, else from the YAML file, if its name is not
// empty. It checks c and returns the origin of each setting by its name: flag, a variable, FILE:LINE, demo or default. The error
// names the origin.
func (c *Config) Load(f *pflag.FlagSet, env func(string) (string, bool), path string) (map[string]string, error) {
	origins := map[string]string{}
	c.where = map[string]string{}
	set := func(flag *pflag.Flag, origin, place string, values ...string) error {
		origins[flag.Name], c.where[flag.Name] = origin, place
		for _, value := range values {
			if err := flag.Value.Set(value); err != nil {
				return fmt.Errorf("%s: invalid value %q; write %s", place, ask.Clip(value), ask.Kinds[flag.Value.Type()])
			}
		}
		return nil
	}
	settings, err := readFile(path, f)
	if err != nil {
		return nil, err
	}
	f.VisitAll(func(flag *pflag.Flag) {
		text, _ := env(envName(flag.Name))
		node := settings[flag.Name]
		_, list := flag.Value.(pflag.SliceValue)
		switch {
		case err != nil:
		case flag.Changed:
			err = set(flag, "flag", "--"+flag.Name)
		case text != "" && list:
			err = set(flag, envName(flag.Name), envName(flag.Name), strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })...)
		case text != "":
			err = set(flag, envName(flag.Name), envName(flag.Name), text)
		case node != nil:
			origin := fmt.Sprintf("%s:%d", path, node.Line)
			nodes, values := []*yaml.Node{node}, []string(nil)
			if list && node.Kind == yaml.SequenceNode {
				nodes = node.Content
			}
			for _, n := range nodes {
				if n.Kind != yaml.ScalarNode || yamlfile.IsNull(n) {
					err = fmt.Errorf("%s: %s needs a single value", origin, flag.Name)
				}
				values = append(values, n.Value)
			}
			err = cmp.Or(err, set(flag, origin, origin+": "+flag.Name, values...))
		default:
			_ = set(flag, "default", "--"+flag.Name)
		}
	})
	if err != nil {
		return nil, err
	}
	if c.Tokens, _ = env("ROBOTS_TOKENS"); c.Tokens != "" {
		c.where["tokens"] = "ROBOTS_TOKENS"
	}
	if c.Demo {
		if origins["store"] != "default" {
			return nil, fmt.Errorf("%s cannot be used with --demo, which stores nothing", c.where["store"])
		}
		c.Store, origins["store"] = "memory", "demo"
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	return origins, nil
}

// readFile reads a file of settings: a YAML mapping of flag names to values and lists.
func readFile(path string, f *pflag.FlagSet) (map[string]*yaml.Node, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if at, ok := errors.AsType[*os.PathError](err); ok {
		return nil, fmt.Errorf("cannot read %s: %w", path, at.Err)
	}
	known := []string{"tokens"}
	f.VisitAll(func(flag *pflag.Flag) { known = append(known, flag.Name) })
	file := yamlfile.File{Name: path}
	settings := file.Read(text, known...)
	if n := settings["tokens"]; n != nil {
		file.Wrong(n, "tokens cannot be in this file; set ROBOTS_TOKENS, or name a file with tokens-file")
	}
	return settings, errors.Join(file.Mistakes...)
}

// TimeText writes a duration without trailing zeros: 90s as 1m30s, 24h as 24h.
func TimeText(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// A Size is a number of bytes, written as 64MiB or 16384.
type Size int64

var units = []struct {
	name  string
	bytes Size
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1}}

// Set reads a size.
func (s *Size) Set(text string) error {
	for _, u := range units {
		if number, ok := strings.CutSuffix(text, u.name); ok {
			n, err := strconv.ParseInt(number, 10, 64)
			if err != nil || n < 0 || n > int64(1<<40/u.bytes) {
				break
			}
			*s = Size(n) * u.bytes
			return nil
		}
	}
	return errors.New("not a size such as 64MiB or 16384")
}

// Type returns size.
func (s *Size) Type() string { return "size" }

// String returns the size in the largest unit without a fraction.
func (s Size) String() string {
	for _, u := range units {
		if s >= u.bytes && s%u.bytes == 0 {
			return strconv.FormatInt(int64(s/u.bytes), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// check returns what is wrong with the configuration, in one sentence.
func (c *Config) check() error {
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
			return c.bad("admin", "%s can be reached by other machines, and shows profiles of the process; use a loopback address, or add --public", admin)
		}
	}
	switch {
	case listen.Addr().IsLoopback():
	case !c.Public:
		return c.bad("listen", "%s can be reached by other machines; add --public to allow it", listen)
	case c.Tokens == "" && c.TokensFile == "" && !c.Anonymous:
		return c.bad("listen", "%s can be reached by other machines; name a file of tokens with --tokens-file, or add --anonymous to answer any client", listen)
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
