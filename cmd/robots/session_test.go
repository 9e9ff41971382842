package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// A session is a process of the program that runs the command lines of a script one after the other,
// each in its folder, with its variables and input. Starting a process costs more than most command lines.
type session struct {
	variables []string // names
	process   *exec.Cmd
	calls     *json.Encoder
	results   *json.Decoder
	log       bytes.Buffer
}

// A lazySession starts with the first command line.
type lazySession struct {
	variables []string
	*session
}

type sessionKey struct{}

// inSession runs a command line, whose last argument can be <FILE for its input.
func inSession(ts *testscript.TestScript, args []string) (status int) {
	lazy, _ := ts.Value(sessionKey{}).(*lazySession)
	if lazy.session == nil {
		lazy.session = newSession(ts, lazy.variables)
	}
	input := ""
	if last := len(args) - 1; last >= 0 && strings.HasPrefix(args[last], "<") {
		input = ts.ReadFile(args[last][1:])
		args = args[:last]
	}
	return lazy.run(ts, args, input)
}

// A sessionCall is one command line. Bytes need not be UTF-8.
type sessionCall struct {
	Folder    string
	Variables []string
	Args      [][]byte
	Input     []byte
}

type sessionResult struct {
	Status         int
	Output, Errors []byte
}

// runSession is the process of a session. It ends with its input.
func runSession() {
	calls, results := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	os.Stdout = os.Stderr
	for {
		var c sessionCall
		if calls.Decode(&c) != nil {
			return
		}
		os.Clearenv()
		for _, variable := range c.Variables {
			name, value, _ := strings.Cut(variable, "=")
			if err := os.Setenv(name, value); err != nil {
				panic(err)
			}
		}
		if err := os.Chdir(c.Folder); err != nil {
			panic(err)
		}
		var args []string
		for _, arg := range c.Args {
			args = append(args, string(arg))
		}
		var output, errors bytes.Buffer
		status := run(context.Background(), args, bytes.NewReader(c.Input), &output, &errors)
		if err := results.Encode(sessionResult{status, output.Bytes(), errors.Bytes()}); err != nil {
			panic(err)
		}
	}
}

// newSession starts the process of a script.
func newSession(ts *testscript.TestScript, variables []string) *session {
	text, err := os.ReadFile(filepath.Join("testdata", "script", ts.Name()+".txtar"))
	ts.Check(err)
	s := &session{process: exec.Command("robots-session")}
	for _, variable := range variables {
		name, _, _ := strings.Cut(variable, "=")
		s.variables = append(s.variables, name)
	}
	for _, m := range regexp.MustCompile(`(?m)^(?:\[.*\] )?env (\w+)=`).FindAllSubmatch(text, -1) {
		s.variables = append(s.variables, string(m[1]))
	}
	in, err := s.process.StdinPipe()
	ts.Check(err)
	out, err := s.process.StdoutPipe()
	ts.Check(err)
	s.process.Stderr = &s.log
	s.calls, s.results = json.NewEncoder(in), json.NewDecoder(out)
	ts.Check(s.process.Start())
	ts.Defer(func() {
		_ = in.Close()
		_ = s.process.Wait()
	})
	return s
}

// run runs a command line in the folder and with the variables of the script, and returns its status.
func (s *session) run(ts *testscript.TestScript, args []string, input string) int {
	c := sessionCall{Folder: ts.MkAbs("."), Input: []byte(input)}
	for _, name := range s.variables {
		if value := ts.Getenv(name); value != "" {
			c.Variables = append(c.Variables, name+"="+value)
		}
	}
	for _, arg := range args {
		c.Args = append(c.Args, []byte(arg))
	}
	ts.Check(s.calls.Encode(c))
	var r sessionResult
	if err := s.results.Decode(&r); err != nil {
		_ = s.process.Wait()
		ts.Fatalf("robots %q ended its process: %s", args, &s.log)
	}
	_, err := ts.Stdout().Write(r.Output)
	ts.Check(err)
	_, err = ts.Stderr().Write(r.Errors)
	ts.Check(err)
	return r.Status
}
