package source

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync/atomic"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/lines"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
)

// Access logs are in the common or the combined format, the default of nginx, possibly after a virtual host or with
// X-Forwarded-For:
//
//	192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET /page HTTP/1.1" 200 2326 "http://start/" "MyBot/1.0"
//	shop.example:443 192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET /page HTTP/1.1" 200 2326 "-" "MyBot/1.0"
//	192.0.2.1, 10.0.0.1 - - [10/Oct/2026:13:55:36 +0000] "GET /page HTTP/1.1" 200 2326 "-" "MyBot/1.0"
//
// or have a JSON object on each line, with the fields of Cloudflare Logpush or the
// variables of nginx:
//
//	{"ClientIP":"192.0.2.1","ClientRequestURI":"/page","ClientRequestUserAgent":"MyBot/1.0"}
//	{"remote_addr":"192.0.2.1","request":"GET /page HTTP/1.1","http_user_agent":"MyBot/1.0"}
//
// or are in the extended format of W3C, as those of IIS:
//
//	#Fields: date time cs-method cs-uri-stem cs-uri-query c-ip cs(User-Agent)
//	2026-10-10 13:55:36 GET /page - 192.0.2.1 MyBot/1.0

// logFormats names the formats in a message.
const logFormats = "known: common, combined, vhost_combined, nginx JSON, Cloudflare Logpush, W3C of IIS"

// MaxLogLine limits a line of a log, in bytes: more than servers accept in a request.
const MaxLogLine = 64 << 10

// maxBadLines limits how many malformed lines of a log are reported.
const maxBadLines = 3

// A LogReader reads access logs.
type LogReader struct {
	Std     *screen.Streams
	Trusted []netip.Prefix // addresses of proxies whose X-Forwarded-For counts, besides private ones
	Read    atomic.Int64   // lines of all logs so far
}

// Each reads a log, with gzip or without, and calls add with each request. It warns of malformed lines. After a
// read error the requests before it are added. A log without any request is an error.
func (r *LogReader) Each(ctx context.Context, name string, add func(answer.LogRequest)) error {
	from, title, err := OpenNamed(r.Std, name)
	if err != nil {
		return err
	}
	defer from.Close()
	reader := lines.NewReader(from, MaxLogLine)
	if err := reader.Unzip(); err != nil {
		return fmt.Errorf("cannot read %s: %w", title, screen.Cause(err))
	}
	requests, malformed, err := r.each(ctx, reader, title, add)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader):
		err = errors.New("damaged or truncated gzip")
	case errors.Is(err, io.EOF) && requests > 0:
		return nil
	case errors.Is(err, io.EOF) && malformed == 0:
		return fmt.Errorf("%s has no request", title)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s is not an access log: none of %s is readable (%s)", title, render.Count(reader.Number, "line"), logFormats)
	}
	return fmt.Errorf("cannot read %s after line %d: %w", title, reader.Number, screen.Cause(err))
}

// each adds the requests of all lines, up to an error, which is io.EOF at the end.
func (r *LogReader) each(
	ctx context.Context, reader *lines.Reader, title string, add func(answer.LogRequest),
) (requests, malformed int, err error) {
	var parser LogParser
	for ctx.Err() == nil {
		var line []byte
		line, err = reader.Next()
		long := errors.Is(err, lines.ErrLong)
		if err != nil && !long {
			break
		}
		r.Read.Add(1)
		text := strings.TrimSuffix(string(line), "\r")
		if text == "" && !long {
			continue
		}
		parsed, problem := parser.Parse(text)
		switch {
		case long:
			problem = "longer than 64 KiB"
		case problem == "" && parsed.Host == "": // a comment
			continue
		case problem == "":
			requests++
			add(answer.LogRequest{
				Address: parsed.Client(r.Trusted), UserAgent: parsed.UserAgent, Common: parsed.Common, Target: Target(parsed.Request),
				Time: parsed.Time,
			})
			continue
		}
		malformed++
		if malformed <= maxBadLines {
			r.Std.Warn("%s:%d: not a line of an access log: %s", title, reader.Number, problem)
		}
	}
	if malformed > maxBadLines {
		r.Std.Warn("%s: %s of %s ignored", title, render.Count(malformed, "malformed line"), screen.Thousands(reader.Number))
	}
	return requests, malformed, err
}
