package polite

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/bolt"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/pace"
)

// web is a RoundTripper with a robots.txt for every site.
type web struct {
	files           [][]byte
	fetches, visits atomic.Int64
}

func (w *web) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(200 * time.Millisecond) // so that the sites are not all visited at one instant
	body := http.NoBody
	if req.URL.Path != "/robots.txt" {
		w.visits.Add(1)
		return &http.Response{StatusCode: http.StatusOK, Body: body, Header: http.Header{}}, nil
	}
	w.fetches.Add(1)
	var site int
	fmt.Sscanf(req.URL.Host, "www.site-%d.example", &site)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{
		"Content-Type": {"text/plain"}, "Last-Modified": {"Wed, 21 Oct 2015 07:28:00 GMT"}, "Server": {"nginx"},
	}, Body: io.NopCloser(strings.NewReader(string(w.files[site%len(w.files)])))}, nil
}

// failures counts what a crawl with a working store must not see. It keeps no event, as those refer to
// files.
type failures struct {
	unobserved
	evicted, unstored atomic.Int64
}

func (f *failures) Cache(e cache.Event) {
	switch e.Kind {
	case cache.EventEvicted:
		f.evicted.Add(1)
	case cache.EventStoreFailed:
		f.unstored.Add(1)
	}
}

// realFiles returns a tenth of the files of ROBOTS_CORPUS, or files of their sizes: the deciles of
// 14,304 files, and one of the largest in a hundred.
func realFiles(t *testing.T) (files [][]byte) {
	if os.Getenv("ROBOTS_CORPUS") != "" {
		campaign.Files(t, 10, func(_ string, body []byte) { files = append(files, body) })
		return files
	}
	for i := range 100 {
		size := []int{50, 90, 132, 179, 256, 421, 687, 1240, 2242, 10_415}[i%10]
		if i == 0 {
			size = 111_880
		}
		random := rand.New(rand.NewPCG(uint64(i), 9309))
		body := []byte("User-agent: *\n")
		for len(body) < size {
			body = fmt.Appendf(body, "Disallow: /private/%x/\n", random.IntN(1<<16))
		}
		files = append(files, body)
	}
	return files
}

// TestManySites: with a store, a crawl that visits many times more sites than the memory holds, and
// all of them again half a day later after a restart, fetches each robots.txt once, and its heap stays
// within four times its memory.
func TestManySites(t *testing.T) {
	campaign.NotForRace(t)
	sites := campaign.Size(500, 1_000, 500_000)
	memory := campaign.Size[int64](1<<18, 1<<19, 0)        // 64 MiB
	most := campaign.Size[uint64](64<<20, 64<<20, 256<<20) // of the heap
	path := filepath.Join(t.TempDir(), "robots.cache")
	synctest.Test(t, func(t *testing.T) {
		w := &web{files: realFiles(t)}
		var peaks sync.Mutex
		peak := uint64(0)
		visit := func(first bool) {
			store, err := bolt.Open(path, bolt.Options{})
			if err != nil {
				t.Fatal(err)
			}
			o := &failures{}
			transport, err := New("MyBot", Options{Base: w, Store: store, Memory: memory, Observe: o})
			if err != nil {
				t.Fatal(err)
			}
			client := &http.Client{Transport: transport}
			var next atomic.Int64
			var crawl sync.WaitGroup
			for range 500 {
				crawl.Go(func() {
					for i := next.Add(1) - 1; i < int64(sites); i = next.Add(1) - 1 {
						// A page that may start hours later, by a Visit-time, is an error at once.
						ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
						req, _ := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://www.site-%d.example/page", i), nil)
						if resp, err := client.Do(req); err == nil {
							resp.Body.Close()
						}
						cancel()
						if i%1000 == 0 {
							var m runtime.MemStats
							runtime.ReadMemStats(&m)
							peaks.Lock()
							peak = max(peak, m.HeapAlloc)
							peaks.Unlock()
						}
					}
				})
			}
			crawl.Wait()
			if err := transport.Close(); err != nil {
				t.Error(err)
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
			if o.evicted.Load()+o.unstored.Load() > 0 {
				t.Errorf("with a store, %d evictions are reported, and %d of its failures", o.evicted.Load(), o.unstored.Load())
			}
			t.Logf("first %v: %d fetches and %d pages of %d sites, a heap of at most %d MiB", first, w.fetches.Load(), w.visits.Load(), sites, peak>>20)
		}
		visit(true)
		time.Sleep(12 * time.Hour)
		visit(false)
		if n := w.fetches.Load(); n != int64(sites) {
			t.Errorf("%d fetches for %d sites that were visited twice, want one each", n, sites)
		}
		if peak > most {
			t.Errorf("the heap reached %d bytes, want at most %d", peak, most)
		}
	})
	began := time.Now()
	store, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the store opens in %v", time.Since(began))
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// TestLoopbackSites: the same over real connections: each of many sites of a server on this machine is
// visited by two processes that use a store one after the other, and fetched once.
func TestLoopbackSites(t *testing.T) {
	campaign.NotForRace(t)
	sites := campaign.Size(100, 500, 50_000)
	files := realFiles(t)
	var fetches, pages atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			pages.Add(1)
			return
		}
		fetches.Add(1)
		var a, b, c int
		fmt.Sscanf(r.Host, "127.%d.%d.%d", &a, &b, &c)
		w.Write(files[(a<<16+b<<8+c)%len(files)])
	}))
	defer server.Close()
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}
	path := filepath.Join(t.TempDir(), "robots.cache")
	for range 2 {
		store, err := bolt.Open(path, bolt.Options{})
		if err != nil {
			t.Fatal(err)
		}
		transport, err := New("MyBot", Options{
			Store: store, Memory: campaign.Size[int64](1<<17, 1<<18, 1<<24), AllowPrivate: true, Fetch: fetch.Options{Dial: dial}, Policy: pace.Policy{Default: time.Millisecond, Ceiling: time.Millisecond},
			Limiter: newLimiter(t, pace.Options{AddressInterval: -1, FetchInterval: -1}), // all sites have one address
		})
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: transport}
		var next atomic.Int64
		var crawl sync.WaitGroup
		for range 50 {
			crawl.Go(func() {
				for i := next.Add(1) - 1; i < int64(sites); i = next.Add(1) - 1 {
					// A page that may start hours later, by a Visit-time, is an error at once.
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
					url := fmt.Sprintf("http://127.%d.%d.%d/page", 1+i>>16, i>>8&255, i&255)
					req, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
					if resp, err := client.Do(req); err == nil {
						resp.Body.Close()
					}
					cancel()
					transport.CloseIdleConnections()
				}
			})
		}
		crawl.Wait()
		if err := transport.Close(); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		t.Logf("%d fetches and %d pages of %d sites", fetches.Load(), pages.Load(), sites)
	}
	if n := fetches.Load(); n != int64(sites) {
		t.Errorf("%d fetches for %d sites that were visited twice, want one each", n, sites)
	}
	if pages.Load() == 0 {
		t.Error("no page was requested")
	}
}
