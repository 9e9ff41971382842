package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// readHead appends to head that of one answer, from the status line to the empty
// line after the headers, and checks what http.ReadResponse forgives or hides: a
// header that is lost there leaves a body undecoded, and chunk sizes or
// compressed bytes parse as a file without rules, which allows everything. Each
// line is judged as it comes, so that what is not HTTP is not waited for.
//
// The status line is read here alone: what is appended is its canonical form, so
// that the reader cannot take another version or status out of it than the check.
//
// Lines may end in LF alone (RFC 9112 section 2.2). How many bytes a head may
// have is for the limitedConn to say.
//
// A first byte of 0 is the beginning of frames of HTTP/2, in which no LF need come.
func readHead(in *bufio.Reader, head []byte) ([]byte, error) {
	if first, err := in.Peek(1); err == nil && first[0] == 0 {
		return nil, errFrames
	}
	chunks := true // whether the version has them, or nobody reads the body
	for first, begin := true, len(head); ; first, begin = false, len(head) {
		for {
			part, err := in.ReadSlice('\n')
			head = append(head, part...)
			if err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return nil, err
			}
		}
		line := bytes.TrimSuffix(head[begin:len(head)-1], []byte("\r"))
		if bytes.ContainsFunc(line, isControl) {
			return nil, fmt.Errorf("a control character in %q", line)
		}
		if first {
			minor, status, err := readStatusLine(string(line))
			if err != nil {
				return nil, err
			}
			chunks = minor > 0 || status < 200 || status > 299
			head = fmt.Appendf(head[:begin], "HTTP/1.%d %03d \r\n", minor, status)
			continue
		}
		if len(line) == 0 {
			return head, nil
		}
		if err := checkHeader(line, chunks); err != nil {
			return nil, err
		}
	}
}

var errFrames = errors.New("frames of HTTP/2 where an answer of HTTP/1 belongs")

// readStatusLine reads a line such as "HTTP/1.1 200 OK". The status is three
// digits; the reason may be missing, and several blanks before the status count
// as one (RFC 9112 section 4).
func readStatusLine(line string) (minor, status int, err error) {
	version, rest, _ := strings.Cut(line, " ")
	major, minor, ok := http.ParseHTTPVersion(version)
	if ok && major != 1 {
		return 0, 0, fmt.Errorf("version %s of HTTP was not offered", version)
	}
	digits, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	n, err := strconv.ParseUint(digits, 10, 16) // no sign, unlike Atoi
	if !ok || err != nil || len(digits) != 3 {
		return 0, 0, fmt.Errorf("malformed status line %q", line)
	}
	return minor, int(n), nil
}

// checkHeader judges a line of the headers: no header that says how to read the
// body may be in it without being seen.
func checkHeader(line []byte, chunks bool) error {
	name, _, colon := bytes.Cut(line, []byte(":"))
	switch {
	case line[0] == ' ' || line[0] == '\t':
		// The value of the header above goes on (RFC 9112 section 5.2). That is
		// how a long value was once written, but not these: a header that says
		// how to read the body would be hidden in another.
		switch strings.ToLower(string(bytes.TrimSpace(name))) {
		case "content-encoding", "content-length", "transfer-encoding":
			if colon {
				return fmt.Errorf("blanks before the header %q", line)
			}
		}
	case !colon:
		return fmt.Errorf("header without a colon: %q", line)
	case !isToken(name):
		// No blank may stand before the colon (RFC 9112 section 5.1).
		return fmt.Errorf("malformed name of a header: %q", name)
	case !chunks && strings.EqualFold(string(name), "Transfer-Encoding"):
		// Faulty framing, whatever the length says (RFC 9112 section 6.1).
		return errors.New("a transfer coding in HTTP/1.0, which has none")
	}
	return nil
}

// isControl reports whether c may stand in no line of a head (RFC 9110 section
// 5.5, RFC 9112 section 2.2).
func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7F }

// isToken reports whether s is a token (RFC 9110 section 5.6.2).
func isToken(s []byte) bool {
	for _, c := range s {
		if l := c | 0x20; !('a' <= l && l <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return len(s) > 0
}
