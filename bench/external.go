package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Engines in other languages take part in the oneshot rows if an environment
// variable names a program that speaks for them (README.md says how). The program
// keeps the files in memory and tells the processor time of a pass itself, so
// that it is measured as ours is: neither starting it nor talking to it counts.
var externals = []struct{ name, variable string }{
	{"google", "BENCH_GOOGLE"},
	{"fast-robots", "BENCH_FAST_ROBOTS"},
}

// withExternals adds the engines that are named to the work of a set.
func withExternals(w *work, s *set, urls [][urlsPerFile]string) *work {
	for _, e := range externals {
		program := os.Getenv(e.variable)
		if program == "" {
			continue
		}
		x, err := startExternal(program, s, urls)
		if err != nil {
			progress("%s: %v", e.name, err)
			continue
		}
		w.engines = append(w.engines, engine{name: e.name, timed: x.pass})
	}
	return w
}

type external struct {
	in  io.Writer
	out *bufio.Reader
}

// startExternal writes the files of a set and a list of what is asked, and starts
// the program with the list as its argument.
func startExternal(program string, s *set, urls [][urlsPerFile]string) (*external, error) {
	dir, err := os.MkdirTemp("", "robots-bench")
	if err != nil {
		return nil, err
	}
	var list strings.Builder
	for i, body := range s.bodies {
		name := filepath.Join(dir, strconv.Itoa(i)+".txt")
		if err := os.WriteFile(name, body, 0o600); err != nil {
			return nil, err
		}
		fmt.Fprintf(&list, "%s\t%s\t%s\n", name, s.agents[i], strings.Join(urls[i][:], "\t"))
	}
	name := filepath.Join(dir, "list")
	if err := os.WriteFile(name, []byte(list.String()), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, name)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	x := &external{in, bufio.NewReader(out)}
	_, err = x.ask(0) // it has read all files
	return x, errorOf(err, os.RemoveAll(dir))
}

func errorOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// ask lets the program answer the question of a round for every file, and
// returns the processor time that it says this took.
func (x *external) ask(round int) (time.Duration, error) {
	if _, err := fmt.Fprintln(x.in, round%urlsPerFile); err != nil {
		return 0, err
	}
	line, err := x.out.ReadString('\n')
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(line)
	if len(fields) != 2 {
		return 0, fmt.Errorf("%q is not \"nanoseconds allowed\"", line)
	}
	ns, err := strconv.ParseInt(fields[0], 10, 64)
	return time.Duration(ns), err
}

func (x *external) pass(round int) time.Duration {
	d, err := x.ask(round)
	if err != nil {
		panic(err) // a figure that is not measured must not be printed
	}
	return d
}
