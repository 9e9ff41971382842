package fetch

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
)

// breaker makes one operation of a fetch fail: the n-th dial, of DNS too, read or write.
type breaker struct {
	at   int64 // 0: none
	err  error
	done atomic.Int64
}

// fails counts an operation and returns its error.
func (b *breaker) fails() error {
	if b.done.Add(1) == b.at {
		return b.err
	}
	return nil
}

func (b *breaker) into(c *Client) {
	connect, dns := c.connect, c.options.Resolver.Dial
	c.connect = func(ctx context.Context, d *net.Dialer, address string) (net.Conn, error) {
		if err := b.fails(); err != nil {
			return nil, err
		}
		conn, err := connect(ctx, d, address)
		if err != nil {
			return nil, err
		}
		return &broken{conn, b}, nil
	}
	c.options.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := b.fails(); err != nil {
			return nil, err
		}
		return dns(ctx, network, address)
	}}
}

type broken struct {
	net.Conn
	b *breaker
}

func (c *broken) Read(p []byte) (int, error) {
	if err := c.b.fails(); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *broken) Write(p []byte) (int, error) {
	if err := c.b.fails(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// TestTorture: in every quick behavior of the catalogue each dial, read and write fails in turn,
// in a campaign with each error, else with the next one. Nothing panics, nothing leaks, and no
// failure becomes a good outcome or a different failure.
func TestTorture(t *testing.T) {
	before := runtime.NumGoroutine()
	errs := []error{
		&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)},
		&net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded},
		io.EOF,
	}
	var runs, scenarios, most atomic.Int64
	t.Run("faults", func(t *testing.T) {
		some := campaign.Size(20, 20, 1) // of those with many operations
		for i, f := range catalogue() {
			if f.within != atOnce || f.byteCount > few || (f.area == "http2" || f.area == "proxy") && i%some != 0 {
				continue
			}
			t.Run(f.id(), func(t *testing.T) {
				t.Parallel()
				scenarios.Add(1)
				play := f.open(t)
				var whole breaker
				base := play(func(c *Client) {
					whole.into(c)
					patient(c)
				})
				steps := whole.done.Load()
				most.Store(max(most.Load(), steps))
				for n := int64(1); n <= steps; n += campaign.Size[int64](4, 2, 1) {
					for e, err := range errs {
						if !campaign.On() && int64(e) != (n+int64(i))%int64(len(errs)) {
							continue
						}
						if err == io.EOF && !f.framed() {
							continue // such an end looks like the end of the file
						}
						if strings.HasPrefix(f.id(), "framing/204,") && err != errs[0] {
							continue // whose headers are all: what follows too late, or never, is not missed
						}
						b := &breaker{at: n, err: err}
						r := play(func(c *Client) {
							b.into(c)
							c.limits.DNS, c.limits.Header = impatient, impatient
							if !strings.HasPrefix(f.id(), "framing/204,") { // which is empty once the grace is over
								c.limits.Grace = impatient
							}
						})
						runs.Add(1)
						checkVerdicts(t, r)
						if r.Outcome.Good() && (r.Cause != base.Cause || !bytes.Equal(r.Body, base.Body)) {
							t.Errorf("operation %d of %d fails with %v\ngot:  %v, %v, %q\nbase: %v, %v, %q", n, steps, err, r.Outcome, r.Cause, r.Body, base.Outcome, base.Cause, base.Body)
						}
					}
				}
			})
		}
	})
	settled(t, before)
	t.Logf("%d scenarios, %d fetches with one failure each, at most %d operations in one", scenarios.Load(), runs.Load(), most.Load())
}

// impatient shortens the limits after a failure, as nothing further is sent. They are too short
// only for the failure itself, which does not matter here.
const impatient = 30 * time.Millisecond

// framed reports whether an early end of the connection is distinguishable from the end of the
// file.
func (f *fault) framed() bool {
	switch f.id() {
	case "framing/no-length", "framing/HTTP/1.0", "proxy/ftp":
		return false
	}
	return f.area != "ftp"
}

// TestHostileMemory: concurrent hostile origins stay within 2 MiB each, including servers and
// garbage.
func TestHostileMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: it measures memory, which the race detector changes")
	}
	n := campaign.Size(50, 100, 1000)
	names := []string{
		"endless file", "endless chunks", "gzip bomb", "empty deflate blocks", "empty gzip members", "header flood", "endless 103", "dripping body",
		"PING flood", "unknown frames", "padding flood", "103 flood",
	}
	bomb()
	var flooding []fault
	var origins []robots.Origin
	s := newStage(t)
	for _, f := range slices.Concat(sizeFaults(), http2Faults()) {
		if !slices.Contains(names, f.name) {
			continue
		}
		scheme, raw := "https", f.raw
		if raw == nil {
			scheme, raw = "http", speak(f.serve)
		}
		flooding = append(flooding, f)
		origins = append(origins, mustOrigin(t, scheme+"://127.0.0.1:"+s.listen(t, "127.0.0.1:0", raw).port()))
	}
	o := s.options()
	o.Connections, o.PerAddress = n, n
	o.Limits = Limits{Total: 5 * time.Minute, Connect: 4 * time.Minute, TLS: 4 * time.Minute, Header: 4 * time.Minute, Grace: 2 * time.Second}
	c := s.client(t, o)
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	base, peak := m.Sys-m.HeapReleased, uint64(0)
	stop := make(chan struct{})
	var sampler, fetches sync.WaitGroup
	sampler.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.Sys-m.HeapReleased)
		}
	})
	started := time.Now()
	var received atomic.Int64
	outcomes := make([]Cause, n)
	for i := range n {
		fetches.Go(func() {
			r, err := c.Fetch(context.Background(), origins[i%len(origins)])
			if err != nil {
				t.Error(err)
				return
			}
			outcomes[i] = r.Cause
			received.Add(r.Hops[0].Received)
		})
	}
	fetches.Wait()
	close(stop)
	sampler.Wait()
	used := int64(peak) - int64(base)
	t.Logf("%d origins at once in %v: %d MiB received, at most %d MiB more memory, %d KiB each",
		n, time.Since(started).Round(time.Millisecond), received.Load()>>20, used>>20, used/int64(n)>>10)
	if used > int64(n)<<21 {
		t.Errorf("%d MiB for %d origins, more than 2 MiB each", used>>20, n)
	}
	for i, c := range outcomes {
		if c == OK && (i%len(flooding)) > 2 || c == Timeout || c == HeaderTimeout {
			t.Errorf("%s: %v", flooding[i%len(flooding)].name, c)
		}
	}
}
