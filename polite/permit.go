package polite

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/pace"
)

// A PermitTransport is the network half of a crawler with a queue of its own. It sends each
// request with the permit in its context (WithPermit): when the connection is there, it reserves
// a start at the IP address (pace.Limiter.Start), waits for it, checks the permit and the site's
// window again, and only then the request is written, also on a kept connection and when net/http
// repeats it. A start that is no longer possible is a *pace.MissedError, before a byte is sent.
//
// It reads no robots.txt and releases no permit: the queue calls Rules.Allowed and acquires a permit before,
// and releases with ResultOf after the response is read. A redirect to another site needs a permit
// of that site, so it is refused; a queue sets http.Client.CheckRedirect to
// http.ErrUseLastResponse, and enqueues the Location.
//
// The fields must not be changed after the first request.
type PermitTransport struct {
	// Limiter is the limiter of the permits.
	Limiter pace.Limiter
	// Base sends the requests, as in Options: fetch.Client.Transport, whose connections are
	// guarded, or an *http.Transport. Another RoundTripper does not report the address that it
	// connects to, so that has no rate limit.
	Base http.RoundTripper
	// UserAgent is that of requests that set none.
	UserAgent string
	// Observe gets the requests. Permits are observed by the Limiter, records by the cache.
	Observe Observer
}

type permitKey struct{}

// WithPermit returns a context for a request with a permit, which is used for one request.
func WithPermit(ctx context.Context, p pace.Permit) context.Context {
	return context.WithValue(ctx, permitKey{}, p)
}

// RoundTrip sends a request with the permit in its context.
func (t *PermitTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	called := time.Now()
	observer := t.Observe
	if observer == nil {
		observer = unobserved{}
	}
	resp, err := t.roundTrip(req, func() { observer.Request(Event{Kind: EventStarted, Took: time.Since(called)}.of(req)) })
	if _, is := errors.AsType[*notStartedError](err); is {
		observer.Request(Event{Kind: EventUnsent, Err: err}.of(req))
	}
	return resp, err
}

func (t *PermitTransport) roundTrip(req *http.Request, started func()) (*http.Response, error) {
	permit, err := t.permit(req)
	if err != nil {
		return nil, closeBody(req, &notStartedError{err: err})
	}
	send := req
	if _, set := req.Header["User-Agent"]; !set && t.UserAgent != "" {
		send = req.Clone(req.Context())
		if send.Header == nil {
			send.Header = make(http.Header)
		}
		send.Header.Set("User-Agent", t.UserAgent)
	}
	s := newStartGate(t.Base, send, func(ctx context.Context, addr netip.Addr, _ bool) error {
		err := t.Limiter.Start(ctx, permit, addr)
		if err == nil {
			started()
		}
		return err
	})
	inBody := false
	defer func() {
		if !inBody {
			s.cancel(nil)
		}
	}()
	resp, err := s.send(t.Base, send, netip.Addr{})
	if err != nil {
		return nil, err
	}
	inBody = hasBody(req.Method, resp)
	if inBody {
		resp.Body = newBody(resp.Body, func() { s.cancel(nil) })
	}
	return resp, nil
}

// CloseIdleConnections closes the idle connections of the Base.
func (t *PermitTransport) CloseIdleConnections() { closeIdleConnections(t.Base) }

// permit returns the permit of a request, which must be one for its site.
func (t *PermitTransport) permit(req *http.Request) (p pace.Permit, err error) {
	if req.URL == nil {
		return p, errors.New("the request has no URL")
	}
	if t.Limiter == nil || t.Base == nil {
		return p, errors.New("the PermitTransport has no Limiter or no Base")
	}
	origin, _, err := target(req)
	if err != nil {
		return p, err
	}
	p, _ = req.Context().Value(permitKey{}).(pace.Permit)
	switch {
	case !p.OK():
		return p, fmt.Errorf(
			"the request for %s has no permit in its context: acquire one and use polite.WithPermit",
			robots.Printable(req.URL.Redacted()),
		)
	case p.Origin != origin:
		return p, fmt.Errorf("the request for %s has a permit of another site, %s", robots.Printable(req.URL.Redacted()), p.Origin)
	}
	return p, nil
}

// ResultOf returns the result with which to release the permit of a request: its status and
// Retry-After, a timeout of the site, which the end of ctx is not, or that the request was not
// sent. ctx is that of the request; resp and err are from an http.Client or RoundTripper, or err is
// from reading the body of resp.
func ResultOf(ctx context.Context, resp *http.Response, err error) (r pace.Result) {
	if start, is := errors.AsType[*notStartedError](err); is {
		return pace.Result{Unused: !start.written}
	}
	if resp != nil {
		r.Status = resp.StatusCode
		r.RetryAfter = fetch.RetryAfter(resp.Header, time.Now())
	}
	timeout, is := errors.AsType[net.Error](err)
	r.Timeout = is && timeout.Timeout() && !ended(ctx)
	return r
}
