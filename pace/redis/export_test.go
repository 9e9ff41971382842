package redis

import (
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
)

// WithHeartbeat returns options with other heartbeats.
func WithHeartbeat(o Options, every time.Duration) Options {
	o.heartbeat = every
	return o
}

// OriginOf returns the origin of a host.
func OriginOf(t testing.TB, host string) robots.Origin {
	t.Helper()
	o, _, err := robots.ParseURL("http://" + host + "/")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Steady returns a schedule of one request per interval.
func Steady(t testing.TB, interval time.Duration) *pace.Schedule {
	t.Helper()
	s, err := pace.NewSchedule(nil, pace.Policy{Default: interval})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// StateKey returns the key of an origin or address.
func StateKey(prefix, of string) string { return (&nodes{prefix: prefix}).stateKey(of) }

// Startable is for how long a permit is usable without a look at the server.
const Startable = startable
