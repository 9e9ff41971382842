package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestExternal lets a shell script be an engine.
func TestExternal(t *testing.T) {
	program := filepath.Join(t.TempDir(), "engine")
	script := "#!/bin/sh\nn=$(wc -l <\"$1\")\nwhile read -r round; do echo $((1000 + round)) $n; done\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BENCH_GOOGLE", program)
	t.Setenv("BENCH_FAST_ROBOTS", "")
	s := testSet(3)
	w := oneShotURL(s)
	e := w.engines[len(w.engines)-1]
	if e.name != "google" {
		t.Fatalf("the last engine is %q", e.name)
	}
	if got := e.timed(3); got != 1003*time.Nanosecond {
		t.Errorf("round 3 takes %v, want 1.003µs", got)
	}
	r := &result{ns: measure(&work{engines: w.engines[3:], ops: 3}, options{rounds: 3, target: time.Microsecond})}
	if got := len(r.ns["google"]); got != 3 {
		t.Errorf("%d rounds, want 3", got)
	}
}
