package answer

import (
	"bytes"
	"fmt"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/lint"
)

// Expect compares the file of a site with the expected one. steps limits each proof.
func (r *SiteReport) Expect(expected *robots.File, o *Observation, steps int) {
	defer r.limit()
	switch {
	case !o.Answered:
		r.Undecided = true
		r.failing(SiteState{}, o)
	case o.Missing:
		r.add(lint.Error, "missing", "the site has no robots.txt (status %d)", o.Status)
	case !bytes.Equal(expected.Bytes(), o.Body):
		file := robots.Parse(o.Body)
		if IsForeign(file) {
			r.add(lint.Warning, "foreign", foreignText)
		}
		r.changed(expected, file, steps)
	}
}

// compare reports what differs for * and for every crawler that either file names, each in the dialect that the directory has
// for it. Crawlers with equal changes share their events.
func (r *SiteReport) compare(before, after *robots.File, steps int) {
	d := DiffIn(before, after, [2]robots.Dialect{}, nil, DiffOptions{Steps: steps})
	same := len(d.Declared) == 0
	rule := func(v robots.Verdict) *WatchedRule { return &WatchedRule{v.Rule.Line(), v.Rule.String()} }
	prover := NewProver(AccessSteps)
	for _, g := range d.Groups() {
		same = same && g.Same()
		r.Undecided = r.Undecided || !g.Same() && !g.Differs()
		for _, one := range g.Directions() {
			all := one.Kind == NewlyBlocked && prover.Access(g.rules[1]) == AccessNone
			for _, c := range one.Changes {
				title := d.Title(one) + ": " + c.Path
				if all {
					title = blockedText(g.Names[0])
				}
				r.addEvent(g.Severity(one.Kind), WatchEvent{
					Kind: one.Kind, Crawlers: g.Names, Dialect: c.New.Dialect, Path: c.Path, Old: rule(c.Old), New: rule(c.New),
					Text: fmt.Sprintf("%s (before: %s; now: %s)", title, Reason(c.Old), Reason(c.New)),
				})
				if all {
					break // the others are in it
				}
			}
		}
	}
	for _, change := range d.Declared {
		values := listOrNone(change.Old) + " → " + listOrNone(change.New)
		r.addEvent(lint.Warning, WatchEvent{Kind: "declared", Crawlers: change.Crawlers, Text: FieldTitle(change.Field) + ": " + values})
	}
	if same {
		r.add(lint.Note, "layout", "the text changed, but no URL and no declaration for any crawler (proved)")
	}
}

// blockedText says that a site is blocked for a crawler.
func blockedText(name string) string {
	if name == AnyCrawler {
		return "the whole site is blocked for all crawlers without a group of their own"
	}
	return "the whole site is blocked"
}
