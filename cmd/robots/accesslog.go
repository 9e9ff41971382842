package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"
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

// maxLogLine limits a line of a log, in bytes: more than servers accept in a request.
const maxLogLine = 64 << 10

// A logLine has the fields of a line, still with the escapes that servers write for
// quotes, backslashes and control bytes.
type logLine struct {
	host      []byte
	request   []byte
	userAgent []byte // "-" if the request had none
	common    bool   // the format has no User-Agent
}

// parseLogLine parses a line and returns its problem, "" if it is valid. Fields after
// those of the combined format are ignored.
func parseLogLine(line []byte) (l logLine, problem string) {
	if bytes.HasPrefix(line, []byte("{")) {
		return parseJSONLogLine(line)
	}
	host, rest, ok := bytes.Cut(line, []byte(" "))
	switch {
	case !ok:
		return l, "only one word"
	case len(host) == 0:
		return l, "begins with a space"
	}
	l.host = host
	// A user name can contain spaces and brackets, but no unescaped quote.
	end := bytes.Index(rest, []byte(`] "`))
	if end < 0 {
		return l, "no time and request"
	}
	begin := bytes.LastIndexByte(rest[:end], '[')
	if _, err := time.Parse("02/Jan/2006:15:04:05 -0700", string(rest[begin+1:end])); begin < 0 || err != nil {
		return l, "invalid time (expected [10/Oct/2026:13:55:36 +0000])"
	}
	if l.request, rest, ok = quoted(rest[end+len("] "):]); !ok {
		return l, "unterminated request"
	}
	status, rest, _ := bytes.Cut(bytes.TrimPrefix(rest, []byte(" ")), []byte(" "))
	size, rest, more := bytes.Cut(rest, []byte(" "))
	if !isNumber(status) || !isNumber(size) {
		return l, "no status and size after the request"
	}
	if !more || len(bytes.TrimSpace(rest)) == 0 {
		l.common = true
		return l, ""
	}
	if _, rest, ok = quoted(rest); !ok {
		return l, "unterminated Referer"
	}
	if l.userAgent, _, ok = quoted(bytes.TrimPrefix(rest, []byte(" "))); !ok {
		return l, "missing or unterminated User-Agent"
	}
	return l, ""
}

// parseJSONLogLine parses a line of Cloudflare Logpush or nginx. Other fields are ignored.
func parseJSONLogLine(line []byte) (l logLine, problem string) {
	var fields struct {
		ClientIP, ClientRequestMethod, ClientRequestURI string
		ClientRequestUserAgent                          *string

		Address   string  `json:"remote_addr"`
		Request   string  `json:"request"`
		Method    string  `json:"request_method"`
		URI       string  `json:"request_uri"`
		UserAgent *string `json:"http_user_agent"`
	}
	if err := json.Unmarshal(line, &fields); err != nil {
		return l, "invalid JSON, or a field that is not a string"
	}
	host := cmp.Or(fields.ClientIP, fields.Address)
	if host == "" {
		return l, "no ClientIP (Cloudflare) or remote_addr (nginx)"
	}
	request := fields.Request
	if uri := cmp.Or(fields.ClientRequestURI, fields.URI); request == "" && uri != "" {
		request = cmp.Or(fields.ClientRequestMethod, fields.Method, "GET") + " " + uri
	}
	escape := func(s string) []byte { return []byte(strings.ReplaceAll(s, `\`, `\\`)) }
	l.host, l.request = []byte(host), escape(request)
	if agent := cmp.Or(fields.ClientRequestUserAgent, fields.UserAgent); agent != nil {
		l.userAgent = escape(cmp.Or(*agent, "-"))
	} else {
		l.common = true
	}
	return l, ""
}

// quoted returns the quoted string at the beginning of a text, and the rest.
func quoted(text []byte) (in, rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		return nil, text, false
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[1:i], text[i+1:], true
		}
	}
	return nil, text, false
}

// isNumber reports whether a field is a number or -.
func isNumber(text []byte) bool {
	_, err := strconv.ParseUint(string(text), 10, 64)
	return err == nil || string(text) == "-"
}

// unescape decodes the escapes of Apache (\" \\ \n \t \xhh) and nginx (\xHH), which are those of
// Go. Other backslashes stay.
func unescape(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text)
	}
	var b strings.Builder
	for s := string(text); s != ""; {
		c, rest := rune(s[0]), s[1:]
		if c == '\\' {
			if value, wide, tail, err := strconv.UnquoteChar(s, '"'); err == nil && !wide {
				c, rest = value, tail
			}
		}
		b.WriteByte(byte(c))
		s = rest
	}
	return b.String()
}

// target returns the target of a request line, "" if it has none: clients send anything.
func target(request string) string {
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
