package robots

import (
	"iter"
	"slices"
)

// agentRun finds the user-agent lines that start a group.
type agentRun struct {
	open bool
	last int // where the last user-agent line was
}

// begins reports whether the next line starts a group (D-07, GROUP-05).
func (u *agentRun) begins(f *File, d *Dialect, field Field, start int) (first bool) {
	switch field {
	case FieldUserAgent:
		first = !u.open || d.RunEnd == RunEndRuleOrBlank && f.blankBetween(u.last, start)
		u.open, u.last = true, start
	case FieldAllow, FieldDisallow:
		u.open = false
	case FieldCrawlDelay, FieldRequestRate, FieldVisitTime:
		u.open = u.open && d.RunEnd != RunEndMember
	}
	return first
}

// A Reading is a line as a dialect reads it.
type Reading struct {
	Line  int // from 1
	Field Field
	Value Span // without surrounding spaces and comment
	// Group is the number of the group, from 0. It is -1 before the first group, and for
	// Sitemap, Host and Clean-param, which belong to none.
	Group int
	// Names are the crawlers that a user-agent line names, or "*", in lower case unless
	// the dialect is case-sensitive. In most dialects a line can name several: "AI2Bot"
	// also names a crawler called AI (D-02). The intended name comes first.
	Names []string
}

// Readings returns the lines with a known field, up to the dialect's size limit, in file
// order. Rules selects those that apply to a crawler and combines its groups (GROUP-08).
func (f *File) Readings(d Dialect) iter.Seq[Reading] {
	return func(yield func(Reading) bool) {
		limit, _ := f.limit(&d)
		group := -1
		var run agentRun
		for _, l := range f.lines {
			if int(l.val) > limit {
				return
			}
			field, start, end := f.read(l, &d)
			if run.begins(f, &d, field, start) {
				group++
			}
			if field == FieldNone || field == FieldUnknown {
				continue
			}
			r := Reading{Line: f.lineNumber(start), Field: field, Value: Span{start, end}, Group: group}
			switch field {
			case FieldUserAgent:
				r.Names = slices.DeleteFunc(d.named(f.Text(r.Value)), func(name string) bool { return name == "" })
			case FieldSitemap, FieldHost, FieldCleanParam:
				r.Group = -1
			}
			if !yield(r) {
				return
			}
		}
	}
}

// Crawlers returns the crawlers that user-agent lines name in d, each once and without '*',
// in file order, as tokens for Rules. "AI2Bot" is "ai" in google, which reads no digits, and
// "ai2bot" in rfc9309.
func (f *File) Crawlers(d Dialect) []string {
	var crawlers []string
	seen := map[string]bool{"*": true}
	for r := range f.Readings(d) {
		if len(r.Names) > 0 && !seen[r.Names[0]] {
			seen[r.Names[0]] = true
			crawlers = append(crawlers, r.Names[0])
		}
	}
	return crawlers
}

// named returns the crawlers that the value of a user-agent line names: its forms, and the
// products in a full header; "" where tokens are raw (D-47).
func (d *Dialect) named(value string) []string {
	if d.namesAll(value) {
		return []string{"*"}
	}
	var names tokenList
	d.eachForm(value, func(name string) {
		if !d.ExactCase {
			name = lowerString(name)
		}
		names.add(name)
	})
	return names.list
}
