package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
)

// The lines of response headers and trailers. Lines can end in LF alone (RFC 9112 section 2.2).
var (
	// The reason can be missing, and several spaces before the status count as one (RFC 9112
	// section 4).
	statusLine = regexp.MustCompile(`^HTTP/1\.(\d) +(\d{3})(?: |$)`)
	// A name is a token (RFC 9110 section 5.6.2), and no space precedes the colon (RFC 9112
	// section 5.1). A folded line continues the field above, an old way to write long values
	// (section 5.2).
	fieldLine  = regexp.MustCompile("^(?:[ \t]|[-!#$%&'*+.^_`|~0-9A-Za-z]+:)")
	codingLine = regexp.MustCompile(`(?i)^transfer-encoding:`)
	// A folded line that would hide a header that frames or encodes the body.
	hidingLine = regexp.MustCompile(`(?i)^[ \t]+(?:content-encoding|content-length|transfer-encoding)[ \t]*:`)
	// Control characters are invalid in all of them (RFC 9110 section 5.5, RFC 9112 section
	// 2.2).
	controlLine = regexp.MustCompile(`[\x00-\x08\x0A-\x1F\x7F]`)
)

// interim reports whether another response follows.
func interim(status int) bool {
	return 100 <= status && status < 200 && status != http.StatusSwitchingProtocols
}

// finalHead returns the head and the status of the final response. All heads count against the
// limit, so this ends.
func finalHead(in *bufio.Reader) (head []byte, status int, err error) {
	for status = http.StatusContinue; err == nil && interim(status); {
		head, status, err = readHead(in)
	}
	return head, status, err
}

// readHead returns the head of a response, from the status line to the empty line, and checks
// what http.ReadResponse accepts or hides. A lost header would leave a body undecoded, and chunk
// sizes or compressed bytes parse as a file without rules, which allows everything. Each line is
// checked as it arrives, so that nothing waits for a server of another protocol.
//
// The returned status line is in canonical form, so that http.ReadResponse reads the version
// and status that were checked. The limitedConn limits the bytes.
//
// A first byte of 0 begins an HTTP/2 frame, which might contain no LF.
func readHead(in *bufio.Reader) (head []byte, status int, err error) {
	if first, err := in.Peek(1); err == nil && first[0] == 0 {
		return nil, 0, speaksHTTP2
	}
	line, err := readLine(in, &head)
	if err != nil {
		return nil, 0, err
	}
	m := statusLine.FindSubmatch(line)
	if m == nil {
		return nil, 0, fmt.Errorf("malformed status line %q", line)
	}
	status, _ = strconv.Atoi(string(m[2]))
	chunks := m[1][0] > '0' || status < 200 || status > 299 // the version has chunks, or the body is not read
	head = fmt.Appendf(nil, "HTTP/1.%s %s \r\n", m[1], m[2])
	for {
		line, err := readLine(in, &head)
		switch {
		case err != nil:
			return nil, 0, err
		case len(line) == 0:
			return head, status, nil
		case !chunks && codingLine.Match(line):
			// Invalid framing whatever the length (RFC 9112 section 6.1).
			return nil, 0, errors.New("a transfer coding in HTTP/1.0, which has none")
		}
		if err := checkField(line); err != nil {
			return nil, 0, err
		}
	}
}

// readLine appends a line to a section, and returns it without its end.
func readLine(in *bufio.Reader, section *[]byte) (line []byte, err error) {
	begin := len(*section)
	for {
		part, err := in.ReadSlice('\n')
		*section = append(*section, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
	line = bytes.TrimSuffix((*section)[begin:len(*section)-1], []byte("\r"))
	if controlLine.Match(line) {
		return nil, fmt.Errorf("a control character in %q", line)
	}
	return line, nil
}

// checkField returns the error of a malformed line in the headers or trailers.
func checkField(line []byte) error {
	switch {
	case hidingLine.Match(line):
		return fmt.Errorf("blanks before the field %q", line)
	case !fieldLine.Match(line):
		return fmt.Errorf("malformed field %q", line)
	}
	return nil
}
