package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots/fetch"
)

// A downloader reads files of servers of archives. What breaks on its way goes on where it
// broke, if the file is still the same.
type downloader struct {
	http  *http.Client
	agent string
	wait  time.Duration // before a second try, then twice as long each time
	quiet time.Duration // after which a server that says nothing is given up
}

const downloadTries = 6 // without a byte between them

// client returns a downloader that asks no private addresses unless it may.
func (o *PackOptions) client() (*downloader, error) {
	agent := cmp.Or(o.UserAgent, fetch.DefaultUserAgent)
	c, err := fetch.New(fetch.Options{UserAgent: agent, Guard: fetch.Guard{AllowPrivate: o.AllowPrivate}})
	if err != nil {
		return nil, err
	}
	return &downloader{http: &http.Client{Transport: c.Transport()}, agent: agent, wait: time.Second, quiet: time.Minute}, nil
}

// ask sends a request, again and again while the server or the way to it fails.
func (d *downloader) ask(ctx context.Context, method, url string, header http.Header, tries int) (*http.Response, error) {
	for wait := d.wait; ; wait *= 2 {
		r, err := http.NewRequestWithContext(ctx, method, url, nil)
		if err != nil {
			return nil, err
		}
		r.Header = header.Clone()
		r.Header.Set("User-Agent", d.agent)
		r.Header.Set("Accept-Encoding", "identity") // places in the file are places in what comes
		a, err := d.http.Do(r)
		if err == nil && a.StatusCode != http.StatusTooManyRequests && a.StatusCode < 500 {
			return a, nil
		}
		if err == nil {
			a.Body.Close()
			err = fmt.Errorf("%s: status %d", url, a.StatusCode)
		}
		_, refused := errors.AsType[*fetch.RefusedError](err)
		if tries--; tries <= 0 || ctx.Err() != nil || refused {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// head asks what an URL is, and which version.
func (d *downloader) head(ctx context.Context, url string) (Input, error) {
	a, err := d.ask(ctx, http.MethodHead, url, http.Header{}, downloadTries)
	if err != nil {
		return Input{}, err
	}
	a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return Input{}, fmt.Errorf("%s: status %d", url, a.StatusCode)
	}
	return Input{Name: url, Size: max(a.ContentLength, 0), Hash: version(a.Header)}, nil
}

// version returns what says of a file that it is still the same, "" if nothing does.
func version(h http.Header) string {
	if tag := h.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return tag
	}
	return h.Get("Last-Modified")
}

// open returns the content of an URL, that has the version of the input.
func (d *downloader) open(ctx context.Context, in Input) *download {
	ctx, cancel := context.WithCancelCause(ctx)
	return &download{d: d, in: in, ctx: ctx, cancel: cancel, size: -1}
}

// A download is a file that comes.
type download struct {
	d      *downloader
	in     Input
	ctx    context.Context //nolint:containedctx // it is that of a call of Read, as of a file
	cancel context.CancelCauseFunc
	at     int64
	size   int64 // -1: not known
	body   io.ReadCloser
	failed int // in succession
	err    error
}

// errSilent says that a server has said nothing for too long.
var errSilent = errors.New("the server says nothing more")

func (f *download) Read(p []byte) (int, error) {
	for f.err == nil {
		if f.body == nil {
			if f.err = f.ask(); f.err != nil {
				break
			}
		}
		body := f.body // which may be another when the time is over
		silence := time.AfterFunc(f.d.quiet, func() { body.Close() })
		n, err := body.Read(p)
		silent := !silence.Stop()
		f.at += int64(n)
		if n > 0 {
			f.failed = 0
		}
		if err == io.EOF && (f.size < 0 || f.at >= f.size) { // the end itself
			f.err = io.EOF
		} else if err != nil {
			f.body.Close()
			f.body = nil
			if silent {
				err = errSilent
			}
			if f.failed++; f.failed >= downloadTries || f.ctx.Err() != nil {
				// An end that comes too early is no end of a member of gzip.
				f.err = fmt.Errorf("%s: broken at byte %d: %v", f.in.Name, f.at, err) //nolint:errorlint // on purpose
			}
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, f.err
}

// ask asks for what is still to come.
func (f *download) ask() error {
	h := http.Header{}
	if f.at > 0 {
		h.Set("Range", "bytes="+strconv.FormatInt(f.at, 10)+"-")
		if f.in.Hash != "" {
			h.Set("If-Range", f.in.Hash)
		}
	}
	a, err := f.d.ask(f.ctx, http.MethodGet, f.in.Name, h, downloadTries)
	if err != nil {
		return err
	}
	changed := fmt.Errorf("%s is not what it was when the work was planned", f.in.Name)
	from, size := int64(0), a.ContentLength
	switch {
	case a.StatusCode == http.StatusPartialContent && f.at > 0:
		var ok bool
		if from, size, ok = contentRange(a.Header.Get("Content-Range")); !ok || from > f.at {
			err = fmt.Errorf("%s: an answer with other bytes than were asked for", f.in.Name)
		}
	case a.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		err = changed
	case a.StatusCode != http.StatusOK:
		err = fmt.Errorf("%s: status %d", f.in.Name, a.StatusCode)
	}
	switch {
	case err != nil:
	case version(a.Header) != f.in.Hash, f.in.Size > 0 && size >= 0 && size != f.in.Size:
		err = changed
	default:
		if f.size = size; f.size < 0 && f.in.Size > 0 {
			f.size = f.in.Size
		}
		_, err = io.CopyN(io.Discard, a.Body, f.at-from) // of a server that knows no ranges
	}
	if err != nil {
		a.Body.Close()
		return err
	}
	f.body = a.Body
	return nil
}

// contentRange reads "bytes 5-9/10". The size is -1 if it is not known.
func contentRange(s string) (from, size int64, ok bool) {
	s, ok = strings.CutPrefix(s, "bytes ")
	span, whole, slash := strings.Cut(s, "/")
	first, _, dash := strings.Cut(span, "-")
	from, err := strconv.ParseInt(first, 10, 64)
	size, unknown := strconv.ParseInt(whole, 10, 64)
	if unknown != nil {
		size = -1
	}
	return from, size, ok && slash && dash && err == nil && from >= 0
}

// Close ends the download.
func (f *download) Close() error {
	f.cancel(nil)
	if f.body != nil {
		return f.body.Close()
	}
	return nil
}
