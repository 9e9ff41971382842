// Fleet is a crawler of three processes that share each robots.txt fetch and one crawl rate per
// site. It also runs the site, on this machine, whose robots.txt allows five pages per second for
// ten minutes and fewer later, and prints when requests arrive.
//
//	go run ./examples/fleet redis://localhost:6379
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/polite"
)

const (
	workers = 3
	pages   = 6 // each
)

func main() {
	log.SetFlags(0)
	switch {
	case len(os.Args) == 2:
		start(os.Args[1])
	case len(os.Args) == 4:
		work(os.Args[1], os.Args[2], os.Args[3])
	default:
		log.Fatal("usage: fleet REDIS-URL")
	}
}

// work is one worker, which shares only the Fleet with the others.
func work(redis, site, name string) {
	f, err := fleet.Open(context.Background(), redis, fleet.Options{
		Prefix: "example",
		Pace:   pace.Options{AddressInterval: -1}, // so that only the rate of the site applies
	})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	// AllowPrivate because the site is on this machine.
	client := polite.Client("ExampleBot", polite.Options{Fleet: f, AllowPrivate: true})
	for page := range pages {
		resp, err := client.Get(fmt.Sprintf("%s/%s/%d", site, name, page+1))
		if err != nil {
			log.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close() // which releases the permit
	}
}

// start starts the site and the workers, and prints what the site received.
func start(redis string) {
	s := site{began: time.Now()}
	server := httptest.NewServer(&s)
	defer server.Close()
	var all sync.WaitGroup
	for i := range workers {
		worker := exec.Command(os.Args[0], redis, server.URL, fmt.Sprint("worker-", i+1))
		worker.Stderr = os.Stderr
		if err := worker.Start(); err != nil {
			log.Fatal(err)
		}
		all.Go(func() {
			if err := worker.Wait(); err != nil {
				log.Fatal(err)
			}
		})
	}
	all.Wait()
	s.report()
}

// site is a web site that records arrivals.
type site struct {
	began time.Time

	mu     sync.Mutex
	robots int
	visits []time.Time
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path == "/robots.txt" {
		s.robots++
		now := s.began.UTC()
		fmt.Fprintf(w, "User-agent: *\nRequest-rate: 5/1s %s-%s\nRequest-rate: 1/2s\n",
			now.Format("1504"), now.Add(10*time.Minute).Format("1504"))
		return
	}
	gap := ""
	if n := len(s.visits); n > 0 {
		gap = time.Since(s.visits[n-1]).Round(time.Millisecond).String() + " later"
	}
	s.visits = append(s.visits, time.Now())
	fmt.Printf("%7.3f s  %-12s  %s\n", time.Since(s.began).Seconds(), r.URL.Path, gap)
}

func (s *site) report() {
	var gaps []time.Duration
	for i, t := range s.visits[1:] {
		gaps = append(gaps, t.Sub(s.visits[i]).Round(time.Millisecond))
	}
	fmt.Printf("%d pages to %d processes, at least %s apart; robots.txt was fetched %d time(s)\n",
		len(s.visits), workers, slices.Min(gaps), s.robots)
}
