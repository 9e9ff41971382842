package proctest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// roleEnv makes the test binary a test process that starts a server, or that server.
const roleEnv = "ROBOTS_TEST_ROLE"

// The first thread of a process never ends, so a goroutine that ends its thread must not run on
// it. The main goroutine is on it during initialization, and stays there.
func init() {
	if os.Getenv(roleEnv) == "parent" {
		runtime.LockOSThread()
	}
}

func TestMain(m *testing.M) {
	var err error
	switch role := os.Getenv(roleEnv); role {
	case "parent":
		err = parent()
	case "server":
		err = server()
	default:
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// parent starts a server from a thread that then ends, reports this, and waits for the end of
// the server.
func parent() error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=server")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	thread, started := 0, make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked, so the thread ends with the goroutine
		thread = syscall.Gettid()
		started <- Start(cmd)
	}()
	if err := <-started; err != nil {
		return err
	}
	for {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread)); err != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Println("ended")
	return cmd.Wait()
}

// server answers one connection with the text that it receives, until it is killed.
func server() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("at", l.Addr())
	c, err := l.Accept()
	if err != nil {
		return err
	}
	_, err = io.Copy(c, c) // until the test hangs up
	return err
}

// TestStart: a server goes on when the thread that requested it has ended, and ends when its
// parent was killed.
func TestStart(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=parent")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := Start(cmd); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	address, ended := "", false
	lines := bufio.NewScanner(out)
	for (address == "" || !ended) && lines.Scan() {
		if at, ok := strings.CutPrefix(lines.Text(), "at "); ok {
			address = at
		}
		ended = ended || lines.Text() == "ended"
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatalf("the server has ended with the thread that asked for it: %v", err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	answer := []byte("?")
	if _, err := c.Write([]byte("!")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, answer); err != nil || answer[0] != '!' {
		t.Fatalf("the server has ended with the thread that asked for it: %q, %v", answer, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(answer); n > 0 || err == nil || os.IsTimeout(err) {
		t.Errorf("the server outlives its parent: %d bytes, %v", n, err)
	}
}
