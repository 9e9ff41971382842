package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/fetch"
)

// maxDownloadRedirects limits the redirects of a list that are followed.
const maxDownloadRedirects = 5

// Download gets a list at a URL, of at most so many bytes, through the address guard. A list is named by the user, so no robots.txt
// is asked.
func (l *Live) Download(ctx context.Context, url string, most int64) ([]byte, error) {
	transport := l.Client.Transport()
	defer transport.CloseIdleConnections()
	client := http.Client{
		Transport: transport, Timeout: l.Options.Limits.Total,
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			next.URL.User = nil
			l.authorize(next)
			return checkListRedirect(next, via)
		},
	}
	req, err := http.NewRequestWithContext(fetch.WithDials(ctx, 16, nil), http.MethodGet, withoutUser(url), nil)
	if err != nil {
		return nil, errors.New("invalid URL")
	}
	l.authorize(req)
	req.Header.Set("User-Agent", l.Options.UserAgent)
	resp, err := client.Do(req)
	if err != nil {
		return nil, l.downloadError(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New("status " + strconv.Itoa(resp.StatusCode))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err == nil && int64(len(body)) > most {
		err = fmt.Errorf("larger than %d MiB", most>>20)
	}
	return body, err
}

// openList downloads a list of URLs.
func (l *Live) openList(ctx context.Context, url string) (io.ReadCloser, error) {
	origin, _, err := ask.URL(robots.RFC9309, url, true)
	if err != nil {
		return nil, err
	}
	l.AddCredentials(origin, url)
	body, err := l.Download(ctx, url, MaxFile)
	if err != nil {
		return nil, fmt.Errorf("cannot fetch the list %s: %w", answer.HideUser(url), err)
	}
	return io.NopCloser(bytes.NewReader(body)), nil
}

// downloadError returns an error without the address, which the caller has, and with the flag that permits a refused address.
func (l *Live) downloadError(err error) error {
	hint := ""
	permits := fetch.Guard{AllowPrivate: true}
	refused, ok := errors.AsType[*fetch.RefusedError](err)
	if ok && !l.Options.Guard.AllowPrivate && permits.Check(refused.Address) == nil {
		hint = "; --allow-private permits private and loopback addresses"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return fmt.Errorf("%w%s", err, hint)
}

// checkListRedirect returns an error for a redirect that is not followed.
func checkListRedirect(r *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxDownloadRedirects:
		return fmt.Errorf("more than %d redirects", maxDownloadRedirects)
	case via[0].URL.Scheme == "https" && r.URL.Scheme != "https":
		return errors.New("insecure redirect from https to " + r.URL.Scheme)
	}
	return nil
}
