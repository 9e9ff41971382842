package answer

import (
	"slices"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/pace"
)

// A Section is a section of Facts. The values are a contract.
type Section string

// The sections, in the order of the answer.
const (
	SectionGroups   Section = "groups"
	SectionDelays   Section = "delays"
	SectionSitemaps Section = "sitemaps"
	SectionSignals  Section = "signals"
	SectionClean    Section = "clean-params"
)

// Facts are what a robots.txt declares, as one crawler reads it. Members of sections that were not
// asked for are absent, and delays also if the rules of the site are not known.
type Facts struct {
	Agent    []string               `json:"agent"`             // the given product tokens, as the dialect reads them
	Group    *Group                 `json:"group"`             // that applies
	Dialect  string                 `json:"dialect"`           // in which the crawler reads the file
	Fallback *crawlers.FurtherToken `json:"fallback"`          // whose group applies because no group names the crawler, or null
	Binds    crawlers.Binds         `json:"binds"`             // whom the file addresses: yes, not-by-star or no
	Groups   []RuleGroup            `json:"groups,omitzero"`   // of the file, in order
	Delays   *Delays                `json:"delays,omitempty"`  // when requests may start
	Sitemaps []string               `json:"sitemaps,omitzero"` // as written
	*Signals
	CleanParams []CleanParam `json:"clean_params,omitzero"` // of Yandex: parameters without effect on the page
	CleanURL    *string      `json:"clean_url,omitempty"`   // the given URL without them

	Known bool `json:"-"` // the site has a file, or none: it is not unreachable
}

// A ShownFile is what a robots.txt declares, and where it is from.
type ShownFile struct {
	Facts
	File *string `json:"file,omitempty"` // as given; absent for a site
	*SiteOutcome
	NextTry string `json:"next_try,omitempty"` // when the next attempt is due, of a site whose rules are not known

	Title   string  `json:"-"` // of the file in text
	Crawler Crawler `json:"-"` // that reads it
	State   string  `json:"-"` // of the robots.txt of a site, in one line
	ByFleet bool    `json:"-"` // a fleet decides when the next request starts
}

// A RuleGroup is a group of the file.
type RuleGroup struct {
	Group
	Rules int `json:"rules"` // their number
}

// ShowOptions select sections and the crawl rate.
type ShowOptions struct {
	Sections []Section   // none for all
	Policy   pace.Policy // has passed Check
	Pages    int         // of the estimate of a crawl
	URL      string      // to clean by Clean-param, "" for none
	// First is when and why a limiter lets the next request start, nil if the file alone decides.
	First *pace.Permit
}

// Show returns what the robots.txt of a source declares, as a crawler reads it at a time.
func Show(src Source, who *Crawler, at time.Time, o ShowOptions) Facts {
	rules := src.Rules(who.Dialect, who.Tokens...)
	f := Facts{
		Agent:    who.Echo(),
		Group:    NewGroup(rules.Group()),
		Dialect:  rules.Dialect().Name,
		Fallback: who.Fallback(rules),
		Binds:    who.Binds(),
		Known:    Known(rules),
	}
	shows := func(section Section) bool { return len(o.Sections) == 0 || slices.Contains(o.Sections, section) }
	if shows(SectionGroups) {
		f.Groups = groupsOf(src, rules)
	}
	if f.Known && shows(SectionDelays) {
		f.Delays = newDelays(rules, at, o)
	}
	if shows(SectionSitemaps) {
		f.Sitemaps = append([]string{}, rules.Sitemaps()...)
	}
	if shows(SectionSignals) {
		f.Signals = new(signalsWithNotes(rules))
	}
	if shows(SectionClean) {
		f.CleanParams = cleanParams(rules)
		if o.URL != "" {
			f.CleanURL = new(cleanURL(o.URL, f.CleanParams))
		}
	}
	return f
}

// A CleanParam is a valid line Clean-param, which applies to all crawlers that read it.
type CleanParam struct {
	Line       int      `json:"line"`       // from 1
	Parameters []string `json:"parameters"` // names
	Path       string   `json:"path"`       // pattern of the paths to which it applies, empty for all
}

// String returns the value of the line.
func (c *CleanParam) String() string {
	return strings.TrimSuffix(strings.Join(c.Parameters, "&")+" "+c.Path, " ")
}

// cleanParams returns the lines Clean-param of a file; not nil.
func cleanParams(rules *robots.Rules) []CleanParam {
	list := []CleanParam{}
	for rec := range rules.Records() {
		if rec.Field != robots.FieldCleanParam || !rec.Usable {
			continue
		}
		names, path, _ := strings.Cut(strings.ReplaceAll(rec.Value, "\t", " "), " ")
		list = append(
			list, CleanParam{Line: rec.Line, Parameters: strings.Split(validText(names), "&"), Path: validText(strings.TrimSpace(path))},
		)
	}
	return list
}

// cleanURL returns a URL without the parameters that Clean-param lines name for its path.
func cleanURL(url string, list []CleanParam) string {
	url, fragment, _ := strings.Cut(url, "#")
	base, query, ok := strings.Cut(url, "?")
	path, err := robots.ParsePath(base)
	if !ok || err != nil {
		return url
	}
	removed := map[string]bool{}
	for _, c := range list {
		if c.Path == "" || !robots.Parse([]byte("User-agent: *\nDisallow: "+c.Path+"\n")).Rules(robots.Yandex).Allowed(path) {
			for _, name := range c.Parameters {
				removed[name] = true
			}
		}
	}
	rest := slices.DeleteFunc(strings.Split(query, "&"), func(parameter string) bool {
		name, _, _ := strings.Cut(parameter, "=")
		return removed[name]
	})
	if len(rest) > 0 {
		base += "?" + strings.Join(rest, "&")
	}
	if fragment != "" {
		base += "#" + fragment
	}
	return base
}

// Known reports whether the rules of a site are known: it has a file, or none.
func Known(rules *robots.Rules) bool {
	reason, fallback := rules.FallbackReason()
	return !fallback || reason == robots.ReasonUnavailable || reason == robots.ReasonRedirectLimit
}

// groupsOf returns the groups of a file in the dialect of rules, in file order.
func groupsOf(src Source, rules *robots.Rules) []RuleGroup {
	d := rules.Dialect()
	var names robots.Crawlers
	for _, name := range append(rules.File().Crawlers(d), AnyCrawler) {
		names.Add(d, name)
	}
	list := names.RulesBy(func(d robots.Dialect) *robots.Rules { return src.Rules(d) })
	list = slices.DeleteFunc(list, func(r *robots.Rules) bool { return r.Group().IsZero() })
	line := func(r *robots.Rules) int { return r.Group().Lines()[0] }
	slices.SortStableFunc(list, func(a, b *robots.Rules) int { return line(a) - line(b) })
	list = slices.CompactFunc(list, func(a, b *robots.Rules) bool { // names without a group have that of *
		return line(a) == line(b) && a.Group().Token() == b.Group().Token()
	})
	groups := []RuleGroup{}
	for _, r := range list {
		groups = append(groups, RuleGroup{Group: *NewGroup(r.Group()), Rules: r.Len()})
	}
	return groups
}
