package answer

import (
	"bytes"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/crawlers"
)

// A Blocking is a robots.txt in which chosen crawlers have no access, with the proof of what changes.
type Blocking struct {
	Body      []byte         `json:"-"`         // the file, the same as before if nothing changes
	Possible  bool           `json:"possible"`  // every chosen crawler is blocked, and no search crawler and not * changes otherwise
	Complete  bool           `json:"complete"`  // no proof exceeded its budget
	Changed   bool           `json:"changed"`   // the file differs from the one before
	Crawlers  []BlockedEntry `json:"crawlers"`  // the chosen ones
	Effects   []BlockEffect  `json:"effects"`   // the changes for crawlers that were not chosen
	Others    int            `json:"others"`    // crawlers that were not chosen, without *
	Unchanged int            `json:"unchanged"` // of these, proved for all URLs
	Star      bool           `json:"star"`      // nothing changes for crawlers that no group names, proved

	Steps    int `json:"-"` // of the proofs
	Attempts int `json:"-"` // files that were tried
}

// BlockedResult is what becomes of a chosen crawler. The values are a contract.
type BlockedResult string

// The values.
const (
	BlockedNewly     BlockedResult = "newly_blocked"
	BlockedAlready   BlockedResult = "already_blocked"
	BlockedOpen      BlockedResult = "open" // a rule of the file keeps some URL allowed
	BlockedUndecided BlockedResult = "undecided"
)

// A BlockedEntry is a chosen crawler.
type BlockedEntry struct {
	Name   string        `json:"name"`   // as in the directory
	Result BlockedResult `json:"result"` // newly_blocked, already_blocked, open or undecided
	// Rule is what keeps an open crawler open, null for any other or without a rule.
	Rule *Rule  `json:"rule"`
	Path string `json:"path"` // a shortest URL that stays allowed, or ""
}

// A BlockEffect is a change for a crawler that was not chosen.
type BlockEffect struct {
	Name   string `json:"name"`   // as in the directory, or as the file names it
	Result string `json:"result"` // newly blocked, newly allowed or undecided
	Path   string `json:"path"`   // of a shortest URL, "" if undecided
	Rule   *Rule  `json:"rule"`   // that decides in the new file
	Severe bool   `json:"severe"` // the crawler is * or one of a search engine
}

// Count returns the number of crawlers with a result.
func (b *Blocking) Count(result BlockedResult) (n int) {
	for _, c := range b.Crawlers {
		if c.Result == result {
			n++
		}
	}
	return n
}

// Block returns a file in which crawlers have no access, each in its own dialect, and nothing changes
// for others. It adds names to a group whose only rule is Disallow: /, else a group at the end, or before the
// last group if that has no rules. All other bytes stay as they are. Named are the crawlers that the file names.
// Steps limits the proofs.
func Block(before *robots.File, chosen, named []Crawler, steps int) *Blocking {
	b := &blocking{before: before, named: named, steps: steps, chosen: map[string]bool{}}
	for _, c := range chosen {
		if !b.chosen[strings.ToLower(c.Name)] {
			b.chosen[strings.ToLower(c.Name)] = true
			b.who = append(b.who, c)
		}
	}
	b.already = b.open(before)
	var names []string
	for i, c := range b.who {
		if !b.already[i].None() {
			names = append(names, c.Given()[0])
		}
	}
	var last *Blocking
	attempts := 0
	if len(names) == 0 {
		last = b.result(before)
	} else {
		for _, insertion := range b.insertions() {
			last = b.result(robots.Parse(insertion.apply(before.Bytes(), names)))
			attempts++
			if last.Possible || !last.Complete {
				break
			}
		}
	}
	last.Steps = steps - b.steps
	last.Attempts = attempts
	return last
}

// A blocking is the work of Block.
type blocking struct {
	before  *robots.File
	named   []Crawler // by the file
	who     []Crawler
	chosen  map[string]bool // names in lower case
	already []openURLs
	steps   int // left
}

// openURLs are the URLs that a crawler may fetch, except /robots.txt.
type openURLs struct {
	compare.Direction
	rules *robots.Rules
}

// open returns the URLs that the chosen crawlers may fetch.
func (b *blocking) open(file *robots.File) (list []openURLs) {
	known := map[string]compare.Direction{}
	var all robots.Crawlers
	for _, c := range b.who {
		all.Add(c.Dialect, c.Tokens...)
	}
	for _, rules := range all.Rules(file) {
		key := keyOf(rules)
		direction, proved := known[key]
		if !proved && b.steps > 0 {
			nothing := robots.DisallowAll(rules.Dialect(), robots.ReasonUnavailable)
			direction = compare.Blocked(rules, nothing, compare.Options{Steps: min(b.steps, compare.DefaultSteps), SkipRobotsTxt: true})
			b.steps -= direction.Steps
			known[key] = direction
		}
		list = append(list, openURLs{Direction: direction, rules: rules})
	}
	return list
}

// result proves what a file does.
func (b *blocking) result(after *robots.File) *Blocking {
	r := &Blocking{
		Body: after.Bytes(), Changed: !bytes.Equal(b.before.Bytes(), after.Bytes()), Complete: true, Possible: true,
		Crawlers: []BlockedEntry{}, Effects: []BlockEffect{},
	}
	for i, open := range b.open(after) {
		entry := BlockedEntry{Name: b.who[i].Name, Result: BlockedNewly}
		switch {
		case open.None() && b.already[i].None():
			entry.Result = BlockedAlready
		case open.None():
		case len(open.Changes) > 0:
			entry.Result = BlockedOpen
			entry.Path = open.Changes[0].Path
			path, _ := robots.ParsePath("https://example.com" + entry.Path) // never an error
			entry.Rule = NewRule(open.rules.Match(path).Rule)
			r.Possible = false
		default:
			entry.Result = BlockedUndecided
			r.Complete = false
		}
		r.Crawlers = append(r.Crawlers, entry)
	}
	if r.Changed {
		b.effects(r, after)
	} else {
		r.Star = true
		r.Others = len(b.others())
		r.Unchanged = r.Others
	}
	return r
}

// others returns the crawlers that were not chosen: those of the directory, and others that the file
// names.
func (b *blocking) others() (list []Crawler) {
	listed := map[string]bool{AnyCrawler: true}
	add := func(c Crawler) {
		name := strings.ToLower(c.Name)
		if !listed[name] && !b.chosen[name] {
			listed[name] = true
			list = append(list, c)
		}
	}
	for name := range crawlers.Names() {
		add(Auto(name, name))
	}
	for _, c := range b.named {
		add(c)
	}
	return list
}

// effects proves what changes for crawlers that were not chosen.
func (b *blocking) effects(r *Blocking, after *robots.File) {
	others := b.others()
	r.Others = len(others)
	for _, d := range CurrentDialects() {
		others = append(others, InDialect(d, AnyCrawler, AnyCrawler))
	}
	difference := Diff(b.before, after, others, DiffOptions{Changes: 1, Total: max(b.steps, 1)})
	b.steps -= difference.Steps
	r.Star = true
	for _, c := range difference.Crawlers {
		if c.Same() {
			if c.Agent != AnyCrawler {
				r.Unchanged++
			}
			continue
		}
		effect := BlockEffect{Name: c.Agent, Result: "undecided", Severe: isSevere(c.Agent)}
		switch {
		case len(c.NewlyBlocked) > 0:
			effect.Result = "newly blocked"
			effect.Path = c.NewlyBlocked[0].Path
			effect.Rule = c.NewlyBlocked[0].New.Rule
		case len(c.NewlyAllowed) > 0:
			effect.Result = "newly allowed"
			effect.Path = c.NewlyAllowed[0].Path
			effect.Rule = c.NewlyAllowed[0].New.Rule
		default:
			r.Complete = false
		}
		if effect.Severe {
			r.Possible = false
		}
		if c.Agent == AnyCrawler {
			r.Star = false
		}
		r.Effects = append(r.Effects, effect)
	}
}

// isSevere reports whether nothing may change for a crawler that was not chosen: for *, and the crawlers
// of search engines that are in use.
func isSevere(name string) bool {
	c, known := crawlers.Find(name)
	return isImportant(name) && !(known && c.Status == crawlers.Former)
}
