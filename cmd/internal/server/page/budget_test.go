package page

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/lint"
)

// TestCharges: questions take the steps of their work from the budget, besides those for the size of the
// question, and end when there are none.
func TestCharges(t *testing.T) {
	file := "User-agent: *\n" + strings.Repeat("Disalow: /a\nDisallow: /b*c\n\n", 1000)
	other := strings.ReplaceAll(file, "/b", "/bb")
	f := robots.Parse([]byte(file))
	path := robots.RawPath("/" + strings.Repeat("b", 1000))
	who := answer.InDialect(robots.RFC9309, "MyBot", "MyBot")
	rules := f.Rules(who.Dialect, who.Tokens...)
	_, work := rules.MatchWork(path)
	_, _, fixed := lint.ApplyFixes([]byte(file), lint.Options{MaxSteps: lintSteps}, false)
	reading := budget.Reading(file)
	dialects := len(robots.Dialects())
	const crawler = "rfc9309\tMyBot"
	ends := map[string]bool{} // proofs that end by themselves where the budget does
	for _, verb := range []string{"diff", "decides", "access", "block"} {
		ends[verb] = true
	}
	unused := 0
	for _, e := range compare.Effects(rules, compare.Options{Steps: decidesSteps}) {
		unused += e.Steps
	}
	cases := map[string]struct {
		args  []string
		steps int
	}{
		"parse":   {[]string{file}, 3 * reading},
		"matrix":  {[]string{file, crawler, path.String(), `{"engines":true}`}, (1+len(answer.CurrentDialects()))*reading + budget.Matching(work)},
		"crawler": {[]string{"MyBot\nBing", crawler}, 2 * mentionWork},
		"urls":    {[]string{file, ""}, 4 * reading},
		"explain": {[]string{file, crawler, path.String()}, (1+dialects)*reading + first(answer.ExplainCost(rules, path)) + dialects*budget.Matching(len(path.String()))},
		"lint":    {[]string{file}, lint.File(f, lint.Options{MaxSteps: lintSteps}).Steps},
		"fix":     {[]string{file}, fixed.Steps},
		"diff":    {[]string{file, other, crawler}, (1+answer.ComparableReadings())*budget.Reading(file, other) + answer.Diff(f, robots.Parse([]byte(other)), []answer.Crawler{who}, answer.DiffOptions{Steps: diffSteps}).Steps},
		"show":    {[]string{file, crawler, "0"}, reading + budget.Scheduling(len(file))},
		"decides": {[]string{file, crawler}, reading + unused},
		"access":  {[]string{file}, len(answer.CurrentDialects()) * reading},
		"block":   {[]string{file}, (len(answer.CurrentDialects()) + 12) * reading},
		"outlook": {[]string{file, crawler, path.String(), ""}, reading + budget.Matching(work)},
	}
	for verb := range verbs {
		c, ok := cases[verb]
		if !ok {
			if verb != "directory" {
				t.Errorf("%s has no case", verb)
			}
			continue
		}
		b := budget.New(budget.Steps, budget.Bytes)
		if _, err := AskWithin(b, verb, c.args...); err != nil {
			t.Fatal(verb, err)
		}
		want := 4*budget.Reading(c.args...) + c.steps
		if b.Used() < want || c.steps == 0 {
			t.Errorf("%s: %d steps, want at least %d", verb, b.Used(), want)
		}
		least := b.Used() - 1
		if ends[verb] {
			least = 4*budget.Reading(c.args...) + reading - 1
		}
		if _, err := AskWithin(budget.New(int64(least), budget.Bytes), verb, c.args...); !errors.Is(err, budget.ErrSteps) {
			t.Errorf("%s with %d steps: %v", verb, least, err)
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
