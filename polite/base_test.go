package polite

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots/cache"
)

// TestGoAway: an HTTP/2 server that refuses every request makes net/http retry, each time on a
// new connection, until the context ends. One request becomes two.
func TestGoAway(t *testing.T) {
	lent := httptest.NewTLSServer(nil) // for its certificate
	defer lent.Close()
	roots := x509.NewCertPool()
	roots.AddCert(lent.Certificate())
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: lent.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	var made atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			made.Add(1)
			wg.Go(func() { defer c.Close(); goAway(c) })
		}
	})
	client, transport := newClient(t, withFile(t, local(), ""))
	transport.options.Base.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
	for i := range int64(2) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+l.Addr().String()+"/page", nil)
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "on any connection of this request") || ctx.Err() != nil {
			t.Errorf("got %v, want an error about the connections", err)
		}
		cancel()
		if n := made.Load(); n != 2*(i+1) {
			t.Errorf("%d connections for %d requests, want 2 each", n, i+1)
		}
	}
	transport.CloseIdleConnections()
	l.Close()
	wg.Wait()
}

// goAway reads an HTTP/2 connection up to the first request and refuses it: SETTINGS, then
// GOAWAY with stream 0 and no error (RFC 9113 section 6.8).
func goAway(c net.Conn) {
	if _, err := io.CopyN(io.Discard, c, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	io.WriteString(c, "\x00\x00\x00\x04\x00\x00\x00\x00\x00")
	for frame := make([]byte, 9); ; {
		if _, err := io.ReadFull(c, frame); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, c, int64(frame[0])<<16|int64(frame[1])<<8|int64(frame[2])); err != nil {
			return
		}
		if frame[3] == 1 { // HEADERS
			io.WriteString(c, "\x00\x00\x08\x07\x00\x00\x00\x00\x00"+"\x00\x00\x00\x00\x00\x00\x00\x00")
		}
	}
}

// withFile returns options with this robots.txt for every site.
func withFile(t *testing.T, o Options, file files) Options {
	t.Helper()
	kept, err := cache.New(cache.Options{Fetcher: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Close() })
	o.Cache = kept
	return o
}
