package bolt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
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
	s, err := Open(path, Options{})
	if err != nil {
		return err
	}
	fail := make(chan error, killWorkers)
	for w := range killWorkers {
		go func() {
			for {
				i := rand.IntN(killOrigins/killWorkers)*killWorkers + w // each has its own
				number := uint64(time.Now().UnixNano())
				if err := s.Put(context.Background(), cachetest.Numbered(i, number), time.Hour); err != nil {
					fail <- err
					return
				}
				fmt.Println(i, number) // one write, which is whole or missing
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
	writes, rounds := 0, campaign.Size(10, 20, 200)
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
		last := 1 + rand.IntN(60)
		if round%4 == 3 {
			last = -1
			time.AfterFunc(rand.N(12*time.Millisecond), func() { _ = child.Process.Kill() })
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			var i int
			var number uint64
			if _, err := fmt.Sscan(lines.Text(), &i, &number); err != nil {
				t.Fatalf("round %d: the child says %q", round, lines.Text())
			}
			acknowledged[i] = number
			writes++
			if n == last {
				_ = child.Process.Kill()
			}
		}
		_ = child.Wait()

		s := mustOpen(t, path, Options{})
		for i := range killOrigins {
			e, err := s.Get(t.Context(), cachetest.Origin(i))
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
		}
		counts(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d processes killed, %d acknowledged writes, none lost", rounds, writes)
}
