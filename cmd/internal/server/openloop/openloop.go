// Package openloop sends a server requests at a rate, whether or not those before were
// answered (an open loop), as many clients do that know nothing of each other, and says
// what came of them. It is for tests.
package openloop

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Load sends one request again and again over so many connections at most, with little
// work of its own.
type Load struct {
	t       testing.TB
	at      string
	request []byte
	most    int

	due     chan time.Time // when a request should have been sent
	workers int
	running sync.WaitGroup
	asked   sync.WaitGroup // requests under way

	mu sync.Mutex
	*Traffic
}

// A Traffic is what came of requests. Times count from when a request was due.
type Traffic struct {
	Accepted, Refused []time.Duration // 200, 503
	Other             int             // neither
	Unsent            int             // all connections were busy
}

// New returns a load for the server at a URL that ends with its port. The request has a
// head and a body.
func New(t testing.TB, url, request string, most int) *Load {
	l := &Load{t: t, at: strings.TrimPrefix(url, "http://"), request: []byte(request), most: most, due: make(chan time.Time), Traffic: &Traffic{}}
	t.Cleanup(func() {
		close(l.due)
		l.running.Wait()
	})
	return l
}

// send has a request sent that was due at a time.
func (l *Load) send(due time.Time) {
	l.asked.Add(1)
	select {
	case l.due <- due:
		return
	default:
	}
	if l.workers == l.most {
		l.mu.Lock()
		l.Unsent++
		l.mu.Unlock()
		l.asked.Done()
		return
	}
	l.workers++
	l.running.Go(func() { l.work(due) })
}

// work is one connection.
func (l *Load) work(due time.Time) {
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

func (l *Load) note(status int, took time.Duration) {
	defer l.asked.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch status {
	case http.StatusOK:
		l.Accepted = append(l.Accepted, took)
	case http.StatusServiceUnavailable:
		l.Refused = append(l.Refused, took)
	default:
		l.Other++
	}
}

// Open sends so many requests per second for a time, evenly, and returns what came of them
// when the last is answered.
func (l *Load) Open(rate float64, d time.Duration) *Traffic {
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
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.Traffic
	l.Traffic = &Traffic{}
	return was
}

// Closed sends over so many connections, each as soon as the last answer is there, and
// returns how many were answered in a second: what the server can do.
func (l *Load) Closed(conns int, d time.Duration) float64 {
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

// Within returns the time within which a share of the requests were answered.
func Within(list []time.Duration, share float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[int(share*float64(len(list)-1))].Round(10 * time.Microsecond)
}
