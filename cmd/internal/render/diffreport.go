package render

import (
	"strconv"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/lint"
)

// Report returns the changes for other programs. Crawlers without a change are findings
// that passed.
func (d *Diff) Report(version string) *Report {
	r := &Report{Command: "robots diff", Summary: "same (proved)", Version: version, Rules: []Rule{
		NewRule(answer.NewlyBlocked, "URLs that were allowed are blocked."),
		NewRule(answer.NewlyAllowed, "URLs that were blocked are allowed."),
		NewRule("groups", "A different group applies to a crawler."),
		NewRule("declared", "Delays, sitemaps or signals differ."),
		NewRule("undecided", "A proof exceeded its budget."),
	}}
	for _, difference := range d.Differences {
		for _, g := range difference.Groups() {
			d.addGroup(r, difference, g)
		}
		for _, change := range difference.Declared {
			for _, text := range declaredTexts(change, d.Limit) {
				d.add(r, Finding{Case: answer.FieldTitle(change.Field), Dialects: difference.Dialects()}, "declared", text, lint.Warning)
			}
		}
	}
	if n := len(r.Shown()); n > 0 {
		r.Summary = Count(n, "finding")
	}
	return r
}

// addGroup adds the findings for crawlers with the same result.
func (d *Diff) addGroup(r *Report, difference *answer.Difference, g *answer.DifferenceGroup) {
	names := groupCrawlers(difference, g)
	add := func(id, message string, severity lint.Severity) *Finding {
		return d.add(r, Finding{Case: crawlerNames(g.Names), Dialects: g.Dialects}, id, message, severity)
	}
	for _, one := range g.Directions() {
		title := difference.Title(one)
		severity := g.Severity(one.Kind)
		changes, rest := d.shown(one.Changes)
		for _, c := range changes {
			before, after := difference.Reasons(c)
			f := add(one.Kind, title+": "+c.Path+" for "+names+": "+before+"; "+after, severity)
			f.Case += ": " + c.Path
			f.Region.StartLine = c.New.Rule.Line()
		}
		if rest > 0 {
			add(one.Kind, title+": and "+strconv.Itoa(rest)+" more for "+names, severity)
		}
		if !one.Complete {
			f := add("undecided", "undecided for "+names+" whether more is "+title+"; "+BudgetHint(d.Budget), lint.Warning)
			f.Failed = false
			f.Undecided = d.Fails(one.Kind, severity)
		}
		if one.URLs > 0 {
			add(one.Kind, title+" for "+names+": "+d.urlCounts(difference, g), severity)
		}
	}
	if g.Note != "" {
		add("groups", names+": "+g.Note, lint.Note)
	}
	if g.Unchanged() {
		f := add(answer.NewlyBlocked, d.result(g), lint.Note)
		f.Level = ""
		f.Failed = false
	}
}

// add adds a finding about crawlers or a field.
func (d *Diff) add(r *Report, about Finding, id, message string, severity lint.Severity) *Finding {
	about.File = d.File
	about.ID = id
	about.Message = message
	about.Level = severity.String()
	about.Failed = d.Fails(id, severity)
	r.Findings = append(r.Findings, about)
	return &r.Findings[len(r.Findings)-1]
}
