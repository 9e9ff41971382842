package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/lint"
)

// A Diff is what a comparison of two files shows: differences, each in a section of its own.
type Diff struct {
	Differences []*answer.Difference
	File        string                                         // the new file, as named by the user
	Budget      int                                            // steps of a proof
	Limit       int                                            // changes shown per crawler and direction, 0 for all
	WithURLs    bool                                           // the changes of a list of URLs were counted
	URLs        int                                            // of this list
	Fails       func(kind string, severity lint.Severity) bool // whether a change of a kind fails the run
}

// BudgetHint suggests a larger budget of a proof.
func BudgetHint(budget int) string {
	return "try --budget " + strconv.Itoa(min(budget, (1<<31-1)/10)*10)
}

// Text writes each difference under its title. Differences with the same text have one title.
func (d *Diff) Text(w io.Writer, colors Palette) {
	var texts []string
	titles := map[string][]string{}
	for _, difference := range d.Differences {
		var b strings.Builder
		d.difference(&b, colors, difference)
		text := b.String()
		if titles[text] == nil {
			texts = append(texts, text)
		}
		titles[text] = append(titles[text], strings.Join(difference.Dialects(), " → "))
	}
	for i, text := range texts {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if len(d.Differences) > 1 {
			fmt.Fprintln(w, colors.Paint(Bold, strings.Join(titles[text], ", ")))
		}
		_, _ = io.WriteString(w, text)
	}
}

// nameColumn is the minimum width of the column of crawlers.
const nameColumn = 10

// difference writes the groups of a difference, and its declarations.
func (d *Diff) difference(w io.Writer, colors Palette, difference *answer.Difference) {
	for _, g := range difference.Groups() {
		d.group(w, colors, difference, g)
	}
	lead := Fill("declared", nameColumn) + "  "
	for _, change := range difference.Declared {
		for _, text := range declaredTexts(change, d.Limit) {
			fmt.Fprintf(w, "%s%s\n", lead, text)
			lead = Fill("", nameColumn) + "  "
		}
	}
}

// group writes the changes for crawlers with the same result.
func (d *Diff) group(w io.Writer, colors Palette, difference *answer.Difference, g *answer.DifferenceGroup) {
	fails := func(one *answer.Direction) bool {
		return len(one.Changes)+one.URLs > 0 && d.Fails(one.Kind, g.Severity(one.Kind))
	}
	style := Green
	switch {
	case slices.ContainsFunc(g.Directions(), fails):
		style = Red
	case !g.Same():
		style = Yellow
	}
	names := crawlerNames(g.Names)
	if difference.Own() && !slices.Equal(g.Dialects, []string{robots.RFC9309.Name}) {
		names = groupCrawlers(difference, g)
	}
	fmt.Fprintf(w, "%s  %s\n", Fill(names, nameColumn), colors.Paint(style, d.result(g)))
	if g.Note != "" {
		fmt.Fprintf(w, "  %s\n", g.Note)
	}
	if g.Elsewhere && g.Differs() {
		fmt.Fprintf(w, "  line numbers are those of %s; the others have the same rules elsewhere\n", robots.Printable(g.Names[0]))
	}
	var rows [][]string
	for _, one := range g.Directions() {
		title := difference.Title(one)
		changes, rest := d.shown(one.Changes)
		for _, c := range changes {
			before, after := difference.Reasons(c)
			rows = append(rows, []string{"  " + title, robots.Printable(c.Path), before, after})
		}
		if rest > 0 {
			rows = append(rows, []string{fmt.Sprintf("  and %d more %s (--limit)", rest, title)})
		}
	}
	Align(w, rows)
	if d.WithURLs {
		fmt.Fprintf(w, "  %s\n", d.urlCounts(difference, g))
	}
}

// urlCounts describes how many URLs of the list change.
func (d *Diff) urlCounts(difference *answer.Difference, g *answer.DifferenceGroup) string {
	var counts []string
	for _, one := range g.Directions() {
		text := screen.Thousands(one.URLs) + " " + difference.Title(one)
		if one.URLs > 0 {
			text += " (first: " + robots.Printable(one.FirstURL) + ")"
		}
		counts = append(counts, text)
	}
	return "of " + Count(d.URLs, "URL") + ": " + strings.Join(counts, ", ")
}

// shown returns the changes to show, and how many are left out.
func (d *Diff) shown(changes []compare.Change) ([]compare.Change, int) {
	if d.Limit == 0 || len(changes) <= d.Limit {
		return changes, 0
	}
	return changes[:d.Limit], len(changes) - d.Limit
}

// result describes the result of a group.
func (d *Diff) result(g *answer.DifferenceGroup) string {
	n := len(g.Blocked.Changes) + len(g.Allowed.Changes)
	hint := "(" + BudgetHint(d.Budget) + ")"
	switch {
	case n > 0 && g.OnlyRewritten:
		return Count(n, "change") + ", only for URLs that browsers rewrite before sending them"
	case n > 0 && g.Complete():
		return Count(n, "change")
	case n > 0:
		return Count(n, "change") + ", possibly more " + hint
	case g.Same():
		return "same (proved)"
	case g.Blocked.None():
		return "nothing newly blocked (proved), newly allowed undecided " + hint
	case g.Allowed.None():
		return "nothing newly allowed (proved), newly blocked undecided " + hint
	}
	return "undecided " + hint
}

// crawlerNames joins the first names of crawlers.
func crawlerNames(names []string) string {
	written := make([]string, len(names))
	for i, n := range names {
		written[i] = robots.Printable(cmp.Or(n, `""`))
	}
	return Listed(written, 8)
}

// groupCrawlers names the crawlers of a group and their dialects.
func groupCrawlers(difference *answer.Difference, g *answer.DifferenceGroup) string {
	separator := " → "
	if len(difference.Dialects()) < 2 {
		separator = ", "
	}
	return crawlerNames(g.Names) + " (" + strings.Join(g.Dialects, separator) + ")"
}

// declaredChange returns the old and the new values, at most limit of each unless that is 0.
func declaredChange(d *answer.Declared, limit int) string {
	return cmp.Or(Listed(d.Old, limit), "none") + " → " + cmp.Or(Listed(d.New, limit), "none")
}

// declaredTexts returns sentences: added and removed values of the file, or the old and new
// values of crawlers.
func declaredTexts(d *answer.Declared, limit int) (texts []string) {
	title := answer.FieldTitle(d.Field)
	if !d.OfFile() {
		return []string{robots.Printable(title + " of " + crawlerNames(d.Crawlers) + ": " + declaredChange(d, limit))}
	}
	if removed := d.Removed(); len(removed) > 0 {
		texts = append(texts, robots.Printable(title+" removed: "+Listed(removed, limit)))
	}
	if added := d.Added(); len(added) > 0 {
		texts = append(texts, robots.Printable(title+" added: "+Listed(added, limit)))
	}
	return texts
}
