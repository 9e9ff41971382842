package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/access"
	"github.com/robotskit/robots/crawlers"
)

// uses maps names to the categories of crawlers that they are about.
var uses = map[string][]crawlers.Purpose{
	"ai-train": {crawlers.AITraining}, "train-ai": {crawlers.AITraining}, "ai-input": {crawlers.AISearch, crawlers.AIUser},
}

// meanings maps names that both drafts have to what they mean.
var meanings = map[string]string{"ai-train": "training", "train-ai": "training", "search": "search"}

// refuses and permits report what a value means, in either draft.
func refuses(value string) bool { return value == "no" || value == "n" }
func permits(value string) bool { return value == "yes" || value == "y" }

// remarks returns notes on lines that do not apply to the crawler, or that their document does
// not define.
func remarks(rules *robots.Rules) (notes []robots.Note) {
	add := func(line int, clause, format string, args ...any) {
		notes = append(notes, note(line, clause, format, args...))
	}
	for _, field := range contentFields {
		d := draftOf(field.String())
		hold, replaced := recordsOf(rules, field)
		for _, rec := range replaced {
			add(rec.Line, "D-40", "the crawler's group has its own %s, so this one does not apply to it", d.title)
		}
		undefined := map[string]bool{}
		for _, rec := range hold {
			if !rec.Usable {
				add(rec.Line, "SPEC 3.8", "%s %s is not used: %s", d.title, clip(rec.Value), rec.Problem)
			}
			for _, p := range rec.Preferences {
				said := p.Name + "=" + p.Value
				if !d.has(p.Name, p.Value) && !undefined[said] && len(undefined) < maxUndefined {
					undefined[said] = true
					add(p.Line, "SPEC 3.8", "%s has no %s%s", d.document, clip(said), d.meant(p.Name, p.Value))
				}
			}
		}
	}
	for r := range rules.File().Readings(rules.Dialect()) {
		if r.Field == robots.FieldContentUsage && r.Group < 0 {
			add(r.Line, "GROUP-03", "Content-Usage precedes the first user-agent line, so it applies to no crawler")
		}
	}
	said := map[string]bool{} // documents
	for l := range rules.Unknown() {
		d := draftOf(rules.File().Text(l.Name))
		if d == nil || said[d.document] {
			continue
		}
		said[d.document] = true
		where := "its proposal defines no field of robots.txt; llms.txt is not fetched"
		if d.document == tdmRep {
			where = "this protocol uses a header, /.well-known/tdmrep.json and the page, and defines no field of robots.txt; none of them is fetched"
		}
		add(l.Number, "SPEC 3.8", "%s", where)
	}
	return notes
}

// maxUndefined limits the notes on values of a field that its draft does not define.
const maxUndefined = 5

// meant suggests the value of the draft for one of the other draft, "" if none is known.
func (d *draft) meant(name, value string) string {
	for known, values := range d.values {
		if known != name && (meanings[known] == "" || meanings[known] != meanings[name]) {
			continue
		}
		for v := range strings.FieldsSeq(values) {
			if refuses(v) && refuses(value) || permits(v) && permits(value) {
				return "; did you mean " + known + "=" + v + "?"
			}
		}
	}
	return ""
}

// disagreements returns notes on values for one path that contradict each other: of one field,
// or of the two drafts.
func disagreements(list []siteSignal) (notes []robots.Note) {
	type key struct{ field, name, path string }
	seen := map[key]*siteSignal{}
	differ := func(s *siteSignal, k key, differs func(a, b *siteSignal) bool) {
		first := seen[k]
		if first == nil {
			seen[k] = s
		} else if differs(first, s) {
			notes = append(notes, note(s.Line, "SPEC 3.8", "%s is %s, but %s in line %d is %s", s.title, s.text(), first.title, first.Line, first.text()))
		}
	}
	for i := range list {
		s := &list[i]
		if s.Known && (s.Name != nil || s.Field == "tdm-reservation") {
			differ(s, key{s.Field, s.name(), s.path()}, func(a, b *siteSignal) bool { return a.Value != b.Value })
		}
	}
	clear(seen)
	for i := range list {
		if s := &list[i]; s.Known && meanings[s.name()] != "" {
			k := key{"", meanings[s.name()], s.path()}
			differ(s, k, func(a, b *siteSignal) bool { return a.Field != b.Field && refuses(a.Value) != refuses(b.Value) })
		}
	}
	return notes
}

// A claim is what a file states of one use of content to a crawler.
type claim struct {
	text string // name=value
	no   bool
	line int
}

// claims returns what rules state of the uses that crawlers are for, on all paths.
func claims(rules *robots.Rules) map[string]claim {
	all := map[string]claim{} // by name
	for _, field := range contentFields {
		d := draftOf(field.String())
		hold, _ := recordsOf(rules, field)
		for _, rec := range hold {
			if len(rec.Preferences) == 0 || rec.Preferences[0].Path != "" {
				continue
			}
			for _, p := range rec.Preferences {
				if c, ok := all[p.Name]; uses[p.Name] != nil && d.has(p.Name, p.Value) && (!ok || !c.no) {
					all[p.Name] = claim{p.Name + "=" + p.Value, refuses(p.Value), p.Line}
				}
			}
		}
	}
	return all
}

// A contradiction is between what a file states of a use and the access of crawlers.
type contradiction struct {
	text     string // name=value
	access   access.Access
	ownGroup bool // the claim is in the group of *, and the crawlers have their own (GROUP-09)
}

// accessTexts complete "GPTBot ...".
var accessTexts = map[access.Access]string{
	access.All: "may fetch everything", access.Part: "may fetch a part of the site", access.None: "may fetch nothing",
}

func (k contradiction) note(line int, names []string) robots.Note {
	who := someOf(names)
	if !k.ownGroup {
		return note(line, "SPEC 3.8", "%s, but %s %s", k.text, who, accessTexts[k.access])
	}
	return note(line, "GROUP-09", "%s is in the group of *, which does not apply to %s: a separate group does, so %s %s", k.text, who, who, accessTexts[k.access])
}

// contradictions returns a note for each claim and access that contradict each other: crawlers
// in use may fetch pages whose use for their purpose is refused, or may fetch nothing where it
// is permitted. Star are the rules of a crawler without a group, and rulesOf makes those of
// others.
func contradictions(star *robots.Rules, rulesOf func([]Crawler) []*ruleSet) (notes []robots.Note) {
	if !hasClaims(star) {
		return nil
	}
	var entries []crawlers.Crawler
	var list []Crawler
	for _, e := range crawlers.All() {
		if e.Purpose.IsAI() && e.Status == crawlers.Used {
			entries = append(entries, e)
			list = append(list, Crawler{e.Name, e.Tokens, e.ReadAs()})
		}
	}
	var found []contradiction
	names, lines := map[contradiction][]string{}, map[contradiction]int{}
	prover := access.NewProver(access.Steps)
	toAll := claims(star)
	known := map[*robots.Rules]map[string]claim{}
	for i, r := range rulesOf(list) {
		if known[r.Rules] == nil {
			known[r.Rules] = claims(r.Rules)
		}
		for _, use := range []string{"ai-train", "train-ai", "ai-input"} {
			if !slices.Contains(uses[use], entries[i].Purpose) {
				continue
			}
			c, own := known[r.Rules][use]
			if !own {
				if c = toAll[use]; !c.no || r.Group().IsZero() || r.Group().Token() == "*" {
					continue
				}
			}
			k := contradiction{c.text, prover.Stand(r.Rules).Access, !own}
			if accessTexts[k.access] == "" || c.no == (k.access == access.None) {
				continue
			}
			if names[k] == nil {
				found, lines[k] = append(found, k), c.line
			}
			names[k] = append(names[k], list[i].Name)
		}
	}
	for _, k := range found {
		notes = append(notes, k.note(lines[k], names[k]))
	}
	return notes
}

// hasClaims reports whether a file has a line that the access of a crawler can contradict.
func hasClaims(rules *robots.Rules) bool {
	for r := range rules.File().Readings(rules.Dialect()) {
		if r.Field == robots.FieldContentSignal || r.Field == robots.FieldContentUsage {
			return true
		}
	}
	return false
}

// someOf names the first of some crawlers.
func someOf(names []string) string {
	const most = 3
	switch n := len(names); {
	case n > most:
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	case n > 1:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return names[0]
}
