package polite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/robotskit/robots"
)

// target returns the origin and the path of a request. net/http dials URL.Host and sends
// Host as the name, robots.ParseURL reads the whole URL: they must name the same site, as
// otherwise the wrong robots.txt would be checked.
func target(req *http.Request) (robots.Origin, robots.Path, error) {
	u := *req.URL
	u.User = nil // an error must not contain a password
	if u.Opaque != "" {
		return robots.Origin{}, robots.Path{}, fmt.Errorf("URL %q has an Opaque part, which hides the host and path: set Host and Path", &u)
	}
	origin, path, err := robots.ParseURL(u.String())
	if err != nil {
		return robots.Origin{}, robots.Path{}, err
	}
	host := cmp.Or(req.Host, u.Host)
	if !strings.EqualFold(u.Scheme, origin.Scheme()) || !names(origin, u.Host) || !names(origin, host) {
		return robots.Origin{}, robots.Path{}, fmt.Errorf(
			"URL %q has the Host %q of another site than %s: use the URL of the site to request", &u, host, origin)
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
	scheme := len(origin.Scheme()) + len("://")
	begin := strings.Clone(rawURL[:scheme+strings.IndexAny(rawURL[scheme:]+"/", "/?#")])
	if _, err := url.Parse(begin); err != nil { //nolint:forbidigo // of what net/http requests
		return robots.Origin{}, robots.Path{}, fmt.Errorf("net/http cannot request the URL: %w", err)
	}
	if len(begin) <= maxBegin {
		s.add(begin)
	}
	return origin, path, nil
}

// find returns the origin of a URL and its rest if the beginning is known and the rest begins
// with one slash.
func (s *sites) find(rawURL string) (origin robots.Origin, rest string) {
	const least = len("http://a") // no shorter URL has a slash there that ends its host
	end := least + strings.IndexByte(rawURL[min(least, len(rawURL)):], '/')
	if end < least || strings.HasPrefix(rawURL[end:], "//") {
		return robots.Origin{}, ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[rawURL[:end]], rawURL[end:]
}

// add adds the beginning of a valid URL.
func (s *sites) add(begin string) {
	origin, _, _ := robots.ParseURL(begin) // which does not refer to the whole URL
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
	b := &body{of, sync.OnceFunc(done)}
	if w, ok := of.(io.Writer); ok {
		return &duplex{b, w}
	}
	return b
}

// body releases the permit at the end of a response.
type body struct {
	io.ReadCloser
	done func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.done()
	}
	return n, err
}

func (b *body) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
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
