package redis_test

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// TestScriptTime logs how long the server runs the scripts of a page at an address with an interval
// (acquire, address, release), and an empty script. The fastest round counts, because on a busy machine
// the server is interrupted.
func TestScriptTime(t *testing.T) {
	campaign.Only(t)
	const sites = 200 // in turn, so that each is ready
	const round = 20
	const pages = 20_000
	server := redistest.Start(t, redistest.Options{})
	client := server.Client()
	l := newLimiter(t, client, redis.WithHeartbeat(redis.Options{Options: pace.Options{AddressInterval: time.Millisecond}}, time.Hour))
	var list []pace.Request
	for i := range sites {
		list = append(list, pace.Request{Origin: originOf(t, fmt.Sprintf("site-%07d.example", i)), Schedule: steady(t, time.Millisecond)})
	}
	ready(t, l, list...)
	stats := func(command string) (calls, took float64) {
		_, line, _ := strings.Cut(server.Do("INFO", "commandstats"), "cmdstat_"+command+":")
		if _, err := fmt.Sscanf(line, "calls=%g,usec=%g", &calls, &took); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return calls, took
	}
	page, callsOfPage, empty := math.Inf(1), 0.0, math.Inf(1)
	for n := range pages / round {
		server.Do("CONFIG", "RESETSTAT")
		for k := range round {
			i := (n*round + k) % sites
			p, _ := start(t, l, list[i], netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
			if err := l.Release(t.Context(), p, ok); err != nil {
				t.Error(err)
			}
			if err := client.Do(t.Context(), client.B().Eval().Script("return 1").Numkeys(0).Build()).Error(); err != nil {
				t.Fatal(err)
			}
		}
		if calls, took := stats("evalsha"); took/round < page {
			page = took / round
			callsOfPage = calls / round
		}
		calls, took := stats("eval")
		empty = min(empty, took/calls)
	}
	t.Logf("%.1f µs of scripts for a page, in %.2f calls, %.1f µs of an empty script; the fastest %d of %d pages",
		page, callsOfPage, empty, round, pages)
}
