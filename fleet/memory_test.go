package fleet_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	paceredis "github.com/robotskit/robots/pace/redis"
)

// TestMemory measures what an origin takes of the server in each of its states: the MEMORY
// USAGE of one key, and the difference of used_memory, with the tables of the server, from a
// fleet whose parts are all in use to one with so many origins more (docs/fleet.md).
func TestMemory(t *testing.T) {
	n := campaign.Size(1000, 10_000, 200_000)
	server := redistest.Start(t, redistest.Options{})
	used := func() (bytes int) {
		_, text, _ := strings.Cut(server.Do("INFO", "memory"), "used_memory:")
		if _, err := fmt.Sscan(text, &bytes); err != nil {
			t.Fatal(err)
		}
		return bytes
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
	// ask has the first k sites granted, with all others asked for, and what was granted before
	// given back.
	ask := func(f *fleet.Fleet, origins []robots.Origin, ended []pace.Grant, k int) (granted []pace.Grant) {
		t.Helper()
		chooser := f.Limiter().(pace.Chooser)
		for part := range slices.Chunk(origins, 500) {
			asked := make([]pace.Question, len(part))
			for i, o := range part {
				asked[i] = pace.Question{Key: pace.Key{Origin: o}, Schedule: schedule, Result: pace.Result{Status: 200}}
				if len(ended) > 0 {
					asked[i].Ended, ended = ended[0], ended[1:]
				}
			}
			until(t, "answers", func() bool { // a server that is busy is down for a while
				var left []pace.Question
				got, err := chooser.Next(ctx, asked, k)
				if err != nil {
					t.Fatal(err)
				}
				for i, g := range got {
					if g.OK() {
						granted = append(granted, g)
					} else if k > 0 || slices.ContainsFunc(g.Reasons, func(r pace.Reason) bool { return r.Cause == pace.CauseDegraded }) {
						asked[i].Ended = pace.Grant{}
						left = append(left, asked[i])
					}
				}
				asked = left
				return len(left) == 0
			})
		}
		return granted
	}
	half := origins[:n/2]
	lasting := pace.Options{AddressInterval: 10 * time.Minute} // for an address to be known as long as a site
	for i, tt := range []struct {
		name string
		key  string // the one of the first, as in KEYS, behind the fleet's prefix
		most int    // bytes of a key
		o    fleet.Options
		fill func(f *fleet.Fleet)
	}{
		{"a record, of the file of a small site", ":{https://site-0000000.example}", 320, fleet.Options{}, func(f *fleet.Fleet) {
			for _, o := range half {
				body := "User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n\nSitemap: " + o.String() + "/sitemap.xml\n"
				until(t, "a put", func() bool {
					return f.Store().Put(ctx, cache.Entry{Record: cachetest.Record(o, body)}, 24*time.Hour) == nil
				})
			}
		}},
		{"asked, its interval is not over", ":*}:pace:2:origin:https://site-0000000.example", 160, fleet.Options{}, func(f *fleet.Fleet) {
			ask(f, half, ask(f, half, nil, n), 0)
		}},
		{"a request under way", ":*}:pace:2:origin:https://site-0000000.example", 192, fleet.Options{}, func(f *fleet.Fleet) { ask(f, half, nil, n) }},
		{"leased to a worker", ":*}:pace:2:site:https://site-0000000.example", 208, fleet.Options{Leased: true, Name: "crawler-3.example/4711", MaxMemoryBytes: 16 << 30}, func(f *fleet.Fleet) {
			ask(f, half, nil, 0)
		}},
		{"an address, its pace is not over", ":*}:pace:2:address:203.0.0.0", 144, fleet.Options{Pace: lasting}, func(f *fleet.Fleet) {
			limiter := f.Limiter().(pace.Booker)
			for i := range half {
				until(t, "a booking", func() bool {
					_, err := limiter.Book(ctx, netip.AddrFrom4([4]byte{203, byte(i >> 16), byte(i >> 8), byte(i)}), time.Time{}, time.Hour)
					return err == nil
				})
			}
		}},
	} {
		start := used()
		tt.o.Prefix, tt.o.WhenDown = fmt.Sprint("memory", i), paceredis.Stop
		f := open(t, server.URL(), tt.o)
		// The parts of the state and their scripts are there from the first sites on.
		few := origins[n-min(n/2, 2000):]
		if tt.o.Leased {
			ask(f, few, nil, 0)
		} else {
			ask(f, few, ask(f, few, nil, len(few)), 0)
		}
		empty := used()
		tt.fill(f)
		full := used()
		var bytes int
		one := server.Do("EVAL", "return redis.call('MEMORY', 'USAGE', redis.call('KEYS', ARGV[1])[1])", "0", "*memory"+fmt.Sprint(i)+tt.key)
		if _, err := fmt.Sscan(one, &bytes); err != nil {
			t.Fatalf("%s: %q: %v", tt.name, one, err)
		}
		t.Logf("%s: %d bytes of a key; %d with the tables of the server, of %d; %d KiB before, with %d sites", tt.name, bytes, (full-empty)/len(half), len(half), (empty-start)>>10, len(few))
		if bytes > tt.most {
			t.Errorf("%s: a key takes %d bytes, more than the %d of the documents", tt.name, bytes, tt.most)
		}
	}
}
