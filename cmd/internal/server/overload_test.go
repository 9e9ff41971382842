package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
)

// childEnv has TestChild be the server of TestOverload, in a process of its own.
const childEnv = "ROBOTS_SERVER_CHILD"

// TestChild is a service whose every request waits for some time in its place.
func TestChild(t *testing.T) {
	if os.Getenv(childEnv) == "" {
		t.Skip("it is the server of TestOverload")
	}
	g, err := NewGate(local(t, "concurrency=8"), slog.New(slog.DiscardHandler), NewMetrics())
	if err != nil {
		t.Fatal(err)
	}
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(20 * time.Millisecond) })
	ctx, end := context.WithCancel(t.Context())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
		end()
	}()
	err = Run(ctx, g, handler, func(context.Context) error { return nil }, func(at, _ net.Addr) { fmt.Fprintf(os.Stdout, "at %s.\n", at) })
	if err != nil {
		t.Fatal(err)
	}
}

// A traffic is what came of requests that were sent at a rate, whether or not those
// before were answered (an open loop).
type traffic struct {
	mu              sync.Mutex
	accepted, turns []time.Duration // time of 200 and of 503
	other           int
}

func (l *traffic) note(status int, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch status {
	case http.StatusOK:
		l.accepted = append(l.accepted, took)
	case http.StatusServiceUnavailable:
		l.turns = append(l.turns, took)
	default:
		l.other++
	}
}

func at(list []time.Duration, share float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[int(share*float64(len(list)-1))]
}

// TestOverload sends twice what the service can do. It answers nearly as much as it
// can, soon, and turns the rest away at once. The figures are printed by make test. Here
// requests take time and no processor, so that the places are what is short, whatever
// else the machine does; TestServeOverload of the program has those that work.
func TestOverload(t *testing.T) {
	if testing.Short() || campaign.Race || runtime.GOOS != "linux" {
		t.Skip("short: seconds of load")
	}
	long, err := time.ParseDuration(os.Getenv("OVERLOAD"))
	if err != nil {
		long = campaign.Size(0, time.Second, 20*time.Second)
	}
	short := campaign.Size(0, time.Second, 5*time.Second)
	child := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.timeout=1h")
	child.Env = append(os.Environ(), childEnv+"=waits")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait() // it has said what is wrong
	defer in.Close()
	line, err := bufio.NewReader(out).ReadString('\n')
	m := regexp.MustCompile(`at (\S+)\.`).FindStringSubmatch(line)
	if m == nil {
		t.Fatal(line, err)
	}
	url := "http://" + m[1] + "/"
	client := &http.Client{Transport: &http.Transport{MaxIdleConns: 1 << 12, MaxIdleConnsPerHost: 1 << 12}}
	ask := func(l *traffic) {
		begun := time.Now()
		resp, err := client.Get(url)
		if err != nil {
			l.note(0, 0)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		l.note(resp.StatusCode, time.Since(begun))
	}
	// Capacity: as many at a time as there are places, each as soon as the last is done.
	var full traffic
	var clients sync.WaitGroup
	var stop atomic.Bool
	for range 8 {
		clients.Go(func() {
			for !stop.Load() {
				ask(&full)
			}
		})
	}
	time.Sleep(short)
	stop.Store(true)
	clients.Wait()
	capacity := float64(len(full.accepted)) / short.Seconds()

	open := func(rate float64, d time.Duration) *traffic {
		l := new(traffic)
		var asked sync.WaitGroup
		begun := time.Now()
		for n := 0; ; {
			since := time.Since(begun)
			if since > d {
				break
			}
			for ; float64(n) < rate*since.Seconds(); n++ {
				asked.Go(func() { ask(l) })
			}
			time.Sleep(time.Millisecond)
		}
		asked.Wait()
		return l
	}
	idle := open(capacity/4, short)
	before := memoryOf(t, child.Process.Pid)
	much := open(2*capacity, long)
	after := memoryOf(t, child.Process.Pid)
	again := open(capacity/4, short)

	goodput := float64(len(much.accepted)) / long.Seconds() / capacity
	t.Logf("capacity %.0f/s; unloaded p99 %s; at twice the capacity for %s: goodput %.0f %%, p99 of accepted %s (%.1f times), median of %d refusals %s, other %d; memory %d MiB before, %d MiB after; then p99 %s and %d refusals",
		capacity, at(idle.accepted, 0.99).Round(10*time.Microsecond), long, 100*goodput, at(much.accepted, 0.99).Round(10*time.Microsecond),
		float64(at(much.accepted, 0.99))/float64(at(idle.accepted, 0.99)), len(much.turns), at(much.turns, 0.5).Round(10*time.Microsecond), much.other,
		before>>20, after>>20, at(again.accepted, 0.99).Round(10*time.Microsecond), len(again.turns))
	if much.other > 0 || len(much.accepted) == 0 {
		t.Errorf("%d requests were neither answered nor refused, %d were answered", much.other, len(much.accepted))
	}
	if !campaign.On() {
		return
	}
	if goodput < 0.9 {
		t.Errorf("goodput %.2f, at least 0.9", goodput)
	}
	if p99 := at(much.accepted, 0.99); p99 > 3*at(idle.accepted, 0.99) {
		t.Errorf("p99 of accepted %s, at most three times %s", p99, at(idle.accepted, 0.99))
	}
	if median := at(much.turns, 0.5); median > 10*time.Millisecond {
		t.Errorf("half of the refusals take more than %s", median)
	}
	if after > before+before/2+32<<20 {
		t.Errorf("%d bytes of memory before, %d after", before, after)
	}
	if len(again.turns) > 0 {
		t.Errorf("%d refusals after the overload", len(again.turns))
	}
}

// memoryOf is what a process has in memory, in bytes.
func memoryOf(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(text)
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}
