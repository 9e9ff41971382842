//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/robotskit/robots/internal/freeport"
)

const slurmConf = `ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=%[1]s/munge.sock
CredType=cred/munge
SlurmctldPort=%[2]s
SlurmdPort=%[3]s
SlurmctldPidFile=%[1]s/slurmctld.pid
SlurmdPidFile=%[1]s/slurmd.pid
SlurmdSpoolDir=%[1]s/spool
StateSaveLocation=%[1]s/state
SlurmctldLogFile=%[1]s/slurmctld.log
SlurmdLogFile=%[1]s/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
CommunicationParameters=NoInAddrAny
NodeName=localhost NodeAddr=127.0.0.1 NodeHostname=%[4]s CPUs=2
PartitionName=p Nodes=localhost Default=YES MaxTime=INFINITE State=UP
`

func port(t *testing.T) string {
	_, port, _ := strings.Cut(freeport.Addr(t), ":")
	return port
}

// slurm starts a cluster of one node on loopback, and returns the environment for sbatch.
func slurm(t *testing.T) []string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "slurm") // a socket has a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	conf := filepath.Join(dir, "slurm.conf")
	files := map[string]string{conf: fmt.Sprintf(slurmConf, dir, port(t), port(t), host), filepath.Join(dir, "munge.key"): strings.Repeat("k", 1024)}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"state", "spool"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "SLURM_CONF="+conf)
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, daemon := range [][]string{
		{"munged", "--force", "--key-file", in("munge.key"), "--socket", in("munge.sock"), "--pid-file", in("munged.pid"), "--log-file", in("munged.log"), "--seed-file", in("munged.seed")},
		{"slurmctld", "-i"},
		{"slurmd", "-N", "localhost"},
	} {
		cmd := exec.CommandContext(t.Context(), daemon[0], daemon[1:]...)
		cmd.Env = env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", daemon[0], err, out)
		}
		t.Cleanup(func() { stopDaemon(in(daemon[0] + ".pid")) })
	}
	return env
}

// stopDaemon ends the process of a PID file and waits until it is gone.
func stopDaemon(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return
	}
	_ = syscall.Kill(pid, syscall.SIGTERM)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 200 {
		if syscall.Kill(pid, 0) != nil {
			return
		}
		<-tick.C
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// TestSlurm: the sbatch lines of docs/bulk.md write the snapshot of one run. It needs root and
// slurm-wlm, so it runs only in a campaign.
func TestSlurm(t *testing.T) {
	if !campaign.On() {
		t.Skip("only in a campaign: it needs root and slurm-wlm")
	}
	page, err := os.ReadFile("../../docs/bulk.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^sbatch .*$`).FindAll(page, -1)
	if len(lines) != 3 {
		t.Fatalf("docs/bulk.md has %d lines of sbatch", len(lines))
	}
	dir := t.TempDir()
	for i, name := range []string{"2026-05.warc.gz", "2026-10.warc.gz"} {
		text, err := os.ReadFile("../../examples/bulk/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("CC-MAIN-%d.warc.gz", i)), text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	install(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "agents.txt"), []byte("GPTBot\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	env := append(slurm(t), "PATH="+dir+":"+os.Getenv("PATH"))
	script := strings.ReplaceAll(string(bytes.Join(lines, []byte("\n"))), "0-63", "0-3")
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		logs, _ := filepath.Glob(filepath.Join(dir, "slurm-*.out"))
		for _, name := range logs {
			text, _ := os.ReadFile(name)
			out = append(out, text...)
		}
		t.Fatalf("%v: %s", err, out)
	}
	check := exec.CommandContext(t.Context(), "sh", "-ec", `
		robots-bulk status snap; robots-bulk status verdicts
		test "$(ls snap/captures | wc -l)" = 8; test ! -e snap/.pack
		for i in 1 2 3 4; do robots-bulk pack read --shard $i/4 -o again CC-MAIN-*.warc.gz; done
		for i in 1 2 3 4 5 6 7 8; do robots-bulk pack resolve --part $i/8 -o again; done
		diff -r snap again`)
	check.Dir, check.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	if out, err := check.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
