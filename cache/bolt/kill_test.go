package bolt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/cachetest"
	"github.com/robotskit/robots/internal/campaign"
)

// killEnv names the file that a killed process writes.
const killEnv = "ROBOTS_TEST_KILL"

func TestMain(m *testing.M) {
	if path := os.Getenv(killEnv); path != "" {
		if err := writeUntilKilled(path); err != nil {
			fmt.Println("error", err)
		}
		return
	}
	os.Exit(m.Run())
}

const (
	killWorkers = 8
	killOrigins = 400
)

// writeUntilKilled writes entries and prints those that the store has acknowledged: origin and
// number, which is the fence.
func writeUntilKilled(path string) error {
	s, err := Open(path, Options{Size: 8 << 20})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	fail := make(chan error, killWorkers)
	for w := range killWorkers {
		go func() {
			random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(w)))
			for {
				i := random.IntN(killOrigins/killWorkers)*killWorkers + w // each has its own
				number := uint64(time.Now().UnixNano())
				if err := s.Put(context.Background(), cachetest.Numbered(i, number), time.Hour); err != nil {
					fail <- err
					return
				}
				mu.Lock()
				fmt.Println(i, number)
				mu.Unlock()
			}
		}()
	}
	return <-fail
}

// TestKill kills a writing process many times at any moment. The store must open each time, hold
// every acknowledged entry or a later one, and no partial entry.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robots.cache")
	acknowledged := map[int]uint64{}
	random := rand.New(rand.NewPCG(1, 1))
	writes, checked, before := 0, 0, 0
	rounds := campaign.Size(10, 40, 200)
	for round := range rounds {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), killEnv+"="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		// After a number of entries or, every fourth time, of microseconds.
		lines, early := 1+random.IntN(60), round%4 == 3
		if early {
			time.AfterFunc(time.Duration(random.IntN(12_000))*time.Microsecond, func() { _ = child.Process.Kill() })
		}
		n := 0
		for in := bufio.NewReader(out); ; n++ {
			line, err := in.ReadString('\n')
			if err != nil { // the last line may be cut
				break
			}
			var i int
			var number uint64
			if _, err := fmt.Sscan(line, &i, &number); err != nil {
				t.Fatalf("round %d: the child says %q", round, line)
			}
			acknowledged[i] = number
			if n == lines && !early {
				_ = child.Process.Kill()
			}
		}
		_, _ = io.Copy(io.Discard, out)
		_ = child.Wait()
		if n == 0 {
			before++
		}
		writes += n

		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) && len(acknowledged) == 0 {
			continue // killed before there was a file
		}
		s, err := Open(path, Options{Size: 8 << 20})
		if err != nil {
			t.Fatalf("round %d, after %d writes: %v", round, writes, err)
		}
		for i := range killOrigins {
			e, err := s.Get(context.Background(), cachetest.Origin(i))
			number, ok := acknowledged[i]
			switch {
			case errors.Is(err, cache.ErrAbsent) && !ok:
				continue
			case err != nil:
				t.Fatalf("round %d: entry %d, acknowledged as %d: %v", round, i, number, err)
			case e.Fence < number:
				t.Fatalf("round %d: entry %d is %d, acknowledged was %d", round, i, e.Fence, number)
			}
			if diff := cachetest.Difference(e, cachetest.Numbered(i, e.Fence)); diff != "" {
				t.Fatalf("round %d: entry %d is not what was put: %s", round, i, diff)
			}
			checked++
		}
		counts(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	if left, _ := filepath.Glob(path + ".new*"); len(left) > rounds/4 {
		t.Errorf("%d files are left of creations cut short", len(left))
	}
	t.Logf("%d processes killed, %d of them before a write: %d acknowledged writes, %d entries found whole, none lost", rounds, before, writes, checked)
}
