package redis_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace/redis"
)

var prefixes atomic.Int64

// fresh returns a prefix that no other limiter of the tests has.
func fresh() string { return fmt.Sprint("t", prefixes.Add(1)) }

func newLimiter(t testing.TB, c rueidis.Client, o redis.Options) *redis.Limiter {
	t.Helper()
	if o.Prefix == "" {
		o.Prefix = fresh()
	}
	l, err := redis.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

var (
	until    = redistest.Until
	stateKey = redis.StateKey
	originOf = redis.OriginOf
	steady   = redis.Steady
)
