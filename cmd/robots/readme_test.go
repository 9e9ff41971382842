package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadme runs the commands of README.md that begin with "$ robots", "$ go run ./cmd/robots" or "$ curl", and compares their output. To update it:
//
//	README=write go test ./cmd/robots -run TestReadme
func TestReadme(t *testing.T) {
	t.Chdir("../..")
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```console\n(.*?)```")
	commands := 0
	got := blocks.ReplaceAllStringFunc(string(page), func(block string) string {
		out := "```console\n"
		for line := range strings.Lines(blocks.FindStringSubmatch(block)[1]) {
			if line[0] == '$' {
				out += line + readmeOutput(t, strings.TrimSpace(line[1:]))
				commands++
			}
		}
		return out + "```"
	})
	if os.Getenv("README") == "write" {
		if err := os.WriteFile("README.md", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != string(page) {
		t.Errorf("the output of a command differs from README.md, which should be:\n%s", got)
	}
	if commands < 3 {
		t.Errorf("only %d commands found", commands)
	}
	if n := strings.Count(got, "\n"); n > 150 {
		t.Errorf("README.md has %d lines, want at most 150", n)
	}
}

// readmeOutput runs one command line, which can have single quotes and <.
func readmeOutput(t *testing.T, line string) string {
	t.Helper()
	var stdin io.Reader = strings.NewReader("")
	if before, file, ok := strings.Cut(line, " < "); ok {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		line, stdin = before, f
	}
	if args, ok := strings.CutPrefix(line, "curl http://127.0.0.1:8780"); ok {
		path, body, _ := strings.Cut(args, " -d ")
		// the Content-Type that curl -d sends
		resp, err := http.Post(runServer(t, "--store", filepath.Join(t.TempDir(), "serve.cache")).open+path, "application/x-www-form-urlencoded", strings.NewReader(strings.Trim(body, "'")))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		reply, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(reply)
	}
	rest, throughGo := strings.CutPrefix(line, "go run ./cmd/robots ")
	rest = strings.TrimPrefix(rest, "robots ")
	var args []string
	for i, part := range strings.Split(rest, "'") {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	var out bytes.Buffer
	status := run(context.Background(), args, stdin, &out, &out)
	if throughGo && status != 0 {
		fmt.Fprintf(&out, "exit status %d\n", status)
	}
	return out.String()
}
