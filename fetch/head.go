package fetch

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"sync"

	"github.com/robotskit/robots/internal/http1"
)

// Lines of response headers.
var (
	// The reason can be missing, and several spaces before the status count as one (RFC 9112
	// section 4).
	statusLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^HTTP/1\.(\d) +(\d{3})(?: |$)`) })
	codingLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^transfer-encoding:`) })
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
	line, err := http1.ReadLine(in, &head)
	if err != nil {
		return nil, 0, err
	}
	m := statusLine().FindSubmatch(line)
	if m == nil {
		return nil, 0, fmt.Errorf("malformed status line %q", line)
	}
	status, _ = strconv.Atoi(string(m[2]))
	chunks := m[1][0] > '0' || status < 200 || status > 299 // the version has chunks, or the body is not read
	head = fmt.Appendf(nil, "HTTP/1.%s %s \r\n", m[1], m[2])
	for {
		line, err := http1.ReadLine(in, &head)
		switch {
		case err != nil:
			return nil, 0, err
		case len(line) == 0:
			return head, status, nil
		case !chunks && codingLine().Match(line):
			// Invalid framing whatever the length (RFC 9112 section 6.1).
			return nil, 0, errors.New("a transfer coding in HTTP/1.0, which has none")
		}
		if err := http1.CheckField(line); err != nil {
			return nil, 0, err
		}
	}
}
