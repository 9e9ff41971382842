package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/robotskit/robots/cmd/internal/source"
)

// serveAt starts a server on an address of this machine and returns its URL.
func serveAt(t *testing.T, address string, serve http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skip("this system has one loopback address: ", err)
	}
	s := httptest.NewUnstartedServer(serve)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

func raise(most *atomic.Int64, n int64) {
	for {
		m := most.Load()
		if n <= m || most.CompareAndSwap(m, n) {
			return
		}
	}
}

// newPair starts a site that has no robots.txt and one that does not answer, on two hosts. The
// channel reports that the second was requested.
func newPair(t *testing.T) (quick, slow string, requested <-chan struct{}) {
	t.Helper()
	ended, came := make(chan struct{}), make(chan struct{}, 1)
	quick = serveAt(t, "127.0.0.1:0", http.NotFound)
	slow = serveAt(t, "127.0.0.2:0", func(http.ResponseWriter, *http.Request) {
		select {
		case came <- struct{}{}:
		default:
		}
		<-ended
	})
	t.Cleanup(func() { close(ended) })
	return quick, slow, came
}

// interrupted interrupts a run of the program and returns the rest of its answers. Standard
// error contains only the message.
func interrupted(t *testing.T, cmd *exec.Cmd, answers io.Reader, said *bytes.Buffer, want string) (rest string) {
	t.Helper()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(answers)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitBad {
		t.Errorf("exit status %d, want %d", code, exitBad)
	}
	if said.String() != want {
		t.Errorf("standard error %q, want %q", said, want)
	}
	return string(text)
}

// TestInterrupt interrupts a run that waits for a slow site: known verdicts are printed.
func TestInterrupt(t *testing.T) {
	quick, slow, requested := newPair(t)
	var said bytes.Buffer
	cmd, in, out := start(t, &said, "check", "--allow-private", "-")
	fmt.Fprintln(in, quick+"/0")
	answers := bufio.NewReader(out)
	for line := ""; !strings.HasPrefix(line, "allow      "+quick); {
		var err error
		if line, err = answers.ReadString('\n'); err != nil {
			t.Fatalf("%q, %v", line, err)
		}
	}
	// The last site is requested when all lines before it are read.
	_, last, read := newPair(t)
	fmt.Fprint(in, slow+"/\n"+strings.Repeat(quick+"/\n", 600)+last+"/\n")
	<-requested
	<-read
	got := interrupted(t, cmd, answers, &said, "robots check: interrupted: 601 of 603 URLs are checked\n")
	if strings.Count(got, "allow      "+quick) != 600 {
		t.Errorf("standard output %q", got)
	}
}

func TestInterruptBatch(t *testing.T) {
	quick, slow, requested := newPair(t)
	var said bytes.Buffer
	cmd, in, out := start(t, &said, "check", "--batch", "--allow-private")
	fmt.Fprintf(in, `{"id":1,"url":"%s/"}`+"\n"+`{"id":2,"url":"%s/"}`+"\n"+`{"id":3,"url":"%s/"}`+"\n", quick, slow, quick)
	answers := bufio.NewReader(out)
	if line, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(line, `{"id":1,"allowed":true`) {
		t.Fatalf("got %q, %v", line, err)
	}
	<-requested
	if got := interrupted(t, cmd, answers, &said, "robots check: interrupted\n"); got != "" {
		t.Errorf("after the interrupt %q is answered, want nothing", got)
	}
}

func TestProgress(t *testing.T) {
	var p source.Progress
	for begun, want := range map[int64]string{source.ProgressLeast - 1: "", 30: "robots check: 2 of 30 robots.txt fetched, 1 failed"} {
		p.Begun.Store(begun)
		p.Done.Store(2)
		p.Failed.Store(1)
		if line := p.Line("robots check"); line != want {
			t.Errorf("%d sites: %q, want %q", begun, line, want)
		}
	}
}

// TestFileLimit: a robots.txt beyond the usual limit, with a rule at its end, is fetched as far
// as the largest limit of the dialects.
func TestFileLimit(t *testing.T) {
	body := "User-agent: *\n" + strings.Repeat("# "+strings.Repeat("x", 97)+"\n", 6000) + "Disallow: /end\n"
	site := serveAt(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
	url, cut := site+"/end", "truncated by the fetch at 513024 bytes"
	question := `{"id":1,"url":"` + url + `","dialect":"%s","max_bytes":%d}` + "\n"
	for _, test := range []struct {
		in     string
		args   []string
		status int
		want   string
		cut    bool
	}{
		{"", []string{"check", url}, exitAllowed, "allow  ", false},
		{"", []string{"check", "-d", "google", url}, exitAllowed, "allow  ", false},
		{"", []string{"check", "-d", "google-cpp", url}, exitAllowed, "allow  ", true},
		{"", []string{"check", "-d", "google-cpp", "--max-bytes", "600000", url}, exitAllowed, "allow  ", false},
		{"", []string{"check", "--max-bytes", "700000", url}, exitDisallowed, "disallow  ", false},
		{"", []string{"check", "-d", "all", url}, exitAllowed, "google-cpp     allow  ", true},
		{"", []string{"explain", "-d", "google-cpp", "--max-bytes", "700000", url}, exitDisallowed, "disallow  ", false},
		// A line with a larger limit than the flags permit gets a warning.
		{fmt.Sprintf(question, "rfc9309", 700000), []string{"check", "--batch"}, exitAllowed, `"allowed":true`, true},
		{fmt.Sprintf(question, "rfc9309", 700000), []string{"check", "--batch", "--max-bytes", "700000"}, exitAllowed, `"allowed":false`, false},
		{fmt.Sprintf(question, "google-cpp", 600000), []string{"check", "--batch", "--max-bytes", "700000"}, exitAllowed, `"allowed":true`, false},
	} {
		args := append(slices.Clone(test.args), "--allow-private")
		var out, said bytes.Buffer
		if got := run(context.Background(), args, strings.NewReader(test.in), &out, &said); got != test.status {
			t.Errorf("%q: exit status %d, want %d: %s", args, got, test.status, &said)
		}
		if !strings.Contains(out.String(), test.want) {
			t.Errorf("%q: no %q in\n%s", args, test.want, &out)
		}
		if got := strings.Contains(out.String(), cut); got != test.cut {
			t.Errorf("%q: that the file was cut is told: %t, want %t in\n%s", args, got, test.cut, &out)
		}
	}
}
