// Package redistest starts real Redis servers for tests. It can kill and restart them,
// replace them by empty ones, fail over to a replica, stop them for a while and set
// their clocks.
package redistest

import (
	"bytes"
	"context"
	"crypto/tls"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/internal/freeport"
	"github.com/robotskit/robots/internal/proctest"
)

// Options are the settings of a Server. The zero value keeps nothing on disk.
type Options struct {
	AppendOnly bool // an append-only file, written to the disk every second
	// Clock enables SetClock. It requires a C compiler.
	Clock bool
	// Config are further lines of redis.conf.
	Config []string
	// TLS makes the server speak TLS only; Server.TLS is the setting of its clients.
	TLS bool
	// Watch starts a sentinel instead of a server. It monitors this server and its replicas
	// under the name "fleet", and promotes a replica when the server is down for half a second.
	Watch *Server
}

// A Server is a redis-server on a port of this machine. It ends with its test.
type Server struct {
	Addr string // host:port, the same for its whole life
	Dir  string // where it keeps its data
	// TLS is the configuration of clients, nil without Options.TLS.
	TLS *tls.Config

	t     testing.TB
	o     Options
	args  []string
	clock string // file with the offset, "" without
	shim  string

	pem string // file with certificate and key, with Options.TLS

	mu     sync.Mutex
	cmd    *exec.Cmd     // nil while the server is dead
	exited chan struct{} // closed when cmd has ended
	log    bytes.Buffer
}

//go:embed testdata/clock.c
var clockSource []byte

// Start starts a server and returns when it answers. Without redis-server it skips the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("no redis-server on this machine: apt-get install redis-server")
	}
	s := &Server{t: t, o: o, Dir: t.TempDir()}
	if o.Clock {
		s.buildClock()
	}
	if o.TLS {
		s.pem, s.TLS = certificate(t, s.Dir)
	}
	for attempt := 0; ; attempt++ {
		s.Addr = freeport.Addr(t)
		s.configure()
		err := s.start()
		if err == nil {
			break
		}
		// Another process may have taken the port in the meantime.
		if attempt == 4 {
			t.Fatalf("redis-server: %v\n%s", err, s.log.String())
		}
	}
	t.Cleanup(s.Kill)
	return s
}

func (s *Server) configure() {
	_, port, _ := net.SplitHostPort(s.Addr)
	lines := []string{
		"bind 127.0.0.1", "dir " + strconv.Quote(s.Dir), `save ""`, "daemonize no", "repl-diskless-sync-delay 0",
		"repl-ping-replica-period 1",
	}
	if s.o.TLS {
		lines = append(lines, "port 0", "tls-port "+port, "tls-auth-clients no",
			"tls-ca-cert-file "+s.pem, "tls-cert-file "+s.pem, "tls-key-file "+s.pem)
	} else {
		lines = append(lines, "port "+port)
	}
	if s.o.AppendOnly {
		lines = append(lines, "appendonly yes", "appendfsync everysec")
	}
	if s.o.Watch != nil {
		host, watched, _ := net.SplitHostPort(s.o.Watch.Addr)
		lines = []string{"bind 127.0.0.1", "port " + port, "dir " + strconv.Quote(s.Dir), "sentinel monitor fleet " + host + " " + watched + " 1",
			"sentinel down-after-milliseconds fleet 500", "sentinel failover-timeout fleet 5000"}
	}
	lines = append(lines, s.o.Config...)
	name := filepath.Join(s.Dir, "redis.conf")
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.args = []string{name}
	if s.o.Watch != nil {
		s.args = append(s.args, "--sentinel")
	}
}

// start starts the process and waits until it accepts connections.
func (s *Server) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cmd := exec.Command("redis-server", s.args...)
	cmd.Stdout = &s.log
	cmd.Stderr = &s.log
	cmd.Env = os.Environ()
	if s.clock != "" {
		cmd.Env = append(cmd.Env, "LD_PRELOAD="+s.shim, "ROBOTS_CLOCK="+s.clock)
	}
	if err := proctest.Start(cmd); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		cmd.Wait()
		close(exited)
	}()
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		_, err := s.try("PING")
		select {
		case <-exited: // the port of a cluster's bus may be another's
			return fmt.Errorf("ended at once: %v", cmd.ProcessState)
		default:
		}
		// While a server reads its files it answers LOADING.
		if reply, is := rueidis.IsRedisErr(err); err == nil || is && !strings.Contains(reply.Error(), "LOADING") {
			s.cmd = cmd
			s.exited = exited
			return nil
		}
		if time.Now().After(limit) {
			cmd.Process.Kill()
			return err
		}
	}
}

// URL returns the server's address as a redis:// or rediss:// URL.
func (s *Server) URL() string {
	if s.o.TLS {
		return "rediss://" + s.Addr
	}
	return "redis://" + s.Addr
}

// Option returns the options of a client of this server.
func (s *Server) Option() rueidis.ClientOption {
	return rueidis.ClientOption{InitAddress: []string{s.Addr}, TLSConfig: s.TLS}
}

// Client returns a client that ends with the test.
func (s *Server) Client() rueidis.Client {
	s.t.Helper()
	return NewClient(s.t, s.Option())
}

// NewClient returns a client with these options.
func NewClient(t testing.TB, o rueidis.ClientOption) rueidis.Client {
	t.Helper()
	c, err := rueidis.NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Do sends a command over a connection of its own and returns the reply as text.
// The test fails if the reply is an error.
func (s *Server) Do(args ...string) string {
	s.t.Helper()
	reply, err := s.try(args...)
	if err != nil {
		s.t.Fatalf("redis %s: %v", strings.Join(args, " "), err)
	}
	return reply
}

func (s *Server) try(args ...string) (string, error) {
	o := s.Option()
	o.DisableCache = true
	o.ForceSingleClient = true
	o.DisableRetry = true
	// For one short command the default buffers, a megabyte, would take longer than the rest.
	o.ReadBufferEachConn = 4 << 10
	o.WriteBufferEachConn = 4 << 10
	o.RingScaleEachConn = 1
	c, err := rueidis.NewClient(o)
	if err != nil {
		return "", err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	m, err := c.Do(ctx, c.B().Arbitrary(args...).Build()).ToMessage()
	if err != nil {
		return "", err
	}
	if text, err := m.ToString(); err == nil {
		return text, nil
	}
	if n, err := m.AsInt64(); err == nil {
		return strconv.FormatInt(n, 10), nil
	}
	return m.String(), nil
}

// Kill ends the server by SIGKILL, if it is running.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Kill()
	<-s.exited
	s.cmd = nil
}

// Up starts a server that was killed, with its files.
func (s *Server) Up() {
	s.t.Helper()
	if err := s.start(); err != nil {
		s.t.Fatalf("redis-server: %v\n%s", err, s.log.String())
	}
}

// Restart kills the server and starts it with its files. Without AppendOnly it is empty.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.Up()
}

// Replace kills the server and starts an empty one at its address.
func (s *Server) Replace() {
	s.t.Helper()
	s.Kill()
	for _, name := range []string{"appendonlydir", "dump.rdb", "nodes.conf"} {
		if err := os.RemoveAll(filepath.Join(s.Dir, name)); err != nil {
			s.t.Fatal(err)
		}
	}
	s.Up()
}

// Freeze stops the process without closing its connections, until Thaw.
func (s *Server) Freeze() { s.signal("STOP") }

// Thaw ends Freeze.
func (s *Server) Thaw() { s.signal("CONT") }

func (s *Server) signal(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		if out, err := exec.Command("kill", "-"+name, strconv.Itoa(s.cmd.Process.Pid)).CombinedOutput(); err != nil {
			s.t.Fatalf("kill -%s: %v: %s", name, err, out)
		}
	}
}

// Replica starts a replica of s and returns when it has the data of s.
func (s *Server) Replica(o Options) *Server {
	s.t.Helper()
	r := Start(s.t, o)
	r.Follow(s)
	return r
}

// Follow makes s a replica of another server and returns when s has its data.
func (s *Server) Follow(of *Server) {
	s.t.Helper()
	host, port, _ := net.SplitHostPort(of.Addr)
	s.Do("REPLICAOF", host, port)
	s.until(func() bool { return strings.Contains(s.Do("INFO", "replication"), "master_link_status:up") })
}

// Promote makes a replica a primary.
func (s *Server) Promote() {
	s.t.Helper()
	s.Do("REPLICAOF", "NO", "ONE")
}

// until waits for a state of the server.
func (s *Server) until(ok func() bool) {
	s.t.Helper()
	defer func() {
		if s.t.Failed() {
			s.t.Log(s.log.String())
		}
	}()
	Until(s.t, "a state of redis-server", ok)
}

// Until waits for a condition by polling.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	limit := time.Now().Add(2 * time.Minute)
	for pause := time.Millisecond; !ok(); pause = min(2*pause, 32*time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(pause) // longer each time: a condition can cost a connection to a server
	}
}

// SetClock sets the server's wall clock ahead of the machine's clock, or behind it if ahead is
// negative. The server must have Options.Clock.
func (s *Server) SetClock(ahead time.Duration) {
	s.t.Helper()
	if s.clock == "" {
		s.t.Fatal("redistest: SetClock needs Options.Clock")
	}
	f, err := os.OpenFile(s.clock, os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(ahead.Microseconds())), 0); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) buildClock() {
	cc, err := exec.LookPath("cc")
	if err != nil {
		s.t.Skip("no C compiler on this machine: a server whose clock can be set needs one")
	}
	s.clock = filepath.Join(s.Dir, "clock")
	s.shim = filepath.Join(s.Dir, "clock.so")
	source := filepath.Join(s.Dir, "clock.c")
	if err := errors.Join(os.WriteFile(s.clock, make([]byte, 8), 0o600), os.WriteFile(source, clockSource, 0o600)); err != nil {
		s.t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-O2", "-o", s.shim, source).CombinedOutput(); err != nil {
		s.t.Skipf("the C program that sets a server's clock does not build: %v\n%s", err, out)
	}
}
