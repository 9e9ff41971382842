package robots

import "iter"

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

// A Section is a group as it stands in a file: a run of user-agent lines, and what
// follows it up to the next. Sections that name the same crawler are one group
// for it (GROUP-08).
type Section struct {
	Agents []Entry // its user-agent lines
	// Members are its rules, those without a path too, and records such as
	// Crawl-delay. A record that stands between user-agent lines belongs only to
	// those directly above it (D-08).
	Members []Entry
}

// An Entry is a line as a dialect reads it.
type Entry struct {
	Field Field
	Value Span // where its value stands
	Line  int  // from 1
}

// Sections returns the groups of the file in its order, as d reads them. Lines
// before the first user-agent line, and those that hold for the whole file, such as
// a Sitemap, are in none.
func (f *File) Sections(d Dialect) []Section {
	var sections []Section
	var run agentRun
	for l := range newRules(f, d, nil).counted() {
		if run.begins(f, &d, l.field, l.span.Start) {
			sections = append(sections, Section{})
		}
		e := Entry{l.field, l.span, f.lineNumber(l.span.Start)}
		switch n := len(sections) - 1; l.field {
		case FieldNone, FieldUnknown, FieldSitemap, FieldCleanParam, FieldHost:
		case FieldUserAgent:
			sections[n].Agents = append(sections[n].Agents, e)
		default:
			if n >= 0 {
				sections[n].Members = append(sections[n].Members, e)
			}
		}
	}
	return sections
}

// counted yields the lines of the file that count in the dialect.
func (r *Rules) counted() iter.Seq[readRef] {
	r.limit, r.counts = r.file.limit(r.dialect)
	return r.all()
}

// Crawlers returns the crawlers that user-agent lines name under d, each once, in
// the order of the file: tokens with which Rules finds their group, in lower case
// unless the dialect compares it. "AI2Bot" is "ai" in google, which reads no digits,
// and "ai2bot" in rfc9309. The group of '*' is for nobody by name, and a line that
// names nobody adds nothing.
func (f *File) Crawlers(d Dialect) []string {
	var crawlers []string
	seen := map[string]bool{}
	add := func(name string) {
		if !d.ExactCase {
			name = lowerString(name)
		}
		if name != "" && name != "*" && !seen[name] {
			seen[name] = true
			crawlers = append(crawlers, name)
		}
	}
	for l := range newRules(f, d, nil).counted() {
		value := f.Text(l.span)
		if l.field != FieldUserAgent || d.namesAll(value) {
			continue
		}
		switch d.AgentMatch {
		case AgentTokenCut:
			add(value[:tokenLen(value)])
		case AgentWhole:
			add(value)
		default:
			add(value[:wordLen(value)]) // D-02
		}
		if d.HeaderValues {
			eachProduct(value, func(product string) {
				if d.holds(value, product) {
					add(product)
				}
			})
		}
	}
	return crawlers
}
