package robots

import (
	"iter"
	"slices"
)

// agentRun follows the runs of user-agent lines: which of them begins a group.
type agentRun struct {
	open bool
	last int // where the last user-agent line was
}

// begins takes the next line and reports whether it begins a group (D-07,
// GROUP-05).
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
	Value Span // without blanks and comment
	// Group counts the groups of the file from 0, each a run of user-agent lines with what
	// follows them. It is -1 before the first one, and for what belongs to no group
	// wherever it stands: Sitemap, Host and Clean-param.
	Group int
	// Names are the crawlers that a user-agent line names, in lower case unless the
	// dialect compares it, or "*". There may be several: in most dialects a line
	// "AI2Bot" names a crawler of that name, and one called AI (D-02). The name that was
	// meant stands first.
	Names []string
}

// Readings returns the lines that count in d: those with a field that the dialect knows, up
// to its size limit, in file order. Which of them hold for a crawler is said by Rules, which
// also reads all groups that name it as one (GROUP-08).
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

// Crawlers returns the crawlers that user-agent lines name in d, each once, in the order of the
// file: tokens with which Rules finds their group, of every line the first of its Names.
// "AI2Bot" is "ai" in google, which reads no digits, and "ai2bot" in rfc9309. Any other
// crawler finds the group of '*', which is not among them.
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

// named returns the crawlers that the value of a user-agent line names: the forms of it that
// names compares, and the products in a whole header; "" where tokens are taken raw (D-47).
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
