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

// readHead appends the head of a response to head, from the status line to the empty line, and
// checks what http.ReadResponse accepts or hides. A lost header would leave a body undecoded,
// and chunk sizes or compressed bytes parse as a file without rules, which allows everything.
// Each line is checked as it arrives, so that nothing waits for a server of another protocol.
//
// The appended status line is in canonical form, so that http.ReadResponse reads the version
// and status that were checked. Lines can end in LF alone (RFC 9112 section 2.2). The
// limitedConn limits the bytes.
//
// A first byte of 0 begins an HTTP/2 frame, which might contain no LF.
func readHead(in *bufio.Reader, head []byte) ([]byte, error) {
	if first, err := in.Peek(1); err == nil && first[0] == 0 {
		return nil, errFrames
	}
	chunks := true // the version has chunks, or the body is not read
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

// readStatusLine reads a line such as "HTTP/1.1 200 OK". The status has three digits. The
// reason can be missing, and several spaces before the status count as one (RFC 9112 section
// 4).
func readStatusLine(line string) (minor, status int, err error) {
	version, rest, _ := strings.Cut(line, " ")
	major, minor, ok := http.ParseHTTPVersion(version)
	if ok && major != 1 {
		return 0, 0, fmt.Errorf("version %s of HTTP was not offered", version)
	}
	digits, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	n, err := strconv.ParseUint(digits, 10, 16) // without a sign, unlike Atoi
	if !ok || err != nil || len(digits) != 3 {
		return 0, 0, fmt.Errorf("malformed status line %q", line)
	}
	return minor, int(n), nil
}

// checkHeader checks a header line: a header that frames or encodes the body must not go
// unnoticed.
func checkHeader(line []byte, chunks bool) error {
	name, _, colon := bytes.Cut(line, []byte(":"))
	switch {
	case line[0] == ' ' || line[0] == '\t':
		// A folded line continues the header above (RFC 9112 section 5.2). That is an old way
		// to write long values, but here it would hide a header that frames or encodes the
		// body.
		switch strings.ToLower(string(bytes.TrimSpace(name))) {
		case "content-encoding", "content-length", "transfer-encoding":
			if colon {
				return fmt.Errorf("blanks before the header %q", line)
			}
		}
	case !colon:
		return fmt.Errorf("header without a colon: %q", line)
	case !isToken(name):
		// No space may precede the colon (RFC 9112 section 5.1).
		return fmt.Errorf("malformed name of a header: %q", name)
	case !chunks && strings.EqualFold(string(name), "Transfer-Encoding"):
		// Invalid framing whatever the length (RFC 9112 section 6.1).
		return errors.New("a transfer coding in HTTP/1.0, which has none")
	}
	return nil
}

// isControl reports whether c is invalid in any line of a head (RFC 9110 section 5.5, RFC 9112
// section 2.2).
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
