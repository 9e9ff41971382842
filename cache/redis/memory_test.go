package redis

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
)

// fetched returns a record as a fetch of a real body makes it. What differs from site to
// site differs here too, drawn by the name of the host.
func fetched(o robots.Origin, body []byte) *fetch.Record {
	random := rand.New(rand.NewChaCha8(fetch.HashOf([]byte(o.Host()))))
	at := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC).Add(time.Duration(random.Int64N(90*24*3600_000)) * time.Millisecond)
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	took := func(most int) time.Duration { return time.Duration(random.IntN(most)) * time.Microsecond }
	r := &fetch.Record{
		Origin: o, URL: o.RobotsURL(), Outcome: fetch.Success, Cause: fetch.OK, Status: 200, Body: body,
		Started: at, Fetched: at.Add(time.Duration(random.IntN(900)) * time.Millisecond), Expires: at.Add(time.Duration(80000+random.IntN(6400)) * time.Second),
		Header: map[string]string{
			"Content-Type": one("text/plain", "text/plain; charset=utf-8", "text/plain; charset=UTF-8", "text/html"),
			"Date":         at.Format("Mon, 02 Jan 2006 15:04:05 GMT"),
			"Server":       one("nginx", "cloudflare", "Apache", "Microsoft-IIS/10.0", "nginx/1.18.0 (Ubuntu)", "AmazonS3"),
		},
	}
	if len(body) == 0 {
		r.Cause = fetch.Empty
	}
	hop := func(status int, location string) {
		r.Hops = append(r.Hops, fetch.Hop{
			URL: r.URL, Address: fmt.Sprintf("%d.%d.%d.%d:443", 1+random.IntN(220), random.IntN(256), random.IntN(256), random.IntN(256)),
			Protocol: one("HTTP/1.1", "HTTP/2.0"), Status: status, Location: location, Received: int64(len(body) + 200 + random.IntN(500)),
			DNS: took(50_000), Connect: took(100_000), TLS: took(100_000), Header: took(300_000), Body: took(20_000),
		})
	}
	if random.IntN(4) == 0 {
		to := strings.Replace(r.URL, "https://", "https://www.", 1)
		hop(301, to)
		r.URL = to
	}
	hop(200, "")
	if random.IntN(2) == 0 {
		r.Header["Etag"] = fmt.Sprintf("%q", fmt.Sprintf("%x-%x", random.Uint32(), random.Uint64()>>20))
		r.Header["Last-Modified"] = at.Add(-took(1<<30) * 20_000).Format("Mon, 02 Jan 2006 15:04:05 GMT")
	}
	if random.IntN(3) == 0 {
		r.Header["Cache-Control"] = one("max-age=3600", "max-age=14400", "public, max-age=86400", "no-cache")
		r.StatedBy, r.StatedLife = "max-age", 4*time.Hour
	}
	if random.IntN(2) == 0 {
		r.Header["Content-Encoding"] = "gzip"
	} else {
		r.Header["Content-Length"] = fmt.Sprint(len(body))
	}
	return r
}

// TestMemory measures what the records of real files take of a server: with the key, half of
// the origins 512 bytes at most, and 1,400 on average.
func TestMemory(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client()
	for _, tt := range []struct {
		name string
		o    Options
	}{{"large bodies in a key", Options{}}, {"large bodies in a directory", Options{Bodies: t.TempDir()}}} {
		server.Do("FLUSHALL")
		s := newStore(t, client, tt.o)
		var sizes []int
		var total, apart, base int
		base = usedMemory(server)
		campaign.Files(t, campaign.Size(50, 10, 1), func(path string, body []byte) {
			o, _, err := robots.ParseURL("https://" + strings.TrimSuffix(filepath.Base(path), ".txt") + "/")
			if err != nil {
				t.Logf("%s is not the name of a host", path)
				return
			}
			body = body[:min(len(body), 512_000)]
			e := cache.Entry{Record: fetched(o, body), Fence: uint64(time.Now().UnixMicro()), Epoch: rand.Uint64()}
			put(t, s, e)
			size := 0
			for _, key := range []string{s.key(o), bodyKey(s.key(o))} {
				n, err := client.Do(ctx, client.B().MemoryUsage().Key(key).Build()).AsInt64()
				if err != nil && !rueidis.IsRedisNil(err) {
					t.Fatal(err)
				}
				size += int(n)
			}
			if len(body) > largeBody {
				apart += size
			}
			sizes = append(sizes, size)
			total += size
		})
		slices.Sort(sizes)
		median, mean := sizes[len(sizes)/2], total/len(sizes)
		t.Logf("%s: %d origins: median %d, mean %d, of which %d for files over 16 KB, 9 of 10 at most %d bytes; %d with the tables of the server",
			tt.name, len(sizes), median, mean, apart/len(sizes), sizes[len(sizes)*9/10], (usedMemory(server)-base)/len(sizes))
		if median > 512 || mean > 1400 {
			t.Errorf("%s: median %d, mean %d bytes, want at most 512 and 1,400", tt.name, median, mean)
		}
	}
}
