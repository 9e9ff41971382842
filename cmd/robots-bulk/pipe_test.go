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
	spark := regexp.MustCompile(`\.pipe\("(robots-bulk .*?)", checkCode=True\)`).FindSubmatch(page)
	dask := regexp.MustCompile(`(?s)# Dask\n(def .*?)\n\n`).FindSubmatch(page)
	if spark == nil || dask == nil {
		t.Fatal("docs/bulk.md has no pipe of Spark or no function of Dask")
	}
	dir := t.TempDir()
	install(t, dir)
	const lines = `{"url":"https://a.test/","robots":"User-agent: GPTBot\nDisallow: /"}` + "\nnonsense\n" + `{"id":7,"url":"https://b.test/","robots":"\u2028"}` + "\n"
	var answers []string
	for _, cmd := range []*exec.Cmd{
		exec.CommandContext(t.Context(), "sh", "-c", string(spark[1])),
		exec.CommandContext(t.Context(), "python3", "-c", "import subprocess, sys\n"+string(dask[1])+"\nprint('\\n'.join(ask(sys.stdin.readlines())))"),
	} {
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		cmd.Stdin = strings.NewReader(lines)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, string(out))
	}
	if rows := strings.Split(answers[0], "\n"); len(rows) != 4 || !strings.Contains(rows[0], `"verdict":"disallow"`) ||
		!strings.HasPrefix(rows[1], `{"id":null,"error":"`) || !strings.HasPrefix(rows[2], `{"id":7,`) || !strings.Contains(rows[2], `"verdict":"allow"`) {
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
