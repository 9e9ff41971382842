package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots/internal/proctest"
)

// echo is a server that decodes JSON into values and encodes them again.
const echo = "echo"

// serviceProgram sends questions, each with its file, to POST /v1/check over one connection, and to an echo.
func serviceProgram(n int) *work {
	question, _ := json.Marshal(map[string][]programQuestion{"questions": {{shopURL(1), anyBot, shop}}}) // which has only strings
	return &work{ops: n, children: true, engines: []engine{server(ours, n, question), server(echo, n, question)}}
}

// server returns an engine that starts a server, sends a body so many times, and adds the CPU time of the server for that.
// The result is the number of responses.
func server(name string, n int, body []byte) engine {
	return engine{name, func(int) (answered int) {
		cmd := exec.Command(
			filepath.Join(programFolder(), "robots"), "serve", "--listen", "127.0.0.1:0", "--admin", "none", "--store", "memory",
			"--client-rate", "0",
		)
		if name == echo {
			cmd = exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), loopVariable+"="+echo)
		}
		open, stop := startServer(cmd, regexp.MustCompile(`"open":"http://([^/"]+)/"`))
		defer stop()
		conn, err := net.Dial("tcp", open[1])
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		request := fmt.Appendf(
			nil, "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			len(body), body,
		)
		responses := bufio.NewReader(conn)
		before := time.Duration(0)
		for i := range n + 1 {
			if i == 1 { // the first makes what is made once
				before = processTime(cmd.Process.Pid)
			}
			if _, err := conn.Write(request); err != nil {
				panic(err)
			}
			response, err := http.ReadResponse(responses, nil)
			if err != nil {
				panic(err)
			}
			text, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil || response.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(`"url"`)) {
				panic(fmt.Sprint(name, ": ", response.Status, err, string(text)))
			}
			answered++
		}
		childTime += processTime(cmd.Process.Pid) - before
		return answered
	}}
}

// startServer starts a server. It returns what a pattern finds in the first line of its output that matches, and a function that
// ends it.
func startServer(cmd *exec.Cmd, ready *regexp.Regexp) (found []string, stop func()) {
	output, input, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	cmd.Stdout = input
	cmd.Stderr = input
	err = proctest.Start(cmd)
	input.Close()
	if err != nil {
		panic(err)
	}
	lines := bufio.NewReader(output)
	for found == nil {
		line, err := lines.ReadString('\n')
		if err != nil {
			panic(fmt.Sprint(cmd, ": ", err))
		}
		found = ready.FindStringSubmatch(line)
	}
	go io.Copy(io.Discard, lines) // until it is killed
	return found, func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		output.Close()
	}
}

// processTime returns the CPU time of a running process, on Linux.
func processTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		panic(err)
	}
	const tick = 10 * time.Millisecond
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}

// serveEcho is the server echo, which ends by a signal.
func serveEcho() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(os.Stderr, `"open":"http://%s/"`+"\n", l.Addr())
	panic(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var value any
		if err := json.NewDecoder(r.Body).Decode(&value); err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(value) // the client might have disconnected
	})))
}
