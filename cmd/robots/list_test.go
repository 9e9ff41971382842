package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

func writeFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "robots.txt")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestListAnswersWhenInputPauses sends a line only after the answer to the previous one: a
// program that keeps answers back hangs here.
func TestListAnswersWhenInputPauses(t *testing.T) {
	file := writeFile(t, "User-agent: *\nDisallow: /a\n")
	site, _, _ := newPair(t)
	for _, tt := range []struct{ args, prefix, want string }{
		{"check -f " + file, "", "disallow "},
		{"check --format json -f " + file, "", `{"schema":1,"allowed":false`},
		{"explain --format json -f " + file, "", `{"schema":1,"url":`},
		{"check --format json --allow-private", site, `{"schema":1,"allowed":true`},
	} {
		var said bytes.Buffer
		cmd, in, out := start(t, &said, append(strings.Fields(tt.args), "-")...)
		answers := bufio.NewReader(out)
		for i, n := range []int{1, 1, 3, 1000, 1, 2} {
			var ask strings.Builder
			for j := range n {
				fmt.Fprintf(&ask, "%s/a/%d\n\n", tt.prefix, i*1000+j)
			}
			sent := make(chan error, 1) // answers are read concurrently, so that neither pipe fills up
			go func() {
				_, err := io.WriteString(in, ask.String()+"nonsense\n"+tt.prefix+"/a/")
				sent <- err
			}()
			for j := range n {
				line, err := answers.ReadString('\n')
				if err != nil {
					t.Fatalf("%s: %v: %s", tt.args, err, &said)
				}
				if url := fmt.Sprintf("/a/%d", i*1000+j); !strings.HasPrefix(line, tt.want) || !strings.Contains(line, url) {
					t.Fatalf("%s: got %s, want %s and %s", tt.args, line, tt.want, url)
				}
			}
			if err := <-sent; err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(in, "end\n"); err != nil {
				t.Fatal(err)
			}
			if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, "/a/end") {
				t.Fatalf("%s: got %q, %v, want the answer to /a/end", tt.args, line, err)
			}
		}
		_ = in.Close()
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitBad {
			t.Errorf("%s: exit status %d, want %d", tt.args, code, exitBad)
		}
		if n := strings.Count(said.String(), `of standard input: URL "nonsense": not an absolute URL`); n != 6 {
			t.Errorf("%s: %d of 6 bad lines are named: %s", tt.args, n, &said)
		}
	}
}

// TestLongList: memory does not grow with the number of URLs. They leave no garbage, so the
// garbage collector, which starts at 4 MiB, is idle.
func TestLongList(t *testing.T) {
	urls, most := campaign.Size(30_000, 200_000, 1_000_000), 8 // MiB
	file := writeFile(t, "User-agent: *\nDisallow: /a\n")
	var in strings.Builder
	for i := range urls {
		fmt.Fprintf(&in, "https://shop.example/a/long/list?of=pages&number=%d\n", i)
	}
	for _, format := range []string{formatText, formatJSON} {
		out, _, heap := measured(t, in.String(), "check", "-f", file, "--format", format, "-")
		if n := strings.Count(out, "\n"); n != urls {
			t.Errorf("%s: %d answers to %d URLs", format, n, urls)
		}
		if heap > most {
			t.Errorf("%s: a heap of %d MiB, want at most %d", format, heap, most)
		}
	}
}

// TestInterruptList interrupts a run whose input pauses.
func TestInterruptList(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, idle, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer idle.Close()
	fmt.Fprintln(idle, "/b")
	read, out := io.Pipe()
	go func() {
		_, _ = bufio.NewReader(read).ReadString('\n') // which was answered while the input paused
		cancel()
		_, _ = io.Copy(io.Discard, read)
	}()
	var said bytes.Buffer
	got := run(ctx, []string{"check", "-f", writeFile(t, ""), "-"}, in, out, &said)
	if want := "robots check: interrupted: 1 of 1 URLs are checked\n"; got != exitBad || said.String() != want {
		t.Errorf("exit status %d, %q, want %q", got, &said, want)
	}
}

// TestListInputFails: lines read before the error are answered.
func TestListInputFails(t *testing.T) {
	var out, said bytes.Buffer
	in := io.MultiReader(strings.NewReader("/b\n/c"), failing{})
	if got := run(t.Context(), []string{"check", "-f", writeFile(t, ""), "-"}, in, &out, &said); got != exitBad {
		t.Errorf("exit status %d, want %d", got, exitBad)
	}
	if got := out.String(); !strings.HasPrefix(got, "allow      /b  ") || strings.Count(got, "\n") != 1 {
		t.Errorf("standard output %q", got)
	}
	if got, want := said.String(), "robots check: cannot read standard input: line noise\n"; got != want {
		t.Errorf("standard error %q, want %q", got, want)
	}
}

// TestListNobodyTakes: an endless list is read no further if the answers are not read.
func TestListNobodyTakes(t *testing.T) {
	var said bytes.Buffer
	if got := run(t.Context(), []string{"check", "-f", writeFile(t, ""), "-", "/after"}, endless{}, full{}, &said); got != exitBad {
		t.Errorf("exit status %d, want %d", got, exitBad)
	}
	if got, want := said.String(), "robots check: cannot write standard output: no space left on device\n"; got != want {
		t.Errorf("standard error %q, want %q", got, want)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = "/a\n"[i%3]
	}
	return len(b), nil
}

// TestListIsArguments: URLs of a list and URLs of arguments give the same answers.
func TestListIsArguments(t *testing.T) {
	file := writeFile(t, thirteen+"User-agent: Googlebot\nDisallow: /b\n")
	var urls []string
	for i := range 3*chunkLines + 1 { // of one width, as the widest that was read says where the reasons stand
		urls = append(urls, fmt.Sprintf("https://shop.example/%s/%03d", []string{"a", "b", "c"}[i%3], i))
	}
	for _, args := range []string{
		"check", "check -d all", "check --format json -d all", "check -a Googlebot -a Bingbot", "check --format json -a Googlebot",
		"explain", "explain --format json",
	} {
		var said [2]bytes.Buffer
		for i, sent := range [][]string{urls, {"-"}} {
			run(t.Context(), append(append(strings.Fields(args), "-f", file), sent...), strings.NewReader(strings.Join(urls, "\n")), &said[i], io.Discard)
		}
		if got, want := said[1].String(), said[0].String(); got != want || strings.Count(got, urls[0]) != strings.Count(got, urls[len(urls)-1]) || strings.Count(got, urls[0]) == 0 {
			t.Errorf("%s: of a list %d bytes, of arguments %d, or they differ", args, len(got), len(want))
		}
	}
}
