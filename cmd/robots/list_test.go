package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots/cmd/internal/source"
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

// TestAnswersWhenInputPauses sends a line only after the answer to the previous one: a program
// that keeps answers back hangs here.
func TestAnswersWhenInputPauses(t *testing.T) {
	file := writeFile(t, "User-agent: *\nDisallow: /a\n")
	site, _, _ := newPair(t)
	const question, end = `{"robots":"User-agent: *\nDisallow: /a","url":"`, `"}` + "\n"
	for _, tt := range []struct {
		args, prefix, suffix, want string
		bad                        string // a line without an answer
	}{
		{"check - -f " + file, "", "\n\n", "disallow ", "nonsense\n"},
		{"check - --format json -f " + file, "", "\n\n", `{"schema":1,"allowed":false`, "nonsense\n"},
		{"explain - --format json -f " + file, "", "\n\n", `{"schema":1,"allowed":`, "nonsense\n"},
		{"check - --format json --allow-private", site, "\n\n", `{"schema":1,"allowed":true`, "nonsense\n"},
		{"check --batch", question, end, `{"id":null,"allowed":false`, ""},
	} {
		var said bytes.Buffer
		cmd, in, out := start(t, &said, strings.Fields(tt.args)...)
		answers := bufio.NewReader(out)
		for i, n := range []int{1, 1, 3, 1000, 1, 2} {
			var ask strings.Builder
			for j := range n {
				fmt.Fprintf(&ask, "%s/a/%d%s", tt.prefix, i*1000+j, tt.suffix)
			}
			sent := make(chan error, 1) // answers are read concurrently, so that neither pipe fills up
			go func() {
				// The beginning of the next line must not delay the answers.
				_, err := io.WriteString(in, ask.String()+tt.bad+tt.prefix+"/a/")
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
			if _, err := io.WriteString(in, "end"+tt.suffix); err != nil {
				t.Fatal(err)
			}
			if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, "/a/end") {
				t.Fatalf("%s: got %q, %v, want the answer to /a/end", tt.args, line, err)
			}
		}
		_, _ = io.WriteString(in, strings.TrimRight(tt.prefix+"/last"+tt.suffix, "\n")) // needs no line end
		_ = in.Close()
		if rest, err := io.ReadAll(answers); err != nil || bytes.Count(rest, []byte("\n")) != 1 || !bytes.Contains(rest, []byte("/last")) {
			t.Errorf("%s: got %q, %v, want one answer to the last line", tt.args, rest, err)
		}
		_ = cmd.Wait()
		status, mistakes := 0, 0
		if tt.bad != "" {
			status, mistakes = exitBad, 6
		}
		if code := cmd.ProcessState.ExitCode(); code != status {
			t.Errorf("%s: exit status %d, want %d", tt.args, code, status)
		}
		if n := strings.Count(said.String(), `of standard input: URL "nonsense": not an absolute URL`); n != mistakes {
			t.Errorf("%s: %d of %d bad lines are named: %s", tt.args, n, mistakes, &said)
		}
	}
}

// failing is a standard input that returns an error.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("line noise") }

// TestInputFails: lines read before an error are answered.
func TestInputFails(t *testing.T) {
	for _, tt := range []struct{ args, in, want string }{
		{"check --batch", `{"robots":"","url":"/"}` + "\n" + `{"robots":"","u`, `{"id":null,"allowed":true`},
		{"check - -f " + writeFile(t, ""), "/b\n/c", "allow      /b  "},
	} {
		var out, said bytes.Buffer
		if got := run(t.Context(), strings.Fields(tt.args), io.MultiReader(strings.NewReader(tt.in), failing{}), &out, &said); got != exitBad {
			t.Errorf("%s: exit status %d, want %d", tt.args, got, exitBad)
		}
		if got := out.String(); !strings.HasPrefix(got, tt.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: standard output %q", tt.args, got)
		}
		if got, want := said.String(), "robots check: cannot read standard input: line noise\n"; got != want {
			t.Errorf("%s: standard error %q, want %q", tt.args, got, want)
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

// filler reads as any number of bytes x.
type filler struct{}

func (filler) Read(to []byte) (int, error) {
	for i := range to {
		to[i] = 'x'
	}
	return len(to), nil
}

// TestLongLines: a line of a batch can have 64 MiB without its line end, and a line of a list of URLs
// 1 MiB. A longer one gets an error, and the lines around it are answered.
func TestLongLines(t *testing.T) {
	campaign.Only(t)
	const head = `{"id":7,"url":"/","robots":"#`
	const tail = `"}`
	batch := func(length int) io.Reader {
		return io.MultiReader(strings.NewReader(head), io.LimitReader(filler{}, int64(length-len(head)-len(tail))), strings.NewReader(tail+"\n"))
	}
	var out, said bytes.Buffer
	status := run(t.Context(), []string{"check", "--batch"}, io.MultiReader(batch(100), batch(64<<20), batch(64<<20+1), batch(101)), &out, &said)
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, line[:min(len(line), 25)])
	}
	const answer = `{"id":7,"allowed":true,"v`
	if want := []string{answer, answer, `{"id":null,"error":"the l`, answer}; status != exitAllowed || !slices.Equal(got, want) || !strings.Contains(out.String(), "the line is longer than 64 MiB") {
		t.Errorf("batch: status %d, %q, %.300s", status, got, &said)
	}

	out.Reset()
	said.Reset()
	long := io.MultiReader(strings.NewReader("/"), io.LimitReader(filler{}, 1<<20), strings.NewReader("\n/ok\n"))
	status = run(t.Context(), []string{"check", "-f", writeFile(t, ""), "-"}, long, &out, &said)
	if want := "robots check: line 1 of standard input: the line is longer than 1 MiB\n"; status != exitBad || !strings.HasPrefix(out.String(), "allow      /ok  ") || !strings.HasPrefix(said.String(), want) {
		t.Errorf("list: status %d, %.300s, %.300s", status, &out, &said)
	}
}

// TestLongFile: at most 64 MiB of a file are read.
func TestLongFile(t *testing.T) {
	file := writeFile(t, "User-agent: *\nDisallow: /\n")
	if err := os.Truncate(file, 64<<20+1); err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	status := run(t.Context(), []string{"check", "-f", file, "/"}, nil, &out, &said)
	if want := "robots check: warning: " + file + " is larger than 64 MiB; the rest is not read\n"; status != exitDisallowed || !strings.HasPrefix(said.String(), want) {
		t.Errorf("status %d, %s", status, &said)
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
	for i := range 3*source.ChunkLines + 1 { // of one width, as the widest that was read says where the reasons stand
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
