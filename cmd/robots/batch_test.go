package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/proctest"
)

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
			want := strings.ReplaceAll(checked.String(), fmt.Sprintf(`,"agent":[%q],`, agent), fmt.Sprintf(`,"agent":%q,`, agent))
			if got != want {
				t.Errorf("%s, %s\nbatch %s\ncheck %s", file, agent, got, want)
			}
		}
	}
}
