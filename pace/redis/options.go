package redis

import (
	"fmt"
	"os"
	"slices"

	"github.com/robotskit/robots/internal/script"
	"github.com/robotskit/robots/pace"
)

// Policy is what a worker does while Redis is down: a closed set.
type Policy uint8

const (
	// Divide goes on at the site's rate divided by the workers of the fleet.
	Divide Policy = iota
	// Stop starts nothing until Redis is back.
	Stop
)

var policies = [...]string{"divide", "stop"}

// String returns the name of the policy in flags.
func (p Policy) String() string {
	if int(p) < len(policies) {
		return policies[p]
	}
	return fmt.Sprintf("policy %d", p)
}

// MarshalText returns the name.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText accepts the names of String.
func (p *Policy) UnmarshalText(text []byte) error {
	i := slices.Index(policies[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown policy %.80q: it is divide or stop", text)
	}
	*p = Policy(i)
	return nil
}

// Options are the settings of a Limiter. All workers of a fleet should have the
// same, but for Workers. The zero value is right for one fleet on one Redis.
type Options struct {
	// Options are the settings of every limiter. Now is not used. MaxBytes bounds
	// what this process keeps for the time when Redis is down: 64 MiB if 0. What
	// the server keeps is bounded by its maxmemory.
	pace.Options
	// Prefix stands at the head of all keys: "robots" if empty. Fleets
	// that share a server and nothing else have different ones. It is at most 64
	// bytes without braces, spaces and control characters.
	Prefix string
	// WhenDown is what happens while Redis is down: Divide if zero.
	WhenDown Policy
	// Workers is the least number of workers to divide by. 0 for as many as were
	// last seen; a worker that never saw any then stops until it does.
	Workers int
	// Name is what an operator sees of this worker, and what the others are told where it
	// has a site (NewLeased): the name of the host and the number of the process if empty,
	// at most 100 bytes.
	Name string
	// RecordsOnly says that this worker takes no grants: it asks only when a fetch of
	// robots.txt may start (Limiter.Start), and so fits a fleet of New and one of NewLeased.
	RecordsOnly bool
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

// own returns the settings for the pace of this worker's own sites.
func (o Options) own() pace.Options {
	own := o.Options
	own.Now, own.Observe = nil, nil
	return own
}

// Check returns what is wrong with the options, in one sentence, as New does. It is for
// whoever reads a configuration before there is a client.
func (o Options) Check() error {
	_, err := o.filled()
	return err
}

// filled returns the options with defaults. The error names the field that is wrong and
// says what would be right.
func (o Options) filled() (Options, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = 64 << 20
	}
	o.Now = nil
	var err error
	if o.Options, err = o.Filled(); err != nil {
		return o, err
	}
	switch {
	case int(o.WhenDown) >= len(policies):
		return o, fmt.Errorf("redis.Options.WhenDown is %d: it must be Divide or Stop", o.WhenDown)
	case o.Workers < 0:
		return o, fmt.Errorf("redis.Options.Workers is %d: it must be 1 or more, or 0 for as many as were last seen", o.Workers)
	case len(o.Name) > maxName:
		return o, fmt.Errorf("redis.Options.Name has %d bytes: it may have %d", len(o.Name), maxName)
	}
	o.Prefix, err = script.Prefix(o.Prefix)
	return o, err
}
