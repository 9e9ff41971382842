package fetch

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestHTTP2Only: a server that speaks only HTTP/2 gets a second request, and the record has the
// protocol; one that speaks both is requested in HTTP/1.1.
func TestHTTP2Only(t *testing.T) {
	s := newStage(t)
	file := rulesOf(400_000) // more than the usual windows
	for _, c := range []struct {
		protocols []string
		want      string
		offered   [][]string
	}{
		{[]string{"h2"}, "HTTP/2.0", [][]string{{"http/1.1"}, {"h2"}}},
		{[]string{"h2", "http/1.1"}, "HTTP/1.1", [][]string{{"http/1.1"}}},
		{nil, "HTTP/1.1", [][]string{{"http/1.1"}}},
	} {
		var offered [][]string
		var asked []*http.Request
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r)
			io.WriteString(w, file)
		}))
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.EnableHTTP2 = true
		server.TLS = &tls.Config{Certificates: []tls.Certificate{*s.pki.certificate("")}, NextProtos: c.protocols}
		server.TLS.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			offered = append(offered, h.SupportedProtos)
			if !slices.Contains(c.protocols, "http/1.1") && c.protocols != nil && h.SupportedProtos[0] != "h2" {
				h.Conn.Write([]byte{21, 3, 3, 0, 2, 2, 120}) // crypto/tls lets HTTP/1.1 in
			}
			return nil, nil
		}
		server.StartTLS()
		r, err := s.client(t, s.options()).Fetch(context.Background(), mustOrigin(t, server.URL))
		server.Close()
		if err != nil || r.Cause != OK || string(r.Body) != file {
			t.Fatalf("%v: %v (%s), %v", c.protocols, r.Cause, r.Detail, err)
		}
		if got := r.Hops[0].Protocol; got != c.want {
			t.Errorf("%v: the record says %q, want %q", c.protocols, got, c.want)
		}
		if !slices.EqualFunc(offered, c.offered, slices.Equal) {
			t.Errorf("%v: offered %q, want %q", c.protocols, offered, c.offered)
		}
		if len(asked) != 1 {
			t.Fatalf("%v: %d requests", c.protocols, len(asked))
		}
		want := http.Header{"User-Agent": {DefaultUserAgent}, "Accept": {"text/plain, */*;q=0.8"}, "Accept-Encoding": {"gzip, deflate"}}
		if asked[0].ProtoMajor == 1 {
			want["Connection"] = []string{"close"}
		}
		if got := asked[0].Header; len(got) != len(want) || got.Get("User-Agent") != want.Get("User-Agent") || got.Get("Accept") != want.Get("Accept") || got.Get("Accept-Encoding") != want.Get("Accept-Encoding") {
			t.Errorf("%v: headers %q, want %q", c.protocols, got, want)
		}
	}
}

// TestNotTLS: a port that speaks plain HTTP is recognized by its first bytes, which the message
// shows.
func TestNotTLS(t *testing.T) {
	f := classifyNetError(tls.RecordHeaderError{RecordHeader: [5]byte([]byte("HTTP/"))}, TLSTimeout)
	if f.cause != TLSFailure || !strings.Contains(f.detail, `"HTTP/"`) {
		t.Errorf("%v: %s", f.cause, f.detail)
	}
}
