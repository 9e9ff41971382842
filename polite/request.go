package polite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/robotskit/robots"
)

// target returns the origin and the path of a request. net/http dials
// URL.Host and sends Host as the name; robots.ParseURL reads the URL as a whole.
// Where these do not name one site, the robots.txt that is checked would not be
// that of the site that is requested.
func target(req *http.Request) (robots.Origin, robots.Path, error) {
	u := req.URL
	if u.Opaque != "" {
		return robots.Origin{}, robots.Path{}, fmt.Errorf("URL %q has an Opaque part, which hides what is asked for: set Host and Path", u.Redacted())
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
			"URL %q with Host %q names another site than %s: robots.txt is that of one site, so ask for the URL of the one that is meant", u.Redacted(), host, origin)
	}
	return origin, path, nil
}

// parseURL is robots.ParseURL for URLs that a request can be made of: net/url,
// which makes it, reads the same host. Of the rest of the URL it may think
// otherwise.
func parseURL(rawURL string) (robots.Origin, robots.Path, error) {
	origin, path, err := robots.ParseURL(rawURL)
	if err != nil {
		return robots.Origin{}, robots.Path{}, err
	}
	scheme := len(origin.Scheme()) + len("://")
	rest := rawURL[scheme:]
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	if plain(origin, rest) {
		return origin, path, nil
	}
	u, err := url.Parse(rawURL[:scheme] + rest) //nolint:forbidigo // how net/url reads the host is the question
	if err != nil {
		return robots.Origin{}, robots.Path{}, fmt.Errorf("no request can be made of it: %w", err)
	}
	if !names(origin, u.Host) {
		return robots.Origin{}, robots.Path{}, fmt.Errorf("URL %q: a request would go to %q and not to %s", rawURL, u.Host, origin)
	}
	return origin, path, nil
}

// plain reports whether a host with or without a port is that of an origin letter by letter,
// and of letters that everybody reads alike, as nearly all hosts are.
func plain(origin robots.Origin, host string) bool {
	port := ""
	if i := strings.IndexByte(host, ':'); i >= 0 {
		host, port = host[:i], host[i+1:]
	}
	switch n := origin.Port(); {
	case !strings.EqualFold(host, origin.Host()):
		return false
	case port != "" && port != strconv.Itoa(n),
		port == "" && (origin.Scheme() != "https" || n != 443) && (origin.Scheme() != "http" || n != 80):
		return false
	}
	for i := range len(host) {
		if c := host[i] | 0x20; (c < 'a' || c > 'z') && (host[i] < '0' || host[i] > '9') && host[i] != '.' && host[i] != '-' {
			return false
		}
	}
	return true
}

// names reports whether a host with or without a port, of a URL or a header,
// names an origin under its scheme.
func names(origin robots.Origin, host string) bool {
	if plain(origin, host) {
		return true
	}
	o, _, err := robots.ParseURL(origin.Scheme() + "://" + host)
	return err == nil && o == origin && !strings.ContainsAny(host, `@/?#\`)
}

func timedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, os.ErrDeadlineExceeded)
}

// ended reports whether a context has ended, or does so in this moment: a
// connection may see the deadline pass before the context does.
func ended(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// hasBody reports whether a response has a body that somebody must end (RFC 9110
// section 6.4.1).
func hasBody(method string, resp *http.Response) bool {
	return resp.Body != nil && resp.Body != http.NoBody && method != http.MethodHead &&
		resp.StatusCode != http.StatusNoContent && resp.StatusCode != http.StatusNotModified
}

// newBody returns a body that calls done when it has ended. That of a 101 can
// still be written to, as net/http promises.
func newBody(of io.ReadCloser, done func()) io.ReadCloser {
	b := &body{ReadCloser: of, done: done}
	if w, ok := of.(io.Writer); ok {
		return &duplex{b, w}
	}
	return b
}

// body releases the permit when a response has ended.
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

// CloseWrite ends the writing alone, where the connection can do that.
func (d *duplex) CloseWrite() error {
	if c, ok := d.Writer.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return fmt.Errorf("CloseWrite: %w", errors.ErrUnsupported)
}
