package clients

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/polite"
)

// newSite starts a site on this machine. Its page /busy works at the second attempt.
func newSite() *httptest.Server {
	var busy atomic.Int64
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: MyBot\nDisallow: /private\n\nUser-agent: *\nDisallow: /\n")
		case "/busy":
			if busy.Add(1) == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href="/news">news</a> <a href="/private/diary">diary</a>`)
		}
	}))
}

// newTransport returns a transport for sites on this machine, with short waits.
func newTransport(o polite.Options) *polite.Transport {
	o.AllowPrivate = true
	o.Policy = pace.Policy{Default: time.Millisecond}
	transport, err := polite.New("MyBot", o)
	if err != nil {
		panic(err) // which option is invalid
	}
	return transport
}
