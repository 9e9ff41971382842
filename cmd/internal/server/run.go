package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"
)

// waitCeiling is the longest wait of a response for a fetch and a permit.
const waitCeiling = time.Minute

// Run serves handler behind the gate, and the admin listener, until ctx ends. Then it is not
// ready, serves on for DrainDelay, closes its listener, and answers accepted requests within
// Grace; all that is no error. Ready returns why the service is not ready. Started is called
// once with the addresses of the listeners; that of the admin listener can be nil.
func Run(ctx context.Context, g *Gate, handler http.Handler, ready func(context.Context) error, started func(at, admin net.Addr)) error {
	c := g.c
	var listening net.ListenConfig
	at, err := listening.Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	defer at.Close() // closed by Serve, unless the next call fails
	ended := make(chan error, 2)
	var adminAt net.Addr
	if c.Admin != "none" {
		l, err := listening.Listen(ctx, "tcp", c.Admin)
		if err != nil {
			return fmt.Errorf("cannot listen for admin: %w", err)
		}
		adminAt = l.Addr()
		side := &http.Server{
			Handler: admin(g.metrics, g.ready(ready)), ReadHeaderTimeout: c.HeaderTime, IdleTimeout: c.IdleTime,
			ErrorLog: slog.NewLogLogger(g.log.Handler(), slog.LevelWarn), BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		}
		go func() { ended <- side.Serve(l) }()
		defer func() {
			_ = side.Close() // it does not wait for profiles
			<-ended
		}()
	}
	s := &http.Server{
		Handler:           g.Wrap(handler),
		ReadHeaderTimeout: c.HeaderTime,
		MaxHeaderBytes:    int(c.HeaderBytes) - 4096, // net/http adds as much
		IdleTimeout:       c.IdleTime,
		// Each response sets its own timeout. This is for what net/http writes itself.
		WriteTimeout: c.BodyTime + c.QueueTime + waitCeiling + c.WriteTime,
		BaseContext:  func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ErrorLog:     slog.NewLogLogger(g.log.Handler(), slog.LevelDebug), // mistakes of clients
	}
	serving := make(chan error, 1)
	go func() { serving <- s.Serve(problemListener{at}) }()
	started(at.Addr(), adminAt)
	select {
	case err := <-serving:
		return fmt.Errorf("cannot go on listening: %w", err)
	case <-ctx.Done():
	}
	g.draining.Store(true)
	g.log.Info("draining", "delay", c.DrainDelay.String(), "grace", c.Grace.String())
	if c.DrainDelay > 0 {
		timer := time.NewTimer(c.DrainDelay)
		defer timer.Stop()
		select {
		case err := <-serving:
			return fmt.Errorf("cannot go on listening: %w", err)
		case <-timer.C:
		}
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Grace)
	defer cancel()
	err = s.Shutdown(grace)
	<-serving
	if err != nil {
		_ = s.Close() // the listeners are closed
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%d requests were not answered within --grace %s", g.places.working()+int(g.places.waiting.Load()), c.Grace)
		}
		return err
	}
	return nil
}

// ready returns what /readyz checks.
func (g *Gate) ready(service func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		switch {
		case g.draining.Load():
			return errors.New("the service is shutting down")
		case g.places.stuck(stuckAfter):
			return fmt.Errorf("no request was served for %s", stuckAfter)
		}
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		return service(ctx)
	}
}

// problemListener and problemConn turn refusals that net/http writes itself into problems:
// invalid or too large headers, or an unknown Expect.
type problemListener struct{ net.Listener }

func (l problemListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return problemConn{c}, nil
}

type problemConn struct{ net.Conn }

// bareHead is the rest of such a response's head, after its status.
var bareHead = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

// CloseWrite is called by net/http.
func (c problemConn) CloseWrite() error {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		return tcp.CloseWrite()
	}
	return nil
}

func (c problemConn) Write(b []byte) (int, error) {
	if len(b) > 512 || !bytes.HasPrefix(b, []byte("HTTP/1.1 ")) {
		return c.Conn.Write(b)
	}
	line, text, ok := bytes.Cut(b, bareHead)
	if bytes.HasPrefix(b, []byte("HTTP/1.1 417 ")) { // an invalid Expect
		line, text, ok = []byte("HTTP/1.1 417 Expectation Failed"), nil, true
	}
	if !ok || len(line) < len("HTTP/1.1 400") || bytes.Contains(line, []byte("\r\n")) {
		return c.Conn.Write(b)
	}
	status, err := strconv.Atoi(string(line[9:12]))
	if err != nil {
		return c.Conn.Write(b)
	}
	p := &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: "the request headers are malformed"}
	if status == http.StatusRequestHeaderFieldsTooLarge {
		p.Detail = "the request headers are too large"
	} else if _, why, ok := bytes.Cut(text, []byte(": ")); ok {
		p.Detail += ": " + string(why)
	}
	body, err := json.Marshal(p)
	if err != nil {
		return c.Conn.Write(b)
	}
	_, err = fmt.Fprintf(c.Conn, "%s\r\nContent-Type: application/problem+json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n", line, len(body)+1, body)
	return len(b), err
}
