package source

import (
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// ProgressLeast is for how many sites progress is shown.
	ProgressLeast = 20
	// ProgressInterval is how often, elsewhere than on a terminal.
	ProgressInterval = 10 * time.Second
)

// A Progress counts the sites of a run.
type Progress struct{ Begun, Done, Failed atomic.Int64 }

// Line describes the progress, "" if there are few sites.
func (p *Progress) Line(name string) string {
	if p.Begun.Load() < ProgressLeast {
		return ""
	}
	line := fmt.Sprintf("%s: %d of %d robots.txt fetched", name, p.Done.Load(), p.Begun.Load())
	if n := p.Failed.Load(); n > 0 {
		line += fmt.Sprintf(", %d failed", n)
	}
	return line
}
