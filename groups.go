package robots

// agentRun finds the user-agent lines that start a group.
type agentRun struct {
	open bool // no rule has followed the last user-agent line
	last int  // offset of its value
}

// startsGroup reports whether the next line starts a group (D-07, GROUP-05).
func (u *agentRun) startsGroup(f *File, d *Dialect, field Field, start int) bool {
	starts := false
	switch field {
	case FieldUserAgent:
		starts = !u.open || d.BlanksEndRun && f.blankBetween(u.last, start)
		u.open = true
		u.last = start
	case FieldAllow, FieldDisallow:
		u.open = false
	case FieldCrawlDelay, FieldRequestRate, FieldVisitTime:
		u.open = u.open && !d.RecordsEndRun
	}
	return starts
}

// Crawlers returns the crawlers that user-agent lines name in d, each once and without '*',
// in file order, as tokens for Rules. "AI2Bot" is "ai" in google, which reads no digits, and
// "ai2bot" in rfc9309.
func (f *File) Crawlers(d Dialect) []string {
	var crawlers []string
	seen := map[string]bool{"*": true}
	for l := range f.Lines(d) {
		if len(l.Names) > 0 && !seen[l.Names[0]] {
			seen[l.Names[0]] = true
			crawlers = append(crawlers, l.Names[0])
		}
	}
	return crawlers
}

// namesIn returns the crawlers that the value of a user-agent line names: its forms, and the
// products in a full header; "" where tokens are raw (D-47). It appends them to list, which is empty.
func (d *Dialect) namesIn(value string, list []string) []string {
	if d.namesStar(value) {
		return append(list, "*")
	}
	names := tokenList{list: list}
	d.eachForm(value, func(name string) {
		if !d.ExactCase {
			name = lowerString(name)
		}
		names.add(name)
	})
	return names.list
}
