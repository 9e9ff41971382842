package fetch

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// FuzzHead: an accepted head hides no header that frames the body, however it is written, and
// http.ReadResponse reads it to its end. Both agree on status, version and framing of what both
// accept.
func FuzzHead(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\nX: y\n\tContent-Encoding : gzip\n\n",
		"HTTP/1.1 404 No\r\nContent-Encoding\t: gzip\r\nContent-Length:\r\n 5\r\n \r\n\r\nrest", "HTTP/1.1 103 E\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.0  200\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.0   404 \r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 +20 OK\r\n\r\n",
		"HTTP/1.1 200\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.9  204\r\nContent-Length: 7\r\nContent-Length: 7\r\n\r\n",
		"HTTP/1.0\t200 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/01.1 200 OK\r\n\r\n",
	} {
		f.Add(s)
	}
	read := func(head []byte) (resp *http.Response, left int, err error) {
		from := bytes.NewReader(head)
		in := bufio.NewReader(from)
		if resp, err = http.ReadResponse(in, &http.Request{Method: http.MethodGet}); err == nil {
			resp.Body.Close()
		}
		return resp, from.Len(), err
	}
	f.Fuzz(func(t *testing.T, s string) {
		in := bufio.NewReaderSize(strings.NewReader(s), 16)
		head, status, err := readHead(in)
		if err != nil {
			return
		}
		rest, _ := io.ReadAll(in)
		sent := strings.TrimSuffix(s, string(rest))
		line, headers, _ := strings.Cut(sent, "\n")
		ours, ourHeaders, _ := strings.Cut(string(head), "\n")
		if sent+string(rest) != s || headers != ourHeaders {
			t.Fatalf("%q and %q of %q", head, rest, s)
		}
		m := statusLine().FindStringSubmatch(strings.TrimSuffix(line, "\r"))
		if m == nil {
			t.Fatalf("%q is accepted", line)
		}
		minor, _ := strconv.Atoi(m[1])
		resp, left, err := read(head)
		asSent, _, sentErr := read([]byte(sent))
		if (err == nil) != (sentErr == nil) {
			t.Fatalf("%q for %q: the reader says %v and %v", ours, line, err, sentErr)
		}
		if err != nil {
			return
		}
		if left > 0 {
			t.Errorf("%d bytes of %q are left", left, head)
		}
		for _, r := range []*http.Response{resp, asSent} {
			if r.ProtoMajor != 1 || r.ProtoMinor != minor || r.StatusCode != status {
				t.Errorf("%q is HTTP/1.%d %d here, HTTP/%d.%d %d to the reader", line, minor, status, r.ProtoMajor, r.ProtoMinor, r.StatusCode)
			}
			if r.ContentLength != resp.ContentLength || len(r.TransferEncoding) != len(resp.TransferEncoding) {
				t.Errorf("%q: framed by %d, %v and %d, %v", sent, r.ContentLength, r.TransferEncoding, resp.ContentLength, resp.TransferEncoding)
			}
		}
		read := 200 <= status && status <= 299 // the bodies that a fetch reads
		for line := range strings.FieldsFuncSeq(headers, func(c rune) bool { return c == '\r' || c == '\n' || c == 0 }) {
			name, _, colon := strings.Cut(line, ":")
			name = http.CanonicalHeaderKey(strings.ToLower(strings.Trim(name, " \t")))
			switch {
			case !colon:
			case name == "Content-Encoding" && resp.Header.Values(name) == nil,
				name == "Content-Length" && resp.Header.Values(name) == nil && len(resp.TransferEncoding) == 0,
				name == "Transfer-Encoding" && read && status != http.StatusNoContent && len(resp.TransferEncoding) == 0:
				t.Errorf("%q: %s is hidden: %v", head, name, resp.Header)
			}
		}
	})
}
