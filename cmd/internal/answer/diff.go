package answer

import (
	"slices"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/crawlers"
)

// A Difference is what changes between two files for a list of crawlers.
type Difference struct {
	Crawlers []*CrawlerDifference // in the order given
	Declared []*Declared          // changed declarations, each once
	Steps    int                  // of all work, the same on every machine

	comparisons     []*comparison
	records         map[dialectFile]*fileRecords // of both files in each dialect
	listing         int                          // Steps after which no more lists are made, 0 for no limit
	text            int                          // bytes of the changes and declarations that are listed
	betweenDialects bool
	dialects        [2]robots.Dialect // of the old and the new side, zero for those of the crawlers
}

// A CrawlerDifference is what changes for one crawler.
type CrawlerDifference struct {
	Agent string `json:"agent"` // the crawler, as given or as the files name it
	// Dialect is absent if one file is compared as two dialects read it.
	Dialect    string `json:"dialect,omitempty"`
	OldDialect string `json:"old_dialect,omitempty"` // one of two dialects
	NewDialect string `json:"new_dialect,omitempty"` // the other
	// Result is same, differs or undecided, for URLs only, not for declarations.
	Result string `json:"result"`
	// NewlyBlocked has an entry for each rule with an effect, shortest URL first.
	NewlyBlocked []Change `json:"newly_blocked"`
	NewlyAllowed []Change `json:"newly_allowed"` // likewise
	Dropped      int      `json:"dropped"`       // number of changes and declarations beyond the limits
	// Complete is set if nothing is undecided.
	Complete bool        `json:"complete"`
	Declared []*Declared `json:"declared"` // changed fields other than rules
	// Steps is the work of the proof, the same on every machine.
	Steps int      `json:"steps"`
	Notes []string `json:"notes"` // sentences, for example that a different group applies
	// Fallback is the token that the dialect auto added and whose group applies in the new file, or null.
	Fallback *crawlers.FurtherToken `json:"fallback"`
	// Binds is whom the files address: yes, not-by-star or no.
	Binds crawlers.Binds `json:"binds"`
	// URLs is absent without a list of URLs.
	URLs *URLCounts `json:"urls,omitempty"`

	comparison *comparison
	elsewhere  bool // its rules are not in the lines of the comparison
	important  bool
}

// A FileComparison is the comparison of two files for all crawlers.
type FileComparison struct {
	Dialect  string               `json:"dialect"`  // of all crawlers, or auto
	Same     bool                 `json:"same"`     // it is proved that no URL changes
	Crawlers []*CrawlerDifference `json:"crawlers"` // with * the first
}

// Compared returns the comparison of two files in a dialect, or auto.
func (d *Difference) Compared(dialect string) *FileComparison {
	differs := func(c *CrawlerDifference) bool { return !c.Same() }
	return &FileComparison{Dialect: dialect, Same: !slices.ContainsFunc(d.Crawlers, differs), Crawlers: d.Crawlers}
}

// A Change is a URL that is allowed in one of two files only.
type Change struct {
	Path     string   `json:"path"`     // with the query
	Shortest bool     `json:"shortest"` // no shorter URL without an empty segment (//) exists for the rule
	Old      Decision `json:"old"`      // by the old file
	New      Decision `json:"new"`      // by the new one
}

// A Decision is a verdict with the rule behind it.
type Decision struct {
	Allowed bool  `json:"allowed"` // whether the crawler may fetch the URL
	Rule    *Rule `json:"rule"`    // that decides
}

// URLCounts counts the URLs of a list that change for a crawler.
type URLCounts struct {
	Read         int `json:"read"`          // URLs of the list
	NewlyBlocked int `json:"newly_blocked"` // of these
	NewlyAllowed int `json:"newly_allowed"` // of these
}

// DiffOptions configure Diff. The zero value compares each crawler in its own dialect with
// the default limit of steps, and lists all changes.
type DiffOptions struct {
	Steps   int // limit of a proof per direction, 0 for compare.DefaultSteps
	Changes int // limit of those listed for a crawler and direction, 0 for none
	// Total limits the steps of all proofs together, as for compare.Each, and those of the lists
	// that are made from them; 0 is no limit. Beyond, crawlers have no lists.
	Total int
	// Text limits the bytes of paths, patterns and values that are listed for all crawlers
	// together, 0 for no limit.
	Text      int
	Important bool // newly blocked URLs are errors for all crawlers, not only for * and search engines
	// NewDialect, if it has a name, is how the new side is read: one file is compared as two
	// dialects read it, over normalized URLs without /robots.txt, because on other URLs
	// engines differ for nearly every rule.
	NewDialect robots.Dialect
}

// Diff compares two files for each of the crawlers, over all URLs.
func Diff(before, after Source, who []Crawler, o DiffOptions) *Difference {
	d := &Difference{betweenDialects: o.NewDialect.Name != ""}
	rules := d.rulesOf(before, after, who, o)
	proofs := compare.Options{Steps: o.Steps, Total: o.Total, FullSegments: true}
	if d.betweenDialects {
		proofs.URLs = compare.NormalURLs
		proofs.SkipRobotsTxt = true
	}
	class, distinct, reading := classesOf(rules)
	results, steps := compare.Each(distinct[0], distinct[1], proofs)
	d.Steps = 2*reading + steps // rulesOf reads the files, too
	if o.Total > 0 {
		d.listing = d.Steps + o.Total
	}
	comparisons := map[*compare.Result]*comparison{}
	byClass := make([]*CrawlerDifference, len(results))
	for _, i := range withoutImplied(who, func(i int) *compare.Result { return results[class[i]] }) {
		c := who[i]
		pair := [2]*robots.Rules{rules[0][i], rules[1][i]}
		shared := byClass[class[i]]
		if shared != nil {
			shared = d.repeat(shared, o)
		} else {
			result := results[class[i]]
			if comparisons[result] == nil {
				comparisons[result] = d.compare(pair, result, proofs)
				d.comparisons = append(d.comparisons, comparisons[result])
			}
			shared = d.crawler(pair, comparisons[result], o)
			byClass[class[i]] = shared
		}
		d.add(&c, pair[1], *shared, o)
	}
	return d
}

// add adds a crawler with the difference that all crawlers of its class have.
func (d *Difference) add(c *Crawler, after *robots.Rules, difference CrawlerDifference, o DiffOptions) {
	difference.Agent = c.Name
	difference.Fallback = c.Fallback(after)
	difference.Binds = c.Binds()
	difference.important = o.Important || isImportant(c.Name)
	for _, change := range difference.Declared {
		if !change.OfFile() && !slices.Contains(change.Crawlers, c.Name) {
			change.Crawlers = append(change.Crawlers, c.Name)
		}
	}
	d.Crawlers = append(d.Crawlers, &difference)
}

// crawler returns the difference for a crawler with these rules, without its name.
func (d *Difference) crawler(rules [2]*robots.Rules, c *comparison, o DiffOptions) *CrawlerDifference {
	j := &CrawlerDifference{
		Result: c.result.String(), Complete: c.Blocked.Complete && c.Allowed.Complete, Declared: []*Declared{},
		NewlyBlocked: []Change{}, NewlyAllowed: []Change{}, Steps: c.Blocked.Steps + c.Allowed.Steps, Notes: []string{}, comparison: c,
	}
	note := groupNote(rules)
	if d.betweenDialects {
		j.OldDialect = rules[0].Dialect().Name
		j.NewDialect = rules[1].Dialect().Name
		note = robotsTxtNote(rules)
	} else {
		j.Dialect = rules[1].Dialect().Name
	}
	if note != "" {
		j.Notes = append(j.Notes, note)
	}
	if d.listing > 0 && d.Steps >= d.listing {
		j.Complete = false
		j.Dropped = len(c.Blocked.Changes) + len(c.Allowed.Changes)
		return j
	}
	for _, declared := range d.declare(rules) {
		if !d.list(declared.textBytes(), o) {
			j.Dropped++
			continue
		}
		j.Declared = append(j.Declared, declared)
	}
	j.NewlyBlocked = d.changes(j, rules, c.Blocked.Changes, o)
	j.NewlyAllowed = d.changes(j, rules, c.Allowed.Changes, o)
	for side, r := range rules {
		d.Steps += r.Len()
		j.elsewhere = j.elsewhere || !slices.Equal(linesOf(r), linesOf(c.rules[side]))
	}
	return j
}

// repeat returns a difference for another crawler with the same rules, without the lists if their
// text is beyond the limit.
func (d *Difference) repeat(shared *CrawlerDifference, o DiffOptions) *CrawlerDifference {
	text := 0
	for _, declared := range shared.Declared {
		text += declared.textBytes()
	}
	for _, change := range slices.Concat(shared.NewlyBlocked, shared.NewlyAllowed) {
		text += change.textBytes()
	}
	if d.list(text, o) {
		return shared
	}
	without := *shared
	without.Dropped += len(shared.Declared) + len(shared.NewlyBlocked) + len(shared.NewlyAllowed)
	without.Declared = []*Declared{}
	without.NewlyBlocked = []Change{}
	without.NewlyAllowed = []Change{}
	return &without
}

// list takes the bytes of text for an entry of a list, unless they are beyond the limit.
func (d *Difference) list(bytes int, o DiffOptions) bool {
	if o.Text > 0 && bytes > o.Text-d.text {
		return false
	}
	d.text += bytes
	return true
}

// changes returns changes with the lines of these rules. It counts those beyond the limits.
func (d *Difference) changes(j *CrawlerDifference, rules [2]*robots.Rules, changes []compare.Change, o DiffOptions) []Change {
	list := []Change{}
	for _, change := range changes {
		text := entryBytes + len(change.Path) + len(change.Old.Rule.Path()) + len(change.New.Rule.Path())
		if o.Changes > 0 && len(list) == o.Changes || !d.list(text, o) {
			j.Dropped++
			continue
		}
		path, _ := robots.ParsePath("https://example.com" + change.Path) // never an error
		decision := func(r *robots.Rules) Decision {
			v, work := r.MatchWork(path)
			d.Steps += work / 2
			return Decision{Allowed: v.Allowed, Rule: NewRule(v.Rule)}
		}
		list = append(list, Change{Path: change.Path, Shortest: change.Shortest, Old: decision(rules[0]), New: decision(rules[1])})
	}
	return list
}

// entryBytes is counted for each entry of a list, besides its text.
const entryBytes = 100

func (c *Change) textBytes() int {
	n := entryBytes + len(c.Path)
	for _, rule := range []*Rule{c.Old.Rule, c.New.Rule} {
		if rule != nil {
			n += len(rule.Pattern)
		}
	}
	return n
}

// Same reports whether it is proved that no URL changes.
func (c *CrawlerDifference) Same() bool { return c.Result == "same" }
