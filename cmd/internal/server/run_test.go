package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// TestGrace: requests that are not answered in time end the service with an error that has their
// number, with those whose body has not arrived.
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
	half, err := net.Dial("tcp", s.at)
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	fmt.Fprint(half, "POST /v1/lint HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
	for s.gate.open.Load() < 2 {
		runtime.Gosched()
	}
	s.end()
	s.end = nil
	if err := <-s.ended; err == nil || err.Error() != "requests not answered within --grace 50ms: 2" {
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
