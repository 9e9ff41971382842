package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/robotskit/robots/cmd/internal/answer"
)

// Run serves handler behind the gate, and the admin listener, until ctx ends. Then it is not
// ready, serves on for DrainDelay, closes its listener, and answers accepted requests within
// Grace; none of that is an error. Ready returns why the service is not ready. Started is called
// once with the addresses of the listeners; that of the admin listener can be nil.
func Run(ctx context.Context, g *Gate, handler http.Handler, ready func(context.Context) error, started func(at, admin net.Addr)) error {
	c := g.settings.Load()
	var listening net.ListenConfig
	at, err := listening.Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	defer at.Close() // closed by Serve, unless the next call fails
	adminAt, stop, err := g.runAdmin(ctx, g.ready(ready))
	if err != nil {
		return err
	}
	defer stop()
	s := g.server(ctx, handler)
	serving := make(chan error, 1)
	go func() { serving <- s.Serve(problemListener{at, g}) }()
	started(at.Addr(), adminAt)
	select {
	case err := <-serving:
		return fmt.Errorf("cannot go on listening: %w", err)
	case <-ctx.Done():
	}
	g.draining.Store(true)
	c = g.settings.Load()
	g.log.Info("draining", "delay", c.DrainDelay.String(), "grace", c.Grace.String())
	select {
	case err := <-serving:
		return fmt.Errorf("cannot go on listening: %w", err)
	case <-time.After(c.DrainDelay):
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Grace)
	defer cancel()
	err = s.Shutdown(grace)
	<-serving
	if open := g.open.Load(); err != nil {
		_ = s.Close() // the listeners are closed
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("requests not answered within --grace %s: %d", c.Grace, open)
		}
		return err
	}
	return nil
}

// runAdmin serves the admin listener, if there is one, until stop is called, and returns its address.
func (g *Gate) runAdmin(ctx context.Context, ready func(context.Context) error) (at net.Addr, stop func(), err error) {
	c := g.settings.Load()
	if c.Admin == "none" {
		return nil, func() {}, nil
	}
	var listening net.ListenConfig
	l, err := listening.Listen(ctx, "tcp", c.Admin)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot listen for admin: %w", err)
	}
	s := &http.Server{
		Handler:           g.admin(ready),
		ReadHeaderTimeout: c.HeaderTime,
		IdleTimeout:       c.IdleTime,
		ErrorLog:          slog.NewLogLogger(g.log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	return l.Addr(), func() {
		_ = s.Close() // it does not wait for profiles
		<-ended
	}, nil
}

// server returns the server of the main listener, with all its timeouts.
func (g *Gate) server(ctx context.Context, handler http.Handler) *http.Server {
	c := g.settings.Load()
	return &http.Server{
		Handler:           g.Wrap(handler),
		ReadHeaderTimeout: c.HeaderTime,
		MaxHeaderBytes:    int(c.HeaderBytes) - 4096, // net/http adds as much
		IdleTimeout:       c.IdleTime,
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ErrorLog:          slog.NewLogLogger(g.log.Handler(), slog.LevelDebug), // mistakes of clients
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ConnState: func(c net.Conn, state http.ConnState) {
			if state == http.StateIdle { // between two requests
				c.(*problemConn).passed = false
				c.(*problemConn).timed = false
			}
		},
	}
}

// ready returns what /readyz checks.
func (g *Gate) ready(service func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		switch {
		case g.draining.Load():
			return errors.New("the service is shutting down")
		case g.slots.stuck(stuckAfter):
			return fmt.Errorf("no request was served for %s", stuckAfter)
		}
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		return service(ctx)
	}
}

// problemListener and problemConn turn refusals that net/http writes itself into problems: invalid or too large
// headers, or an unknown Expect. Each response has a timeout.
type problemListener struct {
	net.Listener
	gate *Gate
}

func (l problemListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &problemConn{Conn: c, gate: l.gate}, err
}

type problemConn struct {
	net.Conn
	gate   *Gate
	passed bool // the current request has passed net/http, and its response can have any bytes
	timed  bool // the timeout of the response has begun
}

// beginResponse begins the timeout of a response.
func (c *problemConn) beginResponse(timeout time.Duration) {
	c.timed = true
	_ = c.Conn.SetWriteDeadline(time.Now().Add(timeout)) // no error: a closed connection fails when it is written
}

// SetWriteDeadline does nothing. Net/http calls it after a response to remove the deadline, which the next response
// replaces.
func (c *problemConn) SetWriteDeadline(time.Time) error { return nil }

type connKey struct{}

// CloseWrite is called by net/http.
func (c *problemConn) CloseWrite() error {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		return tcp.CloseWrite()
	}
	return nil
}

// bareRefusal matches the status of a refusal, and its reason after a colon.
var bareRefusal = once(`(?s)^HTTP/1\.1 ([45]\d\d) .*?\r\n\r\n(?:[^:]*: (.*))?`)

func (c *problemConn) Write(b []byte) (int, error) {
	if !c.timed { // net/http writes a refusal, or the status 100 before a response
		c.beginResponse(c.gate.settings.Load().WriteTime)
		c.timed = false
	}
	if c.passed {
		return c.Conn.Write(b)
	}
	m := bareRefusal().FindSubmatch(b)
	if m == nil {
		return c.Conn.Write(b)
	}
	status, _ := strconv.Atoi(string(m[1]))
	p := &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: "the request headers are malformed"}
	switch {
	case status == http.StatusRequestHeaderFieldsTooLarge:
		p.Detail = "the request headers are too large"
	case status == http.StatusExpectationFailed:
		p.Detail = "the Expect header is unknown"
	case len(m[2]) > 0:
		p.Detail += ": " + string(m[2])
	}
	const response = "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\nX-Content-Type-Options: nosniff\r\n" +
		"Connection: close\r\n\r\n%s\n"
	_, err := fmt.Fprintf(c.Conn, response, status, p.Title, answer.JSON(p))
	return len(b), err
}
