package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
)

// An attack is a request of an unauthenticated client that costs as much as possible.
type attack struct{ name, path, media, body string }

// attacks returns requests with bodies of about size bytes.
func attacks(size int) (list []attack) {
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	text := func(members map[string]any) string {
		encoded, _ := json.Marshal(members)
		return string(encoded)
	}
	const inJSON, inLines = "application/json", "application/x-ndjson"
	for name, line := range map[string]string{
		"members":        "{" + numbered(`"k%d":1,`) + `"url":"/","robots":""}`,
		"near misses":    "{" + repeat(`"robotx":1,`) + `"url":"/","robots":""}`,
		"escaped names":  "{" + repeat(`"\u0061":1,`) + `"url":"/","robots":""}`,
		"empty lines":    repeat("\n"),
		"product tokens": `{"url":"/","robots":"","agent":[` + numbered(`"b%d",`) + `"x"]}`,
		"tokens, auto":   `{"url":"/","robots":"","dialect":"auto","agent":"` + repeat("a/ ") + `"}`,
		"commas":         `{"url":"/","robots":"","agent":"` + repeat("a,") + `"}`,
		"id":             `{"url":"/","robots":"","id":[` + repeat("1,\r") + `1]}`,
		"depth":          `{"url":"/","robots":"","id":` + repeat("[") + "}",
		"stars":          `{"url":"/` + strings.Repeat("a", 8000) + `","max_bytes":99999999,"robots":"User-agent: *\n` + repeat(`Disallow:/*a*b\n`) + `"}`,
		"long URL":       `{"robots":"User-agent: *\nDisallow: /*a*b","url":"/` + repeat("a") + `"}`,
		"rules":          `{"url":"/a","max_bytes":99999999,"robots":"User-agent: *\n` + numbered(`Disallow:/%d\n`) + `"}`,
	} {
		list = append(list, attack{"check " + name, "/v1/check", inLines, line})
	}
	list = append(list,
		attack{"check members outside", "/v1/check", inJSON, "{" + numbered(`"k%d":1,`) + `"questions":[]}`},
		attack{"check many questions", "/v1/check", inJSON, `{"questions":[` + repeat("1,") + "1]}"},
		attack{"permits many URLs", "/v1/permits/next", inJSON, `{"urls":[` + repeat(`"",`) + `""]}`},
		attack{"permits many releases", "/v1/permits/next", inJSON, `{"urls":["x"],"done":[` + repeat("{},") + "{}]}"},
		attack{"refresh depth", "/v1/robots/refresh", inJSON, `{"url":` + repeat("[") + "}"},
	)
	var questions []map[string]string
	for i := range 400 {
		dialect := robots.Dialects()[i%len(robots.Dialects())].Name
		questions = append(questions, map[string]string{"url": "/", "agent": fmt.Sprintf("b%d", i), "dialect": dialect})
	}
	for name, file := range map[string]string{
		"empty lines": repeat("\n"), "colons": repeat(":\n"), "controls": repeat("\x01"), "misspelled": numbered("Disalow: /%d\n"),
		"rules": "User-agent: *\n" + numbered("Disallow:/%d\n"), "stars": "User-agent: *\n" + repeat("Disallow:/*a*b\n"), "matches": "User-agent: *\n" + repeat("Allow:/\n"),
		"agents": numbered("User-agent:b%d\n"), "groups": numbered("User-agent:b%d\nAllow:/\n"), "sitemaps": repeat("Sitemap:a\n"),
		"rates": "User-agent: *\n" + numbered("Request-rate:1/%d\n"), "signals": "User-agent: *\n" + repeat("Content-Signal: ai-train=no\n"),
		"not UTF-8": "User-agent: *\n" + repeat("Disallow:/\xff*\n"), "one pattern": "User-agent: *\nDisallow: /" + repeat("*a"), "unknown": repeat("a:b\n"),
		"NULs": repeat("\x00\n"), "colonless": "User-agent: *\n" + repeat("allow /\n"),
		"headers": repeat("User-agent: Mozilla/5.0 (a) b/1\n"), "names": "User-agent: " + repeat("a "),
	} {
		url := "/" + strings.Repeat("a", 4000)
		half := file[:len(file)*2/5]
		list = append(list,
			attack{"explain " + name, "/v1/explain", inJSON, text(map[string]any{"robots": file, "url": url})},
			attack{"lint " + name, "/v1/lint", inJSON, text(map[string]any{"robots": file})},
			attack{"diff " + name, "/v1/diff", inJSON, text(map[string]any{"old": half, "new": half + "Disallow: /y\n"})},
			attack{"check " + name, "/v1/check", inJSON, text(map[string]any{"defaults": map[string]any{"robots": half}, "questions": questions})})
		var columns, urls strings.Builder
		for i := range 60 {
			fmt.Fprintf(&columns, "google\tb%d\n", i)
		}
		for i := range 1000 {
			fmt.Fprintf(&urls, "/aaa%d\n", i)
		}
		for _, question := range [][]string{
			{"parse", file}, {"lint", file}, {"fix", file}, {"access", file}, {"matrix", file, columns.String(), urls.String(), ""},
			{"explain", file, "google\tb1", url}, {"show", file, "seznam\tb1", "1795305600"}, {"decides", file, columns.String()},
			{"outlook", file, "google\tb1", url, "X-Robots-Tag: noindex"}, {"diff", half, half + "Disallow: /y\n", columns.String()},
		} {
			body := []byte(nil)
			for _, part := range question {
				body = append(binary.BigEndian.AppendUint32(body, uint32(len(part))), part...)
			}
			list = append(list, attack{"page " + question[0] + " " + name, "/page/ask", "application/octet-stream", string(body)})
		}
	}
	return list
}

// TestServeAttacks sends requests that cost as much as possible. Each is answered or refused, and a campaign checks the
// processor time and the largest memory of the process for each of them.
func TestServeAttacks(t *testing.T) {
	size := campaign.Size(1<<10, 1<<13, 1<<20)
	var server *served
	for _, a := range attacks(size) {
		if server == nil || campaign.On() { // the peak of a process is that of one attack
			server = runServer(t, "--public", "--anonymous", "--store", "memory")
		}
		pid := server.cmd.Process.Pid
		before := processorTime(t, pid)
		resp, err := http.Post(server.open+a.path, a.media, strings.NewReader(a.body))
		if err != nil {
			t.Fatalf("%s: %v", a.name, err)
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode >= 500 {
			t.Errorf("%s: status %d, %v: %.200s", a.name, resp.StatusCode, err, answer)
		}
		if !campaign.On() {
			continue
		}
		used, peak := processorTime(t, pid)-before, procStatus(t, pid, "VmHWM")
		t.Logf("%s: status %d, %.2f s, %d MB", a.name, resp.StatusCode, used, peak/1e6)
		if used > 1 || peak > 150e6 {
			t.Errorf("%s: %.2f s of the processor, %d MB", a.name, used, peak/1e6)
		}
		server.signal(t)
		server.wait()
	}
}

// TestServeWork sends the same requests to a program that counts the statements it executes, those of one kind to one
// process. The counts are the same on every machine, so a loop in a loop that no budget counts shows.
func TestServeWork(t *testing.T) {
	campaign.Only(t)
	const size = 1 << 18
	folder := t.TempDir()
	build := exec.Command("go", "build", "-cover", "-covermode=count", "-coverpkg=github.com/robotskit/robots/...", "-o", folder, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	kinds := map[string][]attack{}
	for _, a := range attacks(size) {
		kind := a.name[strings.LastIndexByte(a.name, ' ')+1:] // processes take longer than requests
		kinds[kind] = append(kinds[kind], a)
	}
	for kind, list := range kinds {
		counters := t.TempDir()
		t.Setenv("GOCOVERDIR", counters)
		server := runServer(t, "--public", "--anonymous", "--store", "memory")
		for _, a := range list {
			resp, err := http.Post(server.open+a.path, a.media, strings.NewReader(a.body))
			if err != nil {
				t.Fatalf("%s: %v", a.name, err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		server.signal(t)
		server.wait()
		// With a loop in a loop over the lines, requests of user-agent lines took 1,073 million, and with readings
		// that no budget counts those of empty lines 353 million.
		mean := statements(t, counters) / len(list)
		t.Logf("%s: %d requests, %d million statements each", kind, len(list), mean/1e6)
		if mean > 300e6 {
			t.Errorf("the %d requests of %q took %d million statements each, more than 300", len(list), kind, mean/1e6)
		}
	}
}

// statements returns how many statements a program executed that has written its counters to a folder.
func statements(t *testing.T, folder string) (sum int) {
	t.Helper()
	text := filepath.Join(folder, "counters.txt")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i="+folder, "-o="+text).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(text)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var place string
		var size, count int
		if n, _ := fmt.Sscan(line, &place, &size, &count); n == 3 { // the first line has the mode
			sum += size * count
		}
	}
	return sum
}

// processorTime returns the processor time of a process in seconds, on Linux.
func processorTime(t *testing.T, pid int) float64 {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const ticks = 100 // per second
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return float64(user+system) / ticks
}

// procStatus returns a size in the status of a process in bytes.
func procStatus(t testing.TB, pid int, name string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in %s", name, text)
	}
	n, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return n << 10
}
