package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"strings"
)

// This file reads access logs: the common format, and the combined one, which is what
// nginx writes by default:
//
//	192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET /page HTTP/1.1" 200 2326 "http://start/" "MyBot/1.0"

// maxLogLine is the longest line of a log that is read, in bytes: more than servers take
// of a request.
const maxLogLine = 64 << 10

// A logLine is what is needed of a line, as it is written there: servers write quotes,
// backslashes and bytes that are no text as escapes.
type logLine struct {
	host      []byte
	request   []byte
	userAgent []byte // "-" if the request had none
	common    bool   // the format has no User-Agent
}

// parseLogLine takes a line apart. What cannot be one is named in why, "" else. More
// fields than the combined format has are passed over.
func parseLogLine(line []byte) (l logLine, why string) {
	host, rest, ok := bytes.Cut(line, []byte(" "))
	switch {
	case !ok:
		return l, "it is one word"
	case len(host) == 0:
		return l, "it begins with a blank"
	}
	l.host = host
	// A user's name may hold blanks and brackets, but no quote that is not escaped.
	end := bytes.Index(rest, []byte(`] "`))
	if end < 0 {
		return l, "it has no time and request"
	}
	if begin := bytes.LastIndexByte(rest[:end], '['); begin < 0 || !isLogTime(rest[begin+1:end]) {
		return l, "its time is not as in [10/Oct/2026:13:55:36 +0000]"
	}
	if l.request, rest, ok = quoted(rest[end+len("] "):]); !ok {
		return l, "its request has no end"
	}
	status, rest, _ := bytes.Cut(bytes.TrimPrefix(rest, []byte(" ")), []byte(" "))
	size, rest, more := bytes.Cut(rest, []byte(" "))
	if !isNumber(status) || !isNumber(size) {
		return l, "behind the request there is no status and size"
	}
	if !more || len(bytes.TrimSpace(rest)) == 0 {
		l.common = true
		return l, ""
	}
	if _, rest, ok = quoted(rest); !ok {
		return l, "its Referer has no end"
	}
	if l.userAgent, _, ok = quoted(bytes.TrimPrefix(rest, []byte(" "))); !ok {
		return l, "its User-Agent is missing or has no end"
	}
	return l, ""
}

// quoted returns what stands in quotes at the beginning of a text, and what is behind.
func quoted(text []byte) (in, rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		return nil, text, false
	}
	for from := 1; ; {
		i := bytes.IndexByte(text[from:], '"')
		if i < 0 {
			return nil, text, false
		}
		at := from + i
		escapes := 0
		for text[at-1-escapes] == '\\' { // the first byte is a quote
			escapes++
		}
		if escapes%2 == 0 {
			return text[1:at], text[at+1:], true
		}
		from = at + 1
	}
}

// isLogTime reports whether a text has the form of 10/Oct/2026:13:55:36 +0000.
func isLogTime(text []byte) bool {
	const form = "00/Aaa/0000:00:00:00 +0000"
	if len(text) != len(form) {
		return false
	}
	for i := range len(form) {
		c := text[i]
		switch f := form[i]; f {
		case '0':
			if c < '0' || c > '9' {
				return false
			}
		case 'A', 'a':
			if c|0x20 < 'a' || c|0x20 > 'z' {
				return false
			}
		case '+':
			if c != '+' && c != '-' {
				return false
			}
		default:
			if c != f {
				return false
			}
		}
	}
	return true
}

// isNumber reports whether a text is a number, or the - of a log.
func isNumber(text []byte) bool {
	if string(text) == "-" {
		return true
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(text) > 0
}

// unescape returns a text of a log as it was sent. Apache writes \" \\ \n \t \xhh and the
// like, nginx \xHH. What is no escape stays as it is.
func unescape(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text)
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		const letters, bytesOf = `"\bnrtv`, "\"\\\b\n\r\t\v"
		switch at := strings.IndexByte(letters, text[i]); {
		case at >= 0:
			b.WriteByte(bytesOf[at])
		case text[i] == 'x' && i+2 < len(text) && hexDigit(text[i+1]) >= 0 && hexDigit(text[i+2]) >= 0:
			b.WriteByte(byte(hexDigit(text[i+1])<<4 | hexDigit(text[i+2])))
			i += 2
		default:
			b.WriteByte('\\')
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// hexDigit returns the value of a digit, -1 if it is none.
func hexDigit(c byte) int {
	if 'A' <= c && c <= 'F' {
		c |= 0x20
	}
	return strings.IndexByte("0123456789abcdef", c)
}

// target returns what a request line asks for, "" if that cannot be read: not every
// line is one, as anybody can send anything.
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

// plainLog returns a log as text: what begins as gzip does is taken for that, also
// several such files in one.
func plainLog(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	if magic, _ := b.Peek(2); len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
		return b, nil // an error comes with the first read
	}
	return gzip.NewReader(b)
}
