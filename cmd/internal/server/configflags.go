package server

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/spf13/pflag"
)

// flagSet makes the flags of a configuration, with the bounds of their values.
type flagSet struct {
	*pflag.FlagSet
	config *Config
}

func (f flagSet) number(p *int, name string, value, least, most int, usage string) {
	f.IntVar(p, name, value, usage)
	bound(f.config, p, name, least, most, strconv.Itoa)
}

func (f flagSet) size(p *Size, name string, value, least, most Size, usage string) {
	*p = value
	f.Var(p, name, usage)
	bound(f.config, p, name, least, most, Size.String)
}

func (f flagSet) duration(p *time.Duration, name string, value, least, most time.Duration, usage string) {
	f.DurationVar(p, name, value, usage)
	f.Lookup(name).DefValue = TimeText(value)
	bound(f.config, p, name, least, most, TimeText)
}

// Flags returns flags for the fields of c, which they set to their defaults.
func (c *Config) Flags() *pflag.FlagSet {
	f := flagSet{new(pflag.FlagSet), c}
	c.accessFlags(f)
	c.storeFlags(f)
	c.fetchFlags(f)
	c.limitFlags(f)
	c.timeFlags(f)
	f.BoolVar(&c.LogURLs, "log-urls", false, "log the query strings of URLs")
	f.BoolVar(&c.Demo, "demo", false, "serve six demo sites on loopback, and store nothing")
	return f.FlagSet
}

// accessFlags are where the service is reachable, and for whom.
func (c *Config) accessFlags(f flagSet) {
	f.StringVar(&c.Listen, "listen", "127.0.0.1:8780", "`ADDRESS` IP address and port to serve at")
	f.StringVar(&c.Admin, "admin", "127.0.0.1:8781", "`ADDRESS` IP address and port for health, metrics and profiles, or none")
	f.BoolVar(&c.Public, "public", false, "allow addresses that other machines can reach")
	f.BoolVar(&c.Anonymous, "anonymous", false, "answer clients without a token, within the limits for unauthenticated clients")
	f.StringArrayVar(&c.Hosts, "host", nil, "`NAME` host name to accept, other than localhost and loopback addresses (repeat for more)")
	f.StringArrayVar(&c.CORS, "cors", nil,
		"`ORIGIN` other site whose pages can send requests, such as https://tools.example (repeat for more)")
	f.StringArrayVar(&c.TrustedProxies, "trusted-proxy", nil,
		"`PREFIX` proxy whose X-Forwarded-For is trusted, such as 10.0.0.0/8 or 127.0.0.1 (repeat for more)")
	f.StringVar(&c.TokensFile, "tokens-file", "", "`FILE` tokens, one per line: NAME SCOPES TOKEN (scopes: check,fetch,permit)")
}

// storeFlags are what the service keeps, and where.
func (c *Config) storeFlags(f flagSet) {
	f.StringVar(&c.Store, "store", defaultStore(), "`PLACE` store of records: a file, memory, or a Redis URL such as redis://host:6379")
	f.duration(&c.Keep, "keep", 90*24*time.Hour, time.Hour, 10*365*24*time.Hour,
		"`DURATION` lifetime of records of sites that were requested again or are failing")
	f.duration(&c.KeepOnce, "keep-once", 14*24*time.Hour, time.Hour, 10*365*24*time.Hour,
		"`DURATION` lifetime of records of sites that were requested once")
	f.BoolVar(&c.AllowEviction, "allow-eviction", false, "accept a Redis that evicts keys when its memory is full")
	f.BoolVar(&c.RedisOptional, "redis-optional", false, "stay ready while Redis is unavailable")
	f.size(&c.Memory, "memory", 256<<20, 1<<20, 1<<40, "`SIZE` memory for records and sites, at least 64MiB with Redis")
}

// fetchFlags are about robots.txt requests.
func (c *Config) fetchFlags(f flagSet) {
	f.StringVar(&c.Dialect, "dialect", robots.RFC9309.Name, "`NAME` dialect for requests that name none, or auto: that of the crawler")
	f.StringVar(&c.UserAgent, "user-agent", "", "`HEADER` User-Agent of robots.txt requests")
	f.duration(&c.FetchTimeout, "timeout", 30*time.Second, time.Millisecond, 24*time.Hour,
		"`DURATION` timeout per robots.txt fetch, redirects included")
	f.StringArrayVar(&c.AddressPaces, "address-pace", nil,
		"`PREFIX=RATE` rate limit for each address of a prefix: 104.16.0.0/13=50/s (repeat for more)")
	f.BoolVar(&c.FTP, "ftp", false, "fetch ftp URLs")
	f.BoolVar(&c.AllowPrivate, "allow-private", false, "fetch from private networks and this machine, for an intranet")
}

// limitFlags are numbers and sizes of requests.
func (c *Config) limitFlags(f flagSet) {
	f.number(&c.ClientRate, "client-rate", 200, 0, 1e6, "`N` questions per second of an unauthenticated client, 0 for no limit")
	f.number(&c.ClientBurst, "client-burst", 1000, 1, 1e6,
		"`N` questions at once of an unauthenticated client; each question of a batch counts")
	f.number(&c.NewOrigins, "new-origins", 20, 1, 1e6, "`N` new sites per minute that an unauthenticated client can have fetched")
	f.number(&c.Concurrency, "concurrency", 0, 0, 1<<16, "`N` requests processed at a time, 0 for one per core")
	f.number(&c.Fetches, "fetches", 256, 1, 1<<16, "`N` sites whose robots.txt is fetched or awaited at a time")
	f.number(&c.Queue, "queue", 1024, 0, 1<<20, "`N` requests that can wait in the queue; further requests get status 503")
	f.size(&c.HeaderBytes, "header-size", 16<<10, 4<<10, 1<<20, "`SIZE` maximum size of request headers")
	f.size(&c.URLBytes, "url-size", 8<<10, 1<<10, 1<<20, "`SIZE` maximum size of a URL")
	f.size(&c.BodyBytes, "body-size", 1<<20, 1<<10, 1<<30, "`SIZE` maximum size of a body")
	f.size(&c.BatchBytes, "batch-size", 8<<20, 1<<10, 1<<30, "`SIZE` maximum size of a batch")
}

// timeFlags are the timeouts of a request, and those of the end of the service.
func (c *Config) timeFlags(f flagSet) {
	f.duration(&c.QueueTime, "queue-time", time.Second, time.Millisecond, time.Minute, "`DURATION` maximum time in the queue")
	f.duration(&c.HeaderTime, "header-time", 5*time.Second, time.Millisecond, time.Hour, "`DURATION` timeout for request headers")
	f.duration(&c.BodyTime, "body-time", 15*time.Second, time.Millisecond, time.Hour, "`DURATION` timeout for a body")
	f.duration(&c.WriteTime, "write-time", 30*time.Second, time.Millisecond, time.Hour, "`DURATION` timeout for a client to read a response")
	f.duration(&c.IdleTime, "idle-time", time.Minute, time.Millisecond, time.Hour, "`DURATION` timeout of idle connections")
	f.duration(&c.DrainDelay, "drain-delay", 0, 0, time.Hour,
		"`DURATION` delay between not ready and closing after SIGTERM, for load balancers")
	f.duration(&c.Grace, "grace", 30*time.Second, 0, time.Hour, "`DURATION` timeout for accepted requests at the end")
}

// defaultStore is a file in the user's cache folder, "" without one.
func defaultStore() string {
	folder, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(folder, "robots", "serve.cache")
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
