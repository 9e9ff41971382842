package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/robotskit/robots/cmd/internal/server/openloop"
	"github.com/robotskit/robots/internal/campaign"
)

// childEnv has TestChild be the server of TestOverload, in a process of its own.
const childEnv = "ROBOTS_SERVER_CHILD"

// childPlaces is how many requests it works on at a time.
const childPlaces = 8

// TestChild is a service whose every request waits for some time in its place.
func TestChild(t *testing.T) {
	if os.Getenv(childEnv) == "" {
		t.Skip("it is the server of TestOverload")
	}
	g, err := NewGate(local(t, "concurrency="+strconv.Itoa(childPlaces)), slog.New(slog.DiscardHandler), NewMetrics())
	if err != nil {
		t.Fatal(err)
	}
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(20 * time.Millisecond) })
	ctx, end := context.WithCancel(t.Context())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
		end()
	}()
	err = Run(ctx, g, handler, func(context.Context) error { return nil }, func(at, _ net.Addr) { fmt.Fprintf(os.Stdout, "at %s.\n", at) })
	if err != nil {
		t.Fatal(err)
	}
}

// TestOverload sends twice what the service can do. It answers nearly as much as it
// can, soon, and refuses the rest at once. The figures are printed by make test. Here
// requests take time and no processor, so that the places are what is short, whatever
// else the machine does; TestServeOverload of the program has those that work.
func TestOverload(t *testing.T) {
	if testing.Short() || campaign.Race || runtime.GOOS != "linux" {
		t.Skip("short: seconds of load")
	}
	child := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.timeout=1h")
	child.Env = append(os.Environ(), childEnv+"=waits")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait() // it has said what is wrong
	defer in.Close()
	line, err := bufio.NewReader(out).ReadString('\n')
	m := regexp.MustCompile(`at (\S+)\.`).FindStringSubmatch(line)
	if m == nil {
		t.Fatal(line, err)
	}
	openloop.Overload(t, openloop.Server{URL: "http://" + m[1], PID: child.Process.Pid, Request: "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", Busy: childPlaces}, true)
}
