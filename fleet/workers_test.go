package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/proctest"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/polite"
)

// asWorker is the variable of the environment that makes the test binary a worker.
const asWorker = "ROBOTS_FLEET_WORKER"

// orders are the settings of a worker process.
type orders struct {
	Redis         string
	Sites         []string
	Interval, Gap time.Duration
	Callers       int
}

func TestMain(m *testing.M) {
	if text := os.Getenv(asWorker); text != "" {
		var o orders
		err := json.Unmarshal([]byte(text), &o)
		if err == nil {
			err = o.work()
		}
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// work crawls the sites, each caller at random, until standard input ends.
func (o orders) work() error {
	f, err := fleet.Open(context.Background(), o.Redis, fleet.Options{Pace: pace.Options{AddressInterval: o.Gap, FetchInterval: o.Gap}})
	if err != nil {
		return err
	}
	p, err := polite.New("MyBot", polite.Options{Fleet: f, AllowPrivate: true, Policy: pace.Policy{Default: o.Interval}})
	if err != nil {
		return err
	}
	client := &http.Client{Transport: p, Timeout: 10 * time.Second} // a site that a dead worker asked rests
	for range o.Callers {
		go func() {
			for {
				if resp, err := client.Get(o.Sites[rand.IntN(len(o.Sites))] + "/page"); err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
		}()
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
	os.Exit(0)                           // as a worker that is killed
	return nil
}

// A loggedSite is one of many at an address, with a log of its requests.
type loggedSite struct {
	under, together int // fetches of robots.txt under way, and at most
	files           int
	pages           []time.Time
}

// TestWorkers: processes crawl sites at one address, and are killed with kill -9 at any moment
// and replaced. The arrivals keep the interval of each site and of the address, and no
// robots.txt is fetched twice at a time.
func TestWorkers(t *testing.T) {
	campaign.NotForRace(t)
	t.Parallel()
	workers, kills := campaign.Size(3, 6, 32), campaign.Size(1, 3, 64)
	o := orders{Interval: campaign.Size(100*time.Millisecond, 100*time.Millisecond, 200*time.Millisecond), Gap: 10 * time.Millisecond, Callers: 4}
	server := redistest.Start(t, redistest.Options{})
	o.Redis = server.URL()
	var mu sync.Mutex
	var arrivals []time.Time
	sites, pages := make([]loggedSite, campaign.Size(8, 12, 64)), 0
	for i := range sites {
		s := &sites[i]
		handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			arrivals = append(arrivals, time.Now())
			if r.URL.Path != "/robots.txt" {
				s.pages = append(s.pages, time.Now())
				pages++
				return
			}
			s.files++
			s.under++
			s.together = max(s.together, s.under)
			mu.Unlock()
			time.Sleep(20 * time.Millisecond) // a slow site
			mu.Lock()
			s.under--
		})
		web := httptest.NewServer(handler)
		t.Cleanup(web.Close)
		o.Sites = append(o.Sites, web.URL)
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	start := func() (kill func()) {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env, cmd.Stderr = append(os.Environ(), asWorker+"="+string(text), "GOMAXPROCS=1"), os.Stderr
		in, err := cmd.StdinPipe()
		if err == nil {
			err = proctest.Start(cmd)
		}
		if err != nil {
			t.Fatal(err)
		}
		return sync.OnceFunc(func() {
			cmd.Process.Kill()
			cmd.Wait()
			in.Close()
		})
	}
	more := func(n int) {
		count := func() int { mu.Lock(); defer mu.Unlock(); return pages }
		before := count()
		until(t, "pages", func() bool { return count() >= before+n })
	}
	began := time.Now()
	var running []func()
	for range workers {
		running = append(running, start())
	}
	each := campaign.Size(20, 20, 100)
	more(each)
	for range kills {
		i := rand.IntN(workers)
		running[i]()
		running[i] = start()
		more(each)
	}
	for _, kill := range running {
		kill()
	}
	mu.Lock()
	defer mu.Unlock()
	checkArrivals(t, sites, arrivals, began, o)
	files, most := 0, 0
	for _, s := range sites {
		files += s.files
		most = max(most, s.files)
	}
	if files > len(sites)+kills*o.Callers {
		t.Errorf("%d fetches of the robots.txt of %d sites, with %d kills of workers that fetch %d at a time", files, len(sites), kills, o.Callers)
	}
	t.Logf("%d processes, %d killed and replaced, %d sites: %d pages, %d fetches of robots.txt, at most %d of one, in %s",
		workers, kills, len(sites), pages, files, most, time.Since(began).Round(time.Millisecond))
}

// checkArrivals checks the spacing of what arrived at the sites and at their address.
func checkArrivals(t *testing.T, sites []loggedSite, arrivals []time.Time, began time.Time, o orders) {
	t.Helper()
	for i, s := range sites {
		if s.together > 1 {
			t.Errorf("robots.txt of site %d was fetched %d times at once", i, s.together)
		}
		for n := 1; n < len(s.pages); n++ {
			if d := s.pages[n].Sub(s.pages[n-1]); d < o.Interval {
				t.Errorf("site %d: pages %d and %d are %s apart, want %s", i, n-1, n, d, o.Interval)
			}
		}
	}
	slices.SortFunc(arrivals, time.Time.Compare)
	// The first start is not before the beginning of the test; an arrival that is late does not make
	// another one early.
	for i, at := range arrivals {
		if least := time.Duration(i) * o.Gap; at.Sub(began) < least {
			t.Fatalf("arrival %d at the address after %s, want at least %s", i, at.Sub(began), least)
		}
	}
}
