package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// TestInterrupted: an interrupted command has its own exit status and reports that it can
// continue.
func TestInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out, complaints bytes.Buffer
	status := run(ctx, []string{"pack", "-o", filepath.Join(t.TempDir(), "snap"), "../../examples/bulk/2026-05.warc.gz"}, strings.NewReader(""), &out, &complaints)
	if status != exitInterrupted || !strings.Contains(complaints.String(), "interrupted: 0 shards done; run the same command again to continue\n") {
		t.Errorf("status %d, %s", status, &complaints)
	}
}

// TestOptions: contradictory flags are rejected before any work.
func TestOptions(t *testing.T) {
	t.Setenv("SLURM_ARRAY_TASK_ID", "3")
	t.Setenv("SLURM_ARRAY_TASK_MIN", "1")
	t.Setenv("SLURM_ARRAY_TASK_COUNT", "4")
	good := tableRun{dir: "x"}
	for _, c := range []struct {
		change func(b *tableRun)
		want   string // a part of the message
		warned bool
	}{
		{change: func(*tableRun) {}, warned: true},
		{change: func(b *tableRun) { b.share = "auto" }},
		{change: func(b *tableRun) { b.share = "5" }, want: "not a share"},
		{change: func(b *tableRun) { b.workers = -1 }, want: "--workers"},
	} {
		var complaints bytes.Buffer
		b := good
		c.change(&b)
		b.std = &streams{err: &complaints}
		o, err := b.options()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", b, err, c.want)
		}
		if warned := strings.Contains(complaints.String(), "this job does all the work"); warned != c.warned {
			t.Errorf("%+v: %s", b, &complaints)
		}
		if err == nil && (o.Workers < 1 || b.share != "" && (o.Slice.Index != 2 || o.Slice.Of != 4)) {
			t.Errorf("%+v", o)
		}
	}
}
