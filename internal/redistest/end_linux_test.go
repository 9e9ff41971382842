package redistest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/proctest"
)

// TestEnd: a server ends when its test process was killed.
func TestEnd(t *testing.T) {
	const env = "ROBOTS_TEST_END"
	if os.Getenv(env) != "" {
		s := Start(t, Options{})
		fmt.Println("at", s.Addr)
		select {} // until it is killed
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("no redis-server on this machine: apt-get install redis-server")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestEnd$")
	cmd.Env = append(os.Environ(), env+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := proctest.Start(cmd); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "at ")
	if !ok {
		t.Fatalf("%q, %v", line, err)
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil || os.IsTimeout(err) {
		t.Errorf("the server outlives its test process: %d bytes, %v", n, err)
	}
}
