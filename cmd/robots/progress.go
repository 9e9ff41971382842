package main

import (
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// progressLeast is for how many sites progress is shown.
	progressLeast = 20
	// progressInterval is how often, elsewhere than on a terminal.
	progressInterval = 10 * time.Second
)

// A progress counts the sites of a run.
type progress struct{ begun, done, failed atomic.Int64 }

// line describes the progress, "" if there are few sites.
func (p *progress) line(name string) string {
	if p.begun.Load() < progressLeast {
		return ""
	}
	line := fmt.Sprintf("%s: %d of %d robots.txt fetched", name, p.done.Load(), p.begun.Load())
	if n := p.failed.Load(); n > 0 {
		line += fmt.Sprintf(", %d failed", n)
	}
	return line
}
