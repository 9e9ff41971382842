package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cache"
	"github.com/robotskit/robots/cache/bolt"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
)

// large is many sites with files of nearly half a megabyte; every tenth fails.
type large struct {
	urls      []string
	requested atomic.Int64
	told      func(requested int64) // of each request, unless nil
}

func newLarge(t *testing.T, sites int) *large {
	t.Helper()
	l := &large{}
	rules := strings.Repeat("Disallow: /x/y/z/*.gif$\n", 500)
	rest := "#" + strings.Repeat(" no rule", 60_000)
	for i := range sites {
		l.urls = append(l.urls, serveAt(t, fmt.Sprintf("127.0.%d.%d:0", 10+i/200, 1+i%200), func(w http.ResponseWriter, _ *http.Request) {
			n := l.requested.Add(1)
			if l.told != nil {
				l.told(n)
			}
			if i%10 == 9 {
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			fmt.Fprintf(w, "User-agent: *\nDisallow: /private%d\n%s%s\n", i, rules, rest)
		}))
	}
	return l
}

// progressLine matches the progress that a run prints every ten seconds.
var progressLine = regexp.MustCompile(`(?m)^robots check: \d+ of \d+ robots\.txt fetched(, \d+ failed)?\n`)

// liveHeap matches the live heap after a collection. The sizes before it include garbage, whose
// amount depends on the load of the machine.
var liveHeap = regexp.MustCompile(`^gc \d+ @.* \d+->\d+->(\d+) MB, .*\n`)

// measured runs the built program and returns its output and the largest live heap in MiB that
// the runtime reported.
func measured(t *testing.T, in string, args ...string) (out, said string, heap int) {
	t.Helper()
	t.Setenv("GODEBUG", "gctrace=1")
	var stderr bytes.Buffer
	cmd, stdin, stdout := start(t, &stderr, args...)
	go func() {
		_, _ = io.WriteString(stdin, in) // what is missing shows in the answers
		_ = stdin.Close()
	}()
	answers, err := io.ReadAll(stdout)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // several statuses are right
	said, heap = traced(stderr.String())
	return string(answers), said, heap
}

// ownLine matches a message of the program, which is written at once.
var ownLine = regexp.MustCompile(`robots check: [^\n]*\n`)

// traced returns the messages of a program without its progress and the garbage collector's
// trace, and the largest live heap of that trace in MiB. The runtime writes a trace line in
// pieces: a message can be between two of them, and the last line can lack its LF.
func traced(stderr string) (said string, heap int) {
	for _, line := range ownLine.FindAllString(stderr, -1) {
		if !progressLine.MatchString(line) {
			said += line
		}
	}
	for line := range strings.Lines(ownLine.ReplaceAllString(stderr, "")) {
		switch m := liveHeap.FindStringSubmatch(line); {
		case m != nil:
			n, _ := strconv.Atoi(m[1])
			heap = max(heap, n)
		case !strings.HasSuffix(line, "\n") && (strings.HasPrefix(line, "gc ") || strings.HasPrefix("gc ", line)):
		default:
			said += line
		}
	}
	return said, heap
}

// TestManyLargeFiles: whatever the size of the files, with --cache each site is requested once,
// failures included, and memory is bounded.
func TestManyLargeFiles(t *testing.T) {
	// In MiB: the cached records, and a body with its read buffer for each connection.
	const rounds, most = 2, source.CacheBytes>>20 + source.MaxConnections
	sites := campaign.Size(50, 200, 300)
	list := func(l *large) string {
		var in strings.Builder
		for i := range rounds * sites {
			fmt.Fprintf(&in, `{"url":"%s/private%d"}`+"\n", l.urls[i%sites], i%sites)
		}
		return in.String()
	}
	check := func(t *testing.T, out string) {
		t.Helper()
		i := 0
		for line := range strings.Lines(out) {
			url := fmt.Sprintf("/private%d", i%sites)
			if !strings.Contains(line, `"allowed":false`) || !strings.Contains(line, url) {
				t.Fatalf("answer %d is %.300s, want one that is not allowed and %s", i+1, line, url)
			}
			if rule := strings.Contains(line, `"pattern":"`+url); rule != (i%10 != 9) {
				t.Fatalf("answer %d is %.300s", i+1, line)
			}
			i++
		}
		if i != rounds*sites {
			t.Errorf("%d answers to %d questions", i, rounds*sites)
		}
	}
	args := []string{"check", "--batch", "--allow-private"}
	t.Run("file", func(t *testing.T) {
		l := newLarge(t, sites)
		slow := false // a disk that others use, too: what it did not keep is requested again, in the next run too
		run := func(more ...string) {
			t.Helper()
			out, said, heap := measured(t, list(l), append(slices.Clone(args), more...)...)
			check(t, out)
			t.Logf("%d requests, %d MiB", l.requested.Load(), heap)
			if strings.Contains(said, "took longer than 5 s") {
				slow = true
				t.Log(said)
			}
			if got := int(l.requested.Load()); got != sites && !(slow && got > sites) {
				t.Errorf("%d requests to %d sites", got, sites)
			}
			if heap == 0 || heap > most {
				t.Errorf("a heap of %d MiB, want at most %d", heap, most)
			}
			if said != "" && !slow {
				t.Errorf("standard error %q", said)
			}
		}
		file := filepath.Join(t.TempDir(), "cache")
		run("--cache", file)
		run("--cache", file) // and nothing is fetched
	})
	t.Run("without a file", func(t *testing.T) {
		l := newLarge(t, sites)
		out, said, heap := measured(t, list(l), args...)
		check(t, out)
		t.Logf("%d requests, %d MiB", l.requested.Load(), heap)
		if heap > most {
			t.Errorf("a heap of %d MiB, want at most %d", heap, most)
		}
		if got := int(l.requested.Load()); got > 2*rounds*sites { // ahead of a question, and when it is its turn
			t.Errorf("%d requests for %d questions", got, rounds*sites)
		}
		if said != "" {
			t.Errorf("standard error %q", said)
		}
	})
}

// slowDisk is a store that accepts no entry before this many are waiting, or no more are coming.
type slowDisk struct {
	*bolt.Store
	full          chan struct{} // closed by the last that is waited for
	waiting, done atomic.Int64
}

func (s *slowDisk) Put(ctx context.Context, e cache.Entry, keep time.Duration) error {
	defer s.done.Add(1)
	if s.waiting.Add(1) == source.MaxConnections {
		close(s.full)
	}
	select {
	case <-s.full:
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.Store.Put(ctx, e, keep)
}

// TestSlowDisk: with a disk slower than all sites, the records waiting for it are limited, since
// no further site is fetched meanwhile: as many as connections are being written, as many are
// being fetched, and a few have just been fetched.
func TestSlowDisk(t *testing.T) {
	sites := campaign.Size(200, 250, 250)
	file, err := bolt.Open(filepath.Join(t.TempDir(), "cache"), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	disk := &slowDisk{Store: file, full: make(chan struct{})}
	defer disk.Close()
	large := newLarge(t, sites)
	l, err := source.NewLive(&screen.Streams{Err: io.Discard, Now: time.Now}, source.Options{AllowPrivate: true}, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.Cache, err = cache.New(cache.Options{Fetcher: l.Client, Store: disk, Memory: source.CacheBytes}); err != nil {
		t.Fatal(err)
	}
	var most atomic.Int64
	large.told = func(requested int64) { raise(&most, requested-disk.done.Load()) }
	var all []*source.Site
	for _, url := range large.urls {
		origin, _, err := robots.ParseURL(url + "/")
		if err != nil {
			t.Fatal(err)
		}
		s := source.NewSite(origin)
		l.Start(t.Context(), s)
		all = append(all, s)
	}
	for _, s := range all {
		<-s.Ready
		if s.Err != nil {
			t.Error(s.Err)
		}
	}
	if got := large.requested.Load(); got != int64(sites) {
		t.Errorf("%d requests to %d sites", got, sites)
	}
	if got := most.Load(); got > 3*source.MaxConnections {
		t.Errorf("%d sites are fetched or on their way to the disk, want at most %d", got, 3*source.MaxConnections)
	}
}

// TestStoreTrouble: a slow store and a failing store get different warnings, each once.
func TestStoreTrouble(t *testing.T) {
	late := fmt.Errorf("cache file x: the write is still under way, and may be done all the same: %w", context.DeadlineExceeded)
	put := &fetch.Record{}
	for _, tt := range []struct {
		name   string
		events []cache.Event
		want   string
	}{
		{"slow to write", []cache.Event{{Record: put, Err: late}, {Record: put, Err: late}},
			"the file of --cache took longer than 5 s to write, so some files might not be kept: " + late.Error()},
		{"slow to read", []cache.Event{{Err: context.DeadlineExceeded}},
			"the file of --cache took longer than 5 s to read, so robots.txt is fetched: context deadline exceeded"},
		{"full", []cache.Event{{Record: put, Err: syscall.ENOSPC}, {Record: put, Err: syscall.ENOSPC}},
			"the file of --cache fails, so some files are not kept: no space left on device"},
	} {
		var said strings.Builder
		l := &source.Live{Std: &screen.Streams{Err: &said, Name: "robots check"}}
		for _, e := range tt.events {
			e.Kind = cache.EventStoreFailed
			l.Observe(e)
		}
		if got, want := said.String(), "robots check: warning: "+tt.want+"\n"; got != want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.name, got, want)
		}
	}
}

// A blocked fetcher fetches when its context has ended, which is never in time.
type blocked struct{}

func (blocked) Fetch(ctx context.Context, _ robots.Origin) (*fetch.Record, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestLate: whoever waits for a busy address or for Redis is told.
func TestLate(t *testing.T) {
	defer func(was time.Duration) { source.FetchMargin = was }(source.FetchMargin)
	source.FetchMargin = time.Millisecond
	c, err := cache.New(cache.Options{Fetcher: blocked{}})
	if err != nil {
		t.Fatal(err)
	}
	said, out := io.Pipe()
	l := &source.Live{Cache: c, Std: &screen.Streams{Err: out, Name: "robots check"}}
	origin, _, _ := robots.ParseURL("https://site.example/")
	s := source.NewSite(origin)
	l.Start(t.Context(), s)
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "robots check: warning: https://site.example/robots.txt is not fetched yet: ") {
		t.Errorf("%q, %v", line, err)
	}
	_ = c.Close()
	<-s.Ready
}

// TestLargeAnswers: answers much larger than their questions do not accumulate while the first
// is pending.
func TestLargeAnswers(t *testing.T) {
	const lines, most = 1_000, 128
	file := filepath.Join(t.TempDir(), "robots.txt")
	if err := os.WriteFile(file, []byte(strings.Repeat("Sitemap: https://shop.example/sitemap-of-a-shop.xml\n", 4_000)), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GODEBUG", "gctrace=1")
	var said bytes.Buffer
	cmd, in, out := start(t, &said, "check", "--batch", "-f", file)
	go func() {
		_, _ = io.WriteString(in, strings.Repeat(`{"url":"/"}`+"\n", lines))
		_ = in.Close()
	}()
	answers := 0
	for r := bufio.NewReaderSize(out, 1<<20); ; {
		part, err := r.ReadSlice('\n')
		if err == nil {
			answers++
		} else if err == io.EOF {
			break
		} else if len(part) == 0 {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil || answers != lines {
		t.Errorf("%d answers to %d lines, %v", answers, lines, err)
	}
	_, heap := traced(said.String())
	t.Logf("%d MiB", heap)
	if heap == 0 || heap > most {
		t.Errorf("a heap of %d MiB, want at most %d", heap, most)
	}
}

// TestAddressPace: sites on one address share its rate limit, and have none if it is switched
// off.
func TestAddressPace(t *testing.T) {
	for _, tt := range []struct {
		pace  []string
		sites int
		least time.Duration // from the first to the last
	}{
		{nil, 8, 700 * time.Millisecond}, // the default
		{[]string{"127.0.0.0/8=none", "127.0.0.2/32=4/s", "0.0.0.0/0=1/h"}, 4, 750 * time.Millisecond},
		{[]string{"0.0.0.0/0=1/h", "127.0.0.0/8=none"}, 20, 0},
	} {
		var in strings.Builder
		var last atomic.Int64
		for range tt.sites {
			fmt.Fprintln(&in, serveAt(t, "127.0.0.2:0", func(http.ResponseWriter, *http.Request) {
				raise(&last, time.Now().UnixNano())
			})+"/")
		}
		args := []string{"check", "--allow-private", "-"}
		for _, p := range tt.pace {
			args = append(args, "--address-pace", p)
		}
		began := time.Now()
		var out bytes.Buffer
		if got := run(t.Context(), args, strings.NewReader(in.String()), &out, os.Stderr); got != exitAllowed {
			t.Errorf("%v: exit status %d: %s", tt.pace, got, &out)
		}
		if took := time.Unix(0, last.Load()).Sub(began); took < tt.least {
			t.Errorf("%v: the last of %d is requested after %v, want at least %v", tt.pace, tt.sites, took, tt.least)
		}
	}
}
