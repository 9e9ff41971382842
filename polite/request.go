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

// parseURL is robots.ParseURL for URLs that net/http can request: net/url must read the same
// host.
func parseURL(rawURL string) (robots.Origin, robots.Path, error) {
	origin, path, err := robots.ParseURL(rawURL)
	if err != nil {
		return robots.Origin{}, robots.Path{}, err
	}
	scheme := len(origin.Scheme()) + len("://")
	authority := rawURL[scheme:]
	rest, ok := cutHost(authority, origin)
	if !ok {
		rest, ok = cutHost(authority[plainUser(authority):], origin)
	}
	if ok && (rest == "" || strings.IndexByte("/?#", rest[0]) >= 0) {
		return origin, path, nil
	}
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	u, err := url.Parse(rawURL[:scheme] + authority) //nolint:forbidigo // the host that net/url reads
	if err != nil {
		return robots.Origin{}, robots.Path{}, fmt.Errorf("net/http cannot request the URL: %w", err)
	}
	if u.Host != authority && !names(origin, u.Host) {
		return robots.Origin{}, robots.Path{}, fmt.Errorf("URL %q: net/http would request %q, not %s", rawURL, u.Host, origin)
	}
	return origin, path, nil
}

// plainUser returns the length of the user information at the beginning of an authority, with
// its '@', 0 if there is none or if it has characters that parsers might read differently.
func plainUser(authority string) int {
	for i := range len(authority) {
		switch c := authority[i]; {
		case c == '@':
			return i + 1
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9', strings.IndexByte("-._~:", c) >= 0:
		default:
			return 0
		}
	}
	return 0
}

// cutHost cuts the host of an origin, and its port unless that is the default, from the
// beginning of s. It reports false for hosts in another form, which parsers might read
// differently.
func cutHost(s string, origin robots.Origin) (rest string, ok bool) {
	host := origin.Host()
	if len(s) < len(host) || s[:len(host)] != host && !strings.EqualFold(s[:len(host)], host) {
		return "", false
	}
	port := 0
	if s = s[len(host):]; s != "" && s[0] == ':' {
		for s = s[1:]; s != "" && '0' <= s[0] && s[0] <= '9' && port < 1<<16; s = s[1:] {
			port = 10*port + int(s[0]-'0')
		}
	}
	if port == 0 {
		switch origin.Scheme() {
		case "http":
			port = 80
		case "https":
			port = 443
		}
	}
	return s, port == origin.Port()
}

// names reports whether a host with an optional port, from a URL or a Host header, is that
// of an origin under its scheme.
func names(origin robots.Origin, host string) bool {
	if rest, ok := cutHost(host, origin); ok && rest == "" {
		return true
	}
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
