package redis_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace/redis"
)

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "8") // the tests sleep most of the time
	os.Exit(m.Run())
}

// lateSlack is how much one of many workers on a busy machine may be late with what it may do.
const lateSlack = 100 * time.Millisecond

// A fault is a change of a fleet's Redis. No site is requested early, whatever happens.
type fault struct {
	name   string
	server redistest.Options
	// act makes the fault: a third into the run, and again at two thirds with back set.
	act     func(r *stage, back bool)
	down    bool // Redis is unreachable for a third of the run
	replica bool
	rare    bool // left out with -short
}

// stage is one run of a fleet through a fault.
type stage struct {
	t       *testing.T
	primary *redistest.Server
	replica *redistest.Server
	proxy   *redistest.Proxy
}

// snapshots keeps no file but what SAVE writes.
var snapshots = redistest.Options{Config: []string{`save ""`}}

var faults = []fault{
	{name: "Killed", server: redistest.Options{AppendOnly: true}, down: true, act: killed},
	{name: "Frozen", down: true, act: frozen},
	{name: "Partition", down: true, act: partition},
	{name: "Restarted", server: redistest.Options{AppendOnly: true}, act: once(func(r *stage) { r.primary.Restart() })},
	{name: "OldSnapshot", server: snapshots, act: oldSnapshot},
	{name: "Replaced", act: once(func(r *stage) { r.primary.Replace() })},
	{name: "Emptied", act: emptied},
	{name: "Cut", act: cut},
	{name: "FailedOver", replica: true, act: once(failOver)},
	{name: "ReplicaLags", replica: true, act: lagged},
	{name: "FailedOverTwice", replica: true, act: failOverTwice},
	{name: "DayAhead", server: redistest.Options{Clock: true}, act: setClock(24 * time.Hour)},
	{name: "DayBehind", server: redistest.Options{Clock: true}, act: setClock(-24 * time.Hour)},
	{name: "SmallSteps", server: redistest.Options{Clock: true}, act: smallSteps},
	{name: "Slewed", server: redistest.Options{Clock: true}, act: slewed, rare: true},
	{name: "Full", down: true, act: full},
}

func once(act func(*stage)) func(*stage, bool) {
	return func(r *stage, back bool) {
		if !back {
			act(r)
		}
	}
}

func killed(r *stage, back bool) {
	if back {
		r.primary.Up()
	} else {
		r.primary.Kill()
	}
}

func frozen(r *stage, back bool) {
	if back {
		r.primary.Thaw()
	} else {
		r.primary.Freeze()
	}
}

func partition(r *stage, back bool) {
	if back {
		r.proxy.Switch(r.primary.Addr)
	} else {
		r.proxy.Switch("")
	}
}

// oldSnapshot restarts a server with a snapshot that is several intervals old.
func oldSnapshot(r *stage, back bool) {
	if back {
		r.primary.Restart()
	} else {
		r.primary.Do("SAVE")
	}
}

func emptied(r *stage, _ bool) {
	for range 20 {
		r.primary.Do("FLUSHALL")
		time.Sleep(hotInterval / 7)
	}
}

// cut ends all connections again and again, so that replies of calls are lost.
func cut(r *stage, _ bool) {
	for range 10 {
		r.proxy.Switch(r.primary.Addr)
		time.Sleep(20 * time.Millisecond)
	}
}

func failOver(r *stage) {
	r.primary.Kill()
	r.replica.Promote()
	r.proxy.Switch(r.replica.Addr)
}

// lagged stops the replication, and fails over to the replica several intervals later. The
// old primary goes on, but no worker reaches it.
func lagged(r *stage, back bool) {
	if back {
		r.replica.Promote()
		r.proxy.Switch(r.replica.Addr)
	} else {
		r.replica.Do("REPLICAOF", "127.0.0.1", "1") // where nothing answers
	}
}

// failOverTwice fails over to the replica and back, to the same process, which has replicated
// the beginning of what happened meanwhile.
func failOverTwice(r *stage, back bool) {
	if back {
		r.primary.Do("REPLICAOF", "127.0.0.1", "1")
		time.Sleep(5 * hotInterval)
		r.primary.Promote()
		r.proxy.Switch(r.primary.Addr)
		return
	}
	r.replica.Promote()
	r.proxy.Switch(r.replica.Addr)
	r.primary.Follow(r.replica)
}

func setClock(by time.Duration) func(*stage, bool) {
	return func(r *stage, back bool) {
		if back {
			by = 0
		}
		r.primary.SetClock(by)
	}
}

const smallStep = 20 * time.Millisecond

// smallSteps sets the clock forward ten times, in each third of a second.
func smallSteps(r *stage, back bool) {
	for i := range 10 {
		if back {
			i += 10
		}
		r.primary.SetClock(time.Duration(i) * smallStep)
		time.Sleep(300 * time.Millisecond)
	}
}

// slewed has the clock run 8 % fast for two and a half seconds, twice.
func slewed(r *stage, back bool) {
	ahead := time.Duration(0)
	if back {
		ahead = slewedBy
	}
	for began, before := time.Now(), ahead; ahead < before+slewedBy; time.Sleep(time.Millisecond) {
		ahead = before + time.Since(began)*8/100
		r.primary.SetClock(ahead)
	}
}

// slewedBy is how far the clock is ahead when the slew ends.
const slewedBy = 200 * time.Millisecond

func full(r *stage, back bool) {
	if back {
		r.primary.Do("CONFIG", "SET", "maxmemory", "0")
	} else {
		r.primary.Do("CONFIG", "SET", "maxmemory", "1")
	}
}

// TestFleetFaults checks that no site is requested early through any fault, by the log of the
// site, and that the workers go on by themselves.
func TestFleetFaults(t *testing.T) {
	t.Parallel()
	workers := campaign.Size(6, 6, 32)
	length := campaign.Size(1500*time.Millisecond, 1500*time.Millisecond, 10*time.Second)
	for _, f := range faults {
		if testing.Short() && f.rare {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel() // they sleep most of the time
			r := &stage{t: t, primary: redistest.Start(t, f.server)}
			r.proxy = redistest.NewProxy(t, r.primary.Addr)
			if f.replica {
				r.replica = r.primary.Replica(redistest.Options{})
			}
			s := hot(t)
			c := startCrawl(t, r.proxy.Addr, workers, redis.Options{Prefix: fresh()}, s)
			more := func(n int) { // a busy machine takes longer
				time.Sleep(length / 3)
				c.more(t, n, all)
			}
			more(2)
			f.act(r, false)
			out := time.Now()
			time.Sleep(length / 3)
			in := time.Now()
			f.act(r, true)
			more(int(length/3/hotInterval) / 4)
			c.check(t)
			starts := s.seen()
			if f.name == "SmallSteps" {
				if n, most := len(starts), int(starts[len(starts)-1].Sub(starts[0])/hotInterval)+3; n > most {
					t.Errorf("%d starts, want at most %d", n, most)
				}
			}
			if n := within(starts, out.Add(lateSlack), in.Sub(out)-lateSlack); f.down && n > 1 { // one was acquired before, and a busy machine let it start late
				t.Errorf("%d starts while Redis was unreachable, want none but that of a permit from before", n)
			}
		})
	}
}

// TestFleetExact checks that the workers at a site with 10 requests a second start no more than
// 10 in each second.
func TestFleetExact(t *testing.T) {
	length := campaign.Size(2*time.Second, 2*time.Second, 5*time.Second)
	want, s := int(length/hotInterval), hot(t)
	c := startCrawl(t, redistest.Start(t, redistest.Options{}).Addr, campaign.Size(8, 16, 32), redis.Options{Prefix: fresh()}, s)
	c.more(t, want+1, all)
	c.check(t)
	if n := within(s.seen(), s.seen()[0], length); n > want {
		t.Errorf("%d starts in the first %s, want %d", n, length, want)
	}
}
