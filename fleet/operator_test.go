package fleet_test

import (
	"context"
	"testing"
	"time"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	paceredis "github.com/robotskit/robots/pace/redis"
)

// TestOperator: an operator needs no more rights than a worker. It lists the workers without
// being one, and its changes are in the log.
func TestOperator(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	server.Do(append([]string{"ACL", "SETUSER", "robots"}, redistest.AccessRule(t, "../docs/fleet.md")...)...)
	server.Do("ACL", "SETUSER", "default", "off")
	url, o := "redis://robots@"+server.Addr, fleet.Options{Password: "SECRET", Name: "crawl-1"}
	f, ctx, origin := open(t, url, o), t.Context(), originOf(t, "site.example")
	op, err := fleet.Operate(ctx, url, "alice@desk", o)
	if err != nil {
		t.Fatal(err)
	}
	defer op.Close()
	s, err := op.Status(ctx)
	if err != nil || len(s.Workers) != 1 || s.Workers[0].Name != "crawl-1" || len(s.Nodes) != 1 || s.Nodes[0].Err != nil || s.Nodes[0].Memory == 0 || s.Nodes[0].Keys == 0 {
		t.Errorf("status: %+v, %v", s, err)
	}

	record := cachetest.Record(origin, "User-agent: *\nCrawl-delay: 7\n")
	store := f.Store().(cache.Locker)
	if err := store.Put(ctx, cache.Entry{Record: record}, time.Hour); err != nil {
		t.Fatal(err)
	}
	if token, err := store.Lock(ctx, origin, time.Minute); err != nil {
		t.Fatalf("lock: %d, %v", token, err)
	}
	permits, err := f.Limiter().Try(ctx, []pace.Request{{Origin: origin, Within: time.Hour}}, 1)
	if err != nil || !permits[0].OK() {
		t.Fatalf("permit: %+v, %v", permits, err)
	}
	if site, err := op.Site(ctx, origin); err != nil || site.Record == nil || site.LeaseLeft < 50*time.Second || len(site.Pace.Permits) != 1 || site.Pace.Permits[0].Worker != s.Workers[0].ID {
		t.Errorf("site: %+v, %v", site, err)
	}
	if err := op.Forget(ctx, origin); err != nil {
		t.Fatal(err)
	}
	if site, err := op.Site(ctx, origin); err != nil || site.Record != nil || len(site.Pace.Permits) != 1 {
		t.Errorf("forgotten: %+v, %v", site, err)
	}
	if list, err := op.Log(ctx, 10); err != nil || len(list) != 1 || list[0].Who != "alice@desk" || list[0].What != "forget https://site.example" || list[0].At.IsZero() {
		t.Errorf("log: %v, %v", list, err)
	}

	server.Freeze()
	defer server.Thaw()
	late, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := op.Hold(late, paceredis.All, time.Hour); err == nil {
		t.Error("no error without an answer")
	}
}
