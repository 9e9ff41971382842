package answer

import (
	"slices"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/compare"
)

// Unused are the rules of a file that are proved never to decide for any of some crawlers. A rule
// outside their groups is not among them.
type Unused struct {
	Lines    []int `json:"lines"`    // of the rules, in file order
	Complete bool  `json:"complete"` // every proof was finished
}

// FindUnused returns the rules that never decide. Steps limits the proofs for a crawler. It takes its steps
// from a budget and returns the error of that.
func FindUnused(b *budget.Budget, file *robots.File, who []Crawler, steps int) (Unused, error) {
	seen := map[string]bool{}
	use := map[int]compare.Use{} // of a line, for the crawler that needs it most
	unused := Unused{Lines: []int{}, Complete: true}
	for _, c := range who {
		if err := b.Work(budget.Reading(file.Bytes())); err != nil {
			return Unused{}, err
		}
		r := file.Rules(c.Dialect, c.Tokens...)
		key := c.Dialect.Name + ":" + r.Group().Token()
		if seen[key] {
			continue // the same rules
		}
		seen[key] = true
		const effects = 16 // times the steps that compare.Effects uses at most
		for _, e := range compare.Effects(r, compare.Options{Steps: max(1, b.Left(effects*steps)/effects)}) {
			if err := b.Work(e.Steps); err != nil {
				return Unused{}, err
			}
			unused.Complete = unused.Complete && e.Use != compare.Undecided
			line := e.Rule.Line()
			if old, ok := use[line]; !ok || old > e.Use {
				use[line] = e.Use
			}
		}
	}
	for line, u := range use {
		if u == compare.NeverDecides || u == compare.NeverMatches {
			unused.Lines = append(unused.Lines, line)
		}
	}
	slices.Sort(unused.Lines)
	return unused, nil
}
