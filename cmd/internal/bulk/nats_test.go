package bulk

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/robotskit/robots/internal/freeport"
)

// TestListen: without a secret only this machine is served.
func TestListen(t *testing.T) {
	for address, want := range map[string]string{
		"0.0.0.0:0": "could take shards", ":0": "could take shards", "192.0.2.5:4222": "could take shards",
		"[::]:0": "could take shards", "example.com:1": "could take shards", "127.0.0.1": "not an address",
		"127.0.0.1:x": "no port", "127.0.0.1:0": "", "[::1]:0": "", "localhost:0": "",
	} {
		s, err := Queue{Listen: address}.serve(t.TempDir())
		if want == "" && err != nil && strings.HasPrefix(address, "[::1]") {
			t.Log(err) // a machine without IPv6
			continue
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
		if err == nil {
			s.Shutdown()
			s.WaitForShutdown()
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := (Queue{Listen: l.Addr().String()}).serve(t.TempDir()); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("%v, want that the address is in use", err)
	}
}

// certificate makes one that signs itself and holds for 127.0.0.1, and what trusts it.
func certificate(t testing.TB) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, RootCAs: pool,
		ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13,
	}
}

// TestJoin: who has the secret of a lead joins it, by its folder or without, and nobody
// else does.
func TestJoin(t *testing.T) {
	w := work{Shards: 6, Rows: 4, Wait: 20 * time.Millisecond}
	want := undisturbed(t, w)
	secret := certificate(t)
	for name, c := range map[string]struct {
		lead, member, stranger Queue
		told                   string
	}{
		"plain": {},
		"token": {lead: Queue{Token: "right"}, member: Queue{Token: "right"}, stranger: Queue{Token: "wrong"}, told: "Authorization"},
		"tls":   {lead: Queue{TLS: secret}, member: Queue{TLS: secret}, stranger: Queue{TLS: &tls.Config{RootCAs: secret.RootCAs, MinVersion: tls.VersionTLS13}}, told: "tls"},
	} {
		t.Run(name, func(t *testing.T) {
			task := w.task(t, t.TempDir())
			if err := task.claim(); err != nil {
				t.Fatal(err)
			}
			address := freeport.Addr(t)
			c.lead.Listen, c.member.URL, c.stranger.URL = address, "nats://"+address, "nats://"+address
			if c.stranger.Token != "" || c.stranger.TLS != nil {
				s, err := c.lead.serve(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				told, first := "", sync.Once{}
				ctx, stop := context.WithCancel(t.Context())
				o := RunOptions{Queue: c.stranger, Progress: &Progress{Notes: func(line string) {
					first.Do(func() { told = line })
					stop() // it would wait for another server
				}}}
				if err := Work(ctx, task.Dir, o); err == nil || !strings.Contains(told+err.Error(), c.told) {
					t.Errorf("a stranger is told %q and gets %v", told, err)
				}
				stop()
				s.Shutdown()
				s.WaitForShutdown()
			}
			ended := make(chan error, 2)
			var members []*Progress
			for _, dir := range []string{"", task.Dir} {
				p := &Progress{}
				members = append(members, p)
				go func() { // which waits for its lead
					ended <- Work(t.Context(), dir, RunOptions{Queue: c.member, Progress: p})
				}()
			}
			task.Do = func(ctx context.Context, s Shard, p *Part) (Counts, error) {
				for _, m := range members { // so that they find something to do
					for joined := false; !joined && ctx.Err() == nil; time.Sleep(time.Millisecond) {
						m.mu.Lock()
						joined = m.workers > 0
						m.mu.Unlock()
					}
				}
				return w.do(ctx, s, p)
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			if err := Run(ctx, task, RunOptions{Queue: c.lead}); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
			if got := checksum(t, task); got != want {
				t.Error("other bytes")
			}
			clean(t, task)
		})
	}
}

// TestServer: a server that is there already carries more than one task, and keeps
// nothing of those that are done.
func TestServer(t *testing.T) {
	store := t.TempDir()
	s, err := Queue{Listen: "127.0.0.1:0"}.serve(store)
	if err != nil {
		t.Fatal(err)
	}
	defer s.WaitForShutdown()
	defer s.Shutdown()
	queue := Queue{URL: "nats://" + s.Addr().String()}
	a, b := work{Shards: 7, Rows: 4}, work{Shards: 5, Rows: 3}
	ended := make(chan error, 1)
	second := b.task(t, t.TempDir())
	go func() { ended <- Run(t.Context(), second, RunOptions{Queue: queue}) }()
	first := a.task(t, t.TempDir())
	if err := Run(t.Context(), first, RunOptions{Queue: queue, Workers: 2}); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if checksum(t, first) != undisturbed(t, a) || checksum(t, second) != undisturbed(t, b) {
		t.Error("other bytes")
	}
}

// TestLostAcknowledgement: a shard is done, but its worker is gone before the queue knows.
// The run ends, though all other workers have left since they see its part.
func TestLostAcknowledgement(t *testing.T) {
	s, err := Queue{Listen: "127.0.0.1:0"}.serve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.WaitForShutdown()
	defer s.Shutdown()
	queue := Queue{URL: "nats://" + s.Addr().String()}
	w := work{Shards: 2, Rows: 3}
	task := w.task(t, t.TempDir())
	begun, lost := make(chan bool, w.Shards), make(chan bool)
	task.Do = func(ctx context.Context, s Shard, p *Part) (Counts, error) {
		begun <- true
		<-lost
		return w.do(ctx, s, p)
	}
	ended := make(chan error, 1)
	go func() { ended <- Run(t.Context(), task, RunOptions{Queue: queue, Workers: 1, Lease: time.Second}) }()
	<-begun

	nc, err := queue.connect(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	gone := &runner{}
	gone.o.defaults()
	var cons jetstream.Consumer
	if gone.t, cons, err = find(t.Context(), nc, js, task.Dir, &gone.o); err != nil {
		t.Fatal(err)
	}
	m, err := cons.Next()
	if err != nil {
		t.Fatal(err)
	}
	shard, _ := task.shard(string(m.Data()))
	if _, _, err := gone.try(t.Context(), shard); err != nil {
		t.Fatal(err)
	}
	close(lost)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if checksum(t, task) != undisturbed(t, w) {
		t.Error("other bytes")
	}
}

// TestLead: a folder has one lead.
func TestLead(t *testing.T) {
	task := work{Shards: 1, Rows: 1}.task(t, t.TempDir())
	if err := task.claim(); err != nil {
		t.Fatal(err)
	}
	lock, err := lockQueue(task.Dir)
	if err != nil {
		t.Fatal(err)
	}
	err = Run(t.Context(), task, RunOptions{Queue: Queue{Listen: "127.0.0.1:0"}})
	if err == nil || !strings.Contains(err.Error(), "another run leads") {
		t.Errorf("got %v", err)
	}
	lock.Close()
	if err := Run(t.Context(), task, RunOptions{Queue: Queue{Listen: "127.0.0.1:0"}}); err != nil {
		t.Error(err)
	}
	clean(t, task)
}
