package server

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestDrain: accepted requests are answered, also those of a slow handler and in the queue,
// while the service reports that it is not ready.
func TestDrain(t *testing.T) {
	hold := make(chan struct{})
	var entered atomic.Int64
	c := local(t, "concurrency=18", "queue-time=1m", "drain-delay=50ms")
	s := run(t, c, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		entered.Add(1)
		<-hold
		_, _ = io.WriteString(w, "done")
	}), nil)
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			resp, err := http.Get("http://" + s.at + "/v1/check")
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "done" {
				t.Errorf("status %d, %s, %v", resp.StatusCode, body, err)
			}
		})
	}
	for s.gate.places.working()+int(s.gate.places.waiting.Load()) != 20 {
		time.Sleep(time.Millisecond)
	}
	s.end()
	for !s.gate.draining.Load() {
		time.Sleep(time.Millisecond)
	}
	resp, err := http.Get(s.admin + "/readyz")
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("ready while it drains: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	close(hold)
	clients.Wait()
	if n := entered.Load(); n != 20 {
		t.Errorf("%d requests were handled", n)
	}
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	s.end = nil
}

// TestGrace: requests that are not answered in time end the service with an error that has their
// number.
func TestGrace(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	entered := make(chan struct{})
	s := run(t, local(t, "grace=50ms"), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(entered)
		<-hold
	}), nil)
	go http.Get("http://" + s.at + "/v1/check") // it gets no answer
	<-entered
	s.end()
	s.end = nil
	if err := <-s.ended; err == nil || err.Error() != "1 requests were not answered within --grace 50ms" {
		t.Errorf("got %v", err)
	}
}

// TestRunErrors: the error names an address that is in use.
func TestRunErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, taken := range []string{"listen=" + l.Addr().String(), "admin=" + l.Addr().String()} {
		g, err := NewGate(local(t, taken), slog.New(slog.DiscardHandler), NewMetrics())
		if err != nil {
			t.Fatal(err)
		}
		err = Run(t.Context(), g, http.NotFoundHandler(), func(context.Context) error { return nil }, func(net.Addr, net.Addr) { t.Error("it listens") })
		if err == nil || !strings.Contains(err.Error(), "address already in use") {
			t.Errorf("%s: %v", taken, err)
		}
	}
}
