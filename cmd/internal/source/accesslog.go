package source

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/lines"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
)

// Access logs are in the common or the combined format, the default of nginx:
//
//	192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET /page HTTP/1.1" 200 2326 "http://start/" "MyBot/1.0"
//
// or have a JSON object on each line, with the fields of Cloudflare Logpush or the
// variables of nginx:
//
//	{"ClientIP":"192.0.2.1","ClientRequestURI":"/page","ClientRequestUserAgent":"MyBot/1.0"}
//	{"remote_addr":"192.0.2.1","request":"GET /page HTTP/1.1","http_user_agent":"MyBot/1.0"}

// MaxLogLine limits a line of a log, in bytes: more than servers accept in a request.
const MaxLogLine = 64 << 10

// maxBadLines limits how many malformed lines of a log are reported.
const maxBadLines = 3

// ReadLog reads an access log, with gzip or without, and calls add with each request. It warns of
// malformed lines, and counts all lines in read. After a read error the requests before it are added.
func ReadLog(ctx context.Context, std *screen.Streams, name string, read *atomic.Int64, add func(answer.LogRequest)) error {
	from, title, err := OpenNamed(std, name)
	if err != nil {
		return err
	}
	defer from.Close()
	r := lines.NewReader(from, MaxLogLine)
	if err := r.Unzip(); err != nil {
		return fmt.Errorf("cannot read %s: %w", title, screen.Cause(err))
	}
	var line []byte
	bad := 0
	for ctx.Err() == nil {
		line, err = r.Next(line)
		if err != nil && !errors.Is(err, lines.ErrLong) {
			break
		}
		read.Add(1)
		problem := addLogLine(strings.TrimSuffix(string(line), "\r"), err, add)
		if problem == "" {
			continue
		}
		bad++
		if bad <= maxBadLines {
			std.Warn("%s:%d: not a line of an access log: %s", title, r.Number, problem)
		}
	}
	if bad > maxBadLines {
		std.Warn("%s: %s of %s ignored", title, render.Count(bad, "malformed line"), screen.Thousands(r.Number))
	}
	switch {
	case ctx.Err() != nil || errors.Is(err, io.EOF):
		return ctx.Err()
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader):
		err = errors.New("damaged or truncated gzip")
	}
	return fmt.Errorf("cannot read %s after line %d: %w", title, r.Number, screen.Cause(err))
}

// addLogLine calls add with the request in a line, unless it is blank. It returns the problem of a
// malformed line, or of one that was not read because it is too long.
func addLogLine(text string, err error, add func(answer.LogRequest)) (problem string) {
	if err != nil {
		return "longer than 64 KiB"
	}
	if text == "" {
		return ""
	}
	line, problem := ParseLogLine(text)
	if problem != "" {
		return problem
	}
	request := answer.LogRequest{UserAgent: line.UserAgent, Common: line.Common, Target: Target(line.Request)}
	address, err := ask.Address(line.Host)
	if err != nil {
		address = netip.Addr{} // of a name
	}
	request.Address = address
	add(request)
	return ""
}

// A LogLine has the fields of a line as the client sent them.
type LogLine struct {
	Host      string
	Request   string
	UserAgent string // "-" if the request had none
	Common    bool   // the format has no User-Agent
}

// ParseLogLine parses a line and returns its problem, "" if it is valid. Fields after
// those of the combined format are ignored.
func ParseLogLine(line string) (l LogLine, problem string) {
	if strings.HasPrefix(line, "{") {
		return parseJSONLogLine(line)
	}
	host, rest, ok := strings.Cut(line, " ")
	switch {
	case !ok:
		return l, "only one word"
	case host == "":
		return l, "begins with a space"
	}
	l.Host = host
	// A user name can contain spaces and brackets, but no unescaped quote.
	end := strings.Index(rest, `] "`)
	if end < 0 {
		return l, "no time and request"
	}
	begin := strings.LastIndexByte(rest[:end], '[')
	if _, err := time.Parse("02/Jan/2006:15:04:05 -0700", rest[begin+1:end]); begin < 0 || err != nil {
		return l, "invalid time (expected [10/Oct/2026:13:55:36 +0000])"
	}
	if l.Request, rest, ok = quoted(rest[end+len("] "):]); !ok {
		return l, "unterminated request"
	}
	status, rest, _ := strings.Cut(strings.TrimPrefix(rest, " "), " ")
	size, rest, _ := strings.Cut(rest, " ")
	if !isNumber(status) || !isNumber(size) {
		return l, "no status and size after the request"
	}
	l.Common = strings.TrimSpace(rest) == ""
	if l.Common {
		return l, ""
	}
	if _, rest, ok = quoted(rest); !ok {
		return l, "unterminated Referer"
	}
	if l.UserAgent, _, ok = quoted(strings.TrimPrefix(rest, " ")); !ok {
		return l, "missing or unterminated User-Agent"
	}
	return l, ""
}

// parseJSONLogLine parses a line of Cloudflare Logpush or nginx. Other fields are ignored.
func parseJSONLogLine(line string) (l LogLine, problem string) {
	var fields struct {
		ClientIP, ClientRequestMethod, ClientRequestURI string
		ClientRequestUserAgent                          *string

		Address   string  `json:"remote_addr"`
		Request   string  `json:"request"`
		Method    string  `json:"request_method"`
		URI       string  `json:"request_uri"`
		UserAgent *string `json:"http_user_agent"`
	}
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		return l, "invalid JSON, or a field that is not a string"
	}
	l.Host = cmp.Or(fields.ClientIP, fields.Address)
	if l.Host == "" {
		return l, "no ClientIP (Cloudflare) or remote_addr (nginx)"
	}
	l.Request = fields.Request
	if uri := cmp.Or(fields.ClientRequestURI, fields.URI); l.Request == "" && uri != "" {
		l.Request = cmp.Or(fields.ClientRequestMethod, fields.Method, "GET") + " " + uri
	}
	agent := cmp.Or(fields.ClientRequestUserAgent, fields.UserAgent)
	l.Common = agent == nil
	if !l.Common {
		l.UserAgent = cmp.Or(*agent, "-")
	}
	return l, ""
}

// quoted returns the quoted string at the beginning of a text without its escapes, and the rest.
func quoted(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", text, false
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return unescape(text[1:i]), text[i+1:], true
		}
	}
	return "", text, false
}

// isNumber reports whether a field is a number or -.
func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 64)
	return err == nil || text == "-"
}

// escapes are those of Apache (\" \\ \n \t \xhh) and nginx (\xHH), and others of Go.
var escapes = regexp.MustCompile(`\\([abfnrtv"\\]|x[[:xdigit:]]{2}|[0-3][0-7]{2})`)

// unescape decodes the escapes that servers write for quotes, backslashes and control bytes. Other
// backslashes stay.
func unescape(text string) string {
	return escapes.ReplaceAllStringFunc(text, func(escape string) string {
		value, _ := strconv.Unquote(`"` + escape + `"`) // which is valid
		return value
	})
}

// Target returns the target of a request line, "" if it has none: clients send anything.
func Target(request string) string {
	method, rest, ok := strings.Cut(request, " ")
	if !ok || method == "" || method == "CONNECT" {
		return ""
	}
	if i := strings.LastIndexByte(rest, ' '); i >= 0 && strings.HasPrefix(rest[i+1:], "HTTP/") {
		rest = rest[:i]
	}
	if strings.Contains(rest, " ") || !strings.HasPrefix(rest, "/") && !strings.Contains(rest, "://") {
		return ""
	}
	return rest
}
