package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	neturl "net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
)

// A load sends one request again and again over up to most connections, with little work
// of its own.
type load struct {
	t       *testing.T
	at      string
	request []byte
	most    int

	due     chan time.Time // when a request should have been sent
	workers int
	running sync.WaitGroup
	asked   sync.WaitGroup // requests under way

	mu sync.Mutex
	*traffic
}

// A traffic is what came of requests.
type traffic struct {
	accepted, refused []time.Duration // 200, 503
	other, unsent     int
}

func newLoad(t *testing.T, url, request string, most int) *load {
	l := &load{t: t, at: strings.TrimPrefix(url, "http://"), request: []byte(request), most: most, due: make(chan time.Time), traffic: &traffic{}}
	t.Cleanup(func() {
		close(l.due)
		l.running.Wait()
	})
	return l
}

// send has a request sent that was due at a time.
func (l *load) send(due time.Time) {
	l.asked.Add(1)
	select {
	case l.due <- due:
		return
	default:
	}
	if l.workers == l.most {
		l.mu.Lock()
		l.unsent++
		l.mu.Unlock()
		l.asked.Done()
		return
	}
	l.workers++
	l.running.Go(func() { l.work(due) })
}

// work is one connection.
func (l *load) work(due time.Time) {
	var conn net.Conn
	var r *bufio.Reader
	for more := true; more; due, more = <-l.due {
		status := 0
		if conn == nil {
			var err error
			if conn, err = net.Dial("tcp", l.at); err != nil {
				l.note(0, 0)
				continue
			}
			r = bufio.NewReader(conn)
		}
		if _, err := conn.Write(l.request); err == nil {
			status = reply(r)
		}
		if status == 0 {
			conn.Close()
			conn = nil
		}
		l.note(status, time.Since(due))
	}
	if conn != nil {
		conn.Close()
	}
}

// reply reads an answer and returns its status, 0 if there is none.
func reply(r *bufio.Reader) (status int) {
	length, chunked := 0, false
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case err != nil:
			return 0
		case status == 0 && len(line) > 12:
			status, _ = strconv.Atoi(string(line[9:12]))
		case len(line) <= 2:
			if chunked {
				if _, err := io.Copy(io.Discard, httputil.NewChunkedReader(r)); err != nil {
					return 0
				}
				length = len("\r\n")
			}
			if _, err := r.Discard(length); err != nil {
				return 0
			}
			return status
		case string(line) == "Transfer-Encoding: chunked\r\n":
			chunked = true
		case len(line) > 16 && string(line[:16]) == "Content-Length: ":
			length, _ = strconv.Atoi(strings.TrimSpace(string(line[16:])))
		}
	}
}

func (l *load) note(status int, took time.Duration) {
	defer l.asked.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch status {
	case http.StatusOK:
		l.accepted = append(l.accepted, took)
	case http.StatusServiceUnavailable:
		l.refused = append(l.refused, took)
	default:
		l.other++
	}
}

// take returns what came of the requests since the last time.
func (l *load) take() *traffic {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.traffic
	l.traffic = &traffic{}
	return was
}

// open sends at a rate for a time, whether or not what was sent is answered.
func (l *load) open(rate float64, d time.Duration) *traffic {
	began := time.Now()
	for n := 0; ; {
		since := time.Since(began)
		if since > d {
			break
		}
		for ; float64(n) < rate*since.Seconds(); n++ {
			l.send(began.Add(time.Duration(float64(n) / rate * float64(time.Second))))
		}
		time.Sleep(200 * time.Microsecond)
	}
	l.asked.Wait()
	return l.take()
}

// closed sends over so many connections, each as soon as the last answer is there, and
// returns how many were answered in a second.
func (l *load) closed(conns int, d time.Duration) float64 {
	var busy sync.WaitGroup
	var stop atomic.Bool
	var n atomic.Int64
	for range conns {
		busy.Go(func() {
			conn, err := net.Dial("tcp", l.at)
			if err != nil {
				l.t.Error(err)
				return
			}
			defer conn.Close()
			for r := bufio.NewReader(conn); !stop.Load(); {
				if _, err := conn.Write(l.request); err != nil {
					l.t.Error(err)
					return
				}
				switch status := reply(r); status {
				case http.StatusOK:
					n.Add(1)
				case http.StatusServiceUnavailable:
				default:
					l.t.Errorf("status %d in place of an answer", status)
					return
				}
			}
		})
	}
	time.Sleep(d)
	stop.Store(true)
	busy.Wait()
	return float64(max(n.Load(), 1)) / d.Seconds()
}

func part(list []time.Duration, share float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[int(share*float64(len(list)-1))].Round(10 * time.Microsecond)
}

// TestServeOverload sends the program twice what it can do, with questions that take some
// milliseconds of a processor each. It goes on doing what it can, and refuses the rest
// soon. The figures are printed; a campaign holds their medians to bounds with room for
// a generator on the same processors, and prints those of single questions, of which a
// refusal costs as much as an answer, so that none is refused: there connections are
// what bounds the waiting.
func TestServeOverload(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("short: seconds of load")
	}
	s := newPacedSite(t, 0, time.Second)
	t.Setenv(ownSitesEnv, strings.TrimPrefix(s.url, "http://"))
	server := runServer(t, "--store", "memory")
	get(t, server.open+"/v1/check?url="+neturl.QueryEscape(s.url+"/a"))
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, `{"url":"%s/page/%d","agent":"MyBot"}`+"\n", s.url, i)
	}
	t.Run("batch", func(t *testing.T) {
		overload(t, server, fmt.Sprintf("POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n%s", lines.Len(), lines.String()), true)
	})
	if campaign.On() {
		t.Run("single", func(t *testing.T) {
			overload(t, server, "GET /v1/check?url="+neturl.QueryEscape(s.url+"/private/x")+"&agent=MyBot HTTP/1.1\r\nHost: localhost\r\n\r\n", false)
		})
	}
}

func overload(t *testing.T, server *served, request string, held bool) {
	rounds := campaign.Size(0, 1, 5)
	short, long := campaign.Size(0, 300*time.Millisecond, 2*time.Second), campaign.Size(0, 600*time.Millisecond, 4*time.Second)
	if d, err := time.ParseDuration(os.Getenv("OVERLOAD")); err == nil {
		long = d / time.Duration(rounds)
	}
	const most = 1024 // connections
	l := newLoad(t, server.open, request, most)
	var goodput, slower, refusal []float64
	for range rounds {
		capacity := l.closed(2*runtime.NumCPU(), short)
		idle := l.open(capacity/4, short)
		before := rss(t, server.cmd.Process.Pid)
		much := l.open(2*capacity, long)
		after := rss(t, server.cmd.Process.Pid)
		l.open(capacity/4, short)
		again := l.open(capacity/4, short)
		capacity = (capacity + l.closed(2*runtime.NumCPU(), short)) / 2 // of a machine that others use too
		p99, unloaded, median := part(much.accepted, 0.99), part(idle.accepted, 0.99), part(much.refused, 0.5)
		share := float64(len(much.accepted)) / long.Seconds() / capacity
		goodput, slower, refusal = append(goodput, share), append(slower, float64(p99)/float64(unloaded)), append(refusal, median.Seconds())
		t.Logf("capacity %.0f/s; at about twice that for %s: goodput %.0f %%, p99 %s (%.1f times %s), median of %d refusals %s; memory %d MiB, then %d; afterwards p99 %s, %d refusals; %d beyond %d connections, %d without an answer",
			capacity, long, 100*share, p99, float64(p99)/float64(unloaded), unloaded, len(much.refused), median,
			before>>20, after>>20, part(again.accepted, 0.99), len(again.refused), much.unsent, most, much.other)
		if len(much.accepted) == 0 {
			t.Error("nothing was answered")
		}
		if campaign.On() && after > before+before/2+96<<20 {
			t.Errorf("%d bytes of memory before, %d after", before, after)
		}
	}
	for _, list := range [][]float64{goodput, slower, refusal} {
		slices.Sort(list)
	}
	if campaign.On() && held && (goodput[rounds/2] < 0.5 || slower[rounds/2] > 12 || refusal[rounds/2] > 0.05) {
		t.Errorf("goodput %.2f, at least 0.5; p99 of accepted %.1f times that without load, at most 12; half of the refusals within %.3f s, at most 0.05", goodput, slower, refusal)
	}
}
