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
