package redis

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

// Options are the settings of a Limiter. The zero value is right for one fleet on one Redis.
type Options struct {
	// Options are the settings of every limiter. Concurrency, AddressInterval, FetchInterval,
	// Addresses and Lifetime lie in Redis, as the first worker of the fleet has them: a zero
	// field takes the fleet's value, and New refuses another one. Now and MaxBytes are not
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

	asked pace.Options // as New got them
}

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
	if o.Options, err = o.Filled(); err != nil {
		return o, err
	}
	if len(o.Name) > maxName {
		return o, fmt.Errorf("redis.Options.Name has %d bytes: at most %d are allowed", len(o.Name), maxName)
	}
	o.Prefix, err = script.Prefix(o.Prefix)
	return o, err
}

// Config is what all workers of a fleet have in common. It lies in Redis, in each part of the
// keys; the copy with the highest version counts.
type Config struct {
	Version         int
	Concurrency     int
	AddressInterval time.Duration
	FetchInterval   time.Duration
	Addresses       []pace.AddressPace `json:",omitempty"`
	Lifetime        time.Duration
	// Held are the hosts that an operator holds, with all schemes and ports.
	Held []HeldHost `json:",omitempty"`
}

// A HeldHost is a host that an operator holds.
type HeldHost struct {
	Host  string    // "" for all sites
	Until time.Time // by the operator's clock
}

// config is a Config as a worker uses it.
type config struct {
	Config
	text     string // "" if it is in no server yet
	settings pace.Options
}

// newConfig returns the configuration of options.
func newConfig(o pace.Options) Config {
	return Config{
		Version: 1, Concurrency: o.Concurrency, AddressInterval: o.AddressInterval, FetchInterval: o.FetchInterval,
		Addresses: o.Addresses, Lifetime: o.Lifetime,
	}
}

// versionDigits is how many digits a configuration begins with, so that of two texts the one
// with the higher version is greater.
const versionDigits = 10

// text returns the configuration as it lies in Redis.
func (c Config) text() string {
	body, _ := json.Marshal(c) // which has nothing that cannot be encoded
	return fmt.Sprintf("%0*d %s", versionDigits, c.Version, body)
}

// parseConfig reads what text returned.
func parseConfig(text string) (c Config, err error) {
	version, body, _ := strings.Cut(text, " ")
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		return c, fmt.Errorf("the fleet's configuration is damaged: %w", err)
	}
	c.Version, err = strconv.Atoi(version)
	return c, err
}

// apply returns options with the values of the configuration. The error names the first of
// the asked options that differs.
func (c Config) apply(o, asked pace.Options) (pace.Options, error) {
	differs := func(name string, fleet, worker any) error {
		return fmt.Errorf("the fleet's %s is %v and this worker's %v: leave it unset to use the fleet's, or change the fleet's", name, fleet, worker)
	}
	for _, d := range []struct {
		name         string
		asked        time.Duration
		worker, have time.Duration
	}{
		{"AddressInterval", asked.AddressInterval, o.AddressInterval, c.AddressInterval},
		{"FetchInterval", asked.FetchInterval, o.FetchInterval, c.FetchInterval},
		{"Lifetime", asked.Lifetime, o.Lifetime, c.Lifetime},
	} {
		if d.asked != 0 && d.worker != d.have {
			return o, differs(d.name, d.have, d.worker)
		}
	}
	if asked.Concurrency != 0 && o.Concurrency != c.Concurrency {
		return o, differs("Concurrency", c.Concurrency, o.Concurrency)
	}
	if len(asked.Addresses) > 0 && !slices.Equal(o.Addresses, c.Addresses) {
		return o, differs("Addresses", c.Addresses, o.Addresses)
	}
	o.Concurrency, o.AddressInterval, o.FetchInterval, o.Addresses, o.Lifetime = c.Concurrency, c.AddressInterval, c.FetchInterval, c.Addresses, c.Lifetime
	return o, nil
}

// heldUntil returns until when a host is held, the zero time if it is not.
func (c Config) heldUntil(o robots.Origin, now time.Time) (until time.Time) {
	for _, h := range c.Held {
		if (h.Host == "" || h.Host == o.Host()) && h.Until.After(now) && h.Until.After(until) {
			until = h.Until
		}
	}
	return until
}
