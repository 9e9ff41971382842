package polite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/robotskit/robots"
)

// target returns the origin and the path of a request. net/http dials URL.Host and sends
// Host as the name, robots.ParseURL reads the whole URL: they must name the same site, as
// otherwise the wrong robots.txt would be checked.
func target(req *http.Request) (robots.Origin, robots.Path, error) {
	u := req.URL
	if u.Opaque != "" {
		return robots.Origin{}, robots.Path{}, fmt.Errorf("URL %q has an Opaque part, which hides the host and path: set Host and Path", u.Redacted())
	}
	origin, path, err := robots.ParseURL(u.String())
	if err != nil {
		return robots.Origin{}, robots.Path{}, err
	}
	host := req.Host
	if host == "" {
		host = u.Host
	}
	if !strings.EqualFold(u.Scheme, origin.Scheme()) || !names(origin, u.Host) || !names(origin, host) {
		return robots.Origin{}, robots.Path{}, fmt.Errorf(
			"URL %q has the Host %q of another site than %s: use the URL of the site to request", u.Redacted(), host, origin)
	}
	return origin, path, nil
}

// sites remembers the origins of the beginnings of URLs, such as "https://example.com", which a
// crawler repeats from page to page.
type sites struct {
	mu    sync.Mutex
	known map[string]robots.Origin
}

const (
	maxSites = 1 << 14 // then all are forgotten
	maxBegin = 300     // bytes of a beginning that is remembered
)

// parse is robots.ParseURL for URLs that net/http can request: net/url must read the same
// host.
func (s *sites) parse(rawURL string) (robots.Origin, robots.Path, error) {
	if origin, rest := s.find(rawURL); !origin.IsZero() {
		path, err := robots.ParsePath(rest)
		return origin, path, err
	}
	origin, path, err := robots.ParseURL(rawURL)
	if err != nil {
		return robots.Origin{}, robots.Path{}, err
	}
	begin := rawURL
	scheme := len(origin.Scheme()) + len("://")
	if i := strings.IndexAny(rawURL[scheme:], "/?#"); i >= 0 {
		begin = rawURL[:scheme+i]
	}
	u, err := url.Parse(begin) //nolint:forbidigo // the host that net/url reads
	if err != nil {
		return robots.Origin{}, robots.Path{}, fmt.Errorf("net/http cannot request the URL: %w", err)
	}
	if !names(origin, u.Host) {
		return robots.Origin{}, robots.Path{}, fmt.Errorf("URL %q: net/http would request %q, not %s", rawURL, u.Host, origin)
	}
	if len(begin) <= maxBegin {
		s.add(strings.Clone(begin))
	}
	return origin, path, nil
}

// find returns the origin of a URL and its rest if the beginning is known and the rest begins
// with one slash.
func (s *sites) find(rawURL string) (origin robots.Origin, rest string) {
	const least = len("http://a") // no shorter URL has a slash there that ends its host
	if len(rawURL) <= least {
		return robots.Origin{}, ""
	}
	end := least + strings.IndexByte(rawURL[least:], '/')
	if end < least || strings.HasPrefix(rawURL[end:], "//") {
		return robots.Origin{}, ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[rawURL[:end]], rawURL[end:]
}

// add adds the beginning of a URL.
func (s *sites) add(begin string) {
	origin, _, err := robots.ParseURL(begin) // which must not refer to the whole URL
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxSites {
		s.known = map[string]robots.Origin{}
	}
	s.known[begin] = origin
}

// names reports whether a host with an optional port, from a URL or a Host header, is that
// of an origin under its scheme.
func names(origin robots.Origin, host string) bool {
	o, _, err := robots.ParseURL(origin.Scheme() + "://" + host)
	return err == nil && o == origin && !strings.ContainsAny(host, `@/?#\`)
}

func timedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, os.ErrDeadlineExceeded)
}

// ended reports whether a context has ended. A connection can reach the deadline before the
// context does.
func ended(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// hasBody reports whether a response has a body to close (RFC 9110 section 6.4.1).
func hasBody(method string, resp *http.Response) bool {
	return resp.Body != nil && resp.Body != http.NoBody && method != http.MethodHead &&
		resp.StatusCode != http.StatusNoContent && resp.StatusCode != http.StatusNotModified
}

// newBody returns a body that calls done at its end. The body of a 101 remains writable.
func newBody(of io.ReadCloser, done func()) io.ReadCloser {
	b := &body{ReadCloser: of, done: done}
	if w, ok := of.(io.Writer); ok {
		return &duplex{b, w}
	}
	return b
}

// body releases the permit at the end of a response.
type body struct {
	io.ReadCloser
	once sync.Once
	done func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.once.Do(b.done)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(b.done)
	return err
}

// duplex is the body of a 101.
type duplex struct {
	*body
	io.Writer
}

// CloseWrite closes the write side if the connection can.
func (d *duplex) CloseWrite() error {
	if c, ok := d.Writer.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return fmt.Errorf("CloseWrite: %w", errors.ErrUnsupported)
}
