package answer

import (
	"slices"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/lint"
)

// The kinds of changes. The words are a contract.
const (
	NewlyBlocked = "newly-blocked"
	NewlyAllowed = "newly-allowed"
)

// DiffIn compares two files for the chosen crawlers, or else for * and all crawlers that they name. With
// zero dialects each crawler is compared in its own; with two that differ, both sides are one file,
// as these read it.
func DiffIn(before, after Source, dialects [2]robots.Dialect, chosen []Crawler, o DiffOptions) *Difference {
	var who []Crawler
	for _, c := range chosen {
		if dialects[0].Name != "" {
			c = InDialect(dialects[0], c.Name, c.Given()...)
		}
		who = append(who, c)
	}
	if len(chosen) == 0 {
		who = Comparable(before, after, dialects)
	}
	o.Important = len(chosen) > 0
	if dialects[0].Name != dialects[1].Name {
		o.NewDialect = dialects[1]
	}
	d := Diff(before, after, who, o)
	d.dialects = dialects
	return d
}

// Own reports whether each crawler is compared in its own dialect.
func (d *Difference) Own() bool { return d.dialects[0].Name == "" }

// Dialects returns those of the old and the new side, each once, none if each crawler is compared in
// its own.
func (d *Difference) Dialects() []string {
	if d.Own() {
		return []string{}
	}
	return slices.Compact([]string{d.dialects[0].Name, d.dialects[1].Name})
}

// CountURL counts a URL of a list, named as in it, where it changes. It returns an error for one that
// is not valid.
func (d *Difference) CountURL(name, url string) error {
	before, err := Path(d.dialects[0], url)
	if err != nil {
		return err
	}
	after, err := Path(d.dialects[1], url)
	if err == nil {
		d.countPath(name, before, after)
	}
	return err
}

// Directions returns both directions of the comparison.
func (c *comparison) Directions() []*Direction { return []*Direction{&c.Blocked, &c.Allowed} }

// Title describes a direction of the comparison.
func (d *Difference) Title(one *Direction) string {
	switch {
	case !d.betweenDialects && one.Kind == NewlyBlocked:
		return "newly blocked"
	case !d.betweenDialects:
		return "newly allowed"
	case one.Kind == NewlyBlocked:
		return "only " + d.dialects[1].Name + " blocks"
	}
	return "only " + d.dialects[0].Name + " blocks"
}

// Reasons describes why a URL is allowed on one side and blocked on the other.
func (d *Difference) Reasons(c compare.Change) (before, after string) {
	before = "old"
	after = "new"
	if d.betweenDialects {
		before = d.dialects[0].Name
		after = d.dialects[1].Name
	}
	before += " " + Reason(c.Old)
	after += " " + Reason(c.New)
	if !c.Shortest {
		after += " (possibly not the shortest)"
	}
	return before, after
}

// Severity returns the severity of changes of a kind.
func (g *DifferenceGroup) Severity(kind string) lint.Severity {
	if g.Important && kind == NewlyBlocked {
		return lint.Error
	}
	return lint.Warning
}
