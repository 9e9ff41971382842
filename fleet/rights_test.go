package fleet_test

import (
	"slices"
	"testing"
	"time"

	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
)

// TestLostRights: a user loses the right to the keys while a worker runs. Its sites rest and
// continue when the right is back.
func TestLostRights(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{Config: []string{"maxmemory 100mb", "appendonly yes"}})
	rule := append([]string{"ACL", "SETUSER", "robots"}, redistest.AccessRule(t, "../docs/fleet.md")...)
	server.Do(rule...)
	url, o := "redis://robots@"+server.Addr, fleet.Options{Password: "SECRET"}
	f := open(t, url, o)
	schedule, err := pace.NewSchedule(nil, pace.Policy{Default: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	request := pace.Request{Origin: originOf(t, "site.example"), Schedule: schedule}
	page := func() {
		t.Helper()
		p, err := f.Limiter().Acquire(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Limiter().Release(t.Context(), p, pace.Result{Status: 200}); err != nil {
			t.Fatal(err)
		}
	}
	page()
	server.Do("ACL", "SETUSER", "robots", "resetkeys", "~others:{*")
	got, err := f.Limiter().Try(t.Context(), []pace.Request{request}, 1)
	if err != nil || got[0].OK() || !slices.ContainsFunc(got[0].Reasons, func(r pace.Reason) bool { return r.Cause == pace.CauseDegraded }) {
		t.Errorf("a site whose key the user may not use: %+v, %v", got, err)
	}
	server.Do(rule...)
	page()
}
