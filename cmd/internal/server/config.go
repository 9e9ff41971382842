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
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/pace"
)

// A Config is all that a service can be told. Each field is a row of settings,
// which has its name, its default and what it means. Load reads one.
type Config struct {
	Listen, Admin           string
	Public, Anonymous       bool
	Hosts, CORS             []string
	TrustedProxies          []string
	TokensFile, Tokens      string
	Store                   string
	Keep, KeepOnce          time.Duration
	AllowEviction           bool
	RedisOptional           bool
	Memory                  int64
	Dialect                 string
	UserAgent               string
	FetchTimeout            time.Duration
	AddressPaces            []string
	FTP                     bool
	ClientRate, ClientBurst int
	NewOrigins              int
	Concurrency, Fetches    int
	Queue                   int
	QueueTime               time.Duration
	HeaderBytes, URLBytes   int64
	BodyBytes, BatchBytes   int64
	HeaderTime, BodyTime    time.Duration
	WriteTime, IdleTime     time.Duration
	DrainDelay, Grace       time.Duration
	LogURLs                 bool
	Demo                    bool
}

// A Setting is a field of Config: a flag, a variable of the environment and a key
// of the file, all of one name.
type Setting struct {
	Name  string // of the flag and the key: drain-delay
	Usage string // the value in backquotes, as package flag has it
	// Secret is a value that is never shown and that no command line and no file of
	// settings may hold: it comes from the environment.
	Secret bool

	initial any               // the default, of the type of the field
	field   func(*Config) any // a pointer to it
}

// Env is the name of its variable: ROBOTS_DRAIN_DELAY.
func (s *Setting) Env() string {
	return "ROBOTS_" + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// Switch reports whether it is true or false.
func (s *Setting) Switch() bool { _, ok := s.initial.(bool); return ok }

// List reports whether it has any number of values. In the environment they are
// separated by commas.
func (s *Setting) List() bool { _, ok := s.initial.([]string); return ok }

// Default is the value without any other, as it is written.
func (s *Setting) Default() string {
	var c Config
	s.fill(&c)
	return strings.Join(s.texts(&c), ",")
}

// A size is a number of bytes. It is a type of its own in the table alone.
type size int64

var settings = []Setting{
	{Name: "listen", initial: "127.0.0.1:8780", field: func(c *Config) any { return &c.Listen },
		Usage: "serve at this `ADDRESS`, an IP address and a port"},
	{Name: "admin", initial: "127.0.0.1:8781", field: func(c *Config) any { return &c.Admin },
		Usage: "serve health, metrics and profiles at this `ADDRESS`, none for nowhere"},
	{Name: "public", initial: false, field: func(c *Config) any { return &c.Public },
		Usage: "allow an address that other machines reach"},
	{Name: "anonymous", initial: false, field: func(c *Config) any { return &c.Anonymous },
		Usage: "answer callers without a token, within the bounds for strangers"},
	{Name: "host", initial: []string(nil), field: func(c *Config) any { return &c.Hosts },
		Usage: "answer to this `NAME` in Host too, beside localhost and loopback addresses"},
	{Name: "cors", initial: []string(nil), field: func(c *Config) any { return &c.CORS },
		Usage: "let pages of this `ORIGIN` ask, as in https://tools.example"},
	{Name: "trusted-proxy", initial: []string(nil), field: func(c *Config) any { return &c.TrustedProxies },
		Usage: "believe the X-Forwarded-For of this `PREFIX`, as in 10.0.0.0/8 or 127.0.0.1"},
	{Name: "tokens-file", initial: "", field: func(c *Config) any { return &c.TokensFile },
		Usage: "read tokens from this `FILE`, a line each: NAME SCOPES TOKEN, with the\nscopes check, fetch and permit between commas"},
	{Name: "tokens", initial: "", field: func(c *Config) any { return &c.Tokens }, Secret: true,
		Usage: "the `LINES` of such a file themselves"},
	{Name: "store", initial: "", field: func(c *Config) any { return &c.Store },
		Usage: "keep what is fetched in this `PLACE`: a file, memory, or the Redis of a\nfleet, as in redis://host:6379"},
	{Name: "keep", initial: 90 * 24 * time.Hour, field: func(c *Config) any { return &c.Keep },
		Usage: "keep records in the store for this `TIME` if they were asked for again, or\nthe site fails; they are fetched again long before"},
	{Name: "keep-once", initial: 14 * 24 * time.Hour, field: func(c *Config) any { return &c.KeepOnce },
		Usage: "keep those of sites that were asked for once for this `TIME`"},
	{Name: "allow-eviction", initial: false, field: func(c *Config) any { return &c.AllowEviction },
		Usage: "use a Redis that drops keys when its memory is full"},
	{Name: "redis-optional", initial: false, field: func(c *Config) any { return &c.RedisOptional },
		Usage: "be ready while Redis is away"},
	{Name: "memory", initial: size(256 << 20), field: func(c *Config) any { return &c.Memory },
		Usage: "use this `SIZE` of memory at most for records and the pace of sites; with\na Redis 64MiB or more"},
	{Name: "dialect", initial: robots.RFC9309.Name, field: func(c *Config) any { return &c.Dialect },
		Usage: "read files as `NAME` does where a question does not say"},
	{Name: "user-agent", initial: "", field: func(c *Config) any { return &c.UserAgent },
		Usage: "the User-Agent `STRING` of requests for robots.txt"},
	{Name: "timeout", initial: 30 * time.Second, field: func(c *Config) any { return &c.FetchTimeout },
		Usage: "most `TIME` for one robots.txt, redirects included"},
	{Name: "address-pace", initial: []string(nil), field: func(c *Config) any { return &c.AddressPaces },
		Usage: "ask each address of a prefix at this `PREFIX=RATE`, as in 104.16.0.0/13=50/s"},
	{Name: "ftp", initial: false, field: func(c *Config) any { return &c.FTP },
		Usage: "fetch ftp URLs too"},
	{Name: "client-rate", initial: 200, field: func(c *Config) any { return &c.ClientRate },
		Usage: "most questions per second of one client, `N`, 0 for no bound"},
	{Name: "client-burst", initial: 1000, field: func(c *Config) any { return &c.ClientBurst },
		Usage: "most questions at once of one client, `N`; a batch costs its questions"},
	{Name: "new-origins", initial: 20, field: func(c *Config) any { return &c.NewOrigins },
		Usage: "most robots.txt per minute that a stranger may have fetched, `N`"},
	{Name: "concurrency", initial: 0, field: func(c *Config) any { return &c.Concurrency },
		Usage: "work on `N` requests at a time, 0 for one per core"},
	{Name: "fetches", initial: 256, field: func(c *Config) any { return &c.Fetches },
		Usage: "beside these let `N` requests wait for sites"},
	{Name: "queue", initial: 1024, field: func(c *Config) any { return &c.Queue },
		Usage: "let `N` requests wait for their turn; more get 503"},
	{Name: "queue-time", initial: time.Second, field: func(c *Config) any { return &c.QueueTime },
		Usage: "most `TIME` in that queue"},
	{Name: "header-size", initial: size(16 << 10), field: func(c *Config) any { return &c.HeaderBytes },
		Usage: "most `SIZE` of the head of a request"},
	{Name: "url-size", initial: size(8 << 10), field: func(c *Config) any { return &c.URLBytes },
		Usage: "most `SIZE` of its URL"},
	{Name: "body-size", initial: size(1 << 20), field: func(c *Config) any { return &c.BodyBytes },
		Usage: "most `SIZE` of its body"},
	{Name: "batch-size", initial: size(8 << 20), field: func(c *Config) any { return &c.BatchBytes },
		Usage: "most `SIZE` of the body of a batch"},
	{Name: "header-time", initial: 5 * time.Second, field: func(c *Config) any { return &c.HeaderTime },
		Usage: "most `TIME` for the head of a request"},
	{Name: "body-time", initial: 15 * time.Second, field: func(c *Config) any { return &c.BodyTime },
		Usage: "most `TIME` for its body"},
	{Name: "write-time", initial: 30 * time.Second, field: func(c *Config) any { return &c.WriteTime },
		Usage: "most `TIME` for a client to take an answer"},
	{Name: "idle-time", initial: time.Minute, field: func(c *Config) any { return &c.IdleTime },
		Usage: "keep a connection without requests for this `TIME`"},
	{Name: "drain-delay", initial: time.Duration(0), field: func(c *Config) any { return &c.DrainDelay },
		Usage: "after SIGTERM serve for this `TIME` while not ready, so that balancers see it"},
	{Name: "grace", initial: 30 * time.Second, field: func(c *Config) any { return &c.Grace },
		Usage: "then finish what was accepted within this `TIME`"},
	{Name: "log-urls", initial: false, field: func(c *Config) any { return &c.LogURLs },
		Usage: "log URLs with their queries"},
	{Name: "demo", initial: false, field: func(c *Config) any { return &c.Demo },
		Usage: "serve six sites on loopback to try it with, and keep nothing"},
}

// Settings returns all settings, in the order in which they are explained.
func Settings() []Setting { return slices.Clone(settings) }

func (s *Setting) fill(c *Config) {
	switch v := s.initial.(type) {
	case string:
		if s.Name == "store" {
			v = defaultStore()
		}
		*s.field(c).(*string) = v
	case bool:
		*s.field(c).(*bool) = v
	case int:
		*s.field(c).(*int) = v
	case size:
		*s.field(c).(*int64) = int64(v)
	case time.Duration:
		*s.field(c).(*time.Duration) = v
	case []string:
		*s.field(c).(*[]string) = nil
	}
}

// defaultStore is a file in the user's folder for caches, "" if he has none.
func defaultStore() string {
	folder, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(folder, "robots", "serve.cache")
}

// set reads the value from text, of a list from several. The error is what the
// text is not.
func (s *Setting) set(c *Config, texts ...string) error {
	if s.List() {
		*s.field(c).(*[]string) = texts
		return nil
	}
	if len(texts) != 1 {
		return errors.New("takes one value")
	}
	text := texts[0]
	quoted := strconv.Quote(ask.Clip(text))
	switch s.initial.(type) {
	case string:
		*s.field(c).(*string) = text
	case bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New(quoted + " is neither true nor false")
		}
		*s.field(c).(*bool) = b
	case int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return errors.New(quoted + " is not a whole number")
		}
		*s.field(c).(*int) = n
	case size:
		n, ok := parseSize(text)
		if !ok {
			return errors.New(quoted + " is not a size such as 64MiB or 16384")
		}
		*s.field(c).(*int64) = n
	case time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return errors.New(quoted + " is not a time such as 10s or 1m30s")
		}
		*s.field(c).(*time.Duration) = d
	}
	return nil
}

// texts is the value as it would be written, one text for each value of a list.
func (s *Setting) texts(c *Config) []string {
	switch v := s.field(c).(type) {
	case *string:
		return []string{*v}
	case *bool:
		return []string{strconv.FormatBool(*v)}
	case *int:
		return []string{strconv.Itoa(*v)}
	case *int64:
		return []string{formatSize(*v)}
	case *time.Duration:
		return []string{timeText(*v)}
	case *[]string:
		return *v
	}
	return nil
}

// timeText writes a time without the zeros at its end: 90s as 1m30s, 24h as 24h.
func timeText(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

var units = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1}}

func parseSize(text string) (int64, bool) {
	for _, u := range units {
		if number, ok := strings.CutSuffix(text, u.name); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			return n * u.bytes, err == nil && n >= 0 && n <= 1<<40/u.bytes
		}
	}
	return 0, false
}

func formatSize(n int64) string {
	for _, u := range units {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// A settingError says what is wrong with the value of one setting.
type settingError struct{ name, text string }

func (e *settingError) Error() string { return e.name + " " + e.text }

// Check returns what is wrong with the configuration, in one sentence.
func (c *Config) Check() error {
	for _, check := range []func() error{c.checkAddresses, c.checkCallers, c.checkStore, c.checkBounds} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func bad(name, format string, args ...any) error {
	return &settingError{name, fmt.Sprintf(format, args...)}
}

func (c *Config) checkAddresses() error {
	listen, err := netip.ParseAddrPort(c.Listen)
	if err != nil {
		return bad("listen", "%q is not an IP address and a port such as 127.0.0.1:8780", ask.Clip(c.Listen))
	}
	if c.Admin != "none" {
		admin, err := netip.ParseAddrPort(c.Admin)
		switch {
		case err != nil:
			return bad("admin", "%q is not an IP address and a port such as 127.0.0.1:8781, nor none", ask.Clip(c.Admin))
		case admin == listen && admin.Port() != 0:
			return bad("admin", "is the address of listen: give it one of its own")
		case !admin.Addr().IsLoopback() && !c.Public:
			return bad("admin", "%s can be reached by other machines, and shows profiles of the process: give a loopback address, or --public too", admin)
		}
	}
	switch {
	case listen.Addr().IsLoopback():
	case !c.Public:
		return bad("listen", "%s can be reached by other machines: give --public too if that is meant", listen)
	case c.Tokens == "" && c.TokensFile == "" && !c.Anonymous:
		return bad("listen", "%s can be reached by other machines: name a file of tokens in --tokens-file, or give --anonymous if strangers may ask", listen)
	}
	for _, h := range c.Hosts {
		if name, _ := hostOf(h); name != strings.ToLower(h) || name == "" || strings.ContainsAny(h, "*/@? ") {
			return bad("host", "%q is not a name as in Host, without a port, such as robots.example", ask.Clip(h))
		}
	}
	return nil
}

func (c *Config) checkCallers() error {
	for _, o := range c.CORS {
		origin, path, err := robots.ParseURL(o)
		if err != nil || path.String() != "/" || origin.String() != o {
			return bad("cors", "%q is not an origin such as https://tools.example", ask.Clip(o))
		}
	}
	for _, p := range c.TrustedProxies {
		if _, err := parsePrefix(p); err != nil {
			return bad("trusted-proxy", "%q is not an address or a prefix such as 10.0.0.0/8", ask.Clip(p))
		}
	}
	if c.Tokens != "" && c.TokensFile != "" {
		return bad("tokens", "and tokens-file are both given: one of them is enough")
	}
	return nil
}

func (c *Config) checkStore() error { // and how is fetched
	redis := c.Shared()
	switch {
	case c.Store == "":
		return bad("store", "is empty, and this user has no folder for caches: name a file, a redis:// URL, or memory")
	case strings.Contains(c.Store, "://") && !redis:
		return bad("store", "is no URL of Redis: it begins with redis://, rediss:// or unix://")
	case redis && c.Memory < fleet.MinMemoryBytes:
		return bad("memory", "%s is less than a server of a fleet needs, %s", formatSize(c.Memory), formatSize(fleet.MinMemoryBytes))
	case c.KeepOnce > c.Keep:
		return bad("keep-once", "%s is more than keep, %s", timeText(c.KeepOnce), timeText(c.Keep))
	case c.AllowEviction && !redis:
		return bad("allow-eviction", "has no use without a Redis")
	case c.RedisOptional && !redis:
		return bad("redis-optional", "has no use without a Redis")
	}
	for _, text := range c.AddressPaces {
		if _, err := pace.ParseAddressPace(text); err != nil {
			return bad("address-pace", "%q: %s", ask.Clip(text), err)
		}
	}
	if _, err := ask.Dialect(c.Dialect); err != nil {
		return bad("dialect", "cannot be used: %s", err)
	}
	return nil
}

// Shared reports whether the store is a Redis.
func (c *Config) Shared() bool {
	scheme, _, ok := strings.Cut(c.Store, "://")
	return ok && slices.Contains(fleet.Schemes(), scheme)
}

func (c *Config) checkBounds() error {
	for _, b := range []struct {
		name        string
		value       int
		least, most int
	}{
		{"client-rate", c.ClientRate, 0, 1e6},
		{"client-burst", c.ClientBurst, 1, 1e6},
		{"new-origins", c.NewOrigins, 1, 1e6},
		{"concurrency", c.Concurrency, 0, 1 << 16},
		{"fetches", c.Fetches, 1, 1 << 16},
		{"queue", c.Queue, 0, 1 << 20},
	} {
		if b.value < b.least || b.value > b.most {
			return bad(b.name, "%d is out of its bounds, %d to %d", b.value, b.least, b.most)
		}
	}
	for _, b := range []struct {
		name        string
		value       int64
		least, most int64
	}{
		{"memory", c.Memory, 1 << 20, 1 << 40},
		{"header-size", c.HeaderBytes, 4 << 10, 1 << 20},
		{"url-size", c.URLBytes, 1 << 10, 1 << 20},
		{"body-size", c.BodyBytes, 1 << 10, 1 << 30},
		{"batch-size", c.BatchBytes, 1 << 10, 1 << 30},
	} {
		if b.value < b.least || b.value > b.most {
			return bad(b.name, "%s is out of its bounds, %s to %s", formatSize(b.value), formatSize(b.least), formatSize(b.most))
		}
	}
	if c.URLBytes > c.HeaderBytes {
		return bad("url-size", "%s is more than header-size, %s, which holds the URL", formatSize(c.URLBytes), formatSize(c.HeaderBytes))
	}
	for _, b := range []struct {
		name        string
		value       time.Duration
		least, most time.Duration
	}{
		{"timeout", c.FetchTimeout, time.Millisecond, 24 * time.Hour},
		{"keep", c.Keep, time.Hour, 10 * 365 * 24 * time.Hour},
		{"keep-once", c.KeepOnce, time.Hour, 10 * 365 * 24 * time.Hour},
		{"queue-time", c.QueueTime, time.Millisecond, time.Minute},
		{"header-time", c.HeaderTime, time.Millisecond, time.Hour},
		{"body-time", c.BodyTime, time.Millisecond, time.Hour},
		{"write-time", c.WriteTime, time.Millisecond, time.Hour},
		{"idle-time", c.IdleTime, time.Millisecond, time.Hour},
		{"drain-delay", c.DrainDelay, 0, time.Hour},
		{"grace", c.Grace, 0, time.Hour},
	} {
		if b.value < b.least || b.value > b.most {
			return bad(b.name, "%s is out of its bounds, %s to %s", timeText(b.value), timeText(b.least), timeText(b.most))
		}
	}
	return nil
}

// parsePrefix reads a prefix, or an address as the prefix that holds it alone.
func parsePrefix(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap().Prefix(a.Unmap().BitLen())
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err
}

// hostOf returns the name of a Host without its port, in lower case, or the
// address if it is one. It is "" of what is no host.
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

// A Value is a setting with what it is set to and by what.
type Value struct {
	*Setting
	Texts  []string // hidden of a secret, and the password of a URL
	Origin string   // flag, the name of a variable, file:line, or default
}

// Sources are where a configuration comes from.
type Sources struct {
	Flags map[string][]string              // what the command line gives, by the names of settings
	Env   func(name string) (string, bool) // os.LookupEnv
	File  string                           // of settings; if empty the one that ROBOTS_CONFIG names, or none
}

// Load reads the configuration and checks it. A flag counts before the
// environment, that before the file, and that before the default. The values are
// all settings, in order. The error is one sentence that says where.
func Load(from Sources) (*Config, []Value, error) {
	file, _ := from.Env("ROBOTS_CONFIG")
	file = cmp.Or(from.File, file)
	var lines map[string]fileValue
	if file != "" {
		var err error
		if lines, err = readFile(file); err != nil {
			return nil, nil, err
		}
	}
	c := new(Config)
	values := make([]Value, len(settings))
	where := map[string]string{} // how messages name a setting
	for i := range settings {
		s := &settings[i]
		s.fill(c)
		v := &values[i]
		*v = Value{Setting: s, Origin: "default"}
		env, inEnv := from.Env(s.Env())
		flag, inFlags := from.Flags[s.Name]
		line, inFile := lines[s.Name]
		var err error
		switch {
		case inFlags:
			v.Origin, where[s.Name] = "flag", "--"+s.Name
			err = s.set(c, flag...)
		case inEnv && env != "":
			v.Origin, where[s.Name] = s.Env(), s.Env()
			if s.List() {
				err = s.set(c, split(env)...)
			} else {
				err = s.set(c, env)
			}
		case inFile:
			v.Origin = fmt.Sprintf("%s:%d", file, line.line)
			where[s.Name] = v.Origin + ": " + s.Name
			err = s.set(c, line.texts...)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s %w", where[s.Name], err)
		}
		v.Texts = s.texts(c)
		switch {
		case s.Secret && v.Texts[0] != "":
			v.Texts = []string{"(hidden)"}
		case s.Name == "store":
			v.Texts = []string{withoutPassword(c.Store)}
		}
	}
	if c.Demo {
		store := &values[slices.IndexFunc(settings, func(s Setting) bool { return s.Name == "store" })]
		if store.Origin != "default" {
			return nil, nil, fmt.Errorf("%s has no use with --demo, which keeps nothing", where["store"])
		}
		c.Store, store.Texts, store.Origin = "memory", []string{"memory"}, "demo"
	}
	if err := c.Check(); err != nil {
		wrong := err.(*settingError) //nolint:errorlint // Check makes no others
		return nil, nil, fmt.Errorf("%s %s", cmp.Or(where[wrong.name], "--"+wrong.name), wrong.text)
	}
	return c, values, nil
}

// split returns the values of a list in the environment.
func split(text string) (list []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// withoutPassword hides that of a URL.
func withoutPassword(place string) string {
	scheme, rest, isURL := strings.Cut(place, "://")
	at := strings.LastIndexByte(rest, '@')
	if !isURL || at < 0 {
		return place
	}
	user, _, has := strings.Cut(rest[:at], ":")
	if has {
		user += ":(hidden)"
	}
	return scheme + "://" + user + rest[at:]
}
