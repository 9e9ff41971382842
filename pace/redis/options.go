package redis

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/internal/limiters"
)

// Options are the settings of a Limiter. The zero value is right for one fleet on one Redis.
type Options struct {
	// Options are the settings of every limiter. Concurrency, AddressInterval, FetchInterval,
	// Addresses and Lifetime are stored in Redis, set by the first worker of the fleet: a zero
	// field takes the fleet's value, and New refuses a different value. Now and MaxBytes are not
	// used: the server's maxmemory bounds what it keeps.
	pace.Options
	// Prefix begins all keys: "robots" if empty. Fleets that share a server and nothing else
	// have different ones. It is at most 64 bytes without braces, spaces and control characters.
	Prefix string
	// Name is shown to operators: the name of the host and the number of the process if empty,
	// at most 100 bytes.
	Name string
	// RecordsOnly is for a worker that only fetches robots.txt (StartFetch): it acquires no
	// permits.
	RecordsOnly bool

	callerOptions pace.Options  // as New got them
	heartbeat     time.Duration // how often a worker sends one
}

// shared is what this limiter has in common with pace.Local.
var shared = limiters.Of[pace.Options, pace.Request, pace.Permit]()

const maxName = 100

// name returns the name of this worker.
func (o Options) name() string {
	if o.Name != "" {
		return o.Name
	}
	host, _ := os.Hostname()
	return fmt.Sprintf("%.80s/%d", host, os.Getpid())
}

// Check returns what is wrong with the options, in one sentence, as New does. It is for
// a program that reads a configuration before there is a client.
func (o Options) Check() error {
	_, err := o.filled()
	return err
}

// filled returns the options with defaults. The error names the field that is wrong and the
// values that are right.
func (o Options) filled() (Options, error) {
	var err error
	o.callerOptions = o.Options
	if o.Options, err = shared.Fill(o.Options); err != nil {
		return o, err
	}
	if len(o.Name) > maxName {
		return o, fmt.Errorf("redis.Options.Name has %d bytes: at most %d are allowed", len(o.Name), maxName)
	}
	o.heartbeat = cmp.Or(o.heartbeat, heartbeatEvery)
	o.Prefix, err = script.Prefix(o.Prefix)
	return o, err
}

// Config is what all workers of a fleet have in common. It is stored in Redis, once for each
// part of the key space; the copy with the highest version applies.
type Config struct {
	Version         int
	Concurrency     int
	AddressInterval time.Duration
	FetchInterval   time.Duration
	Addresses       []pace.AddressPace `json:",omitempty"`
	Lifetime        time.Duration
	// Startable is for how long a permit that a server has confirmed may start its request without
	// another call: 50 ms if 0, and more if the round trips of some worker take longer.
	Startable time.Duration `json:",omitempty"`

	Held    []Held   `json:",omitempty"` // what an operator holds
	Drained []string `json:",omitempty"` // workers that acquire no permits, by id
}

// A Held is a target that an operator holds.
type Held struct {
	Target Target
	Until  time.Time // by the operator's clock
}

// settled returns a configuration with filled options, if no worker has set any yet.
func (c Config) settled(o pace.Options) Config {
	if c.Lifetime == 0 {
		c.Version++
		c.Concurrency = o.Concurrency
		c.AddressInterval = o.AddressInterval
		c.FetchInterval = o.FetchInterval
		c.Addresses = o.Addresses
		c.Lifetime = o.Lifetime
	}
	return c
}

// text returns the configuration as stored in Redis. It begins with the version in ten digits,
// so that the greater of two texts has the higher version.
func (c Config) text() string {
	body, _ := json.Marshal(c) // which has nothing that cannot be encoded
	return fmt.Sprintf("%010d %s", c.Version, body)
}

// parseConfig reads what text returned; "" is no configuration yet.
func parseConfig(text string) (c Config, err error) {
	if text == "" {
		return c, nil
	}
	_, body, _ := strings.Cut(text, " ")
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		return c, fmt.Errorf("the fleet's configuration is damaged: %w", err)
	}
	return c, nil
}

// Differs returns an error that names the options that are set and differ from the fleet's. With
// them no worker can join. As long as no worker has joined, Lifetime is 0 and nothing differs.
func (c Config) Differs(callerOptions pace.Options) error {
	o, err := shared.Fill(callerOptions)
	if err != nil {
		return err
	}
	var differences []string
	for _, d := range []struct {
		name          string
		set           bool
		fleet, worker any
	}{
		{"Concurrency", callerOptions.Concurrency != 0, c.Concurrency, o.Concurrency},
		{"AddressInterval", callerOptions.AddressInterval != 0, c.AddressInterval, o.AddressInterval},
		{"FetchInterval", callerOptions.FetchInterval != 0, c.FetchInterval, o.FetchInterval},
		{"Lifetime", callerOptions.Lifetime != 0, c.Lifetime, o.Lifetime},
		{"Addresses", len(callerOptions.Addresses) > 0, c.Addresses, o.Addresses},
	} {
		if d.set && c.Lifetime > 0 && !reflect.DeepEqual(d.fleet, d.worker) {
			differences = append(differences, fmt.Sprintf("the fleet's %s is %v and this worker's %v", d.name, d.fleet, d.worker))
		}
	}
	if len(differences) == 0 {
		return nil
	}
	return errors.New(strings.Join(differences, "; "))
}

// config is a Config as a worker uses it.
type config struct {
	Config
	text     string // "" if it is in no server yet
	settings pace.Options
	stop     error // why this worker acquires no permits, nil if it does
}

// configOf returns the configuration of a text for a worker. One that does not fit keeps the
// worker from acquiring permits.
func (l *Limiter) configOf(text string) *config {
	read, err := parseConfig(text)
	c := read.settled(l.options.Options)
	if c.Version > read.Version {
		text = c.text()
	}
	if err == nil {
		if err = c.Differs(l.options.callerOptions); err != nil {
			err = fmt.Errorf("%w: leave it unset to use the fleet's, or change the fleet's", err)
		}
	}
	if err != nil {
		return &config{text: text, settings: *l.settings(), stop: err}
	}
	o := l.options.Options
	o.Concurrency = c.Concurrency
	o.AddressInterval = c.AddressInterval
	o.FetchInterval = c.FetchInterval
	o.Addresses = c.Addresses
	o.Lifetime = c.Lifetime
	if slices.Contains(c.Drained, hex.EncodeToString(l.worker[:])) {
		err = ErrDrained
	}
	return &config{c, text, o, err}
}

// heldUntil returns the end of the hold of an origin, the zero time if there is none.
func (c Config) heldUntil(o robots.Origin, now time.Time) (until time.Time) {
	if len(c.Held) == 0 {
		return until
	}
	origin := Target(o.String())
	host := Target(o.Host())
	for _, h := range c.Held {
		if (h.Target == All || h.Target == origin || h.Target == host) && h.Until.After(now) {
			until = latest(until, h.Until)
		}
	}
	return until
}

// A Target is what is held: an origin, or a host with all its schemes and ports, or All.
type Target string

// All is the target of all sites.
const All Target = ""

// ParseTarget reads an origin such as https://example.com, or a host such as example.com for
// all its schemes and ports. With an error there is no target: the zero value is All.
func ParseTarget(s string) (t Target, err error) {
	wrong := func(what string) error {
		return fmt.Errorf("%.200q %s: give an origin such as https://example.com, or a host", s, what)
	}
	text := s
	isHost := !strings.Contains(s, "://")
	if isHost {
		text = "http://" + s
	}
	origin, path, err := robots.ParseURL(text)
	switch {
	case err != nil || s == "" || strings.Contains(s, "*"):
		return t, wrong("is not an origin")
	case path.String() != "/" || strings.ContainsAny(s, "?#@"):
		return t, wrong("has more than an origin")
	case isHost && strings.LastIndex(s, ":") > strings.LastIndex(s, "]"):
		return t, wrong("has a port and no scheme")
	}
	if isHost {
		return Target(origin.Host()), nil
	}
	return Target(origin.String()), nil
}

// Origin returns the origin that is held, the zero value for a host and All.
func (t Target) Origin() (o robots.Origin) {
	if strings.Contains(string(t), "://") {
		o, _, _ = robots.ParseURL(string(t)) // as ParseTarget did
	}
	return o
}

// String returns the origin, the host, or "all sites".
func (t Target) String() string { return cmp.Or(string(t), "all sites") }
