package lint

import (
	"cmp"
	"iter"
	"strings"

	"github.com/robotskit/robots"
)

// Checks of user-agent lines and groups.

// beforeGroups returns the lines before the first User-agent line.
func (p *pass) beforeGroups() iter.Seq[robots.Line] {
	return func(yield func(robots.Line) bool) {
		for l := range p.lines() {
			if l.Field == robots.FieldUserAgent || !yield(l) {
				return
			}
		}
	}
}

func ruleBeforeGroup(p *pass) {
	for l := range p.beforeGroups() {
		if !isRule(l.Field) {
			continue
		}
		d := p.add(l.Name, "rule precedes the first User-agent line, so it applies to no crawler")
		d.Advice = "move it below the User-agent line that it is for"
		d.Dialects = p.where(d, func(v *view) bool { return isRule(v.field(l)) && v.group(l) < 0 })
	}
}

// agentForm is the form of a user-agent value.
type agentForm uint8

const (
	agentToken    agentForm = iota // a name, perhaps with a version
	agentEmpty                     // nothing
	agentHeader                    // a whole User-Agent header
	agentList                      // names with commas or other characters between them
	agentWildcard                  // a name with a star in it
)

func formOf(value string) agentForm {
	switch {
	case value == "":
		return agentEmpty
	case value == "*" || strings.HasPrefix(value, "* "):
		return agentToken
	case isHeader(value):
		return agentHeader
	case strings.ContainsRune(value, ','), len(agentNames(value)) > 0:
		return agentList
	case strings.ContainsRune(value, '*'):
		return agentWildcard
	}
	return agentToken
}

// isHeader reports whether a value is a full User-Agent header whose first product is not the
// crawler that it names.
func isHeader(value string) bool {
	if !strings.ContainsRune(value, '(') && !strings.HasPrefix(strings.ToLower(value), "mozilla/") {
		return false
	}
	name := product(value)
	return name != "" && !strings.EqualFold(name, commonStart(value, name))
}

// product returns the crawler that a value probably means, "" for none. A name without spaces is
// preferred, because most engines read no other.
func product(value string) string {
	const most = 4096 // no server accepts a longer header
	names := robots.ProductTokens(value[:min(len(value), most)])
	for _, name := range names {
		if !strings.ContainsAny(name, " \t") {
			return name
		}
	}
	if len(names) > 0 {
		return names[0]
	}
	return ""
}

// agents calls do for each user-agent line of a form.
func (p *pass) agents(form agentForm, do func(l robots.Line, value string)) {
	for l := range p.lines() {
		if l.Field == robots.FieldUserAgent {
			if value := p.textOf(l.Value); formOf(value) == form && p.misreading(l) == readAsMeant {
				do(l, value)
			}
		}
	}
}

func tokenCut(p *pass) {
	p.agents(agentToken, func(l robots.Line, value string) {
		name, _, _ := strings.Cut(value, "/")
		if intended := product(value); intended != "" {
			name = intended
		}
		if value == "*" || strings.HasPrefix(value, "* ") {
			name = "*"
		}
		cut := ""
		other := ""
		dialects := p.where(nil, func(v *view) bool {
			if !v.misnames(l, name) {
				return false
			}
			other = v.token(l)
			if len(other) < len(name) {
				cut = other
			}
			return true
		})
		if len(dialects) == 0 {
			return
		}
		message := "the full value is compared, so this line does not name the crawler " + robots.Printable(name)
		switch {
		case cut != "":
			message = "only the letters before " + quote(name[len(commonStart(name, cut)):]) + " are read, so this line names the crawler " + cut
		case other == "":
			message = "names begin with a letter, so this line names no crawler"
		}
		p.add(l.Value, message).Dialects = dialects
	})
}

// commonStart returns the length of the common prefix of a and b, case-insensitively.
func commonStart(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && strings.EqualFold(a[n:n+1], b[n:n+1]) {
		n++
	}
	return a[:n]
}

func tokenHeader(p *pass) {
	p.agents(agentHeader, func(l robots.Line, value string) {
		name := product(value)
		if name == "" {
			return
		}
		d := p.add(l.Value, "value is a full User-Agent header; most engines expect a product token")
		d.Advice = "write " + name
		d.Dialects = p.where(d, func(v *view) bool { return v.misnames(l, name) })
	})
}

func tokenList(p *pass) {
	p.agents(agentList, func(l robots.Line, value string) {
		names := agentNames(value)
		if len(names) == 0 {
			for name := range strings.SplitSeq(value, ",") {
				name = strings.Trim(name, " \t")
				if name != "" {
					names = append(names, name)
				}
			}
		}
		if len(names) == 0 {
			return
		}
		d := p.add(l.Value, "value is a list, but a User-agent line names one crawler")
		d.Advice = "write a User-agent line for each name"
		last := names[len(names)-1]
		d.Dialects = p.where(d, func(v *view) bool { return v.misnames(l, last) })
		field := p.textOf(l.Name)
		d.edit(Edit{l.Value.Start, l.Value.End, strings.Join(names, p.newline+field+": ")})
	})
}

func tokenWildcard(p *pass) {
	p.agents(agentWildcard, func(l robots.Line, value string) {
		name := strings.Trim(value, "*/ \t")
		if name == "" {
			name = "*"
		}
		d := p.add(l.Value, "a * inside a name is literal and matches no other characters")
		if !strings.Contains(name[1:], "*") {
			d.Advice = "write " + name
			d.edit(Edit{l.Value.Start, l.Value.End, name})
			d.Dialects = p.where(d, func(v *view) bool { return v.misnames(l, name) })
			if len(d.Dialects) == 0 {
				d.Dialects = p.where(d, func(v *view) bool { return true })
			}
		}
	})
}

func emptyUserAgent(p *pass) {
	p.agents(agentEmpty, func(l robots.Line, _ string) {
		p.add(l.Span, "User-agent line has no value; some crawlers read it as *").
			Advice = "write * for all crawlers, or a name"
	})
}

func fusedGroups(p *pass) {
	var last robots.Line // the last user-agent line
	members := 0         // lines after it that are for a group
	rules := false       // rules after it
	for l := range p.lines() {
		switch l.Field {
		case robots.FieldAllow, robots.FieldDisallow:
			rules = true
		case robots.FieldUserAgent:
			if last.Number > 0 && members > 0 && !rules {
				fused := p.where(nil, func(v *view) bool { return v.group(last) >= 0 && v.group(last) == v.group(l) })
				if len(fused) > 0 {
					d := p.add(l.Span, "there is no rule between this line and the group at line "+itoa(last.Number)+", so both are one group")
					d.Advice = "put a Disallow: line before it if the first group has no rules"
					d.Dialects = fused
					d.edit(Edit{l.Span.Start, l.Span.Start, "Disallow:" + p.newline})
				}
			}
			last = l
			members = 0
			rules = false
		case robots.FieldNone, robots.FieldUnknown:
		default:
			members++
		}
	}
}

func groupWithoutRules(p *pass) {
	var first, last robots.Line // of the last run of user-agent lines
	members := true
	for l := range p.lines() {
		switch l.Field {
		case robots.FieldUserAgent:
			if members {
				first = l
				members = false
			}
			last = l
		case robots.FieldAllow, robots.FieldDisallow, robots.FieldCrawlDelay, robots.FieldRequestRate, robots.FieldVisitTime,
			robots.FieldContentSignal, robots.FieldContentUsage, robots.FieldLicense:
			members = true
		}
	}
	if members {
		return
	}
	// In an earlier group, one of these crawlers can have rules.
	std := p.allViews[0]
	ruled := std.groupsWithRules()
	earlier := map[string]int{} // line numbers by name, in lower case
	for l := range p.lines() {
		if l.Number < first.Number {
			if !ruled[std.group(l)] {
				continue
			}
			for _, name := range std.namesOf(l) {
				name = strings.ToLower(name)
				earlier[name] = cmp.Or(earlier[name], l.Number)
			}
			continue
		}
		if l.Field != robots.FieldUserAgent || l.Number > last.Number {
			continue
		}
		name := std.token(l)
		if other := earlier[strings.ToLower(name)]; name != "" && other > 0 {
			d := p.add(l.Span, "no rule follows; the rules for "+robots.Printable(name)+" are those of its group at line "+itoa(other))
			d.Advice = "delete this line"
			return
		}
	}
	p.add(first.Span, "no rule follows, so this crawler has access to everything").
		Advice = "add an empty Disallow: to make that explicit"
}

// groupsWithRules returns the numbers of the groups that have rules.
func (v *view) groupsWithRules() map[int]bool {
	groups := map[int]bool{}
	for _, s := range v.reading.lines {
		if isRule(s.field) {
			groups[int(s.group)] = true
		}
	}
	return groups
}

// splitGroup compares names as RFC 9309 reads them. Names that become equal only because an
// engine cuts them are another finding.
func splitGroup(p *pass) {
	first := map[string]int{} // line numbers
	std := p.allViews[0]
	for l := range p.lines() {
		token := std.token(l)
		if token == "" {
			continue
		}
		number, ok := first[token]
		if !ok {
			first[token] = l.Number
			continue
		}
		seen := p.line(number)
		if std.group(seen) == std.group(l) {
			continue
		}
		d := p.add(l.Span, robots.Printable(token)+" has another group at line "+itoa(seen.Number)+"; the two are combined")
		d.Dialects = p.where(d, func(v *view) bool { return v.group(l) >= 0 && v.group(l) != v.group(seen) && v.named(l, token) })
	}
}

func repeatedUserAgent(p *pass) {
	run := map[string]int{} // the numbers of the lines of its names
	members := false        // delays and the like in it, which hold for the names above them
	for l := range p.lines() {
		switch {
		case l.Field == robots.FieldUserAgent:
			name := strings.ToLower(p.textOf(l.Value))
			number, ok := run[name]
			if !ok {
				run[name] = l.Number
				continue
			}
			first := p.line(number)
			d := p.add(l.Span, quote(p.textOf(l.Value))+" is already named at line "+itoa(first.Number))
			d.Advice = "delete this line"
			d.Dialects = p.where(d, func(v *view) bool { return v.group(l) >= 0 && v.named(first, v.token(l)) })
			if !members {
				d.edit(p.withoutLine(l))
			}
		case isRule(l.Field):
			clear(run)
			members = false
		case l.Field != robots.FieldNone && l.Field != robots.FieldUnknown && l.Field != robots.FieldSitemap:
			members = true
		}
	}
}

func blankAfterAgent(p *pass) {
	var agent, blank robots.Line
	for l := range p.text.Lines(robots.Dialect{}) {
		switch l.Field {
		case robots.FieldUserAgent:
			if blank.Number > 0 {
				p.blankNote(agent, blank, l)
			}
			agent = l
			blank = robots.Line{}
		case robots.FieldNone:
			if agent.Number > 0 && strings.Trim(p.textOf(l.Span), " \t") == "" && blank.Number == 0 {
				blank = l
			}
		case robots.FieldUnknown, robots.FieldSitemap:
		default:
			if blank.Number > 0 && isRule(l.Field) {
				p.blankNote(agent, blank, l)
			}
			agent = robots.Line{}
			blank = robots.Line{}
		}
	}
}

func (p *pass) blankNote(agent, blank, next robots.Line) {
	message := "there is a blank line between the User-agent line at line " + itoa(agent.Number) +
		" and its rules; Yandex's checker warns about it"
	if next.Field == robots.FieldUserAgent {
		message = "this blank line ends the group of the User-agent line at line " + itoa(agent.Number) + ", which then has no rules"
	}
	d := p.add(blank.Span, message)
	d.Advice = "delete it"
	d.Dialects = p.where(d, func(v *view) bool { return v.dialect.BlanksEndRun })
}
