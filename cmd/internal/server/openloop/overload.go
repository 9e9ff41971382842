package openloop

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
)

// A Server is a process that answers one request with 200, or with 503 where it has more
// to do than it can.
type Server struct {
	URL     string
	PID     int
	Request string // head and body
	Busy    int    // requests at a time with which it is busy
}

// mostConns is over how many connections a load comes.
const mostConns = 1024

// The limits for a server that gets twice as many requests as it can answer.
const (
	leastGoodput  = 0.9                   // of what it can do, answered
	mostSlower    = 3                     // times the p99 of answers without load
	mostRefusal   = 10 * time.Millisecond // within which half of the refusals are there
	mostRecovery  = 5                     // parts of a second, in a campaign seconds, after which all is as before
	mostMoreBytes = 16 << 20              // of memory, and a quarter of what there was
)

// Overload sends a server twice what it can do, and logs the results, the medians of
// some rounds. The environment's OVERLOAD, such as 20s, is the length of one round; a campaign
// has three of 20 s. If gate is set a campaign holds the server to the limits above.
func Overload(t *testing.T, s Server, gate bool) {
	t.Helper()
	rounds := campaign.Size(1, 1, 3)
	short, long := campaign.Size(0, 300*time.Millisecond, 2*time.Second), campaign.Size(0, 600*time.Millisecond, 20*time.Second)
	later := campaign.Size(0, 200*time.Millisecond, time.Second)
	alone := campaign.On() // make test has other work for the processors
	if d, err := time.ParseDuration(os.Getenv("OVERLOAD")); err == nil {
		rounds, long, alone = 1, d, true
	}
	if alone {
		apart(t, s.PID)
	}
	l := New(t, s.URL, s.Request, mostConns)
	var goodput, slower, refusal, shares []float64
	for round := range rounds {
		used := processor(t, s.PID)
		capacity := l.Closed(s.Busy, short)
		each := (processor(t, s.PID) - used) / (capacity * short.Seconds())
		idle := l.Open(capacity/4, short)
		before := Memory(t, s.PID)
		used = processor(t, s.PID)
		much := l.Open(2*capacity, long)
		share := float64(len(much.Accepted)) * each / max(processor(t, s.PID)-used, 0.01)
		after := Memory(t, s.PID)
		unloaded, p99, median := Within(idle.Accepted, 0.99), Within(much.Accepted, 0.99), Within(much.Refused, 0.5)
		recovered := 1
		again := l.Open(capacity/4, later)
		for ; recovered <= mostRecovery && (len(again.Refused) > 0 || Within(again.Accepted, 0.5) > unloaded); recovered++ {
			again = l.Open(capacity/4, later)
		}
		capacity = (capacity + l.Closed(s.Busy, short)) / 2 // of a machine that others may use too
		answered := float64(len(much.Accepted)) / long.Seconds() / capacity
		goodput, slower = append(goodput, answered), append(slower, float64(p99)/float64(max(unloaded, 1)))
		refusal, shares = append(refusal, median.Seconds()), append(shares, share)
		t.Logf("capacity %.0f/s, %.0f µs of a processor each; at about twice that for %s: goodput %.0f %%, %.0f %% of the time of processors; p99 %s, without load %s; median of %d refusals %s; memory %d MiB, then %d; as before %s later; %d beyond %d connections, %d without an answer",
			capacity, 1e6*each, long, 100*answered, 100*share, p99, unloaded, len(much.Refused), median,
			before>>20, after>>20, time.Duration(recovered)*later, much.Unsent, mostConns, much.Other)
		if len(much.Accepted) == 0 || alone && much.Other > 0 {
			t.Errorf("%d requests were answered, %d neither answered nor refused", len(much.Accepted), much.Other)
		}
		if campaign.On() && round > 0 && after > before+before/4+mostMoreBytes { // the first has the connections
			t.Errorf("%d bytes of memory before, %d after", before, after)
		}
		if campaign.On() && gate && recovered > mostRecovery {
			t.Errorf("%s after the overload %d are refused, and half of the answers take %s", mostRecovery*later, len(again.Refused), Within(again.Accepted, 0.5))
		}
	}
	for _, list := range [][]float64{goodput, slower, refusal, shares} {
		slices.Sort(list)
	}
	mid := rounds / 2
	t.Logf("medians of %d: goodput %.2f (%.2f of the time of processors), p99 %.1f times that without load, half of the refusals within %.2f ms", rounds, goodput[mid], shares[mid], slower[mid], 1e3*refusal[mid])
	if campaign.On() && gate && (goodput[mid] < leastGoodput || slower[mid] > mostSlower || refusal[mid] > mostRefusal.Seconds()) {
		t.Errorf("goodput %.2f, at least %.1f; p99 of accepted %.1f times that without load, at most %d; half of the refusals within %.4f s, at most %s", goodput, leastGoodput, slower, mostSlower, refusal, mostRefusal)
	}
}

// apart gives a server the first processor and this process the second until the test
// ends, so that a load takes nothing of what the server has. Where that cannot be they
// share what there is.
func apart(t testing.TB, pid int) {
	t.Helper()
	path, err := exec.LookPath("taskset")
	if err != nil || runtime.NumCPU() < 2 {
		return
	}
	pin := func(pid int, list string) {
		if out, err := exec.Command(path, "-a", "-c", "-p", list, strconv.Itoa(pid)).CombinedOutput(); err != nil {
			t.Logf("%v: %s", err, out)
		}
	}
	allowed := status(t, os.Getpid(), `Cpus_allowed_list:\s+(\S+)`)
	cpus := strings.FieldsFunc(allowed, func(r rune) bool { return r == ',' || r == '-' })
	if len(cpus) < 2 {
		return
	}
	pin(pid, cpus[0])
	pin(os.Getpid(), cpus[1])
	t.Cleanup(func() { pin(os.Getpid(), allowed) })
}

// Memory is what a process has in memory, in bytes.
func Memory(t testing.TB, pid int) int64 {
	t.Helper()
	n, err := strconv.ParseInt(status(t, pid, `VmRSS:\s+(\d+) kB`), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// status is what the kernel says of a process.
func status(t testing.TB, pid int, form string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(form).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in %s", form, text)
	}
	return string(m[1])
}

// processor is how many seconds of processors a process has used.
func processor(t testing.TB, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name of the program may have spaces
	f := strings.Fields(rest)
	const user, system, hertz = 11, 12, 100 // proc_pid_stat(5), from the third field on
	if len(f) <= system {
		t.Fatalf("no times in %s", text)
	}
	u, err1 := strconv.ParseFloat(f[user], 64)
	k, err2 := strconv.ParseFloat(f[system], 64)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return (u + k) / hertz
}
