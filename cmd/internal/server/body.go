package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/robotskit/robots/cmd/internal/ask"
)

var errTooMuch = errors.New("the requests in progress have too many bytes")

// receive reads the body before the request takes a slot, so that a slow client takes none,
// and no more memory than it has sent.
func (v *exchange) receive(r *http.Request) *Problem {
	if r.ContentLength == 0 {
		return nil
	}
	if p := checkCoding(r.Header); p != nil {
		return p
	}
	if v.gate.slots.full() {
		return overloaded()
	}
	most := int64(v.settings.BodyBytes)
	if r.URL.Path == "/v1/check" || r.URL.Path == "/page/ask" { // many questions, or two files
		most = int64(v.settings.BatchBytes)
	}
	if r.ContentLength > most {
		return v.notReceived(&http.MaxBytesError{Limit: most}, most)
	}
	body := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), firstBuffer)+bytes.MinRead))
	_, err := body.ReadFrom(holding{http.MaxBytesReader(v.ResponseWriter, r.Body, most), v})
	if err != nil {
		return v.notReceived(err, most)
	}
	r.ContentLength = int64(body.Len())
	r.Body = receivedBody{body}
	return nil
}

// A receivedBody is a body in memory.
type receivedBody struct{ *bytes.Buffer }

// Close is required by http.Request.
func (receivedBody) Close() error { return nil }

// checkCoding refuses bodies that are compressed or not UTF-8.
func checkCoding(h http.Header) *Problem {
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return NewProblem(UnsupportedType, fmt.Sprintf("the Content-Encoding %q is not supported; send the body without one", ask.Clip(e)))
	}
	kind := h.Get("Content-Type")
	if !strings.Contains(kind, ";") {
		return nil
	}
	_, parameters, _ := mime.ParseMediaType(kind)
	if c := parameters["charset"]; c != "" && !strings.EqualFold(c, "utf-8") {
		return NewProblem(UnsupportedType, fmt.Sprintf("the charset %q is not supported; send UTF-8", ask.Clip(c)))
	}
	return nil
}

// notReceived returns the problem of a body whose reading failed; the rest of it ends the connection.
func (v *exchange) notReceived(err error, most int64) *Problem {
	v.Header().Set("Connection", "close")
	_, large := errors.AsType[*http.MaxBytesError](err)
	timeout, failed := errors.AsType[net.Error](err)
	switch {
	case large:
		return NewProblem(TooLarge, fmt.Sprintf("the body has more than %d bytes: send less at a time", most))
	case errors.Is(err, errTooMuch):
		return NewProblem(Busy, "the service is receiving too much data; try again").After(time.Second)
	case failed && timeout.Timeout():
		p := NewProblem(BadJSON, fmt.Sprintf("the body did not arrive within %s", v.settings.BodyTime))
		p.Status = http.StatusRequestTimeout
		return p
	}
	return NewProblem(BadJSON, "the body is shorter than its Content-Length, or its chunks are malformed")
}

// holding counts what is read as memory of an exchange.
type holding struct {
	io.Reader
	v *exchange
}

func (h holding) Read(b []byte) (int, error) {
	n, err := h.Reader.Read(b)
	if !h.v.hold(int64(n)) {
		return n, errTooMuch
	}
	return n, err
}
