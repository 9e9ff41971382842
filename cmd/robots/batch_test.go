package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/proctest"
)

// answerMembers are the members of an answer in the order of docs/batch.md.
var answerMembers = []string{"id", "allowed", "verdict", "reason", "rule", "group", "crawl_delay", "request_rates", "sitemaps", "dialect", "url", "agent"}

// start runs the built program.
func start(t *testing.T, stderr io.Writer, args ...string) (*exec.Cmd, io.WriteCloser, io.ReadCloser) {
	t.Helper()
	cmd := exec.Command("robots", args...)
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := proctest.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, in, out
}

// TestBatchStopsWithItsReader: when the reader closes the pipe, the program ends without an
// error, although its input is still open.
func TestBatchStopsWithItsReader(t *testing.T) {
	var said bytes.Buffer
	cmd, in, out := start(t, &said, "check", "--batch")
	out.Close()
	for {
		if _, err := io.WriteString(in, `{"robots":"","url":"/"}`+"\n"); err != nil {
			if !errors.Is(err, syscall.EPIPE) {
				t.Errorf("writing a question: %v", err)
			}
			break
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &exit) && exit.ExitCode() == exitBad {
		t.Errorf("got %v, want an end without an error of ours", err)
	}
	if said.Len() > 0 {
		t.Errorf("standard error: %s", &said)
	}
}

// full is a standard output without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestOutputFails(t *testing.T) {
	const ask = `{"robots":"","url":"/"}` + "\n"
	for _, args := range [][]string{{"check", "--batch"}, {"check", "-f", "-", "/"}, {"explain", "-f", "-", "/"}, {"--version"}, {"--help"}} {
		var said bytes.Buffer
		if got := run(context.Background(), args, strings.NewReader(ask), full{}, &said); got != exitBad {
			t.Errorf("robots %v: exit status %d, want %d", args, got, exitBad)
		}
		if !strings.Contains(said.String(), ": cannot write standard output: no space left on device\n") {
			t.Errorf("robots %v: standard error %q", args, &said)
		}
	}
}

// TestBatchOrder sends lines whose cost differs widely, and compares every answer with the
// engine.
func TestBatchOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	long := "User-agent: *\n" + strings.Repeat("Disallow: /x*y\n", 20_000)
	var in bytes.Buffer
	var want []string
	for i := range campaign.Size(500, 3000, 3000) {
		body, url := "User-agent: *\nDisallow: /a\nSitemap: http://\u2028/\x01", "/a?\xff"
		switch r.IntN(50) {
		case 0:
			body = long
		case 1:
			fmt.Fprintf(&in, "%s\n", strings.Repeat("x", r.IntN(200_000)))
			want = append(want, "")
			continue
		case 2:
			url = "no url"
			want = append(want, "")
		}
		text, _ := json.Marshal(map[string]any{"id": i, "robots": body, "url": url})
		in.Write(append(text, '\n'))
		if len(want) > i {
			continue
		}
		url = strings.ToValidUTF8(url, "\uFFFD")
		p, err := robots.ParsePath(url)
		if err != nil {
			t.Fatal(err)
		}
		dst := fmt.Appendf(nil, `{"id":%d,`, i)
		dst = robots.Parse([]byte(body)).Rules(robots.RFC9309).AppendJSON(dst, p)
		want = append(want, string(robots.AppendQuoted(append(dst, `,"url":`...), url))+`,"agent":"*"}`)
	}
	var out bytes.Buffer
	if got := run(context.Background(), []string{"check", "--batch"}, &in, &out, os.Stderr); got != exitAllowed {
		t.Fatalf("exit status %d", got)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d answers to %d lines", len(lines), len(want))
	}
	for i, line := range lines {
		names, err := memberNames([]byte(line))
		switch {
		case err != nil:
			t.Fatalf("line %d: %v: %s", i+1, err, line)
		case want[i] == "" && !slices.Equal(names, []string{"id", "error", "code"}):
			t.Fatalf("line %d: got %s, want an error", i+1, line)
		case want[i] != "" && line != want[i]:
			t.Fatalf("line %d\ngot  %s\nwant %s", i+1, line, want[i])
		case want[i] != "" && !slices.Equal(names, answerMembers):
			t.Fatalf("line %d: members %v, want %v", i+1, names, answerMembers)
		}
	}
}

// TestBatchIsCheck: --batch and arguments give the same answers about the example files.
func TestBatchIsCheck(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	urls := []string{"/", "/basket", "https://shop.example/list?sort=new", "/misspelled/", "/private/", "/page.html", "/caf%C3%A9/archiv/1", "/robots.txt"}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, agent := range []string{"*", "Googlebot", "SeznamBot", "GPTBot", "TieBot"} {
			var in, out, checked bytes.Buffer
			for _, url := range urls {
				for _, d := range robots.Dialects() {
					text, _ := json.Marshal(map[string]any{"robots": string(body), "url": url, "agent": agent, "dialect": d.Name})
					in.Write(append(text, '\n'))
				}
			}
			run(context.Background(), []string{"check", "--batch"}, &in, &out, os.Stderr)
			run(context.Background(), append([]string{"check", "-f", file, "-a", agent, "-d", "all", "--format", "json"}, urls...), nil, &checked, os.Stderr)
			got := strings.ReplaceAll(out.String(), `{"id":null,`, `{"schema":1,`)
			want := strings.ReplaceAll(checked.String(), fmt.Sprintf(`,"agent":[%q]}`, agent), fmt.Sprintf(`,"agent":%q}`, agent))
			if got != want {
				t.Errorf("%s, %s\nbatch %s\ncheck %s", file, agent, got, want)
			}
		}
	}
}
