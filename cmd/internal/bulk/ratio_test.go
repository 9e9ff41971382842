//go:build unix

package bulk

import (
	"bufio"
	"errors"
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

// usual writes archives as Common Crawl has them, with so many captures each: a member of gzip
// a record, triples of request, response and metadata with ids and digests. Of the captures
// a third are redirects, an eighth says that there is no file, 6 of 100 are pages to which
// redirects lead, which are a third of the bytes. A third of the files are of one of a few
// programs that write them. 2 to 3 kB a capture are left of it.
func usual(t *testing.T, files, captures int) (names []string) {
	t.Helper()
	random := rand.New(rand.NewPCG(5, 6))
	words := strings.Fields("admin search cart checkout login user tmp cgi-bin wp-admin includes modules themes feed trackback api private " +
		"produkte kategorie artikel shop seite suche bilder download archiv news kontakt agb versand blog autor tag print media plugins cache")
	word := func() string { return words[random.IntN(len(words))] }
	id := func() string {
		const hex = "0123456789abcdef"
		b := []byte("WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000000>")
		for i, c := range b {
			if c == '0' {
				b[i] = hex[random.IntN(16)]
			}
		}
		return string(b)
	}
	digest := func(name string) string {
		b := []byte(name + ": sha1:")
		for range 32 {
			b = append(b, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[random.IntN(32)])
		}
		return string(b)
	}
	text := func(lines int) string {
		var b strings.Builder
		for i := range lines {
			switch {
			case i%40 == 0:
				fmt.Fprintf(&b, "\nUser-agent: %s\n", []string{"*", "GPTBot", "CCBot", word()}[min(i/40, 3)])
			case i%9 == 0:
				fmt.Fprintf(&b, "Allow: /%s/*%s$\n", word(), word())
			default:
				fmt.Fprintf(&b, "Disallow: /%s/%s-%d/\n", word(), word(), random.IntN(1000))
			}
		}
		return b.String()
	}
	programs := []string{text(5), text(12), text(30), text(60)}
	page := func(size int) string {
		var b strings.Builder
		b.WriteString("<!DOCTYPE html><html><head><title>")
		for b.Len() < size {
			fmt.Fprintf(&b, "<div class=\"%s %s\"><a href=\"/%s/%s-%d.html\">%s %s</a> %s %s %s</div>\n", word(), word(), word(), word(), random.IntN(10000), word(), word(), word(), word(), word())
		}
		return b.String()
	}
	const headers = "Server: nginx\r\nDate: Fri, 01 May 2026 10:00:00 GMT\r\nConnection: keep-alive\r\nCache-Control: max-age=600\r\nX-Crawler-Content-Encoding: gzip\r\nVary: Accept-Encoding\r\nContent-Type: "
	dir := t.TempDir()
	for file := range files {
		name := filepath.Join(dir, fmt.Sprintf("usual-%d.warc.gz", file))
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		out := bufio.NewWriter(f)
		for i := range captures {
			site := fmt.Sprintf("https://www.%s-%d.example", word(), random.IntN(1<<30))
			url, more := site+"/robots.txt", []string{id(), digest("WARC-Payload-Digest"), digest("WARC-Block-Digest"), "WARC-IP-Address: 192.0.2.1"}
			var answer string
			switch kind := i % 100; {
			case kind < 31:
				answer = response(url, day, 301, headers+"text/html\r\nLocation: "+strings.Replace(url, "www.", "", 1)+"\r\n", page(150), more...)
			case kind < 44:
				answer = response(url, day, 404, headers+"text/html\r\n", page(1200), more...)
			case kind < 50:
				url = site + "/"
				answer = response(url, day, 200, headers+"text/html; charset=UTF-8\r\n", page(20_000+random.IntN(60_000)), more...)
			case kind < 68:
				answer = response(url, day, 200, headers+"text/plain\r\n", programs[random.IntN(len(programs))], more...)
			default:
				answer = response(url, day, 200, headers+"text/plain\r\n", text(1+int(40*random.ExpFloat64()*random.ExpFloat64()*2)), more...)
			}
			for _, r := range []string{
				record("request", url, day, "GET /robots.txt HTTP/1.1\r\nUser-Agent: CCBot/2.0 (https://commoncrawl.org/faq/)\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Language: en-US,en;q=0.5\r\nIf-Modified-Since: Thu, 01 Jan 1970\r\nHost: x\r\n\r\n", id(), "WARC-IP-Address: 192.0.2.1"),
				answer,
				record("metadata", url, day, fmt.Sprintf("fetchTimeMs: %d\r\ncharset-detected: UTF-8\r\nlanguages-cld2: {\"reliable\":true}\r\n", random.IntN(1000)), id()),
			} {
				if _, err := io.WriteString(out, zipped(r)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := errors.Join(out.Flush(), f.Close()); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// readAll reads the answers of an archive, and returns how many there are.
func readAll(t *testing.T, name string) (n int) {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := warc.NewReader(f, func(d warc.Damage) { t.Error(d) })
	defer r.Close()
	for {
		record, err := r.Next()
		if err == io.EOF { // the end itself
			return n
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
}

// TestRatio compares what reading, packing and asking cost with what gzip -dc costs, and what
// a hundred crawlers cost with one. A campaign holds them to their limits.
func TestRatio(t *testing.T) {
	if testing.Short() {
		t.Skip("short: it measures times")
	}
	campaign.OneGoroutine(t)
	gzip, err := exec.LookPath("gzip")
	if err != nil {
		t.Skip("no gzip on this machine to compare with: apt-get install gzip")
	}
	const captures = 1500
	files, rounds := campaign.Size(0, 1, 4), campaign.Size(1, 1, 5)
	names := usual(t, files, captures)
	size := int64(0)
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	crawlers := func(n int) (list [][]string) {
		for i := range n {
			list = append(list, []string{append([]string{"GPTBot", "CCBot", "Googlebot", "ClaudeBot"}, fmt.Sprintf("Bot%c%c", 'A'+i/26, 'A'+i%26))[min(i, 4)]})
		}
		return list
	}
	var reads, packs, asks []float64
	for range rounds {
		before := cpu(t, syscall.RUSAGE_CHILDREN)
		if err := exec.CommandContext(t.Context(), gzip, append([]string{"-dc"}, names...)...).Run(); err != nil {
			t.Fatal(err)
		}
		base := cpu(t, syscall.RUSAGE_CHILDREN) - before

		runtime.GC()
		before = cpu(t, syscall.RUSAGE_SELF)
		for _, name := range names {
			if n := readAll(t, name); n != captures {
				t.Fatalf("%d captures", n)
			}
		}
		read := cpu(t, syscall.RUSAGE_SELF) - before

		runtime.GC()
		before = cpu(t, syscall.RUSAGE_SELF)
		task := planned(t, PackOptions{}, names...)
		if err := Pack(t.Context(), task, RunOptions{}); err != nil {
			t.Fatal(err)
		}
		packed := cpu(t, syscall.RUSAGE_SELF) - before
		var asked [3]time.Duration
		for i, n := range []int{4, 1, 100} {
			runtime.GC()
			before = cpu(t, syscall.RUSAGE_SELF)
			task, err := AskOptions{Agents: crawlers(n)}.AskTask(filepath.Join(t.TempDir(), "verdicts"), Parquet, task.Dir)
			if err == nil {
				err = Run(t.Context(), task, RunOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			asked[i] = cpu(t, syscall.RUSAGE_SELF) - before
		}
		reads = append(reads, float64(read)/float64(base))
		packs = append(packs, float64(packed+asked[0])/float64(base))
		asks = append(asks, float64(asked[2])/float64(asked[1]))
		t.Logf("gzip -dc %v, read %v, pack %v, ask 4 crawlers %v, 1 %v, 100 %v", base, read, packed, asked[0], asked[1], asked[2])
	}
	t.Logf("%d files of %d kB, %d captures each", files, size/int64(files)/1000, captures)
	for _, c := range []struct {
		what   string
		ratios []float64
		most   float64
	}{
		{"reading costs %.2f x gzip -dc", reads, 1.3},
		{"packing, and asking for 4 crawlers, costs %.2f x gzip -dc", packs, 3},
		{"100 crawlers cost %.2f x one", asks, 2.5},
	} {
		slices.Sort(c.ratios)
		t.Logf(c.what, c.ratios[rounds/2])
		if campaign.On() && c.ratios[rounds/2] > c.most {
			t.Errorf(c.what+", and may cost %.1f x", c.ratios[rounds/2], c.most)
		}
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
