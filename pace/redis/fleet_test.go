package redis_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/duration"
	"github.com/robotskit/robots/internal/proctest"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// asWorker is the variable of the environment that makes the test binary a
// worker of a fleet.
const asWorker = "ROBOTS_PACE_WORKER"

// orders are the settings of a worker.
type orders struct {
	Redis     string
	Site      string // a Unix socket: one connection per worker, with its clock at each start
	Addr      string // of the site, "" for none
	Gap       time.Duration
	Own       bool // each worker has a site of its own at the address
	Prefix    string
	Interval  time.Duration
	Heartbeat time.Duration // 0 for the usual one
}

// What a worker does with its first permit: the same as with all others, hang during the
// request, or be stopped before Start.
const (
	works = 'b'
	hangs = 'h'
	stops = 's'
)

func TestMain(m *testing.M) {
	if text := os.Getenv(asWorker); text != "" {
		var o orders
		if err := json.Unmarshal([]byte(text), &o); err == nil {
			err = o.work()
			fmt.Fprintln(os.Stderr, "worker:", err)
		}
		os.Exit(1)
	}
	flag.Parse()
	flag.Set("test.parallel", "8") // the tests sleep most of the time
	os.Exit(m.Run())
}

// work requests one site as often as the fleet's pace permits, until the site hangs up.
func (o orders) work() error {
	site, err := net.Dial("unix", o.Site)
	if err != nil {
		return err
	}
	if o.Heartbeat != 0 {
		redis.SetHeartbeat(o.Heartbeat)
	}
	l, err := o.limiter()
	if err != nil {
		return err
	}
	s, err := pace.NewSchedule(nil, pace.Policy{Default: o.Interval})
	if err != nil {
		return err
	}
	if _, err := site.Write(binary.BigEndian.AppendUint64(nil, uint64(os.Getpid()))); err != nil { // ready
		return err
	}
	var begin [1]byte // how
	if _, err := io.ReadFull(site, begin[:]); err != nil {
		os.Exit(0)
	}
	go func() {
		io.Copy(io.Discard, site)
		os.Exit(0) // as a worker that is killed
	}()
	host := "hot"
	if o.Own {
		host = strconv.Itoa(os.Getpid())
	}
	origin, _, err := robots.ParseURL("http://" + host + ".example/")
	if err != nil {
		return err
	}
	var addr netip.Addr
	if o.Addr != "" {
		addr = netip.MustParseAddr(o.Addr)
	}
	for {
		p, err := l.Acquire(context.Background(), pace.Request{Origin: origin, Schedule: s})
		if err != nil {
			return err
		}
		if begin[0] == stops {
			if err := stopSelf(); err != nil {
				return err
			}
		}
		err = l.Start(context.Background(), p, addr)
		start := time.Now()
		result := pace.Result{Status: 200}
		if _, missed := errors.AsType[*pace.MissedError](err); missed {
			result = pace.Result{Unused: true}
		} else if err != nil {
			return err
		} else {
			if _, err := site.Write(binary.BigEndian.AppendUint64(nil, uint64(start.UnixNano()))); err != nil {
				os.Exit(0)
			}
			if begin[0] == hangs {
				select {}
			}
		}
		begin[0] = works
		if err := l.Release(context.Background(), p, result); err != nil {
			return err
		}
	}
}

// limiter connects. A busy machine may take longer than a call may.
func (o orders) limiter() (l pace.Limiter, err error) {
	for limit := time.Now().Add(2 * time.Minute); ; {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{o.Redis}, DisableCache: true, PipelineMultiplex: -1})
		if err == nil {
			l, err = redis.New(client, redis.Options{Prefix: o.Prefix, Options: pace.Options{AddressInterval: o.Gap}})
		}
		if err == nil || time.Now().After(limit) {
			return l, err
		}
	}
}

// stopSelf stops this process until it gets SIGCONT.
func stopSelf() error {
	if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < time.Second; { // the signal takes a moment
		runtime.Gosched()
	}
	return nil
}

// site is the site that the fleet requests. The tests check its log of starts.
type site struct {
	mu      sync.Mutex
	starts  []time.Time
	by      map[int]int // how many, by the process
	workers []visitor
}

// visitor is a worker as the site sees it.
type visitor struct {
	net.Conn
	pid int
}

// signal sends a signal to the process.
func (v visitor) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(v.pid, s); err != nil {
		t.Fatal(err)
	}
}

// fleet starts workers and returns when all of them are ready.
func fleet(t *testing.T, workers int, o orders) *site {
	t.Helper()
	campaign.Processes(t)
	o.Site = filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", o.Site)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{by: map[int]int{}}
	ready := make(chan visitor, workers)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(c, ready)
		}
	}()
	failed := make(chan error, workers)
	for range workers {
		startWorker(t, string(text), failed)
	}
	for range workers {
		select {
		case v := <-ready:
			s.workers = append(s.workers, v)
		case err := <-failed:
			t.Fatal(err)
		case <-time.After(60 * time.Second):
			t.Fatal("the workers do not get ready")
		}
	}
	t.Cleanup(func() {
		select {
		case err := <-failed:
			t.Error(err)
		default:
		}
	})
	return s
}

// startWorker starts a process with orders, which ends with the test.
func startWorker(t *testing.T, text string, failed chan<- error) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), asWorker+"="+text, "GOMAXPROCS=1")
	var log strings.Builder
	cmd.Stderr = &log
	if err := proctest.Start(cmd); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := cmd.Wait(); err != nil && log.Len() > 0 {
			failed <- fmt.Errorf("a worker ended: %w: %s", err, log.String())
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
	})
}

// serve logs the starts of a worker, by the worker's clock, which is this machine's: a
// listener that is scheduled late would see two starts together that were not.
func (s *site) serve(c net.Conn, ready chan<- visitor) {
	r := bufio.NewReader(c)
	var said [8]byte
	if _, err := io.ReadFull(r, said[:]); err != nil {
		return
	}
	v := visitor{c, int(binary.BigEndian.Uint64(said[:]))}
	ready <- v
	for {
		if _, err := io.ReadFull(r, said[:]); err != nil {
			return
		}
		at := int64(binary.BigEndian.Uint64(said[:]))
		s.mu.Lock()
		s.starts = append(s.starts, time.Unix(0, min(at, time.Now().UnixNano())))
		s.by[v.pid]++
		s.mu.Unlock()
	}
}

// begin lets the workers go.
func (s *site) begin(t *testing.T) {
	for _, v := range s.workers {
		v.tell(t, works)
	}
}

// tell tells a worker what to do.
func (v visitor) tell(t *testing.T, what byte) {
	t.Helper()
	if _, err := v.Write([]byte{what}); err != nil {
		t.Fatal(err)
	}
}

// seen returns the arrivals until now.
func (s *site) seen() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(slices.Values(s.starts), time.Time.Compare)
}

// of returns how many starts a worker had.
func (s *site) of(v visitor) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[v.pid]
}

// end hangs up and returns the arrivals in order.
func (s *site) end() []time.Time {
	for _, v := range s.workers {
		v.Close()
	}
	return s.seen()
}

// within returns how many arrivals lie in a stretch, its end not included.
func within(starts []time.Time, from time.Time, d time.Duration) int {
	n := 0
	for _, at := range starts {
		if !at.Before(from) && at.Before(from.Add(d)) {
			n++
		}
	}
	return n
}

// closest returns the smallest distance of two arrivals.
func closest(starts []time.Time) time.Duration {
	d := time.Hour
	for i := 1; i < len(starts); i++ {
		d = min(d, starts[i].Sub(starts[i-1]))
	}
	return d
}

// longest returns the largest distance of two arrivals.
func longest(starts []time.Time) time.Duration {
	var d time.Duration
	for i := 1; i < len(starts); i++ {
		d = max(d, starts[i].Sub(starts[i-1]))
	}
	return d
}

// logSlack is by how much the log of arrivals may be out, and lateSlack by how
// much one of many processes on a busy machine may be late with what it may do.
const (
	logSlack  = 2 * time.Millisecond
	lateSlack = 100 * time.Millisecond
)

const hotInterval = 100 * time.Millisecond

// TestFleetExact checks that the processes at a site with 10 requests a second start no more than
// 10 in each second, and not many fewer.
func TestFleetExact(t *testing.T) {
	workers := campaign.Size(8, 16, 32)
	length := campaign.Size(2*time.Second, 2*time.Second, 5*time.Second)
	want := int(length / hotInterval)
	server := redistest.Start(t, redistest.Options{})
	s := fleet(t, workers, orders{Redis: server.Addr, Prefix: fresh(), Interval: hotInterval})
	s.begin(t)
	until(t, "all starts", func() bool { return len(s.seen()) > want })
	starts := s.end()
	n := within(starts, starts[0], length)
	t.Logf("%d processes, %s at %s: %d starts, the closest %s apart, the longest %s",
		workers, length, duration.Rate(hotInterval), n, closest(starts), longest(starts))
	if d := closest(starts); d < hotInterval-logSlack {
		t.Errorf("two starts are %s apart, want %s", d, hotInterval)
	}
	if n > want {
		t.Fatalf("%d starts in the first %s, want %d", n, length, want)
	}
}

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
			s := fleet(t, workers, orders{Redis: r.proxy.Addr, Prefix: fresh(), Interval: hotInterval})
			s.begin(t)
			more := func(n int) { // a busy machine takes longer
				now := len(s.seen())
				time.Sleep(length / 3)
				until(t, "more starts", func() bool { return len(s.seen()) >= now+n })
			}
			more(2)
			f.act(r, false)
			out := time.Now()
			time.Sleep(length / 3)
			in := time.Now()
			f.act(r, true)
			more(int(length/3/hotInterval) / 4)
			starts := s.end()
			t.Logf("%d starts, %d of them from %s after the fault; the closest %s apart, the longest %s",
				len(starts), within(starts, in, time.Hour), in.Sub(out).Round(time.Millisecond), closest(starts), longest(starts))
			if f.name == "SmallSteps" {
				if n, most := len(starts), int(starts[len(starts)-1].Sub(starts[0])/hotInterval)+3; n > most {
					t.Errorf("%d starts, want at most %d", n, most)
				}
			}
			if d := closest(starts); d < hotInterval-logSlack {
				t.Errorf("two starts are %s apart, want %s", d, hotInterval)
			}
			if n := within(starts, out.Add(lateSlack), in.Sub(out)-lateSlack); f.down && n > 1 { // one was acquired before, and a busy machine let it start late
				t.Errorf("%d starts while Redis was unreachable, want none but that of a permit from before", n)
			}
		})
	}
}

// stopped waits until a process has stopped itself.
func stopped(t *testing.T, pid int) {
	t.Helper()
	until(t, "a process that stops", func() bool {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err == nil && strings.Contains(string(text), ") T ")
	})
}
