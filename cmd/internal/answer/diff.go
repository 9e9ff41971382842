package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	listing         int // Steps after which no more lists are made, 0 for no limit
	text            int // bytes of the changes and declarations that are listed
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
	var rules [2][]*robots.Rules
	for side, source := range []Source{before, after} {
		var all robots.Crawlers
		for _, c := range who {
			if side == 1 && d.betweenDialects {
				c.Dialect = o.NewDialect
			}
			all.Add(c.Dialect, c.Tokens...)
		}
		rules[side] = all.RulesBy(func(dialect robots.Dialect) *robots.Rules { return source.Rules(dialect) })
	}
	proofs := compare.Options{Steps: o.Steps, Total: o.Total, FullSegments: true}
	if d.betweenDialects {
		proofs.URLs = compare.NormalURLs
		proofs.SkipRobotsTxt = true
	}
	blocks := [2][]string{blocksOf(rules[0]), blocksOf(rules[1])}
	places := map[[2]string]int{} // of blocks, among the distinct ones
	var distinct [2][]*robots.Rules
	for i := range who {
		key := [2]string{blocks[0][i], blocks[1][i]}
		if _, known := places[key]; !known {
			places[key] = len(places)
			distinct[0] = append(distinct[0], rules[0][i])
			distinct[1] = append(distinct[1], rules[1][i])
		}
	}
	results, steps := compare.Each(distinct[0], distinct[1], proofs)
	d.Steps = steps
	if o.Total > 0 {
		d.listing = steps + o.Total
	}
	comparisons := map[*compare.Result]*comparison{}
	byPlace := make([]*CrawlerDifference, len(results))
	for i, c := range who {
		place := places[[2]string{blocks[0][i], blocks[1][i]}]
		shared := byPlace[place]
		if shared == nil {
			pair := [2]*robots.Rules{rules[0][i], rules[1][i]}
			known := comparisons[results[place]]
			if known == nil {
				known = d.compare(pair, results[place], proofs)
				comparisons[results[place]] = known
				d.comparisons = append(d.comparisons, known)
			}
			shared = d.crawler(pair, known, o)
			byPlace[place] = shared
		} else {
			shared = d.repeat(shared, o)
		}
		own := *shared
		own.Agent = c.Name
		own.Fallback = c.Fallback(rules[1][i])
		own.Binds = c.Binds()
		own.important = o.Important || isImportant(c.Name)
		for _, change := range own.Declared {
			if !change.OfFile() {
				change.Crawlers = append(change.Crawlers, c.Name)
			}
		}
		d.Crawlers = append(d.Crawlers, &own)
	}
	return d
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

func (c *Declared) textBytes() (n int) {
	for _, value := range slices.Concat(c.Old, c.New) {
		n += entryBytes/10 + len(value)
	}
	return n + entryBytes
}

// linesOf returns the lines of rules.
func linesOf(r *robots.Rules) (lines []int) {
	for rule := range r.All() {
		lines = append(lines, rule.Line())
	}
	return lines
}

// blocksOf names the blocks of user-agent lines that name each crawler of one file: crawlers
// named in the same blocks have the same rules and records (D-08).
func blocksOf(crawlers []*robots.Rules) (blocks []string) {
	ends := map[string][]int{} // by dialect
	for _, r := range crawlers {
		dialect := r.Dialect()
		group := r.Group()
		if ends[dialect.Name] == nil {
			ends[dialect.Name] = blockEnds(r.File(), dialect)
		}
		var numbers []int
		for _, line := range group.Lines() {
			number, _ := slices.BinarySearch(ends[dialect.Name], line+1)
			numbers = append(numbers, number)
		}
		blocks = append(blocks, fmt.Sprintln(dialect.Name, group.Token() == AnyCrawler, slices.Compact(numbers)))
	}
	return blocks
}

// blockEnds returns the lines of a file that end a block of user-agent lines or begin a group.
func blockEnds(f *robots.File, d robots.Dialect) (lines []int) {
	group := -1
	for l := range f.Lines(d) {
		if l.Field > robots.FieldUserAgent || l.Field == robots.FieldUserAgent && l.Group > group {
			group = max(group, l.Group)
			lines = append(lines, l.Number)
		}
	}
	return lines
}

// Comparable returns * and the crawlers for which two files can have different rules: each file
// read in its dialect, or, if these have no name, each crawler in the dialect auto. The crawlers
// are in the dialect of the first file.
func Comparable(before, after Source, dialects [2]robots.Dialect) (who []Crawler) {
	if dialects[0].Name == "" {
		for _, c := range compare.Crawlers(before.Rules(robots.RFC9309).File(), after.Rules(robots.RFC9309).File()) {
			who = append(who, Auto(c.Name, c.Tokens[0]))
		}
		return who
	}
	for _, name := range compare.Names(before.Rules(dialects[0]), after.Rules(dialects[1])) {
		who = append(who, InDialect(dialects[0], name, name))
	}
	return who
}

// isImportant reports whether newly blocked URLs are errors for a crawler: for *, and the
// crawlers of search engines.
func isImportant(name string) bool {
	c, ok := crawlers.Find(name)
	return name == AnyCrawler || ok && c.Purpose == crawlers.Search
}

// A comparison is the result for rules, which crawlers share.
type comparison struct {
	rules   [2]*robots.Rules // of the first crawler
	result  *compare.Result
	Blocked Direction
	Allowed Direction
	// OnlyRewritten is set if URLs change, but only those that browsers rewrite before they
	// send them.
	OnlyRewritten bool
}

// A Direction is the changes in one of the two directions.
type Direction struct {
	compare.Direction
	Kind     string // NewlyBlocked or NewlyAllowed
	URLs     int    // of a list
	FirstURL string // of these
}

// compare returns the comparison of rules with a result.
func (d *Difference) compare(rules [2]*robots.Rules, result *compare.Result, o compare.Options) *comparison {
	c := &comparison{
		rules: rules, result: result,
		Blocked: Direction{Kind: NewlyBlocked, Direction: result.NewlyBlocked},
		Allowed: Direction{Kind: NewlyAllowed, Direction: result.NewlyAllowed},
	}
	sent := func(c compare.Change) bool { return c.Normal && !strings.Contains(c.Path, "'") }
	if result.Differs() && !slices.ContainsFunc(slices.Concat(c.Blocked.Changes, c.Allowed.Changes), sent) && (o.Total == 0 || d.Steps < o.Total) {
		o.URLs = compare.BrowserURLs
		if o.Total > 0 {
			o.Steps = min(cmp.Or(o.Steps, compare.DefaultSteps), o.Total-d.Steps)
		}
		again := compare.Rules(rules[0], rules[1], o)
		d.Steps += again.NewlyBlocked.Steps + again.NewlyAllowed.Steps
		c.OnlyRewritten = again.Same()
	}
	return c
}

// Same reports whether it is proved that no URL changes.
func (c *comparison) Same() bool { return c.result.Same() }

// Differs reports whether a URL that changes was found.
func (c *comparison) Differs() bool { return c.result.Differs() }

// Same reports whether it is proved that no URL changes.
func (c *CrawlerDifference) Same() bool { return c.Result == "same" }

// Complete reports whether nothing is undecided.
func (c *comparison) Complete() bool { return c.Blocked.Complete && c.Allowed.Complete }

// Unchanged reports whether it is proved that no URL changes, and none of a list does.
func (c *comparison) Unchanged() bool { return c.Same() && c.Blocked.URLs+c.Allowed.URLs == 0 }

// A DifferenceGroup is crawlers with the same result, with the lines of the first of them.
type DifferenceGroup struct {
	*comparison
	Names     []string
	Dialects  []string // the old and the new one of two dialects, else each once
	Note      string   // "" for none
	Elsewhere bool     // some crawlers have these rules in other lines than the first
	Important bool     // newly blocked URLs are errors for one of the crawlers
}

// Groups returns the crawlers by result: those without a change together, others by
// comparison.
func (d *Difference) Groups() (list []*DifferenceGroup) {
	type key struct {
		comparison *comparison
		note       string
	}
	made := map[key]*DifferenceGroup{}
	for _, c := range d.Crawlers {
		k := key{c.comparison, strings.Join(c.Notes, "; ")}
		if c.comparison.Unchanged() {
			k.comparison = nil
		}
		g := made[k]
		if g == nil {
			g = &DifferenceGroup{comparison: c.comparison, Note: k.note}
			made[k] = g
			list = append(list, g)
		}
		g.Names = append(g.Names, c.Agent)
		for _, dialect := range []string{c.Dialect, c.OldDialect, c.NewDialect} {
			if dialect != "" && !slices.Contains(g.Dialects, dialect) {
				g.Dialects = append(g.Dialects, dialect)
			}
		}
		g.Elsewhere = g.Elsewhere || c.elsewhere
		g.Important = g.Important || c.important
	}
	return list
}

// countPath counts a URL of a list where it changes, named as in the list. Its path is that
// for each side, as dialects can read it differently.
func (d *Difference) countPath(name string, before, after robots.Path) {
	if d.betweenDialects && after.String() == robotsTxt.String() {
		return
	}
	for _, c := range d.comparisons {
		direction := &c.Blocked
		allowed := c.rules[1].Allowed(after)
		if allowed {
			direction = &c.Allowed
		}
		if allowed != c.rules[0].Allowed(before) {
			direction.URLs++
			direction.FirstURL = cmp.Or(direction.FirstURL, name)
		}
	}
}

// CountedURLs sets the counts of all crawlers after CountURL was called for each URL of a list.
func (d *Difference) CountedURLs(read int) {
	for _, c := range d.Crawlers {
		c.URLs = &URLCounts{Read: read, NewlyBlocked: c.comparison.Blocked.URLs, NewlyAllowed: c.comparison.Allowed.URLs}
	}
}

// robotsTxt is the path of every robots.txt.
var robotsTxt = robots.RawPath("/robots.txt")

// robotsTxtNote reports that only one of two dialects exempts /robots.txt.
func robotsTxtNote(rules [2]*robots.Rules) string {
	raw, exempt := rules[0].Match(robotsTxt), rules[1].Match(robotsTxt)
	if raw.Allowed == exempt.Allowed {
		return ""
	}
	if raw.Allowed {
		raw = exempt
	}
	return "/robots.txt excluded: only " + raw.Dialect + " does not exempt it (" + Reason(raw) + ")"
}

// groupNotes describe changes of the group that applies: a group that names the crawler, that
// of * or none.
var groupNotes = map[[2]string]string{
	{"own", "*"}: "no group names it any more; the * group applies instead",
	{"own", ""}:  "no group names it any more, and no * group applies; everything is allowed",
	{"*", "own"}: "a group names it now; the * group no longer applies",
	{"", "own"}:  "a group names it now; before, no group applied",
	{"*", ""}:    "the * group was removed; everything is allowed for crawlers without a group",
	{"", "*"}:    "a * group was added; before, no group applied to crawlers without a group",
}

// groupNote reports that a different group applies to a crawler than before.
func groupNote(rules [2]*robots.Rules) string {
	kind := [2]string{"own", "own"}
	for i, r := range rules {
		if g := r.Group(); g.IsZero() || g.Token() == AnyCrawler {
			kind[i] = g.Token()
		}
	}
	return groupNotes[kind]
}

// A Declared is a field other than rules whose usable values differ for some crawlers.
type Declared struct {
	Field    string   `json:"field"` // such as crawl-delay
	Old      []string `json:"old"`   // usable values
	New      []string `json:"new"`   // likewise
	Crawlers []string `json:"-"`     // nil if the field applies to the whole file
}

// fieldsOfFile are the fields that apply to all crawlers, whatever group they are in.
var fieldsOfFile = []string{robots.FieldSitemap.String(), robots.FieldHost.String(), robots.FieldCleanParam.String()}

// OfFile reports whether the field applies to all crawlers.
func (c *Declared) OfFile() bool { return slices.Contains(fieldsOfFile, c.Field) }

// FieldTitle writes the name of a field as files do, such as Crawl-delay.
func FieldTitle(field string) string { return strings.ToUpper(field[:1]) + field[1:] }

// Removed returns the values that only the old side has, and Added those of the new one.
func (c *Declared) Removed() []string { return without(c.Old, c.New) }

// Added returns the values that only the new side has.
func (c *Declared) Added() []string { return without(c.New, c.Old) }

// declare compares the fields other than rules of two files for a crawler. The order of values
// and repeated values make no difference.
func (d *Difference) declare(rules [2]*robots.Rules) []*Declared {
	changes := []*Declared{}
	before, after := d.declarations(rules[0]), d.declarations(rules[1])
	for f := range before {
		if len(without(before[f], after[f]))+len(without(after[f], before[f])) == 0 {
			continue
		}
		field := robots.Field(f).String()
		same := func(c *Declared) bool {
			return c.Field == field && slices.Equal(c.Old, before[f]) && slices.Equal(c.New, after[f])
		}
		i := slices.IndexFunc(d.Declared, same)
		if i < 0 {
			i = len(d.Declared)
			d.Declared = append(d.Declared, &Declared{Field: field, Old: append([]string{}, before[f]...), New: append([]string{}, after[f]...)})
		}
		changes = append(changes, d.Declared[i])
	}
	return changes
}

// without returns the values that are not among others.
func without(values, others []string) []string {
	has := map[string]bool{}
	for _, v := range others {
		has[v] = true
	}
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return has[v] })
}

// declarations returns the usable values by field, each once. The largest delay counts (D-44).
func (d *Difference) declarations(r *robots.Rules) (values [robots.FieldLicense + 1][]string) {
	seen := map[[2]string]bool{}
	delay := -1.0
	d.Steps += len(r.File().Bytes()) / 32
	for rec := range r.Records() {
		value := rec.Value
		d.Steps += 40 + len(value)/2
		switch {
		case !rec.Usable:
			continue
		case rec.Field == robots.FieldCrawlDelay:
			delay = max(delay, rec.Delay)
			continue
		case rec.Field == robots.FieldRequestRate:
			value = rec.Rate.String()
		case rec.Field == robots.FieldVisitTime:
			value = rec.Window.String()
		}
		if p := [2]string{rec.Field.String(), value}; !seen[p] {
			seen[p] = true
			values[rec.Field] = append(values[rec.Field], value)
		}
	}
	if delay >= 0 {
		values[robots.FieldCrawlDelay] = []string{strconv.FormatFloat(delay, 'f', -1, 64)}
	}
	return values
}
