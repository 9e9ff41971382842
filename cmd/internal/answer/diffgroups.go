package answer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
)

// A comparison is the result for rules, which crawlers share.
type comparison struct {
	rules   [2]*robots.Rules // of the first crawler
	result  *compare.Result
	Blocked Direction
	Allowed Direction
	// OnlyRewritten is set if URLs change, but only those that browsers rewrite before they
	// send them.
	OnlyRewritten bool
}

// A Direction is the changes in one of the two directions.
type Direction struct {
	compare.Direction
	Kind     string // NewlyBlocked or NewlyAllowed
	URLs     int    // of a list
	FirstURL string // of these
}

// compare returns the comparison of rules with a result.
func (d *Difference) compare(rules [2]*robots.Rules, result *compare.Result, o compare.Options) *comparison {
	c := &comparison{
		rules: rules, result: result,
		Blocked: Direction{Kind: NewlyBlocked, Direction: result.NewlyBlocked},
		Allowed: Direction{Kind: NewlyAllowed, Direction: result.NewlyAllowed},
	}
	sent := func(c compare.Change) bool { return c.Normal && !strings.Contains(c.Path, "'") }
	all := slices.Concat(c.Blocked.Changes, c.Allowed.Changes)
	if result.Differs() && !slices.ContainsFunc(all, sent) && (o.Total == 0 || d.Steps < o.Total) {
		o.URLs = compare.BrowserURLs
		if o.Total > 0 {
			o.Steps = min(cmp.Or(o.Steps, compare.DefaultSteps), o.Total-d.Steps)
		}
		again := compare.Rules(rules[0], rules[1], o)
		d.Steps += again.NewlyBlocked.Steps + again.NewlyAllowed.Steps
		c.OnlyRewritten = again.Same()
	}
	return c
}

// Same reports whether it is proved that no URL changes.
func (c *comparison) Same() bool { return c.result.Same() }

// Differs reports whether a URL that changes was found.
func (c *comparison) Differs() bool { return c.result.Differs() }

// Complete reports whether nothing is undecided.
func (c *comparison) Complete() bool { return c.Blocked.Complete && c.Allowed.Complete }

// Unchanged reports whether it is proved that no URL changes, and none of a list does.
func (c *comparison) Unchanged() bool { return c.Same() && c.Blocked.URLs+c.Allowed.URLs == 0 }

// A DifferenceGroup is crawlers with the same result, with the lines of the first of them.
type DifferenceGroup struct {
	*comparison
	Names     []string
	Dialects  []string // the old and the new one of two dialects, else each once
	Note      string   // "" for none
	Elsewhere bool     // some crawlers have these rules in other lines than the first
	Important bool     // newly blocked URLs are errors for one of the crawlers
}

// Groups returns the crawlers by result: those without a change together, others by
// comparison.
func (d *Difference) Groups() (list []*DifferenceGroup) {
	type key struct {
		comparison *comparison
		note       string
	}
	made := map[key]*DifferenceGroup{}
	for _, c := range d.Crawlers {
		k := key{c.comparison, strings.Join(c.Notes, "; ")}
		if c.comparison.Unchanged() {
			k.comparison = nil
		}
		g := made[k]
		if g == nil {
			g = &DifferenceGroup{comparison: c.comparison, Note: k.note}
			made[k] = g
			list = append(list, g)
		}
		g.Names = append(g.Names, c.Agent)
		for _, dialect := range []string{c.Dialect, c.OldDialect, c.NewDialect} {
			if dialect != "" && !slices.Contains(g.Dialects, dialect) {
				g.Dialects = append(g.Dialects, dialect)
			}
		}
		g.Elsewhere = g.Elsewhere || c.elsewhere
		g.Important = g.Important || c.important
	}
	return list
}

// countPath counts a URL of a list where it changes, named as in the list. Its path is that
// for each side, as dialects can read it differently.
func (d *Difference) countPath(name string, before, after robots.Path) {
	if d.betweenDialects && after.String() == robotsTxt.String() {
		return
	}
	for _, c := range d.comparisons {
		direction := &c.Blocked
		allowed := c.rules[1].Allowed(after)
		if allowed {
			direction = &c.Allowed
		}
		if allowed != c.rules[0].Allowed(before) {
			direction.URLs++
			direction.FirstURL = cmp.Or(direction.FirstURL, name)
		}
	}
}

// CountedURLs sets the counts of all crawlers after CountURL was called for each URL of a list.
func (d *Difference) CountedURLs(read int) {
	for _, c := range d.Crawlers {
		c.URLs = &URLCounts{Read: read, NewlyBlocked: c.comparison.Blocked.URLs, NewlyAllowed: c.comparison.Allowed.URLs}
	}
}

// robotsTxt is the path of every robots.txt.
var robotsTxt = robots.RawPath("/robots.txt")

// robotsTxtNote reports that only one of two dialects exempts /robots.txt.
func robotsTxtNote(rules [2]*robots.Rules) string {
	raw := rules[0].Match(robotsTxt)
	exempt := rules[1].Match(robotsTxt)
	if raw.Allowed == exempt.Allowed {
		return ""
	}
	if raw.Allowed {
		raw = exempt
	}
	return "/robots.txt excluded: only " + raw.Dialect + " does not exempt it (" + Reason(raw) + ")"
}

// groupNotes describe changes of the group that applies: a group that names the crawler, that
// of * or none.
var groupNotes = map[[2]string]string{
	{"own", "*"}: "no group names it any more; the * group applies instead",
	{"own", ""}:  "no group names it any more, and no * group applies; everything is allowed",
	{"*", "own"}: "a group names it now; the * group no longer applies",
	{"", "own"}:  "a group names it now; before, no group applied",
	{"*", ""}:    "the * group was removed; everything is allowed for crawlers without a group",
	{"", "*"}:    "a * group was added; before, no group applied to crawlers without a group",
}

// groupNote reports that a different group applies to a crawler than before.
func groupNote(rules [2]*robots.Rules) string {
	kind := [2]string{"own", "own"}
	for i, r := range rules {
		if g := r.Group(); g.IsZero() || g.Token() == AnyCrawler {
			kind[i] = g.Token()
		}
	}
	return groupNotes[kind]
}
