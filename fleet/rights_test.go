package fleet_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	paceredis "github.com/robotskit/robots/pace/redis"
)

// TestTagRights: a user loses the right to some of the keys on a server. Their sites rest,
// with an error that says why, and go on when the right is back. Who begins then, and the
// doctor, are told which keys these are.
func TestTagRights(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{Config: []string{"maxmemory 100mb", "appendonly yes"}})
	words := redistest.AccessRule(t, "doc.go")
	server.Do(append([]string{"ACL", "SETUSER", "robots"}, words...)...)
	url, o := "redis://robots@"+server.Addr, fleet.Options{Password: "SECRET", WhenDown: paceredis.Stop}
	f := open(t, url, o)
	s, err := pace.NewSchedule(nil, pace.Policy{Default: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	page := func(origin robots.Origin) error {
		g, err := f.Limiter().Wait(t.Context(), pace.Key{Origin: origin}, s)
		if err != nil {
			return err
		}
		return f.Limiter().Done(t.Context(), g, pace.Result{Status: 200})
	}
	reserve := func(origin robots.Origin) error {
		g, err := f.Limiter().Reserve(t.Context(), pace.Key{Origin: origin}, s, 0)
		if err == nil && g.OK() {
			err = f.Limiter().Done(t.Context(), g, pace.Result{Unused: true})
		}
		return err
	}
	lost := originOf(t, "lost.example")
	g, err := f.Limiter().Wait(t.Context(), pace.Key{Origin: lost}, s)
	if err != nil {
		t.Fatal(err)
	}
	tagOf := func(o robots.Origin) string {
		hash := fnv.New32a()
		io.WriteString(hash, o.String())
		return fmt.Sprintf("{robots:%d}:pace:", hash.Sum32()%paceredis.Parts)
	}
	tag := tagOf(lost)
	if state := server.Do("KEYS", tag+"*:origin:https://lost.example"); !strings.Contains(state, "lost.example") {
		t.Fatalf("the site is not in %s", tag)
	}
	if err := f.Limiter().Done(t.Context(), g, pace.Result{Status: 200}); err != nil {
		t.Fatal(err)
	}
	keys := []string{"ACL", "SETUSER", "robots", "resetkeys", "~{robots}:*", "~robots:{*"}
	for i := range paceredis.Parts {
		if other := fmt.Sprintf("{robots:%d}:pace:", i); other != tag {
			keys = append(keys, "~"+other+"*")
		}
	}
	server.Do(keys...)
	if err := reserve(lost); !errors.Is(err, paceredis.ErrDown) || !strings.Contains(err.Error(), "keys") {
		t.Errorf("a site whose keys the user may not use: %v", err)
	}
	if err := reserve(lost); !errors.Is(err, paceredis.ErrDown) {
		t.Errorf("a site whose keys the user may not use, asked again: %v", err)
	}
	want := "a fleet needs more than this user may do: to read and write the keys " + tag + "*"
	if got := examined(t, url, o); len(got) != 1 || !strings.HasPrefix(got[0], "rights: ") || !strings.Contains(got[0], want) {
		t.Errorf("the doctor: %q, want %q", got, want)
	}
	if f, err := fleet.Open(t.Context(), url, o); err == nil {
		f.Close()
		t.Error("a worker begins without the right to some of the keys")
	} else if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("a worker begins: %v, want %q", err, want)
	}
	server.Do(append([]string{"ACL", "SETUSER", "robots"}, slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w[0] != '~' })...)...)
	until(t, "the site to go on", func() bool { return f.DownSince().IsZero() })
	if err := page(lost); err != nil {
		t.Error(err)
	}
}
