//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/freeport"
	"github.com/robotskit/robots/internal/proctest"
)

// TestDask: the example of docs/bulk.md on a scheduler with two workers answers every line of many files,
// and each worker answers some. It needs Debian's python3-distributed, so it runs only in a campaign.
func TestDask(t *testing.T) {
	campaign.Only(t)
	const files, lines = 40, 500
	page, err := os.ReadFile("../../docs/bulk.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)# Dask\n(.*?)```").FindSubmatch(page)
	if example == nil {
		t.Fatal("docs/bulk.md has no example for Dask")
	}
	dir := t.TempDir()
	install(t, dir)
	if err := os.Mkdir(filepath.Join(dir, "files"), 0o777); err != nil {
		t.Fatal(err)
	}
	for i := range files {
		var text strings.Builder
		for k := range lines {
			if k%100 == 99 {
				text.WriteString("nonsense\n")
				continue
			}
			fmt.Fprintf(&text, `{"id":"%d/%d","url":"https://s%d.test/","robots":"User-agent: GPTBot\nDisallow: /\nDisallow: /\u2028"}`+"\n", i, k, k)
		}
		if err := os.WriteFile(filepath.Join(dir, "files", fmt.Sprintf("%02d.jsonl", i)), []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	address := freeport.Addr(t)
	host, port, _ := strings.Cut(address, ":")
	start := func(program string, args ...string) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		if err := proctest.Start(cmd); err != nil {
			t.Fatal(err)
		}
	}
	start("/usr/bin/dask-scheduler", "--host", host, "--port", port, "--no-dashboard")
	for i := range 2 {
		start("/usr/bin/dask-worker", "tcp://"+address, "--host", host, "--nthreads", "1", "--no-dashboard", "--no-nanny",
			"--local-directory", filepath.Join(dir, fmt.Sprint("worker", i)))
	}
	client := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", `
import dask.bag, json, subprocess
from distributed import Client
client = Client("tcp://`+address+`")
client.wait_for_workers(2)
`+string(example[1])+`
verdicts = client.persist(verdicts)
rows = [json.loads(row) for row in verdicts.compute()]
workers = sum(len(keys) > 0 for keys in client.has_what().values())
errors = sum(row["error"] is not None for row in rows)
ids = len({row["id"] for row in rows if row["id"]})
print(workers, len(rows), errors, ids, sum(row.get("verdict") == "disallow" for row in rows))
`)
	client.Dir = dir
	client.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := client.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	valid := files * lines * 99 / 100
	if want := fmt.Sprintln(2, files*lines, files*lines-valid, valid, valid); string(out) != want {
		t.Errorf("workers, rows, errors, ids, disallowed: %s\nwant %s", out, want)
	}
}
