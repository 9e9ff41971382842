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
// with the limits of http.DefaultTransport, and with no way to a site but a dial
// that passes the guard.
func newBase(guard fetch.Guard) *http.Transport {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.Proxy = nil
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Control: guard.Control}
	base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if made, ok := ctx.Value(dialsKey{}).(*atomic.Int32); ok && made.Add(1) > maxDials {
			return nil, fmt.Errorf("%d connections were opened for this request and %s has answered on none: it gets no more", maxDials, address)
		}
		return dialer.DialContext(ctx, network, address)
	}
	return base
}
