package redis

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
)

// SetHeartbeat makes the heartbeats of limiters made later faster.
func SetHeartbeat(d time.Duration) { heartbeatEvery = d }

// NewLeasedFor is NewLeased with leases of another length.
func NewLeasedFor(client rueidis.Client, o Options, term time.Duration) (*Leased, error) {
	return newLeased(client, o, term)
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

// StateKey returns the key of an origin or address, such as "origin:http://a.example".
func StateKey(prefix, name string) string {
	kind, of, _ := strings.Cut(name, ":")
	return stateKey(prefix, kind, of)
}

// EpochKey returns the key of the epoch of the tag in which a cluster has an origin or address.
func EpochKey(prefix, of string) string { return tagHead(prefix, tagNumber(of)) + "epoch" }

// ServerEpochKey returns the key of the epoch of one server.
func ServerEpochKey(prefix string) string { return tagHead(prefix, 0) + "epoch" }

// TagKey returns a key of the tag in which an origin or address is.
func (l *Limiter) TagKey(of string) string { return l.tagOf(of).epochKey }
