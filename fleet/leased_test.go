package fleet_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/polite"
)

// TestLeased: a site belongs to one worker until that one leaves; the next one goes on
// within seconds and at the right spacing.
func TestLeased(t *testing.T) {
	t.Parallel()
	server, site := redistest.Start(t, redistest.Options{}), newSite(t)
	first, err := fleet.Open(t.Context(), server.URL(), fleet.Options{Leased: true, Name: "first"})
	if err != nil {
		t.Fatal(err)
	}
	transport, err := polite.New("MyBot", polite.Options{Fleet: first, AllowPrivate: true, Policy: pace.Policy{Default: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer transport.Close()
	a := worker{t, transport, first}
	b := newWorker(t, server.URL(), fleet.Options{Leased: true, Name: "second"})
	a.must(site.URL)
	a.must(site.URL)
	err = b.get(site.URL, time.Second)
	if _, late := errors.AsType[*pace.LateError](err); !late || !strings.Contains(err.Error(), "another worker has the site: first, until ") {
		t.Errorf("the second worker: %v, want the name of the first", err)
	}
	if _, is := first.Limiter().(pace.Chooser); !is {
		t.Error("the limiter is no Chooser")
	}
	got := make(chan error, 1)
	go func() { got <- b.get(site.URL, time.Minute) }()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Errorf("the second worker, after the first has left: %v", err)
	}
	if robots, pages := site.counts(); robots != 1 || pages != 3 {
		t.Errorf("%d fetches of robots.txt and %d pages, want 1 and 3", robots, pages)
	}
	for i := 1; i < len(site.pages); i++ {
		if d := site.pages[i].Sub(site.pages[i-1]); d < 50*time.Millisecond {
			t.Errorf("pages %d and %d are %s apart, want 50 ms", i-1, i, d)
		}
	}
}
