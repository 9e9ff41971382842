package fleet_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/polite"
)

// A recorder counts events by kind, and keeps the log.
type recorder struct {
	mu    sync.Mutex
	kinds map[string]int
	log   strings.Builder
}

func (o *recorder) count(kind string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kinds[kind]++
}

func (o *recorder) Cache(e cache.Event) { o.count(e.Kind.String()) }
func (o *recorder) Pace(e pace.Event)   { o.count(string(e.Kind)) }

func (o *recorder) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.log.Write(p)
}

func (o *recorder) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return fmt.Sprint(o.kinds, "\n", o.log.String())
}

// An observer of polite is one of a fleet too.
var _ fleet.Observer = polite.Observer(nil)

// TestObserve: an observer receives the events of a client on a fleet, and it and the log show that Redis becomes unreachable,
// comes back, and has lost its memory.
func TestObserve(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, redistest.Options{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			io.WriteString(w, "User-agent: *\nCrawl-delay: 0.01\n")
		}
	}))
	defer site.Close()
	o := &recorder{kinds: map[string]int{}}
	f := open(t, redis.URL(), fleet.Options{Observe: o, Log: slog.New(slog.NewTextHandler(o, nil))})
	transport, err := polite.New("MyBot", polite.Options{Fleet: f, AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer transport.Close()
	client := &http.Client{Transport: transport}
	for range 2 {
		resp, err := client.Get(site.URL + "/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	for _, want := range []string{"fetched:1", "acquired:2", "released:2", "hit:"} {
		if got := o.String(); !strings.Contains(got, want) {
			t.Errorf("observed %s, want %s", got, want)
		}
	}
	redis.Kill()
	until(t, "the end of Redis", func() bool { return !f.DownSince().IsZero() })
	redis.Up()
	for _, line := range []string{
		`level=WARN msg="the fleet's Redis is unreachable" error=`,
		`level=INFO msg="the fleet's Redis is back" after=`,
		`level=WARN msg="the fleet's Redis has lost memory, or might have: each of its sites rests for one interval"`,
		"down:1", "renewed:1", "up:1",
	} {
		until(t, line, func() bool { return strings.Contains(o.String(), line) })
	}
}
