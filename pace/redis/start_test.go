package redis_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// TestStart: the workers of a fleet fetch robots.txt from an address at one pace
// together, over an outage too, each then at its share.
func TestStart(t *testing.T) {
	const interval, workers = 50 * time.Millisecond, 4
	server := redistest.Start(t, redistest.Options{})
	o := redis.Options{Prefix: fresh(), Options: pace.Options{FetchInterval: interval}}
	var fleet []*redis.Limiter
	for range workers {
		fleet = append(fleet, newLimiter(t, server.Client(), o))
	}
	addr := netip.MustParseAddr("192.0.2.1")
	log := func(each int) (starts []time.Duration) {
		var mu sync.Mutex
		var all sync.WaitGroup
		began := time.Now()
		for _, l := range fleet {
			all.Go(func() {
				for range each {
					if err := l.Start(t.Context(), addr); err != nil {
						t.Error(err)
					}
					mu.Lock()
					starts = append(starts, time.Since(began))
					mu.Unlock()
				}
			})
		}
		all.Wait()
		slices.Sort(starts)
		return starts
	}
	for i, at := range log(6) {
		// What is late is late on its own: the next one is not for that.
		if least := time.Duration(i) * interval; at < least {
			t.Errorf("start %d after %v, want at least %v", i, at, least)
		}
	}
	damagedFetches(t, server, fleet[0], stateKey(o.Prefix, "address:192.0.2.1"), addr)
	server.Kill()
	log(1) // in which they notice
	for _, l := range fleet {
		if l.DownSince().IsZero() {
			t.Fatal("nobody has noticed that Redis is down")
		}
	}
	// At its share each worker waits four intervals for each of its starts.
	own := time.Now()
	for range 4 {
		if err := fleet[0].Start(t.Context(), addr); err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(own); took < 3*workers*interval {
		t.Errorf("4 starts of one worker while Redis is down in %v, want at least %v", took, 3*workers*interval)
	}
	fleet[1].Close()
	if err := fleet[1].Start(t.Context(), addr); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a closed limiter: %v", err)
	}
}

// damagedFetches: the clock was set back, or the key is damaged, and nobody waits for long.
func damagedFetches(t *testing.T, server *redistest.Server, l *redis.Limiter, key string, addr netip.Addr) {
	t.Helper()
	for _, value := range []string{ahead(24 * time.Hour), "rubbish"} {
		server.Do("SET", key, value)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if err := l.Start(ctx, addr); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		cancel()
		if left := server.Do("PTTL", key); len(left) > len(":100000") {
			t.Errorf("after %s: the next start is %s ms off", value, left)
		}
	}
	server.Do("DEL", key)
	server.Do("SADD", key, "x")
	if err := l.Start(t.Context(), addr); err != nil {
		t.Errorf("a key of another type: %v", err)
	}
}

// ahead returns the state of an address that was written so far in the future.
func ahead(by time.Duration) string {
	b := binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(time.Now().Add(by).UnixMicro())))
	return string(slices.Concat(b, b, b))
}
