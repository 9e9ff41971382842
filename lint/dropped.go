package lint

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/crawlers"
)

// Checks of what a file blocks or opens although its owner probably wanted the opposite.

// A droppingGroup is a group that allows its crawlers everything and so drops the rules of *.
type droppingGroup struct {
	first, last     int      // numbers of its first user-agent line and of its last line
	names, dialects []string // the names as the file writes them
	drops           bool
	example         string // a URL that the group of * disallows
	decidedBy       int    // the line of its rule
	rules           string // the lines of the rules of *
}

// maxRepeated is the size of all rules that fixes repeat in groups. Further findings have no fix.
const maxRepeated = 1 << 20

// droppedRules finds groups that disallow nothing while the group of * disallows a part of the
// site: a crawler that has a group does not obey the group of *. An empty Disallow line is explicit.
func droppedRules(p *pass) {
	var found []*droppingGroup
	byFirst := map[int]*droppingGroup{}
	examples := map[rulesText]string{} // a URL that * may not fetch, "" if it may fetch all or none, or that is undecided
	dropping := map[*reading][]*droppingGroup{}
	for _, v := range p.views {
		groups, known := dropping[v.reading]
		if !known {
			groups = p.droppingGroups(v)
			dropping[v.reading] = groups
		}
		if len(groups) == 0 || len(v.groupsOf["*"]) == 0 {
			continue
		}
		star := p.rules(v, "*")
		if star == nil {
			continue
		}
		key := p.key(star)
		example, known := examples[key]
		if !known {
			some, _ := compare.Every(star, "/", true, p.budget())
			all, _ := compare.Every(star, "/", false, p.budget())
			p.steps -= some.Steps + all.Steps
			if all.Path != "" {
				example = some.Path
			}
			examples[key] = example
		}
		if example == "" {
			continue
		}
		rules := ""
		for _, g := range groups {
			first := byFirst[g.first]
			if first == nil {
				if rules == "" {
					rules = p.rulesOfStar(v)
				}
				g.example = example
				g.decidedBy = star.Match(hostPath(example)).Rule.Line()
				g.rules = rules
				first = g
				byFirst[g.first] = g
				found = append(found, g)
			}
			first.dialects = append(first.dialects, v.dialect.Name)
		}
	}
	repeated := 0
	for _, g := range found {
		d := p.add(p.lineSpan(g.first), "this group replaces the rules of *, so "+nameList(g.names)+" may fetch "+g.example+
			", which line "+itoa(g.decidedBy)+" disallows for crawlers without a group")
		d.Dialects = g.dialects
		d.Advice = "repeat the rules of * in this group, or write an empty Disallow: to allow everything"
		if repeated += len(g.rules); repeated > maxRepeated {
			continue
		}
		last := robots.Line{Span: p.lineSpan(g.last)}
		at := p.withoutLine(last).End
		text := g.rules
		if at == last.Span.End {
			text = p.newline + strings.TrimSuffix(text, p.newline)
		}
		d.edit(Edit{at, at, text})
	}
}

// droppingGroups returns the groups of crawlers without a Disallow line in any of their groups.
func (p *pass) droppingGroups(v *view) (found []*droppingGroup) {
	groups := make([]droppingGroup, len(v.groups))
	disallows := make([]bool, len(v.groups))
	for _, s := range v.reading.lines {
		if s.group < 0 {
			continue
		}
		g := &groups[s.group]
		if g.first == 0 {
			g.first = int(s.number)
		}
		if s.field == robots.FieldUserAgent || isRule(s.field) || isPace(s.field) {
			g.last = int(s.number)
		}
		disallows[s.group] = disallows[s.group] || s.field == robots.FieldDisallow
	}
	dropping := map[string]bool{} // names
	for _, name := range v.names {
		in := v.groupsOf[name]
		if slices.ContainsFunc(in, func(group uint32) bool { return disallows[group] }) {
			continue
		}
		g := &groups[in[0]]
		if !g.drops {
			g.drops = true
			found = append(found, g)
		}
		dropping[name] = true
	}
	for _, s := range v.reading.lines {
		if s.group >= 0 && s.set >= 0 && groups[s.group].drops &&
			slices.ContainsFunc(v.sets.list[s.set], func(name string) bool { return dropping[name] }) {
			g := &groups[s.group]
			g.names = append(g.names, robots.Printable(p.textOf(p.lineIn(v, int(s.number)).Value)))
		}
	}
	return found
}

// rulesOfStar returns the lines of the rules of * with their ends.
func (p *pass) rulesOfStar(v *view) string {
	var b strings.Builder
	groups := v.groupsOf["*"] // in file order
	for _, s := range v.reading.lines {
		if _, ok := slices.BinarySearch(groups, uint32(max(s.group, 0))); ok && s.group >= 0 && isRule(s.field) {
			b.WriteString(strings.Trim(p.content(p.lineIn(v, int(s.number))), " \t") + p.newline)
		}
	}
	return b.String()
}

// rendering are files that pages need, with the beginning or end of the rules that are for them.
var rendering = []struct{ rule, path string }{
	{"/_next", "/_next/static/chunks/main.js"},
	{"/_nuxt", "/_nuxt/entry.js"},
	{"/wp-includes", "/wp-includes/js/jquery/jquery.min.js"},
	{"/assets", "/assets/app.css"},
	{"/assets", "/assets/app.js"},
	{".css", "/x.css"},
	{".js", "/x.js"},
}

// renderingBlocked finds rules for scripts and styles that apply to a crawler of a search engine. Those
// with a wildcard are another check for Googlebot.
func renderingBlocked(p *pass) {
	found := map[int]*Diagnostic{}
	for _, v := range p.views {
		for _, name := range append([]string{"*", "googlebot"}, v.names...) {
			c, known := crawlers.Find(name)
			isGoogle := name == "googlebot" && v.dialect.Name == robots.Google.Name
			if name == "googlebot" && !isGoogle || name != "*" && !isGoogle && (!known || c.Purpose != crawlers.Search) {
				continue
			}
			r := p.rules(v, name)
			if r == nil {
				return
			}
			for _, f := range rendering {
				path, _ := robots.ParsePath(f.path)
				if !p.spend(matchSteps(r, path)) {
					return
				}
				verdict := r.Match(path)
				if verdict.Allowed || verdict.Rule.IsZero() || !isFor(verdict.Rule.Path(), f.rule) {
					continue
				}
				line := verdict.Rule.Line()
				if slices.ContainsFunc(p.byLine[line], func(d *Diagnostic) bool { return d.Check.ID == "RT507" }) {
					continue
				}
				d := found[line]
				if d == nil {
					d = p.add(verdict.Rule.Span(), "pages need files that this rule blocks for search engines, such as "+f.path)
					d.Dialects = nil
					d.Severity = min(d.Severity, Note)
					d.Advice = "delete the rule, or allow the scripts and styles in it"
					found[line] = d
				}
				if isGoogle {
					d.Severity = p.severity
					d.Message = "pages need files that this rule blocks for Googlebot, which renders pages, such as " + f.path
				}
				if !slices.Contains(d.Dialects, v.dialect.Name) {
					d.Dialects = append(d.Dialects, v.dialect.Name)
				}
			}
		}
	}
}

// isFor reports whether the path of a rule begins with a folder or ends with a file extension.
func isFor(path, rule string) bool {
	if rule[0] == '.' {
		return endsIn(path, rule)
	}
	return strings.HasPrefix("/"+strings.TrimLeft(path, "/*"), rule)
}

// privateDomains are the top-level domains of private networks.
var privateDomains = []string{".localhost", ".local", ".internal", ".test", ".invalid"}

// placeholders are the names that hosts have in examples and templates.
var placeholders = []string{
	"domain.com", "domain.tld", "mydomain.com", "mysite.com", "mywebsite.com", "site.com", "website.com", "your-domain.com", "your-site.com",
	"your-website.com", "yourdomain.com", "yourdomain.tld", "yoursite.com", "yourwebsite.com",
}

func sitemapHost(p *pass) {
	p.sitemaps(func(l robots.Line, value string) {
		origin, _, err := robots.ParseURL(value)
		if err != nil {
			return
		}
		host := origin.Host()
		what := ""
		address, err := netip.ParseAddr(strings.Trim(host, "[]"))
		switch {
		case err == nil && (address.IsPrivate() || address.IsLoopback() || address.IsLinkLocalUnicast() || address.IsUnspecified()):
			what = "a private address"
		case host == "localhost",
			slices.ContainsFunc(privateDomains, func(domain string) bool { return strings.HasSuffix(host, domain) }):
			what = "a host of a private network"
		case slices.Contains(placeholders, strings.TrimPrefix(host, "www.")):
			what = "a placeholder"
		default:
			return
		}
		p.add(l.Value, "the host of this sitemap, "+host+", is "+what+", so crawlers cannot fetch it").
			Advice = "write the URL of the sitemap on the public site"
	})
}
