package fleet_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
)

// TestMemory measures the memory of an origin in each of its states: the MEMORY USAGE of one key, and the difference of used_memory,
// with the tables of the server.
func TestMemory(t *testing.T) {
	n := campaign.Size(500, 5_000, 100_000)
	server := redistest.Start(t, redistest.Options{})
	number := func(text string) (bytes int) {
		t.Helper()
		if _, err := fmt.Sscan(text, &bytes); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return bytes
	}
	used := func() int {
		_, text, _ := strings.Cut(server.Do("INFO", "memory"), "used_memory:")
		return number(text)
	}
	ctx := t.Context()
	origins := make([]robots.Origin, n)
	for i := range origins {
		origins[i] = originOf(t, fmt.Sprintf("site-%07d.example", i)) // 20 letters
	}
	schedule, err := pace.NewSchedule(nil, pace.Policy{Default: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	acquire := func(f *fleet.Fleet) (permits []pace.Permit) {
		t.Helper()
		for part := range slices.Chunk(origins, 500) {
			var rs []pace.Request
			for _, o := range part {
				rs = append(rs, pace.Request{Origin: o, Schedule: schedule, Within: time.Hour})
			}
			got, err := f.Limiter().Try(ctx, rs, len(rs))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range got {
				if !p.OK() {
					t.Fatalf("no permit for %s: %v", p.Origin, p.Reasons)
				}
			}
			permits = append(permits, got...)
		}
		return permits
	}
	for i, tt := range []struct {
		name string
		key  string // of the first, as in KEYS, after the prefix
		most int    // bytes of a key, as docs/fleet.md states
		fill func(f *fleet.Fleet)
	}{
		{"the record of a small site's file", ":{https://site-0000000.example}", 320, func(f *fleet.Fleet) {
			for _, o := range origins {
				body := "User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n\nSitemap: " + o.String() + "/sitemap.xml\n"
				if err := f.Store().Put(ctx, cache.Entry{Record: cachetest.Record(o, body)}, 24*time.Hour); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{"a site that rests", ":{https://site-0000000.example}:pace", 192, func(f *fleet.Fleet) {
			for _, p := range acquire(f) {
				if err := f.Limiter().Release(ctx, p, pace.Result{Status: 200}); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{"a site with a permit", ":{https://site-0000000.example}:pace", 256, func(f *fleet.Fleet) { acquire(f) }},
		{"an address", ":{203.0.0.0}:pace", 144, func(f *fleet.Fleet) {
			starts := make(chan struct{}, 500)
			var wg sync.WaitGroup
			for i := range n {
				starts <- struct{}{}
				wg.Go(func() {
					if err := f.Limiter().StartFetch(ctx, origins[0], netip.AddrFrom4([4]byte{203, byte(i >> 16), byte(i >> 8), byte(i)})); err != nil {
						t.Error(err)
					}
					<-starts
				})
			}
			wg.Wait()
		}},
	} {
		prefix := fmt.Sprint("memory", i)
		f := open(t, server.URL(), fleet.Options{Prefix: prefix})
		empty := used()
		tt.fill(f)
		full := used()
		bytes := number(server.Do("EVAL", "return redis.call('MEMORY', 'USAGE', ARGV[1])", "0", prefix+tt.key))
		t.Logf("%s: %d bytes of a key; %d with the tables of the server, of %d", tt.name, bytes, (full-empty)/n, n)
		if bytes > tt.most {
			t.Errorf("%s: a key takes %d bytes, more than %d", tt.name, bytes, tt.most)
		}
	}
}
