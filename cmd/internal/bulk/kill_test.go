//go:build unix

package bulk

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
)

// parts waits until a task has so many shards done, and looks often.
func parts(t testing.TB, task *Task, n int) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); <-tick.C {
		st, err := task.survey(Slice{})
		if err != nil {
			t.Fatal(err)
		}
		if st.done >= n {
			return
		}
	}
	t.Fatalf("there are no %d parts after 2 minutes", n)
}

// TestKill: jobs of an array are killed in their shards and run again; the parts are those of
// a run without kills. KILL is how many are killed in a campaign.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("short: processes are killed for some seconds")
	}
	shards, kills := campaign.Size(0, 40, 200), campaign.Size(0, 6, 20)
	if n, err := strconv.Atoi(os.Getenv("KILL")); err == nil && campaign.On() {
		shards, kills = max(shards, 2*n), n
	}
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	w := work{Shards: shards, Rows: 100, Wait: 2 * time.Millisecond}
	want := undisturbed(t, w)

	task := w.task(t, t.TempDir())
	if err := task.claim(); err != nil {
		t.Fatal(err)
	}
	const jobs = 3
	job := func(i int) *child { return process{Dir: task.Dir, Slice: Slice{i, jobs}, Workers: 1}.start(t) }
	var running []*child
	for i := range jobs {
		running = append(running, job(i))
	}
	killed := 0
	for i := range kills {
		parts(t, task, (i+1)*(shards-4)/(kills+1))
		victim := i % jobs
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond) // anywhere in a shard
		if err := running[victim].Process.Kill(); err == nil {        // else it has ended
			killed++
		}
		running[victim].end(t)
		running[victim] = job(victim)
	}
	for i, c := range running {
		if status := c.end(t); status != 0 {
			t.Errorf("job %d ended with %d", i, status)
		}
	}
	if s := clean(t, task); s.Done != shards || len(s.Failed) > 0 {
		t.Errorf("%+v", s)
	}
	if got := checksum(t, task); got != want {
		t.Errorf("seed %d: other bytes after kills", seed)
	}
	if killed == 0 {
		t.Error("nothing was killed")
	}
	t.Logf("%d shards, %d kills of %d jobs (seed %d): the same bytes", shards, killed, jobs, seed)
}
