package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/robotskit/robots"
	"github.com/temoto/robotstxt"
)

// Rows of programs run child processes and measure their CPU time. robots is compared with loops over packages, which read
// standard input and write standard output: this program runs the loop that loopVariable names.
const loopVariable = "ROBOTS_BENCH_LOOP"

const (
	library     = "library"      // package robots
	temotoPaths = "temoto-paths" // temoto without net/url
)

// childTime is the CPU time of all child processes so far.
var childTime time.Duration

// madeFolder is programFolder once it exists.
var madeFolder string

// programFolder is where the program and its input are.
var programFolder = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "robots-bench")
	if err != nil {
		panic(err)
	}
	madeFolder = dir
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "robots"), "github.com/robotskit/robots/cmd/robots")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v: %s", err, out))
	}
	return dir
})

// child returns an engine that runs robots with arguments, or a loop. The result is a checksum of the output.
func child(name, input string, args ...string) engine {
	return engine{name, func(int) int {
		in, err := os.Open(input)
		if err != nil {
			panic(err)
		}
		defer in.Close()
		cmd := exec.Command(filepath.Join(programFolder(), "robots"), args...)
		if name != ours {
			cmd = exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), loopVariable+"="+name+"/"+strings.Join(args, "/"))
		}
		out := crc32.NewIEEE()
		cmd.Stdin = in
		cmd.Stdout = out
		if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 { // 1: some URLs are disallowed
			panic(fmt.Sprint(name, ": ", err))
		}
		childTime += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		return int(out.Sum32())
	}}
}

// shop is a usual file, of which each crawler of the questions has a group.
const shop = "User-agent: Googlebot\nUser-agent: *\nDisallow: /a/\nDisallow: /search\nDisallow: /*?sort=\nAllow: /a/public/\nDisallow: /cart\n" +
	"Disallow: /checkout\nDisallow: /private/*.html$\nDisallow: /tmp/\nAllow: /tmp/x\nDisallow: /login\nDisallow: /*.pdf$\nDisallow: /admin/\n" +
	"Sitemap: https://shop.example/sitemap.xml\n\nUser-agent: GPTBot\nDisallow: /\n"

var programAgents = [...]string{"Googlebot", anyBot, "GPTBot", "Bingbot"}

// shopURL returns URLs of one length.
func shopURL(i int) string {
	return fmt.Sprintf(
		"https://shop.example/%s/page-%07d", [...]string{"a/shoes-blue", "tmp/sessions", "new/arrivals", "a/public/new"}[i%4], i,
	)
}

// A programQuestion is a line of a batch.
type programQuestion struct {
	URL    string `json:"url"`
	Agent  string `json:"agent"`
	Robots string `json:"robots,omitempty"`
}

// programInput writes a file of n lines, and shop.txt beside it.
func programInput(name string, n int, line func(i int) string) string {
	var b bytes.Buffer
	for i := range n {
		b.WriteString(line(i))
		b.WriteByte('\n')
	}
	path := filepath.Join(programFolder(), name)
	for file, text := range map[string][]byte{path: b.Bytes(), shopFile(): []byte(shop)} {
		if err := os.WriteFile(file, text, 0o666); err != nil {
			panic(err)
		}
	}
	return path
}

func shopFile() string { return filepath.Join(programFolder(), "shop.txt") }

// listProgram checks a list of URLs with the program and with another engine.
func listProgram(n int, other string) *work {
	input := programInput("urls.txt", n, shopURL)
	return &work{ops: n, children: true, engines: []engine{
		child(ours, input, "check", "-f", shopFile(), "-a", anyBot, "--urls", input), child(other, input),
	}}
}

// batchProgram answers a batch of questions by four crawlers in turn, about one file or each with its file.
func batchProgram(n int, withFile bool) *work {
	text := ""
	args := []string{"check", "--batch", "-f", shopFile()}
	if withFile {
		text = shop
		args = args[:2]
	}
	input := programInput("questions.jsonl", n, func(i int) string {
		b, _ := json.Marshal(programQuestion{shopURL(i), programAgents[i%len(programAgents)], text}) // which has only strings
		return string(b)
	})
	return &work{ops: n, children: true, engines: []engine{child(ours, input, args...), child(temoto, input, "batch")}}
}

// lintProgram lints files with the program, and makes the rules of their crawlers in a loop.
func lintProgram(files []file) *work {
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = filepath.Join(programFolder(), fmt.Sprintf("robots-%d.txt", i))
		if err := os.WriteFile(paths[i], f.body, 0o666); err != nil {
			panic(err)
		}
	}
	input := programInput("files.txt", len(paths), func(i int) string { return paths[i] })
	return &work{ops: len(paths), children: true, engines: []engine{
		child(ours, input, append([]string{"lint"}, paths...)...), child(allRules, input),
	}}
}

// thousand returns at most 1,000 of the files, in equal distances.
func thousand(files []file) (list []file) {
	const most = 1000
	for i := range min(most, len(files)) {
		list = append(list, files[i*len(files)/min(most, len(files))])
	}
	return list
}

// runLoop runs the loop of a name and reports whether there is one.
func runLoop(name string) bool {
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	defer out.Flush()
	var line func(out *bufio.Writer, text string)
	switch data, group := temotoParse([]byte(shop)), temotoGroup([]byte(shop), anyBot); name {
	case echo:
		serveEcho()
	case temoto + "/batch":
		line = temotoBatch(data)
	case temoto + "/", temotoPaths + "/":
		line = func(out *bufio.Writer, text string) {
			path := text[len("https://shop.example"):]
			if name == temoto+"/" {
				path = requestURI(text)
			}
			out.WriteString(map[bool]string{true: "allow      ", false: "disallow   "}[group.Test(path)])
			out.WriteString(text + "\n")
		}
	case allRules + "/":
		line = writeAllRules
	case library + "/":
		line = libraryList(robots.Parse([]byte(shop)).Rules(robots.RFC9309, anyBot))
	default:
		return false
	}
	for {
		text, err := in.ReadString('\n')
		if text != "" {
			line(out, strings.TrimSuffix(text, "\n"))
		}
		if errors.Is(err, io.EOF) {
			return true
		} else if err != nil {
			panic(err)
		}
	}
}

// writeAllRules writes how many rules the crawlers of a file have.
func writeAllRules(out *bufio.Writer, path string) {
	body, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(out, path, makeAllRules(body))
}

// libraryList writes what robots check writes about URLs of one length.
func libraryList(rules *robots.Rules) func(out *bufio.Writer, text string) {
	group := rules.Group()
	after := "  (group " + group.Token() + ", line " + strconv.Itoa(group.Lines()[0]) + ")\n"
	var b []byte
	return func(out *bufio.Writer, text string) {
		_, p, err := robots.ParseURL(text)
		if err != nil {
			panic(err)
		}
		v := rules.Match(p)
		b = append(b[:0], v.Word()...)
		b = append(b, "           "[len(b):]...)
		b = append(append(b, text...), "  "...)
		if v.Rule.IsZero() {
			b = append(b, v.Reason.Sentence()...)
		} else {
			b = append(strconv.AppendInt(append(b, "line "...), int64(v.Rule.Line()), 10), ": "...)
			b = v.Rule.AppendTo(b)
		}
		b = append(b, after...)
		out.Write(b)
	}
}

// temotoBatch answers questions with encoding/json and net/url.
func temotoBatch(shared *robotstxt.RobotsData) func(out *bufio.Writer, text string) {
	return func(out *bufio.Writer, text string) {
		var q programQuestion
		if err := json.Unmarshal([]byte(text), &q); err != nil {
			panic(err)
		}
		u, err := url.Parse(q.URL)
		if err != nil {
			panic(err)
		}
		data := shared
		if q.Robots != "" {
			data = temotoParse([]byte(q.Robots))
		}
		b, _ := json.Marshal(struct { // which has only strings and a boolean
			URL     string `json:"url"`
			Agent   string `json:"agent"`
			Allowed bool   `json:"allowed"`
		}{q.URL, q.Agent, data.TestAgent(u.RequestURI(), q.Agent)})
		out.Write(b)
		out.WriteByte('\n')
	}
}
