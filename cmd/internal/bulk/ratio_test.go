//go:build unix

package bulk

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/robotskit/robots/cmd/internal/warc"
	"github.com/robotskit/robots/internal/campaign"
)

// cpu returns the time that this process has worked, or its children have.
func cpu(t *testing.T, who int) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// usual writes an archive as Common Crawl has them: a member a record, triples of request,
// response and metadata, a third of the answers redirects, and with the pages to which some
// lead about 3 kB a capture, compressed.
func usual(t *testing.T, captures int) string {
	t.Helper()
	random := rand.New(rand.NewPCG(5, 6))
	words := strings.Fields("admin search cart checkout login user tmp cgi-bin wp-admin includes modules themes feed trackback api private")
	name := filepath.Join(t.TempDir(), "usual.warc.gz")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range captures {
		url := fmt.Sprintf("https://www.site-%d.example/robots.txt", random.IntN(1<<30))
		var text strings.Builder
		text.WriteString("User-agent: *\n")
		lines := random.IntN(300)
		if i%16 == 1 {
			text.WriteString("<html>")
			lines = 8000
		}
		for range lines {
			fmt.Fprintf(&text, "Disallow: /%s/%s/%d\n", words[random.IntN(len(words))], words[random.IntN(len(words))], random.IntN(1000))
		}
		const headers = "Content-Type: text/plain\r\nServer: nginx\r\nDate: Fri, 01 May 2026 10:00:00 GMT\r\nCache-Control: max-age=600\r\nX-Crawler-Content-Encoding: gzip\r\n"
		answer := response(url, day, 200, headers, text.String(), fmt.Sprintf("WARC-Record-ID: <urn:uuid:%d>", i), "WARC-Payload-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
		if i%3 == 0 {
			answer = redirect(url, day, strings.Replace(url, "www.", "", 1))
		}
		for _, r := range []string{
			record("request", url, day, "GET /robots.txt HTTP/1.1\r\nUser-Agent: CCBot/2.0 (https://commoncrawl.org/faq/)\r\nAccept: text/html\r\n\r\n"),
			answer, record("metadata", url, day, "fetchTimeMs: 130\r\ncharset-detected: UTF-8\r\n"),
		} {
			if _, err := io.WriteString(f, zipped(r)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return name
}

// TestRatio compares what reading and packing cost with what gzip -dc costs. A campaign
// holds reading to its limit.
func TestRatio(t *testing.T) {
	if testing.Short() {
		t.Skip("short: it measures times")
	}
	gzip, err := exec.LookPath("gzip")
	if err != nil {
		t.Skip("no gzip on this machine to compare with: apt-get install gzip")
	}
	captures, rounds := campaign.Size(0, 500, 5_000), campaign.Size(1, 1, 5)
	name := usual(t, captures)
	var reads, packs []float64
	for range rounds {
		before := cpu(t, syscall.RUSAGE_CHILDREN)
		if err := exec.CommandContext(t.Context(), gzip, "-dc", name).Run(); err != nil {
			t.Fatal(err)
		}
		base := cpu(t, syscall.RUSAGE_CHILDREN) - before

		before = cpu(t, syscall.RUSAGE_SELF)
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for r := warc.NewReader(f, func(d warc.Damage) { t.Error(d) }); ; {
			record, err := r.Next()
			if err == io.EOF { //nolint:errorlint // the end itself
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if record.Type != "response" {
				continue
			}
			a, err := record.Response()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, a.Body); err != nil {
				t.Fatal(err)
			}
			n++
		}
		f.Close()
		read := cpu(t, syscall.RUSAGE_SELF) - before
		if n != captures {
			t.Fatalf("%d captures", n)
		}

		task := planned(t, PackOptions{}, name)
		before = cpu(t, syscall.RUSAGE_SELF)
		if err := Pack(t.Context(), task, RunOptions{}); err != nil {
			t.Fatal(err)
		}
		packed := cpu(t, syscall.RUSAGE_SELF) - before
		reads, packs = append(reads, float64(read)/float64(base)), append(packs, float64(packed)/float64(base))
		t.Logf("gzip -dc %v, read %v, pack %v", base, read, packed)
	}
	slices.Sort(reads)
	slices.Sort(packs)
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes a capture", info.Size()/int64(captures))
	t.Logf("reading %.2f x, packing %.2f x gzip -dc", reads[rounds/2], packs[rounds/2])
	if campaign.On() && reads[rounds/2] > 0.9 {
		t.Errorf("reading costs %.2f x what gzip -dc costs, and may cost 0.9", reads[rounds/2])
	}
}

// TestJoinRatio compares what a join costs a URL with what it costs to hash one. A campaign
// holds it to 2 M URLs a second where 20 M are hashed. The hash of the list itself, which
// says what it is, is made before.
func TestJoinRatio(t *testing.T) {
	if testing.Short() {
		t.Skip("short: it measures times")
	}
	campaign.OneGoroutine(t)
	sites, rounds := campaign.Size(0, 300, 5_000), campaign.Size(0, 1, 5)
	snapshot, list, urls := joinLoad(t, sites)
	var ratios []float64
	for range rounds {
		before := cpu(t, syscall.RUSAGE_SELF)
		const times = 5
		sum := uint64(0)
		for range times {
			for _, url := range urls {
				sum = 14695981039346656037 // FNV-1a, which takes a byte at a time as reading does
				for i := range len(url) {
					sum = (sum ^ uint64(url[i])) * 1099511628211
				}
			}
		}
		if sum == 0 {
			t.Fatal("nothing was hashed")
		}
		hashed := (cpu(t, syscall.RUSAGE_SELF) - before) / times
		runtime.GC()

		task, err := JoinOptions{}.JoinTask(filepath.Join(t.TempDir(), "out"), Parquet, snapshot, []string{list})
		if err != nil {
			t.Fatal(err)
		}
		before = cpu(t, syscall.RUSAGE_SELF)
		if err := Run(t.Context(), task, RunOptions{}); err != nil {
			t.Fatal(err)
		}
		joined := cpu(t, syscall.RUSAGE_SELF) - before
		ratios = append(ratios, float64(joined)/float64(hashed))
		perSecond := func(d time.Duration) float64 { return float64(len(urls)) / d.Seconds() / 1e6 }
		t.Logf("%d URLs: %.1f M/s hashed, %.2f M/s joined", len(urls), perSecond(hashed), perSecond(joined))
	}
	slices.Sort(ratios)
	t.Logf("a URL joined costs %.1f x a URL hashed", ratios[rounds/2])
	if campaign.On() && ratios[rounds/2] > 10 {
		t.Errorf("a URL joined costs %.1f x a URL hashed, and may cost 10", ratios[rounds/2])
	}
}
