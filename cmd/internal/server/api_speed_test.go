package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
)

// TestSpeed compares, in one run over one connection each, the service with a handler that
// writes the same bytes, and a batch with single questions. The results are printed; a campaign
// compares their medians with floors.
func TestSpeed(t *testing.T) {
	b, s := newBench(t, Parts{}), newSite(t, shop+strings.Repeat("Disallow: /x/y/z\n", 50))
	path := "/v1/check?url=" + s.URL + "/basket&agent=MyBot"
	reply := b.get(path)
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", typeJSON)
		io.WriteString(w, reply.body)
	}))
	defer bare.Close()
	service := httptest.NewServer(b.Handler()) // without the caller of a bench
	defer service.Close()

	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, `{"id":%d,"url":"%s/basket/%d","agent":"MyBot"}`+"\n", i, s.URL, i)
	}
	get := "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n"
	post := fmt.Sprintf("POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n%s", lines.Len(), lines.String())

	n := campaign.Size(200, 200, 5000)
	var check, batch []float64
	for range 5 {
		plain := perRequest(t, bare.Listener.Addr(), get, n)
		one := perRequest(t, service.Listener.Addr(), get, n)
		many := perRequest(t, service.Listener.Addr(), post, max(n/100, 5)) / 1000
		check, batch = append(check, plain/one), append(batch, one/many)
	}
	slices.Sort(check)
	slices.Sort(batch)
	t.Logf("GET /v1/check of a held origin: %.2f x a bare JSON reply (floor 0.6); a batch of 1,000: %.0f x single checks per URL (floor 8); medians of %d rounds", check[2], batch[2], len(check))
	if campaign.On() && (check[2] < 0.6 || batch[2] < 8) {
		t.Errorf("below the floor: %.2f of 0.6, %.0f of 8", check, batch)
	}
}

// perRequest returns the seconds per request, one after another on a connection.
func perRequest(t *testing.T, at net.Addr, request string, n int) float64 {
	t.Helper()
	conn, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := bufio.NewReaderSize(conn, 1<<20)
	var began time.Time
	for i := range n + 1 {
		if i == 1 { // the first is not measured
			began = time.Now()
		}
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
	}
	return time.Since(began).Seconds() / float64(n)
}
