package redis

import (
	"context"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
)

// TestLent: a grant that is lent is not ended with its worker, as an ordinary one is, and
// any other worker takes it back.
func TestLent(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := redistest.Start(t, redistest.Options{})
	worker := func() *Limiter {
		l, err := New(server.Client(), Options{Prefix: "lent"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	gone, other := worker(), worker()
	// The other worker knows that the first is gone, as it would after 15 s.
	other.head = appendDoubles([]byte{'O'}, 1, microsUp(other.options.GrantTimeout), microsUp(other.options.Forget), 1)
	other.list.Store(&list{workers: 1, gone: map[string]time.Time{gone.workerName(): time.Now()}})
	s := Steady(t, time.Millisecond)
	own, lent := pace.Key{Origin: OriginOf(t, "own.example")}, pace.Key{Origin: OriginOf(t, "lent.example")}
	if g, err := gone.Reserve(ctx, own, s, 0); err != nil || !g.OK() {
		t.Fatal(g, err)
	}
	g, err := gone.Lend(ctx, lent, s, 0, time.Minute)
	if err != nil || !g.OK() {
		t.Fatal(g, err)
	}
	gone.Close()
	redistest.Until(t, "the end of an ordinary grant", func() bool {
		g, err := other.Reserve(ctx, own, s, 0)
		return err == nil && g.OK()
	})
	if turn, err := other.NotBefore(ctx, lent, s); err != nil || !because(turn, pace.CauseBusy) {
		t.Errorf("what is lent is not under way any more: %v, %v", turn, err)
	}
	if !other.Valid(g) {
		t.Error("what is lent is not valid for another worker")
	}
	if err := other.Done(ctx, pace.Grant{ID: g.ID, Key: lent}, pace.Result{Status: 200}); err != nil {
		t.Fatal(err)
	}
	redistest.Until(t, "the next start", func() bool {
		g, err := other.Lend(ctx, lent, s, 0, time.Minute)
		return err == nil && g.OK()
	})
}
