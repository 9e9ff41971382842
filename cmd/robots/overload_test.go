package main

import (
	"fmt"
	"io"
	"net/http"
	neturl "net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
)

// TestServeOverload sends the program far more batches than it can answer: it goes on answering,
// refuses the rest with 503, and does not grow. A campaign also checks that it answers at least
// half of its capacity.
func TestServeOverload(t *testing.T) {
	s := newPacedSite(t, 0, time.Second)
	t.Setenv(ownSitesEnv, strings.TrimPrefix(s.url, "http://"))
	t.Setenv("GOMAXPROCS", "1")
	// No request waits too long, however slow the machine is: refusals come from the length of the queue.
	server := runServer(t, "--store", "memory", "--queue", "8", "--queue-time", "1m")
	get(t, server.open+"/v1/check?url="+neturl.QueryEscape(s.url+"/a"))
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, `{"url":"%s/page/%d","agent":"MyBot"}`+"\n", s.url, i)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}}
	defer client.CloseIdleConnections()
	// load sends batches with so many clients, and returns how many were answered per second and
	// how many refused.
	load := func(clients int) (rate float64, refused int64) {
		var running sync.WaitGroup
		var answers [600]atomic.Int64 // by status
		length := campaign.Size(300*time.Millisecond, 500*time.Millisecond, 20*time.Second)
		began := time.Now()
		for range clients {
			running.Go(func() {
				for time.Since(began) < length {
					resp, err := client.Post(server.open+"/v1/check", "application/x-ndjson", strings.NewReader(lines.String()))
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
					if answers[resp.StatusCode].Add(1); resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusServiceUnavailable {
						t.Errorf("status %d", resp.StatusCode)
					}
				}
			})
		}
		running.Wait()
		return float64(answers[http.StatusOK].Load()) / time.Since(began).Seconds(), answers[http.StatusServiceUnavailable].Load()
	}
	capacity, refused := load(4)
	if refused > 0 {
		t.Errorf("%d batches are refused without overload", refused)
	}
	before := procStatus(t, server.cmd.Process.Pid, "VmRSS")
	rate, refused := load(400)
	after := procStatus(t, server.cmd.Process.Pid, "VmRSS")
	t.Logf("capacity %.0f/s; under overload %.0f/s are answered, %d in all refused; memory %d MiB, then %d", capacity, rate, refused, before>>20, after>>20)
	if rate == 0 || refused == 0 || campaign.On() && rate < capacity/2 {
		t.Error("the program does not answer what it can and refuse the rest")
	}
	if after > 2*before+256<<20 {
		t.Error("the program grew")
	}
}
