package main

import (
	"fmt"
	neturl "net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/cmd/internal/server/openloop"
	"github.com/robotskit/robots/internal/campaign"
)

// TestServeOverload sends the program, which has a processor for itself, twice what it can
// do with that, in questions that take some milliseconds each. It goes on doing what it can,
// and refuses the rest soon. The figures are printed, and a campaign holds their medians to
// what is asked of them. It prints those of single questions too: a refusal costs as much as
// such an answer, so that none is refused, and connections are what bounds the waiting.
func TestServeOverload(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("short: seconds of load")
	}
	s := newPacedSite(t, 0, time.Second)
	t.Setenv(ownSitesEnv, strings.TrimPrefix(s.url, "http://"))
	t.Setenv("GOMAXPROCS", "1")
	server := runServer(t, "--store", "memory")
	get(t, server.open+"/v1/check?url="+neturl.QueryEscape(s.url+"/a"))
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, `{"url":"%s/page/%d","agent":"MyBot"}`+"\n", s.url, i)
	}
	load := func(request string) openloop.Server {
		return openloop.Server{URL: server.open, PID: server.cmd.Process.Pid, Request: request, Busy: 2 * runtime.NumCPU()}
	}
	t.Run("batch", func(t *testing.T) {
		openloop.Overload(t, load(fmt.Sprintf("POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n%s", lines.Len(), lines.String())), true)
	})
	if campaign.On() {
		t.Run("single", func(t *testing.T) {
			openloop.Overload(t, load("GET /v1/check?url="+neturl.QueryEscape(s.url+"/private/x")+"&agent=MyBot HTTP/1.1\r\nHost: localhost\r\n\r\n"), false)
		})
	}
}
