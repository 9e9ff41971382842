package page

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/lint"
)

// TestCharges: questions about a whole file take the steps of their work from the budget, besides
// those for the size of the question, and end when there are none.
func TestCharges(t *testing.T) {
	file := "User-agent: *\n" + strings.Repeat("Disalow: /a\nDisallow: /b*c\n\n", 1000)
	_, _, fixed := lint.ApplyFixes([]byte(file), lint.Options{MaxSteps: lintSteps}, false)
	for verb, steps := range map[string]int{
		"parse": budget.Reading(len(file)),
		"lint":  lint.File(robots.Parse([]byte(file)), lint.Options{MaxSteps: lintSteps}).Steps,
		"fix":   fixed.Steps,
	} {
		b := budget.New(budget.Steps, budget.Bytes)
		if _, err := AskWithin(b, verb, file); err != nil {
			t.Fatal(verb, err)
		}
		if want := 4*budget.Reading(len(file)) + steps; b.Used() < want || steps == 0 {
			t.Errorf("%s: %d steps, want at least %d", verb, b.Used(), want)
		}
		if _, err := AskWithin(budget.New(int64(b.Used())-1, budget.Bytes), verb, file); !errors.Is(err, budget.ErrSteps) {
			t.Errorf("%s with a step less: %v", verb, err)
		}
	}
}

// TestParseMemory: parse allocates in proportion to a file of empty lines.
func TestParseMemory(t *testing.T) {
	file := strings.Repeat("\n", 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	Ask("parse", file)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 40*uint64(len(file)) {
		t.Errorf("%d bytes allocated for %d", n, len(file))
	}
}
