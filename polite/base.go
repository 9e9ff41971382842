package polite

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots/fetch"
)

// maxDials is how many connections one request may open: a second for the one
// that ended before the site took the request. Without a bound net/http opens
// connections without end for a server of HTTP/2 that negotiates it and takes no
// request (GOAWAY with stream 0): 2,407 in 3 s were measured.
const maxDials = 2

type dialsKey struct{}

// withDials returns a context under which newBase's transport opens at most
// maxDials connections. net/http dials in a goroutine of its own, whose context
// keeps the values of the request's.
func withDials(ctx context.Context) context.Context {
	return context.WithValue(ctx, dialsKey{}, new(atomic.Int32))
}

// newBase returns the transport that sends requests where the caller brings none:
// with the limits of http.DefaultTransport, or those it has in a new program where
// this one has put something else there, and with no way to a site but a dial
// that passes the guard.
func newBase(guard fetch.Guard) *http.Transport {
	base := &http.Transport{
		ForceAttemptHTTP2: true, MaxIdleConns: 100, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second,
	}
	if usual, ok := http.DefaultTransport.(*http.Transport); ok {
		base = usual.Clone()
	}
	base.Proxy = nil
	base.Dial, base.DialTLS, base.DialTLSContext = nil, nil, nil //nolint:staticcheck // deprecated, and inherited all the same
	if len(base.TLSNextProto) > 0 {
		base.TLSNextProto = nil // a pool of somebody's HTTP/2, with connections that the guard has not seen
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Control: guard.Control}
	base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if made, ok := ctx.Value(dialsKey{}).(*atomic.Int32); ok && made.Add(1) > maxDials {
			return nil, fmt.Errorf("%d connections were opened for this request and %s has answered on none: it gets no more", maxDials, address)
		}
		return dialer.DialContext(ctx, network, address)
	}
	return base
}
