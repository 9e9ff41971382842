package fetch

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/robotskit/robots"
)

const (
	// sendWindow is how much a server can send before it must wait. The limits on received
	// bytes end a transfer first.
	sendWindow = 1 << 30
	// maxReplies limits the replies to SETTINGS and PING: a server that sends PING forever
	// would get as many in return.
	maxReplies = 1000
)

// speaksHTTP2 is the failure of an HTTP/1 request to a server that sends HTTP/2 frames.
var speaksHTTP2 = &failure{BadResponse, "frames of HTTP/2 where an answer of HTTP/1 belongs"}

// roundTripHTTP2 is roundTrip over HTTP/2, with the frames of x/net. The client of net/http would
// read in a goroutine of its own and log each frame that it does not expect, up to 120,000
// lines for one response within the limits.
func (r *reply) roundTripHTTP2(c *Client, at robots.Origin, target string) *failure {
	r.conn.setQuota(2*c.limits.MaxHeaderBytes, RawLimit) // the headers, and as much of other frames
	s := &stream{Framer: http2.NewFramer(r.conn, r.conn), headers: c.limits.MaxHeaderBytes, bodyLeft: -1}
	s.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	s.SetMaxReadFrameSize(16 << 10)
	return r.readHeaders(s.request(r.conn, c, at, target), func() error {
		resp, err := s.response()
		if err == nil {
			r.Response = resp
			r.body = s
		}
		return err
	})
}

// A stream is the one stream of an HTTP/2 connection. Reading it reads the response body.
type stream struct {
	*http2.Framer
	begun    bool   // SETTINGS were received
	headers  int64  // bytes of headers that can still be received
	granted  int64  // bytes that window updates of the server granted
	replies  int    // number of replies to SETTINGS and PING
	bodyLeft int64  // bytes of the stated length that are missing, -1 without a length
	data     []byte // of the current frame, not yet read
	ended    bool
}

// request sends the request. A path of more than 16 KiB does not fit in the frame, and the
// server refuses it.
func (s *stream) request(conn io.Writer, c *Client, at robots.Origin, target string) error {
	_, host, _ := strings.Cut(at.String(), "://")
	fields := []hpack.HeaderField{
		{Name: ":method", Value: http.MethodGet}, {Name: ":scheme", Value: at.Scheme()},
		{Name: ":authority", Value: host}, {Name: ":path", Value: target},
		{Name: "user-agent", Value: c.options.UserAgent}, {Name: "accept", Value: accept}, {Name: "accept-encoding", Value: acceptEncoding},
	}
	if credentials := c.credentials(at); credentials != "" {
		fields = append(fields, hpack.HeaderField{Name: "authorization", Value: credentials, Sensitive: true})
	}
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, h := range fields {
		_ = encoder.WriteField(h) // a bytes.Buffer takes everything
	}
	_, err := io.WriteString(conn, http2.ClientPreface)
	return errors.Join(err,
		s.WriteSettings(http2.Setting{ID: http2.SettingEnablePush}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: sendWindow}),
		s.WriteWindowUpdate(0, sendWindow),
		s.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}),
	)
}

// response reads the headers of the final response.
func (s *stream) response() (*http.Response, error) {
	for {
		f, err := s.next()
		if err != nil {
			return nil, err
		}
		head, ok := f.(*http2.MetaHeadersFrame)
		if !ok {
			return nil, errors.New("a body of HTTP/2 outside an answer")
		}
		header, err := s.fields(head)
		if err != nil {
			return nil, err
		}
		resp := &http.Response{Status: head.PseudoValue("status"), Proto: "HTTP/2.0", ProtoMajor: 2, Header: header}
		if resp.StatusCode, err = strconv.Atoi(resp.Status); err != nil {
			return nil, errors.New("malformed status " + strconv.Quote(resp.Status))
		}
		if f := misframed(resp); f != nil {
			return nil, f
		}
		s.ended = head.StreamEnded()
		switch status := resp.StatusCode; {
		case !interim(status):
			if resp.ContentLength, err = strconv.ParseInt(header.Get("Content-Length"), 10, 64); err != nil {
				resp.ContentLength = -1
			}
			s.bodyLeft = resp.ContentLength
			return resp, nil
		case s.ended:
			return nil, errors.New("an interim response ends the stream of HTTP/2")
		}
	}
}

// Read reads the body, which is complete if the stream ends where its stated length does.
func (s *stream) Read(p []byte) (int, error) {
	for len(s.data) == 0 {
		if s.ended && s.bodyLeft > 0 {
			return 0, io.ErrUnexpectedEOF
		}
		if s.ended {
			return 0, io.EOF
		}
		f, err := s.next()
		if err != nil {
			return 0, err
		}
		switch f := f.(type) {
		case *http2.DataFrame:
			s.data = f.Data()
			s.ended = f.StreamEnded()
			if s.bodyLeft >= 0 {
				s.bodyLeft -= int64(len(s.data))
				if s.bodyLeft < 0 {
					return 0, errors.New("more bytes than the Content-Length")
				}
			}
		case *http2.MetaHeadersFrame:
			trailers, err := s.fields(f)
			if err != nil {
				return 0, err
			}
			if len(f.PseudoFields()) > 0 { // RFC 9113 section 8.1
				return 0, &failure{BadResponse, "a pseudo header in the trailers"}
			}
			if f := invalidFields(trailers, 2); f != nil {
				return 0, f
			}
			s.ended = f.StreamEnded()
			if !s.ended {
				return 0, &failure{BadResponse, "headers of HTTP/2 within a body"}
			}
		}
	}
	n := copy(p, s.data)
	s.data = s.data[n:]
	return n, nil
}

// next returns the next frame of headers or data, and replies to the frames between. Frames of
// unknown types have no meaning (RFC 9113 sections 4.1 and 5.3.2). If a reply cannot be sent,
// the response might still be complete.
func (s *stream) next() (http2.Frame, error) {
	for {
		s.MaxHeaderListSize = uint32(min(max(s.headers, 1), 1<<32-1)) // 0 means no limit of ours
		frame, err := s.ReadFrame()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // only END_STREAM ends a body
		}
		_, badStream := errors.AsType[http2.StreamError](err)
		_, badConnection := errors.AsType[http2.ConnectionError](err)
		if badStream || badConnection {
			err = &failure{BadResponse, err.Error()}
		}
		if err != nil {
			return nil, err
		}
		if _, ok := frame.(*http2.SettingsFrame); !ok && !s.begun {
			return nil, &failure{BadResponse, "HTTP/2 begins with SETTINGS"}
		}
		s.begun = true
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame, *http2.DataFrame:
			if frame.Header().StreamID != 1 {
				return nil, &failure{BadResponse, "a response of HTTP/2 to no request"}
			}
			return frame, nil
		case *http2.SettingsFrame:
			if !f.IsAck() {
				s.replies++
				_ = s.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				s.replies++
				_ = s.WritePing(true, f.Data)
			}
		case *http2.WindowUpdateFrame:
			s.granted += int64(f.Increment)
			if s.granted > 1<<31-1 {
				return nil, &failure{BadResponse, "a window of HTTP/2 above 2^31"}
			}
		case *http2.GoAwayFrame:
			if f.LastStreamID < 1 {
				return nil, errors.New("GOAWAY of HTTP/2: " + f.ErrCode.String())
			}
		case *http2.RSTStreamFrame:
			return nil, errors.New("RST_STREAM of HTTP/2: " + f.ErrCode.String())
		case *http2.PushPromiseFrame:
			return nil, &failure{BadResponse, "a pushed response of HTTP/2"}
		}
		if s.replies > maxReplies {
			return nil, &failure{RawLimit, ""}
		}
	}
}

// fields returns the headers or trailers of a frame, which count against their limit.
func (s *stream) fields(f *http2.MetaHeadersFrame) (http.Header, error) {
	h := http.Header{}
	for _, field := range f.Fields {
		s.headers -= int64(field.Size())
		if !field.IsPseudo() {
			h.Add(field.Name, field.Value)
		}
	}
	if f.Truncated || s.headers < 0 {
		return nil, &failure{HeaderLimit, ""}
	}
	return h, nil
}

// misframed returns the failure of a response that a library accepted: an invalid status,
// invalid framing, or invalid headers.
func misframed(resp *http.Response) *failure {
	digits, _, _ := strings.Cut(resp.Status, " ")
	_, isNumber := strconv.Atoi(digits) // a response made by hand can have a text alone
	lengths := resp.Header.Values("Content-Length")
	switch {
	case isNumber == nil && (len(digits) != 3 || !isDigits(digits)):
		return &failure{BadResponse, "malformed status " + strconv.Quote(digits)}
	case len(resp.Header.Values("Transfer-Encoding")) > 0:
		return &failure{BadResponse, "a transfer coding where there is none"}
	case len(lengths) > 1 || len(lengths) == 1 && !isDigits(lengths[0]):
		return &failure{BadResponse, "malformed Content-Length " + strconv.Quote(strings.Join(lengths, ", "))}
	}
	return invalidFields(resp.Header, resp.ProtoMajor)
}

// invalidFields returns the failure of headers or trailers that a library accepted. net/http
// keeps names with spaces, which hide a header, and in HTTP/2 spaces around values and fields
// that are specific to HTTP/1 connections (RFC 9113 sections 8.2.1 and 8.2.2).
func invalidFields(h http.Header, protoMajor int) *failure {
	for name, values := range h {
		if !httpguts.ValidHeaderFieldName(name) {
			return &failure{BadResponse, "malformed field name " + strconv.Quote(name)}
		}
		for _, v := range values {
			if protoMajor > 1 && v != strings.Trim(v, " \t") {
				return &failure{BadResponse, "spaces around the value of " + name}
			}
		}
	}
	for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade", "Te"} {
		if protoMajor > 1 && len(h.Values(name)) > 0 { // TE: trailers is valid only in requests
			return &failure{BadResponse, "a field about the connection, which HTTP/2 does not permit: " + name}
		}
	}
	return nil
}

// isDigits reports whether s is a valid Content-Length.
func isDigits(s string) bool {
	_, err := strconv.ParseUint(s, 10, 63)
	return err == nil
}
