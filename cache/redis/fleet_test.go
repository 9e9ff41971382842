package redis

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/proctest"
	"github.com/robotskit/robots/internal/redistest"
)

// workerEnv has the settings of a process started by a test.
const workerEnv = "ROBOTS_TEST_WORKER"

type orders struct {
	Redis   string
	Port    int // of the sites
	Origins int
	Seed    uint64
	Callers int           // at a time
	Limit   time.Duration // of a fetch; a lease lasts a tenth longer
}

// site returns the i-th of many sites on this machine.
func site(i, port int) robots.Origin {
	o, _, err := robots.ParseURL(fmt.Sprintf("http://127.%d.%d.%d:%d/", 1+i>>16, i>>8&255, i&255, port))
	if err != nil {
		panic(err)
	}
	return o
}

func siteBody(host string) string { return "User-agent: *\nDisallow: /" + host + "/\n" }

// work is a process of a fleet: it gets every site once, in its own order, and prints the
// results in one line.
func work(text string) {
	var o orders
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = o.work()
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("done")
}

func (o orders) work() error {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{o.Redis}})
	if err != nil {
		return err
	}
	defer client.Close()
	store, err := New(client, Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	var failed atomic.Pointer[error]
	fetcher, err := fetch.New(fetch.Options{Guard: fetch.Guard{AllowPrivate: true}})
	if err != nil {
		return err
	}
	c, err := cache.New(cache.Options{Fetcher: fetcher, Store: store, FetchLimit: o.Limit, Observe: func(e cache.Event) {
		if e.Kind == cache.EventStoreFailed || e.Kind == cache.EventFetchFailed {
			err := fmt.Errorf("%s: %w", e.Origin, e.Err)
			failed.CompareAndSwap(nil, &err)
		}
	}})
	if err != nil {
		return err
	}
	defer c.Close()
	order := rand.New(rand.NewPCG(o.Seed, 0)).Perm(o.Origins)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range o.Callers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(o.Origins); i = next.Add(1) - 1 {
				at := site(order[i], o.Port)
				r, err := c.Get(context.Background(), at)
				if err == nil && string(r.Body) != siteBody(at.Host()) {
					err = fmt.Errorf("%s: %s %s, body %.60q", at, r.Cause, r.Detail, r.Body)
				}
				if err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// sites answers for all of 127/8 at one port and counts the requests by process.
type sites struct {
	port    int
	mu      sync.Mutex
	asked   map[string]int // by host
	total   int
	reached chan int // told of total at every mark
	every   int
}

func newSites(t testing.TB, every int) *sites {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &sites{port: l.Addr().(*net.TCPAddr).Port, asked: map[string]int{}, reached: make(chan int, 1000), every: every}
	server := &http.Server{Handler: s}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return s
}

func (s *sites) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	s.mu.Lock()
	s.asked[host]++
	if s.total++; s.every > 0 && s.total%s.every == 0 {
		s.reached <- s.total
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, siteBody(host))
}

// A worker is a process of the fleet.
type worker struct {
	cmd  *exec.Cmd
	said chan string // its last line, empty if it was killed
}

func (o orders) start(t *testing.T) *worker {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{cmd: exec.Command(os.Args[0]), said: make(chan string, 1)}
	w.cmd.Env = append(os.Environ(), workerEnv+"="+string(text))
	w.cmd.Stderr = os.Stderr
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := proctest.Start(w.cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		_ = w.cmd.Wait()
		w.said <- strings.TrimSpace(line)
	}()
	return w
}

// TestFleet starts processes together with an empty store and the same sites. Each site is
// fetched once. If processes are killed with kill -9 and replaced, the sites that they were
// fetching are fetched once more, at most one in a hundred.
func TestFleet(t *testing.T) {
	campaign.Processes(t)
	t.Parallel()
	n := campaign.Size(100, 1000, 10_000)
	for _, tt := range []struct {
		processes, kills int
		together         bool // all in one order, so that they meet at every site
		limit            time.Duration
	}{
		{2, 0, false, time.Minute},
		{8, 0, true, time.Minute},
		{4, 5, true, 3 * time.Second},
	} {
		tt.kills = min(tt.kills, campaign.Size(2, 3, tt.kills))
		t.Run(fmt.Sprintf("%d processes, %d killed", tt.processes, tt.kills), func(t *testing.T) {
			server := redistest.Start(t, redistest.Options{})
			marks := 0
			if tt.kills > 0 {
				marks = n / (tt.kills + 1)
			}
			s := newSites(t, marks)
			o := orders{Redis: server.Addr, Port: s.port, Origins: n, Callers: 16, Limit: tt.limit}
			if tt.kills > 0 {
				// The fetches of a killed process are repeated.
				o.Callers = max(1, min(16, n/100/tt.kills))
			}
			began := time.Now()
			workers := make([]*worker, tt.processes)
			start := func(i int) {
				if !tt.together {
					o.Seed++
				}
				workers[i] = o.start(t)
			}
			for i := range workers {
				start(i)
			}
			random := rand.New(rand.NewPCG(1, 2))
			for range tt.kills {
				<-s.reached
				i := random.IntN(len(workers))
				_ = workers[i].cmd.Process.Kill()
				<-workers[i].said
				start(i)
			}
			for i, w := range workers {
				if said := <-w.said; said != "done" {
					t.Errorf("process %d: %s", i, said)
				}
			}
			took := time.Since(began)
			s.mu.Lock()
			defer s.mu.Unlock()
			most := n + tt.kills*o.Callers // what each of a killed process was about
			if len(s.asked) != n || s.total > most {
				t.Errorf("%d sites were asked %d times, want %d and at most %d", len(s.asked), s.total, n, most)
			}
			t.Logf("%d processes, %d killed: %d sites asked %d times, %d answers in %v", tt.processes, tt.kills, len(s.asked), s.total, tt.processes*n, took.Round(time.Millisecond))
		})
	}
}
