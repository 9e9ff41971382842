package main

import (
	"fmt"
	"io"
	"net/http"
	neturl "net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
)

// TestServeOverload sends the program twice as many batches as it can answer: it goes on
// answering, refuses the rest with 503, and does not grow. A campaign also checks that it
// answers at least half of its capacity.
func TestServeOverload(t *testing.T) {
	s := newPacedSite(t, 0, time.Second)
	t.Setenv(ownSitesEnv, strings.TrimPrefix(s.url, "http://"))
	t.Setenv("GOMAXPROCS", "1")
	server := runServer(t, "--store", "memory")
	get(t, server.open+"/v1/check?url="+neturl.QueryEscape(s.url+"/a"))
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, `{"url":"%s/page/%d","agent":"MyBot"}`+"\n", s.url, i)
	}
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1024, MaxIdleConnsPerHost: 1024}}
	defer client.CloseIdleConnections()
	ask := func() int {
		resp, err := client.Post(server.open+"/v1/check", "application/x-ndjson", strings.NewReader(lines.String()))
		if err != nil {
			return 0
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	length := campaign.Size(300*time.Millisecond, 500*time.Millisecond, 20*time.Second)
	var running sync.WaitGroup
	var answered atomic.Int64
	began := time.Now()
	for range 4 {
		running.Go(func() {
			for ; time.Since(began) < length; answered.Add(1) {
				if status := ask(); status != http.StatusOK {
					t.Errorf("status %d without load", status)
				}
			}
		})
	}
	running.Wait()
	capacity := float64(answered.Load()) / time.Since(began).Seconds()
	before := memoryOf(t, server.cmd.Process.Pid)
	var accepted, refused, other atomic.Int64
	began = time.Now()
	for n := 0.0; time.Since(began) < length; time.Sleep(time.Millisecond) {
		for ; n < 2*capacity*time.Since(began).Seconds(); n++ {
			running.Go(func() {
				switch ask() {
				case http.StatusOK:
					accepted.Add(1)
				case http.StatusServiceUnavailable:
					refused.Add(1)
				default:
					other.Add(1)
				}
			})
		}
	}
	running.Wait()
	goodput := float64(accepted.Load()) / time.Since(began).Seconds() / capacity
	after := memoryOf(t, server.cmd.Process.Pid)
	t.Logf("capacity %.0f/s; at twice that %d answered (%.2f of it), %d refused, %d neither; memory %d MiB, then %d", capacity, accepted.Load(), goodput, refused.Load(), other.Load(), before>>20, after>>20)
	if accepted.Load() == 0 || other.Load() > 0 {
		t.Error("requests were neither answered nor refused")
	}
	if after > 2*before+256<<20 || campaign.On() && goodput < 0.5 {
		t.Error("the program grew, or answered less than half of its capacity")
	}
}

// memoryOf returns the resident memory of a process in bytes.
func memoryOf(t testing.TB, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no VmRSS in %s", text)
	}
	n, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return n << 10
}
