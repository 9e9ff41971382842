//go:build unix

package bulk

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/freeport"
)

// parts waits until a task has so many shards done or given up, and looks often.
func parts(t testing.TB, task *Task, n int) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); <-tick.C {
		st, err := task.survey(Slice{})
		if err != nil {
			t.Fatal(err)
		}
		if st.done+len(st.lost) >= n {
			return
		}
	}
	t.Fatalf("there are no %d parts after 2 minutes", n)
}

// TestKill: whatever is killed, lead or worker, the parts are those of a run without
// kills. KILL is how many workers are killed in a campaign.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("short: processes are killed for some seconds")
	}
	shards, kills, leads := campaign.Size(0, 40, 200), campaign.Size(0, 6, 20), campaign.Size(0, 1, 3)
	if n, err := strconv.Atoi(os.Getenv("KILL")); err == nil && campaign.On() {
		shards, kills, leads = max(shards, 2*n), n, max(leads, n/10)
	}
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	w := work{Shards: shards, Rows: 100, Wait: 20 * time.Millisecond}
	want := undisturbed(t, w)

	task := w.task(t, t.TempDir())
	if err := task.claim(); err != nil {
		t.Fatal(err)
	}
	address := freeport.Addr(t)
	// Kills at random may hit a shard more often than five times.
	main := process{Dir: task.Dir, Listen: address, Lease: time.Second, Tries: kills + leads + 5, Workers: 1}
	member := main
	member.Listen, member.URL, member.Member = "", "nats://"+address, true
	lead := main.start(t)
	var members []*child
	for range 3 {
		members = append(members, member.start(t))
	}
	var victims []int // -1 is the lead
	for i := range kills + leads {
		victims = append(victims, i%3)
		if i >= kills {
			victims[i] = -1
		}
	}
	random.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	for i, v := range victims {
		parts(t, task, (i+1)*(shards-4)/(len(victims)+1))
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond) // anywhere in a shard
		victim, again := &lead, main
		if v >= 0 {
			victim, again = &members[v], member
		}
		if err := (*victim).Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if status := (*victim).end(t); status != -1 {
			t.Errorf("what was killed ended with %d", status)
		}
		*victim = again.start(t)
	}
	for i, c := range append(members, lead) {
		if status := c.end(t); status != 0 {
			t.Errorf("process %d ended with %d", i, status)
		}
	}
	if s := clean(t, task); s.Done != shards || len(s.Failed) > 0 {
		t.Errorf("%+v", s)
	}
	if got := checksum(t, task); got != want {
		t.Errorf("seed %d: other bytes after kills", seed)
	}
	t.Logf("%d shards, %d kills of 3 workers, %d of the lead (seed %d): the same bytes", shards, kills, leads, seed)
}

// TestPause: a worker that stands still for longer than its lease, and then ends what
// others have done meanwhile, harms nothing.
func TestPause(t *testing.T) {
	if testing.Short() {
		t.Skip("short: processes are killed for some seconds")
	}
	t.Parallel()
	w := work{Shards: 20, Rows: 100, Wait: 50 * time.Millisecond}
	want := undisturbed(t, w)
	task := w.task(t, t.TempDir())
	if err := task.claim(); err != nil {
		t.Fatal(err)
	}
	main := process{Dir: task.Dir, Listen: freeport.Addr(t), Lease: time.Second, Tries: 20, Workers: 1}
	member := main
	member.Listen, member.URL, member.Member = "", "nats://"+main.Listen, true
	lead, paused := main.start(t), member.start(t)
	held := pauseIn(t, task, paused)
	if status := lead.end(t); status != 0 { // which does the paused one's shard, too
		t.Errorf("the lead ended with %d", status)
	}
	if got := checksum(t, task); got != want {
		t.Error("other bytes while a worker is paused")
	}
	if !task.isDone(held) {
		t.Errorf("%s is not done", held)
	}
	if s, err := Look(task.Dir); err != nil || s.Working != 1 {
		t.Errorf("%+v, %v: what a paused worker writes is not left to it", s, err)
	}
	if err := paused.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if status := paused.end(t); status != 0 {
		t.Errorf("the paused worker ended with %d", status)
	}
	if s := clean(t, task); s.Done != w.Shards {
		t.Errorf("%+v", s)
	}
	if got := checksum(t, task); got != want {
		t.Error("other bytes after a pause")
	}
}

// pauseIn stops a process in the middle of a shard, and returns the shard's name.
func pauseIn(t testing.TB, task *Task, c *child) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		for _, s := range task.Shards {
			name := task.Name(s)
			n, err := readTries(task.triesFile(name))
			written, _ := filepath.Glob(filepath.Join(task.Dir, tmpDir, name+"-*", "bodies.txt"))
			if err == nil && n.Dark == 1 && len(written) == 1 && strings.Contains(n.Error, fmt.Sprintf(":%d,", c.Process.Pid)) {
				return name
			}
		}
		if err := c.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("it does no shard")
	return ""
}

// TestPoison: shards that fail, panic or kill their process five times are listed, and all
// others are done, also those that were worked on beside them.
func TestPoison(t *testing.T) {
	if testing.Short() {
		t.Skip("short: processes are killed for some seconds")
	}
	w := work{Shards: 10, Rows: 10, Wait: 5 * time.Millisecond, Kills: []int{4}, Fails: []int{7}, Panics: []int{0}}
	check := func(t *testing.T, task *Task) {
		t.Helper()
		s := clean(t, task)
		if s.Done != 7 || len(s.Failed) != 3 {
			t.Fatalf("%+v", s)
		}
		for i, want := range []Failure{
			{0, task.Name(task.Shards[0]), "input-0", 5, "panic: no such row"},
			{4, task.Name(task.Shards[4]), "input-4", 5, s.Failed[1].Error},
			{7, task.Name(task.Shards[7]), "input-7", 5, "row 5 is broken"},
		} {
			s.Failed[i].Tries = min(s.Failed[i].Tries, 5) // by a queue two may begin at once if the machine stands still
			if s.Failed[i] != want {
				t.Errorf("got %+v, want %+v", s.Failed[i], want)
			}
		}
		t.Log(s.Failed[1].Error)
	}
	t.Run("one", func(t *testing.T) {
		t.Parallel()
		task := w.task(t, t.TempDir())
		if err := task.claim(); err != nil {
			t.Fatal(err)
		}
		main := process{Dir: task.Dir, Lease: time.Second, Workers: 3}
		killed := 0
		status := main.start(t).end(t)
		for ; status == exitKilled && killed < 10; status = main.start(t).end(t) {
			killed++
		}
		if status != exitLost || killed != 5 {
			t.Errorf("status %d after %d deaths, want 1 after 5", status, killed)
		}
		check(t, task)
		if status := main.start(t).end(t); status != exitLost { // and so the next time
			t.Errorf("status %d, want 1", status)
		}
	})
	t.Run("queue", func(t *testing.T) {
		t.Parallel()
		task := w.task(t, t.TempDir())
		if err := task.claim(); err != nil {
			t.Fatal(err)
		}
		main := process{Dir: task.Dir, Listen: freeport.Addr(t), Lease: 600 * time.Millisecond, Workers: 1}
		member := main
		member.Listen, member.URL, member.Member, member.Workers = "", "nats://"+main.Listen, true, 2
		lead, other := main.start(t), member.start(t)
		ended := map[int]int{}
		for range 2 {
			var status int
			for status = exitKilled; status == exitKilled; {
				select {
				case status = <-lead.ended:
					if status == exitKilled {
						lead = main.start(t)
					}
				case status = <-other.ended:
					if status == exitKilled {
						other = member.start(t)
					}
				case <-time.After(time.Minute):
					t.Fatal("no end")
				}
				ended[status]++
			}
		}
		if ended[exitLost] != 2 || ended[exitKilled] < 5 {
			t.Errorf("ended: %v, want 2 with 1 and 5 or more with 3", ended)
		}
		check(t, task)
	})
}

// TestOverhead measures what a shard costs that has nothing to do, and what memory a
// queue takes. A shard costs at least one file, made durable with its name.
func TestOverhead(t *testing.T) {
	t.Parallel()
	run := func(n int, listen string) (each time.Duration, resident int64) {
		task := work{Shards: n}.task(t, t.TempDir())
		task.Tables = task.Tables[:1]
		if err := task.claim(); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		c := process{Dir: task.Dir, Listen: listen, Workers: 4}.start(t)
		if status := c.end(t); status != 0 {
			t.Errorf("status %d", status)
		}
		each = time.Since(begun) / time.Duration(n)
		if s := clean(t, task); s.Done != n {
			t.Errorf("%d of %d done", s.Done, n)
		}
		return each, int64(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) >> 10 // of KiB
	}
	n := campaign.Size(50, 1000, 10_000)
	queue, large := run(n, "127.0.0.1:0")
	alone, small := run(n/10, "")
	dir := t.TempDir()
	begun := time.Now()
	for i := range n / 10 {
		if err := writeFile(filepath.Join(dir, strconv.Itoa(i)), nil); err != nil {
			t.Fatal(err)
		}
	}
	bare := time.Since(begun) / time.Duration(n/10)
	t.Logf("%d empty shards by a queue: %v each and %d MiB resident; without: %v and %d MiB; a file and its name: %v", n, queue, large, alone, small, bare)
	if campaign.On() && queue > max(3*time.Millisecond, 3*bare) {
		t.Errorf("an empty shard costs %v by a queue, want 3 ms at most, or three times a file", queue)
	}
}

// TestSecondWorker: a second process makes a queue nearly twice as fast, if it has a core
// of its own.
func TestSecondWorker(t *testing.T) {
	if !campaign.On() || runtime.NumCPU() < 2 {
		t.Skip("only in a campaign, with two cores")
	}
	// The clock runs when all are at work.
	run := func(second bool) time.Duration {
		task := work{Shards: 120, Rows: 1, Hashes: 400_000}.task(t, t.TempDir())
		if err := task.claim(); err != nil {
			t.Fatal(err)
		}
		main := process{Dir: task.Dir, Listen: freeport.Addr(t), Workers: 1}
		all := []*child{main.start(t)}
		if second {
			main.Listen, main.URL, main.Member = "", "nats://"+main.Listen, true
			all = append(all, main.start(t))
		}
		parts(t, task, 20)
		begun := time.Now()
		parts(t, task, 120)
		took := time.Since(begun)
		for _, c := range all {
			if status := c.end(t); status != 0 {
				t.Errorf("status %d", status)
			}
		}
		return took
	}
	var gains []float64
	for range 5 {
		gains = append(gains, float64(run(false))/float64(run(true)))
	}
	slices.Sort(gains)
	t.Logf("two workers are %.2f times as fast as one (%.2f)", gains[2], gains)
	if gains[2] < 1.7 {
		t.Errorf("two workers are %.2f times as fast as one, want 1.7", gains[2])
	}
}
