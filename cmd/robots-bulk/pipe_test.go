package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPipe runs the pipe of Spark and the function of Dask in docs/bulk.md as they would.
func TestPipe(t *testing.T) {
	page, err := os.ReadFile("../../docs/bulk.md")
	if err != nil {
		t.Fatal(err)
	}
	spark := regexp.MustCompile(`\.pipe\("(robots-bulk .*?)"\)`).FindSubmatch(page)
	dask := regexp.MustCompile(`(?s)# Dask\n(def .*?)\n\n`).FindSubmatch(page)
	if spark == nil || dask == nil {
		t.Fatal("docs/bulk.md has no pipe of Spark or no function of Dask")
	}
	dir := t.TempDir()
	install(t, dir)
	const lines = `{"url":"https://a.test/","robots":"User-agent: GPTBot\nDisallow: /"}` + "\n" + `{"url":"https://b.test/","robots":""}` + "\n"
	var answers []string
	for _, cmd := range []*exec.Cmd{
		exec.CommandContext(t.Context(), "sh", "-c", string(spark[1])),
		exec.CommandContext(t.Context(), "python3", "-c", "import subprocess, sys\n"+string(dask[1])+"\nprint('\\n'.join(ask(sys.stdin.read().splitlines())))"),
	} {
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		cmd.Stdin = strings.NewReader(lines)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, string(out))
	}
	if rows := strings.Split(answers[0], "\n"); len(rows) != 3 || !strings.Contains(rows[0], `"verdict":"disallow"`) || !strings.Contains(rows[1], `"verdict":"allow"`) {
		t.Errorf("Spark: %s", answers[0])
	}
	if answers[1] != answers[0] {
		t.Errorf("Dask: %s", answers[1])
	}
}

// install puts the program into a folder. Testscript runs main by this name.
func install(t *testing.T, dir string) {
	t.Helper()
	program, err := os.Executable()
	if err == nil {
		err = os.Symlink(program, filepath.Join(dir, "robots-bulk"))
	}
	if err != nil {
		t.Fatal(err)
	}
}
