package fetch

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	"github.com/robotskit/robots"
)

// TestCredentials: the credentials of an origin are sent to it in HTTP/1, in HTTP/2 and by a Transport, and
// not to another origin to which it redirects. The record does not contain them.
func TestCredentials(t *testing.T) {
	s := newStage(t)
	const login = "Basic bWU6d29yZDpzw6k=" // me:word:sé
	for _, c := range []struct {
		name      string
		protocols []string
		transport bool
	}{
		{"HTTP/1", []string{"http/1.1"}, false},
		{"HTTP/2", []string{"h2"}, false},
		{"Transport", []string{"http/1.1"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sent []string
			site := func(handle http.HandlerFunc) *httptest.Server {
				server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					sent = append(sent, r.Header.Get("Authorization"))
					handle(w, r)
				}))
				server.Config.ErrorLog = log.New(io.Discard, "", 0)
				server.EnableHTTP2 = true
				server.TLS = &tls.Config{Certificates: []tls.Certificate{*s.pki.certificate("")}, NextProtos: c.protocols}
				server.StartTLS()
				t.Cleanup(server.Close)
				return server
			}
			public := site(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, someRules) })
			private := site(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					http.Redirect(w, r, "/within", http.StatusFound)
					return
				}
				http.Redirect(w, r, public.URL+"/robots.txt", http.StatusFound)
			})
			origin := mustOrigin(t, private.URL)
			o := s.options()
			o.Credentials = func(at robots.Origin) *url.Userinfo {
				if at == origin {
					return url.UserPassword("me", "word:sé")
				}
				return nil
			}
			if c.transport {
				o.Transport = &http.Transport{TLSClientConfig: o.TLS}
				o.TLS = nil
				o.Dial = nil
			}
			r, err := s.client(t, o).Fetch(context.Background(), origin)
			if err != nil || r.Outcome != Success {
				t.Fatal(r, err)
			}
			if want := []string{login, login, ""}; !slices.Equal(sent, want) {
				t.Errorf("sent %q, want %q", sent, want)
			}
		})
	}
}
