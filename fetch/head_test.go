package fetch

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// FuzzHead: a head that is accepted hides no header that says how to read the
// body, however it is written, and is read to its end by http.ReadResponse.
func FuzzHead(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\nX: y\n\tContent-Encoding : gzip\n\n",
		"HTTP/1.1 404 No\r\nContent-Encoding\t: gzip\r\nContent-Length:\r\n 5\r\n \r\n\r\nrest", "HTTP/1.1 103 E\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		in := bufio.NewReaderSize(strings.NewReader(s), 16)
		head, err := readHead(in, nil)
		if err != nil {
			return
		}
		if !strings.HasPrefix(s, string(head)) {
			t.Fatalf("%q is not the head of %q", head, s)
		}
		rest, _ := io.ReadAll(in)
		if string(head)+string(rest) != s {
			t.Fatalf("%q and %q of %q", head, rest, s)
		}
		from := bytes.NewReader(head)
		resp, err := http.ReadResponse(bufio.NewReader(from), &http.Request{Method: http.MethodGet})
		if err != nil {
			return
		}
		resp.Body.Close()
		if from.Len() > 0 {
			t.Errorf("%d octets of %q are left", from.Len(), head)
		}
		for line := range strings.FieldsFuncSeq(string(head), func(c rune) bool { return c == '\r' || c == '\n' || c == 0 }) {
			name, _, colon := strings.Cut(line, ":")
			name = http.CanonicalHeaderKey(strings.ToLower(strings.Trim(name, " \t")))
			switch {
			case !colon:
			case name == "Content-Encoding" && resp.Header.Values(name) == nil,
				name == "Content-Length" && resp.Header.Values(name) == nil && len(resp.TransferEncoding) == 0,
				name == "Transfer-Encoding" && len(resp.TransferEncoding) == 0:
				t.Errorf("%q: %s is hidden: %v", head, name, resp.Header)
			}
		}
	})
}
