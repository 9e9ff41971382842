package bulk

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

type repeated byte

func (c repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c)
	}
	return len(p), nil
}

// large writes inputs that are large in different ways.
func large(t *testing.T, dir string) {
	create := func(name string, fn func(w io.Writer)) {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		b := bufio.NewWriterSize(f, 1<<20)
		fn(b)
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	hex := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "0123456789abcdef"[random.IntN(16)]
		}
		return string(b)
	}
	size := campaign.Size[int64](1<<24, 1<<25, 1<<32) // 4 GiB in the whole campaign
	create("record.warc.gz", func(w io.Writer) {
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		head := record("response", "https://a.test/robots.txt", day, "HTTP/1.1 200 OK\r\n\r\n")
		head = strings.TrimSuffix(strings.Replace(head, "Content-Length: 19", fmt.Sprint("Content-Length: ", size+19), 1), "\r\n\r\n")
		io.WriteString(z, head)
		io.CopyN(z, repeated('#'), size)
		io.WriteString(z, "\r\n\r\n"+response("https://b.test/robots.txt", day, 200, "", "ok"))
		z.Close()
	})
	create("bodies.warc", func(w io.Writer) { // each as long as a file may be
		for i := range campaign.Size(20, 30, 2000) {
			io.WriteString(w, response(fmt.Sprintf("https://c%d.test/robots.txt", i), day, 200, "", hex(1000)+strings.Repeat(hex(1000), 510)))
		}
	})
	create("many.warc", func(w io.Writer) {
		for i := range campaign.Size(1_000, 5_000, 1_000_000) {
			if i%3 == 0 {
				io.WriteString(w, redirect(fmt.Sprintf("https://d%d.test/robots.txt", i), day, fmt.Sprintf("https://d%d.test/robots.txt", i*7919%20_000)))
				continue
			}
			io.WriteString(w, response(fmt.Sprintf("https://d%d.test/robots.txt", i), day, 200, "", fmt.Sprint("# ", i)))
		}
	})
	create("lines.jsonl", func(w io.Writer) {
		for i := range 4 {
			fmt.Fprintf(w, "{\"url\":\"https://e%d.test\",\"robots\":\"%s\"}\n", i, strings.Repeat(`\u0041`, 2<<20))
		}
	})
}

// TestMemory: a separate process packs large inputs in bounded memory.
func TestMemory(t *testing.T) {
	const mostBytes = 300_000_000
	if dir := os.Getenv("ROBOTS_TEST_MEMORY"); dir != "" {
		debug.SetGCPercent(CollectorPercent)
		if err := newPacking(t, PackOptions{}, dir).run(t, RunOptions{Workers: 2}); err != nil {
			t.Fatal(err)
		}
		// Maxrss would include the memory of the parent before it executed this program.
		status, _ := os.ReadFile("/proc/self/status")
		fmt.Printf("%s", status)
		return
	}
	if campaign.Race {
		t.Skip("the race detector needs memory of its own, and this counts bytes")
	}
	t.Parallel()
	dir := t.TempDir()
	large(t, dir)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestMemory$")
	cmd.Env = append(os.Environ(), "ROBOTS_TEST_MEMORY="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	peak := regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(out)
	if peak == nil {
		t.Skip("this system does not report how much memory a process had")
	}
	kib, _ := strconv.Atoi(string(peak[1]))
	t.Logf("%d MiB, %v of CPU", kib>>10, cmd.ProcessState.UserTime())
	if kib<<10 > mostBytes {
		t.Errorf("%d MiB were resident", kib>>10)
	}
}
