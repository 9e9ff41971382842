// Package session is for test scripts: it runs the command lines of a script one after the other in one
// process of a program, each in its folder, with its variables and input. Starting a process costs more
// than most command lines.
package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// A Program runs a command line and returns its exit status.
type Program func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int

// A session is the process of a script. It starts with the first command line.
type session struct {
	variables []string // of the environment; after the start only names
	process   *exec.Cmd
	calls     *json.Encoder
	results   *json.Decoder
	log       bytes.Buffer
}

type sessionKey struct{}

// A call is one command line. Bytes need not be UTF-8.
type call struct {
	Folder    string
	Variables []string
	Args      [][]byte
	Input     []byte
}

type result struct {
	Status         int
	Output, Errors []byte
}

// Setup prepares a script.
func Setup(env *testscript.Env) {
	env.Values[sessionKey{}] = &session{variables: slices.Clone(env.Vars)}
}

// Status is a command of scripts: it runs a program and compares its exit status.
//
//	status N PROGRAM ARG... [<FILE]
//	                         runs a program of testscript.Main in the process of the script; N can be 0|1
//	status N exec PROGRAM ARG...
//	                         runs any program in a process of its own, whose input is that of stdin
//
// PROGRAM-session, which calls Serve, is a program of testscript.Main, too.
func Status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program [args...]")
	}
	got, program := 0, args[1:]
	if program[0] == "exec" {
		program = program[1:]
	}
	if process, err := exec.LookPath(args[1] + "-session"); err == nil {
		got = inSession(ts, process, args[2:])
	} else if err := ts.Exec(program[0], program[1:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Check(err)
		}
		got = exit.ExitCode()
	}
	if want := strings.Split(args[0], "|"); !slices.Contains(want, strconv.Itoa(got)) {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// inSession runs a command line, whose last argument can be <FILE for its input.
func inSession(ts *testscript.TestScript, process string, args []string) (status int) {
	s, _ := ts.Value(sessionKey{}).(*session)
	if s.process == nil {
		s.start(ts, process)
	}
	input := ""
	if last := len(args) - 1; last >= 0 && strings.HasPrefix(args[last], "<") {
		input = ts.ReadFile(args[last][1:])
		args = args[:last]
	}
	return s.run(ts, args, input)
}

// Serve is the process of a session. It ends with its input.
func Serve(program Program) {
	calls, results := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	os.Stdout = os.Stderr
	for {
		var c call
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
		status := program(context.Background(), args, bytes.NewReader(c.Input), &output, &errors)
		if err := results.Encode(result{status, output.Bytes(), errors.Bytes()}); err != nil {
			panic(err)
		}
	}
}

// start starts the process of a script.
func (s *session) start(ts *testscript.TestScript, process string) {
	text, err := os.ReadFile(filepath.Join("testdata", "script", ts.Name()+".txtar"))
	ts.Check(err)
	if lost := regexp.MustCompile(`(?m)^stdin (\S+)\nstatus \S+ robots.*`).FindSubmatch(text); lost != nil {
		ts.Fatalf("end the line with <%s, or write exec before the program: %s", lost[1], lost[0])
	}
	s.process = exec.Command(process)
	for i, variable := range s.variables {
		s.variables[i], _, _ = strings.Cut(variable, "=")
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
}

// run runs a command line in the folder and with the variables of the script, and returns its status.
func (s *session) run(ts *testscript.TestScript, args []string, input string) int {
	c := call{Folder: ts.MkAbs("."), Input: []byte(input)}
	for _, name := range s.variables {
		if value := ts.Getenv(name); value != "" {
			c.Variables = append(c.Variables, name+"="+value)
		}
	}
	for _, arg := range args {
		c.Args = append(c.Args, []byte(arg))
	}
	ts.Check(s.calls.Encode(c))
	var r result
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
