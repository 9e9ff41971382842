package polite_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/polite"
)

// logged logs what needs attention, and on the debug level everything.
type logged struct{ log *slog.Logger }

func (l logged) Cache(e cache.Event) {
	switch e.Kind {
	case cache.EventEvicted:
		l.log.Warn("the memory for robots.txt is full: set polite.Options.Store", "site", e.Origin)
	case cache.EventStoreFailed:
		l.log.Warn("the store of robots.txt failed", "error", e.Err)
	default:
		l.log.Debug("robots.txt", "event", e.Kind, "site", e.Origin)
	}
}

func (l logged) Pace(e pace.Event) {
	l.log.Debug("permit", "event", e.Kind, "site", e.Origin, "cause", e.Cause, "wait", e.Took)
}

func (l logged) Request(e polite.Event) {
	if e.Err != nil {
		l.log.Info("request", "event", e.Kind, "url", e.URL, "error", e.Err)
	}
}

// A client logs what happens with log/slog.
func ExampleObserver() {
	text := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{} // for this test
		}
		return a
	}})
	transport, err := polite.New("MyBot", polite.Options{
		Observe: logged{slog.New(text)},
		Base:    pages{"https://example.com/robots.txt": "User-agent: *\nDisallow: /private/\n", "https://example.com/": "home"},
		Policy:  pace.Policy{Default: time.Millisecond},
	})
	if err != nil {
		panic(err) // which option is invalid
	}
	defer transport.Close()
	client := &http.Client{Transport: transport}
	for _, url := range []string{"https://example.com/", "https://example.com/private/"} {
		if resp, err := client.Get(url); err == nil {
			fmt.Println(url, resp.Status)
			resp.Body.Close()
		}
	}
	// Output:
	// https://example.com/ 200 OK
	// level=INFO msg=request event=disallowed url=https://example.com/private/ error="robots.txt: https://example.com/private/ is disallowed by line 2: Disallow: /private/"
}
