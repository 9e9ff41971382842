package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The rows program/… run the program as its users do, and what they compare it with as a
// program too. Time is what the system charges a process for, all threads and the garbage
// collector included, from its start to its end.

const (
	hello   = "hello"   // a Go program that writes a word
	asText  = "as text" // the same answers in text
	earlier = "earlier" // the program that BENCH_ROBOTS names
)

// programs are what the rows run, in a folder of their own.
type programs struct{ dir, robots, hello string }

// build builds the programs in a folder, in one call and as a release is built: without cgo
// and without what debuggers read, of which linking takes half the time.
func build(dir string) (programs, error) {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", dir+string(filepath.Separator),
		"github.com/robotskit/robots/cmd/robots", "./hello")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return programs{}, fmt.Errorf("cannot build the programs: %w", err)
	}
	return programs{dir, filepath.Join(dir, "robots"), filepath.Join(dir, hello)}, nil
}

// file writes a file of the rows and returns its name.
func (p programs) file(name, text string) string {
	name = filepath.Join(p.dir, name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		panic(err) // a figure that is not measured must not be printed
	}
	return name
}

// runs is a program as an engine: a pass runs it so many times with the file as its
// standard input.
func runs(name string, times int, input, program string, args ...string) engine {
	return engine{name: name, timed: func(int) (d time.Duration) {
		for range times {
			cmd := exec.Command(program, args...)
			in, err := os.Open(input)
			if err != nil {
				panic(err)
			}
			cmd.Stdin, cmd.Stderr = in, os.Stderr
			err = cmd.Run()
			in.Close()
			if err != nil && cmd.ProcessState.ExitCode() != 1 { // some are disallowed
				panic(err)
			}
			d += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
		return d
	}}
}

// both adds the earlier program to an engine of ours, if one is named.
func (p programs) both(times int, input string, args ...string) []engine {
	engines := []engine{runs(ours, times, input, p.robots, args...)}
	if old := os.Getenv("BENCH_ROBOTS"); old != "" {
		engines = append(engines, runs(earlier, times, input, old, args...))
	}
	return engines
}

// programRows are about the program with a list of so many lines, a batch of a quarter of
// them, and a single question so many times, of rules sampled from a set. The programs are
// built in the folder temp when they are needed.
func programRows(s *set, seed uint64, lines, starts int, temp string) []row {
	var built programs
	programs := func() programs {
		if built.dir == "" {
			var err error
			if built, err = build(temp); err != nil {
				panic(err)
			}
		}
		return built
	}
	list := func(rules int) (body, urls string) {
		p := ruleProblem("list", newRand(seed, 6), sampleRules(newRand(seed, 7), s.bodies, rules))
		var b strings.Builder
		for i := range lines {
			fmt.Fprintf(&b, "https://www.shop.example%s\n", p.queries[i%len(p.queries)].raw)
		}
		return string(p.body), b.String()
	}
	return []row{
		{"program/list", "check -f FILE - with 13 rules, against a loop with url.Parse and Test", "URL", goal{perTemoto, 1.5, 2.5}, func() *work {
			p := programs()
			body, urls := list(13)
			file, in := p.file("13.txt", body), p.file("13.urls", urls)
			self, err := os.Executable()
			if err != nil {
				panic(err)
			}
			return &work{ops: lines, engines: append(p.both(1, in, "check", "-f", file, "-a", "ExampleBot", "-"),
				runs(temoto, 1, in, self, "-loop", file))}
		}},
		{"program/list-json", "check -f FILE --format json - with 10,000 rules, against the same in text", "URL", goal{atLeast, 0.5, 0.5}, func() *work {
			p := programs()
			body, urls := list(10_000)
			file, in := p.file("10000.txt", body), p.file("10000.urls", urls)
			return &work{ops: lines, engines: append(p.both(1, in, "check", "-f", file, "-a", "ExampleBot", "--format", "json", "-"),
				runs(asText, 1, in, p.robots, "check", "-f", file, "-a", "ExampleBot", "-"))}
		}},
		{"program/batch", "check --batch, in each line another file of 380 bytes, against a loop with encoding/json, url.Parse and FromBytes", "line", goal{}, func() *work {
			p := programs()
			in := p.file("batch", batch(s, seed, lines/4))
			self, err := os.Executable()
			if err != nil {
				panic(err)
			}
			return &work{ops: lines / 4, engines: append(p.both(1, in, "check", "--batch"), runs(temoto, 1, in, self, "-loop", "-"))}
		}},
		{"program/start", "check -f FILE URL with 13 rules, against a Go program that writes a word", "start", goal{}, func() *work {
			p := programs()
			body, _ := list(13)
			file := p.file("start.txt", body)
			return &work{ops: starts, engines: append(p.both(starts, os.DevNull, "check", "-f", file, "/list?sort=price"),
				runs(hello, starts, os.DevNull, p.hello))}
		}},
	}
}

// batch returns questions with files of about 380 bytes.
func batch(s *set, seed uint64, lines int) string {
	rng := newRand(seed, 8)
	rules := sampleRules(rng, s.bodies, 1000)
	var b strings.Builder
	for i := range lines {
		body := "User-agent: *\n"
		for len(body) < 380 {
			body += "Disallow: " + rules[rng.IntN(len(rules))] + "\n"
		}
		line, err := json.Marshal(map[string]any{"id": i, "url": "https://www.shop.example/list?page=" + strconv.Itoa(i), "robots": body, "agent": bots[i%len(bots)]})
		if err != nil {
			panic(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.String()
}

// loopBatch answers questions on standard input as who has temoto/robotstxt would write it:
// with fewer members than the program.
func loopBatch() error {
	out := bufio.NewWriter(os.Stdout)
	in, answers := json.NewDecoder(os.Stdin), json.NewEncoder(out)
	for {
		var q struct {
			ID                 int
			URL, Robots, Agent string
		}
		if err := in.Decode(&q); errors.Is(err, io.EOF) {
			return out.Flush()
		} else if err != nil {
			return err
		}
		u, err := url.Parse(q.URL)
		if err != nil {
			return err
		}
		data := temotoParse([]byte(q.Robots))
		allowed := data == nil || data.TestAgent(u.RequestURI(), q.Agent)
		if err := answers.Encode(map[string]any{"id": q.ID, "allowed": allowed, "url": q.URL, "agent": q.Agent}); err != nil {
			return err
		}
	}
}

// loop answers URLs on standard input as who has temoto/robotstxt would write it, or a
// batch if the file is "-".
func loop(file string) error {
	if file == "-" {
		return loopBatch()
	}
	body, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	group := temotoGroup(body, "ExampleBot")
	out := bufio.NewWriter(os.Stdout)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		u, err := url.Parse(in.Text())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		word := "disallow"
		if group.Test(u.RequestURI()) {
			word = "allow"
		}
		fmt.Fprintln(out, word, in.Text())
	}
	return errorOf(in.Err(), out.Flush())
}
