//go:build unix

package bulk

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/proctest"
)

// A job is one job of an array, which the test binary runs if jobVariable is set.
type job struct {
	Dir     string
	Inputs  []Input
	Resolve bool
	Slice   Share
}

const jobVariable = "ROBOTS_BULK_JOB"

func TestMain(m *testing.M) {
	text := os.Getenv(jobVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var j job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil && j.Resolve {
		err = PackResolve(context.Background(), j.Dir, Parquet, PackOptions{Parts: j.Slice.Of}, RunOptions{Share: j.Slice})
	} else if err == nil {
		err = PackRead(context.Background(), j.Dir, PackOptions{}, j.Inputs, j.Slice.Of, RunOptions{Share: j.Slice})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (j job) start(t *testing.T) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), jobVariable+"="+string(text)), os.Stderr
	if err := proctest.Start(cmd); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// begun waits until a job writes its shard, or has written it.
func (j job) begun(t *testing.T) {
	t.Helper()
	dir, table := filepath.Join(j.Dir, runsDir), tableRuns
	if j.Resolve {
		dir, table = j.Dir, tableCaptures
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 60_000 {
		files, _ := filepath.Glob(filepath.Join(dir, tmpDir, "*", "*"))
		done, _ := filepath.Glob(filepath.Join(dir, table, fmt.Sprintf("%05d-*", j.Slice.Index)))
		if len(files)+len(done) > 0 {
			return
		}
		<-tick.C
	}
	t.Fatalf("%+v does not begin", j)
}

// TestKill: jobs of both phases of pack are killed and run again; the snapshot equals that of
// one run. KILL is the number of kills per job in a campaign.
func TestKill(t *testing.T) {
	t.Parallel()
	const shards, parts = 3, 2
	captures, kills := campaign.Size(3_000, 5_000, 30_000), campaign.Size(1, 2, 20)
	if n, err := strconv.Atoi(os.Getenv("KILL")); err == nil && campaign.On() {
		kills = n
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	files := map[string]string{}
	for i := range shards {
		var text strings.Builder
		for k := i; k < captures; k += shards {
			url := fmt.Sprintf("https://s%d.test/robots.txt", k*7919%captures)
			if k%3 == 0 {
				text.WriteString(redirect(url, day, fmt.Sprintf("https://s%d.test/robots.txt", (k+1)*7919%captures)))
			} else {
				text.WriteString(response(url, day, 200, "", fmt.Sprintf("Disallow: /%d\n", k)))
			}
		}
		files[fmt.Sprint(i, ".warc")] = text.String()
	}
	names := write(t, t.TempDir(), files)
	whole := pack(t, PackOptions{Parts: parts}, RunOptions{Workers: 2}, names...)

	p := newPacking(t, PackOptions{}, names...)
	killed := 0
	for phase, jobs := range []int{shards, parts} {
		for i := range jobs {
			j := job{p.dir, p.inputs, phase == 1, Share{i, jobs}}
			for range kills {
				cmd := j.start(t)
				j.begun(t)
				wait := time.NewTimer(time.Duration(random.IntN(120)) * time.Millisecond) // anywhere in the shard
				<-wait.C
				_ = cmd.Process.Kill() // or it has ended
				if err := cmd.Wait(); err != nil {
					killed++
				}
			}
			for range 2 { // the second time there is nothing to do
				if err := j.start(t).Wait(); err != nil {
					t.Errorf("phase %d, job %d: %v", phase, i, err)
				}
			}
		}
	}
	if _, err := ReadStatus(p.dir); err != nil {
		t.Fatal(err)
	}
	if got := snapshot(t, p.dir); got.sum != whole.sum {
		t.Errorf("seed %d: other bytes after kills", seed)
	}
	if killed == 0 {
		t.Error("no job was killed")
	}
	t.Logf("%d kills in both phases (seed %d): the same bytes", killed, seed)
}
