package redis_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
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
	"github.com/robotskit/robots/internal/proctest"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
	"github.com/robotskit/robots/pace/redis"
)

// asWorker is the variable of the environment that makes the test binary a
// worker of a fleet.
const asWorker = "ROBOTS_PACE_WORKER"

// orders are what a worker is told.
type orders struct {
	Redis     string
	Site      string // a Unix socket: one connection a worker, its clock for each start
	Addr      string // of the site, at which each start is booked and then told as booked; "" for none
	Gap       time.Duration
	Own       bool // each worker has a site of its own at the address
	Prefix    string
	WhenDown  redis.Policy
	Interval  time.Duration
	Heartbeat time.Duration // 0 for the usual one
	Term      time.Duration // of site leases, 0 for the shared pace
}

// What a worker is told to do with its first grant: what it does with all others, to
// hang over the request, or to be stopped before it, and before it books.
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
	os.Exit(m.Run())
}

// work asks one site as often as the fleet's pace lets it, until the site hangs
// up.
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
	key := pace.Key{Origin: origin}
	for {
		g, err := l.Wait(context.Background(), key, s)
		if _, taken := errors.AsType[*pace.TakenError](err); taken {
			continue
		}
		if err != nil {
			return err
		}
		if begin[0] == stops {
			if err := stopSelf(); err != nil {
				return err
			}
		}
		start, usable, err := o.visit(l, g, s)
		if err != nil {
			return err
		}
		result := pace.Result{Status: 200, Unused: !usable}
		if usable {
			if _, err := site.Write(binary.BigEndian.AppendUint64(nil, uint64(start.UnixNano()))); err != nil {
				os.Exit(0)
			}
			if begin[0] == hangs {
				select {}
			}
		}
		begin[0] = works
		if err := l.Done(context.Background(), g, result); err != nil {
			return err
		}
	}
}

// visit books at the address, and returns when the request starts: as it was booked, or now.
// In what is booked the last bit says that it is behind no other start.
func (o orders) visit(l pace.Limiter, g pace.Grant, s *pace.Schedule) (start time.Time, usable bool, err error) {
	if o.Addr == "" {
		return time.Now(), l.Valid(g), nil
	}
	turn, err := l.Visit(context.Background(), g, netip.MustParseAddr(o.Addr), s)
	if _, missed := errors.AsType[*pace.MissedError](err); missed {
		return start, false, nil
	}
	ns := turn.Start.UnixNano() &^ 1
	if !because(turn, pace.CauseAddress) {
		ns |= 1
	}
	return time.Unix(0, ns), true, err
}

// limiter connects. A busy machine may take longer than a call may.
func (o orders) limiter() (l pace.Limiter, err error) {
	for limit := time.Now().Add(2 * time.Minute); ; {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{o.Redis}, DisableCache: true, PipelineMultiplex: -1})
		if err == nil {
			options := redis.Options{Prefix: o.Prefix, WhenDown: o.WhenDown, Options: pace.Options{AddressInterval: o.Gap}}
			if o.Term != 0 {
				l, err = redis.NewLeasedFor(client, options, o.Term)
			} else {
				l, err = redis.New(client, options)
			}
		}
		if err == nil || time.Now().After(limit) {
			return l, err
		}
	}
}

// stopSelf stops this process until it is told to go on.
func stopSelf() error {
	if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < time.Second; { // the signal takes a moment
		runtime.Gosched()
	}
	return nil
}

// site is what the fleet asks. Its log of starts is what the tests judge.
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

// serve notes the starts of a worker. What a worker says is its clock as it
// starts, which is this machine's: a listener that is scheduled late would see
// two starts together that were not.
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

// most returns the largest number of arrivals in any stretch of a length.
func most(starts []time.Time, d time.Duration) int {
	n := 0
	for _, at := range starts {
		n = max(n, within(starts, at, d))
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

// TestFleetExact: the processes at a site that wants 10 requests a second start 10
// in each, no more and no fewer. Never more; and as an interval counts from the
// end of the last response, a machine that stalls a process for 2 ms at each
// start makes it 49, so fewer in some of four runs is the machine's. Only a campaign asks for
// as many: a busy machine has a right to be slow.
func TestFleetExact(t *testing.T) {
	const runs = 4
	workers := campaign.Size(8, 16, 32)
	length := campaign.Size(2*time.Second, 2*time.Second, 5*time.Second)
	want := int(length / hotInterval)
	server := redistest.Start(t, redistest.Options{})
	for run := 1; ; run++ {
		s := fleet(t, workers, orders{Redis: server.Addr, Prefix: fresh(), Interval: hotInterval})
		s.begin(t)
		time.Sleep(length + 300*time.Millisecond)
		starts := s.end()
		if len(starts) == 0 {
			t.Fatal("nothing was started")
		}
		n := within(starts, starts[0], length)
		t.Logf("%d processes, %s at %s: %d starts, the closest %s apart, the longest %s",
			workers, length, pace.Every(hotInterval), n, closest(starts), longest(starts))
		if d := closest(starts); d < hotInterval-logSlack {
			t.Errorf("two starts are %s apart, want %s", d, hotInterval)
		}
		if n > want {
			t.Fatalf("%d starts in the first %s, want %d", n, length, want)
		}
		if n == want || !campaign.On() {
			return
		}
		if run == runs {
			// A machine that stalls makes them fewer; a tenth fewer is no stall.
			if n < want*9/10 {
				t.Fatalf("%d starts in the first %s of the last of %d runs, want %d", n, length, runs, want)
			}
			return
		}
	}
}

// fault is what is done to a fleet's Redis, and what holds of the arrivals.
type fault struct {
	name   string
	server redistest.Options
	policy redis.Policy
	// act does it: a third into the run, and again at two thirds with back set.
	act func(r *stage, back bool)
	// down says that Redis is down for a third of the run.
	down bool
	rare bool // left out with -short
}

// stage is one run of a fleet through a fault.
type stage struct {
	t       *testing.T
	primary *redistest.Server
	replica *redistest.Server
	proxy   *redistest.Proxy
}

var faults = []fault{
	{name: "Killed", server: redistest.Options{AppendOnly: true}, policy: redis.Divide, down: true, act: killed},
	{name: "KilledStop", server: redistest.Options{AppendOnly: true}, policy: redis.Stop, down: true, act: killed},
	{name: "Frozen", rare: true, policy: redis.Divide, down: true, act: frozen},
	{name: "FrozenStop", rare: true, policy: redis.Stop, down: true, act: frozen},
	{name: "Restarted", server: redistest.Options{AppendOnly: true}, policy: redis.Stop, act: once(func(r *stage) { r.primary.Restart() })},
	{name: "RestartedDivide", rare: true, server: redistest.Options{AppendOnly: true}, policy: redis.Divide, act: once(func(r *stage) { r.primary.Restart() })},
	{name: "Replaced", policy: redis.Stop, act: once(func(r *stage) { r.primary.Replace() })},
	{name: "ReplacedDivide", rare: true, policy: redis.Divide, act: once(func(r *stage) { r.primary.Replace() })},
	{name: "Emptied", rare: true, policy: redis.Stop, act: once(func(r *stage) { r.primary.Do("FLUSHALL") })},
	{name: "Cut", policy: redis.Stop, act: cut},
	{name: "FailedOver", policy: redis.Stop, act: once(failOver)},
	{name: "FailedOverDivide", rare: true, policy: redis.Divide, act: once(failOver)},
	{name: "ClockAhead", server: redistest.Options{Clock: true}, policy: redis.Stop, act: setClock(time.Hour)},
	{name: "ClockBehind", server: redistest.Options{Clock: true}, policy: redis.Stop, act: setClock(-time.Hour)},
	{name: "Full", policy: redis.Divide, down: true, act: full},
	{name: "FullStop", rare: true, policy: redis.Stop, down: true, act: full},
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

// cut ends all connections again and again, so that replies are lost of calls that were made.
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

func setClock(by time.Duration) func(*stage, bool) {
	return func(r *stage, back bool) {
		if back {
			by = 0
		}
		r.primary.SetClock(by)
	}
}

func full(r *stage, back bool) {
	if back {
		r.primary.Do("CONFIG", "SET", "maxmemory", "0")
	} else {
		r.primary.Do("CONFIG", "SET", "maxmemory", "1")
	}
}

// TestFleetFaults: what the table of the package says, counted by the site.
func TestFleetFaults(t *testing.T) {
	workers := campaign.Size(8, 8, 32)
	length := campaign.Size(1500*time.Millisecond, 1500*time.Millisecond, 5*time.Second)
	for _, f := range faults {
		if testing.Short() && (f.rare || f.policy == redis.Stop && f.down) {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel() // they sleep most of the time
			r := &stage{t: t, primary: redistest.Start(t, f.server)}
			r.proxy = redistest.NewProxy(t, r.primary.Addr)
			if strings.HasPrefix(f.name, "FailedOver") {
				r.replica = r.primary.Replica(redistest.Options{})
			}
			s := fleet(t, workers, orders{Redis: r.proxy.Addr, Prefix: fresh(), Interval: hotInterval, WhenDown: f.policy})
			s.begin(t)
			began := time.Now()
			time.Sleep(length / 3)
			f.act(r, false)
			out := time.Now()
			more := func(what string, n int) { // a busy machine takes longer
				now := len(s.seen())
				time.Sleep(length / 3)
				until(t, what, func() bool { return len(s.seen()) >= now+n })
			}
			if f.policy == redis.Divide && f.down && f.name != "Frozen" {
				more("a start while Redis is down, the share of a worker", 1)
			} else {
				time.Sleep(length / 3)
			}
			f.act(r, true)
			in := time.Now()
			more("starts after that: it does not heal", int(length/3/hotInterval)/4)
			end := time.Now()
			starts := s.end()
			before, meanwhile, after := within(starts, began, out.Sub(began)), within(starts, out, in.Sub(out)), within(starts, in, end.Sub(in))
			t.Logf("%d starts before, %d in the %s after, %d in the %s then; the closest %s apart, the longest %s; at most %d a second",
				before, meanwhile, in.Sub(out).Round(time.Millisecond), after, end.Sub(in).Round(time.Millisecond),
				closest(starts), longest(starts), most(starts, time.Second))
			f.check(t, starts, end.Sub(began), out, in)
		})
	}
}

// check checks the starts of a run, in which Redis was in trouble from out to in.
func (f fault) check(t *testing.T, starts []time.Time, took time.Duration, out, in time.Time) {
	t.Helper()
	// The bound is 2N starts in N intervals, for N workers, and so over the
	// whole run. In a second the shares lie as evenly as the workers noticed.
	if n, bound := len(starts), 2*int(took/hotInterval); n > bound {
		t.Errorf("%d starts in %s, want at most %d, twice what is declared", n, took, bound)
	}
	if n, bound := most(starts, time.Second), 2*int(time.Second/hotInterval)+2; n > bound {
		t.Errorf("%d starts in a second, want at most %d", n, bound)
	}
	if f.policy == redis.Stop {
		if d := closest(starts); d < hotInterval-logSlack {
			t.Errorf("two starts are %s apart, want %s", d, hotInterval)
		}
		if n := most(starts, time.Second); n > int(time.Second/hotInterval)+1 {
			t.Errorf("%d starts in a second, want %d", n, int(time.Second/hotInterval))
		}
		if n := within(starts, out.Add(lateSlack), in.Sub(out)-lateSlack); f.down && n > 1 { // one was granted before, and a busy machine let it start late
			t.Errorf("%d starts while Redis was down, want none but that of a grant from before", n)
		}
	}
}
