package indexing

import (
	"slices"
	"time"

	"github.com/robotskit/robots"
)

// Effect is what becomes of a directive for one crawler: a closed set.
type Effect uint8

// The effects.
const (
	Counts       Effect = iota
	Default             // it says what holds anyway
	Hidden              // it would count, but robots.txt keeps the crawler from reading it
	Overruled           // another directive contradicts it and counts
	NoEffect            // it needs another rule beside it: indexifembedded a noindex
	OtherCrawler        // it addresses another one
	NotRead             // the engine documents no such rule, there or at all
	Meaningless         // it has a Problem
)

// A Reading is a directive with what becomes of it.
type Reading struct {
	Directive
	Effect Effect
}

// Directives are what a page says to one crawler.
type Directives struct {
	Engine   Engine
	Readings []Reading // of all directives, in the order of the page
	// Opposed are pairs of directives that contradict each other: the one that counts
	// first.
	Opposed [][2]Directive

	by [ruleCount]Directive
}

// By returns the directive by which a rule counts, the zero value if it does not. Of
// NoIndex and NoFollow it may be a none, of NoSnippet a max-snippet:0. All, Index,
// Follow, Archive, None and Retired do not count by themselves.
func (d *Directives) By(r Rule) Directive {
	if r >= ruleCount {
		return Directive{}
	}
	return d.by[r]
}

// For returns what the page says to a crawler with these product tokens: what it says
// to all, and to one of them or to the engine as a whole. The token "*", or none,
// stands for a crawler that is not addressed.
func (p *Page) For(e Engine, tokens ...string) Directives {
	d := Directives{Engine: e, Readings: make([]Reading, len(p.Directives))}
	names := slices.DeleteFunc(slices.Clone(tokens), func(t string) bool { return t == "*" || t == "" })
	if len(names) > 0 {
		names = append(names, e.profile().names...)
	}
	for i := range names {
		names[i] = lower(names[i])
	}
	for i, said := range p.Directives {
		r := Reading{Directive: said}
		switch {
		case said.Agent != "" && !slices.Contains(names, said.Agent):
			r.Effect = OtherCrawler
		case said.Problem != NoProblem:
			r.Effect = Meaningless
		case !e.reads(&said):
			r.Effect = NotRead
		}
		d.Readings[i] = r
	}
	d.oppose(NoIndex, []Rule{None}, []Rule{Index, All})
	d.oppose(NoFollow, []Rule{None}, []Rule{Follow, All})
	d.oppose(NoArchive, nil, []Rule{Archive})
	for _, r := range []Rule{NoTranslate, NoImageIndex, NoYaca} {
		d.by[r], _ = d.find(r)
	}
	d.by[IndexIfEmbedded], _ = d.find(IndexIfEmbedded)
	if d.by[NoIndex].IsZero() {
		d.by[IndexIfEmbedded] = Directive{}
	}
	// Of values that differ the most restrictive counts.
	for _, r := range []Rule{MaxSnippet, MaxImagePreview, MaxVideoPreview} {
		d.strictest(r, func(a, b Directive) bool { return b.Number < 0 || a.Number >= 0 && a.Number < b.Number })
	}
	d.strictest(UnavailableAfter, func(a, b Directive) bool { return a.Time.Before(b.Time) })
	d.by[NoSnippet], _ = d.find(NoSnippet)
	if m := d.by[MaxSnippet]; d.by[NoSnippet].IsZero() && !m.IsZero() && m.Number == 0 {
		d.by[NoSnippet] = m
	}
	d.settle()
	return d
}

// find returns the first directive that has one of these rules, of those that are read.
func (d *Directives) find(rules ...Rule) (Directive, bool) {
	for i := range d.Readings {
		if r := &d.Readings[i]; r.Effect == Counts && slices.Contains(rules, r.Rule) {
			return r.Directive, true
		}
	}
	return Directive{}, false
}

// oppose decides between a rule that restricts and those that permit the same.
func (d *Directives) oppose(rule Rule, also, permits []Rule) {
	no, restricted := d.find(append(also, rule)...)
	yes, permitted := d.find(permits...)
	wins := restricted
	if restricted && permitted {
		pair := [2]Directive{no, yes}
		if d.Engine.profile().permitsWin {
			wins, pair = false, [2]Directive{yes, no}
		}
		d.Opposed = append(d.Opposed, pair)
	}
	if wins {
		d.by[rule] = no
	}
}

// strictest lets the strictest value of a rule count.
func (d *Directives) strictest(rule Rule, stricter func(a, b Directive) bool) {
	for i := range d.Readings {
		r := &d.Readings[i]
		if r.Effect == Counts && r.Rule == rule && (d.by[rule].IsZero() || stricter(r.Directive, d.by[rule])) {
			d.by[rule] = r.Directive
		}
	}
}

// settle says of each directive that is read what becomes of it.
func (d *Directives) settle() {
	counts := func(r Rule) bool { return !d.by[r].IsZero() }
	// permits is the effect of a directive that permits: it says what holds
	// anyway, it is overruled, or of an engine where permissions win it counts.
	permits := func(rules ...Rule) Effect {
		effect := Default
		for _, r := range rules {
			if counts(r) {
				return Overruled
			}
			if d.overruled(r) {
				effect = Counts
			}
		}
		return effect
	}
	for i := range d.Readings {
		r := &d.Readings[i]
		if r.Effect != Counts {
			continue
		}
		switch r.Rule {
		case All:
			r.Effect = permits(NoIndex, NoFollow)
		case Index:
			r.Effect = permits(NoIndex)
		case Follow:
			r.Effect = permits(NoFollow)
		case Archive:
			r.Effect = permits(NoArchive)
		case None:
			if !counts(NoIndex) && !counts(NoFollow) {
				r.Effect = Overruled
			}
		case NoIndex, NoFollow, NoArchive:
			if !counts(r.Rule) {
				r.Effect = Overruled
			}
		case IndexIfEmbedded:
			if !counts(NoIndex) {
				r.Effect = NoEffect
			}
		case MaxSnippet, MaxVideoPreview, MaxImagePreview, UnavailableAfter:
			strictest := d.by[r.Rule]
			switch {
			case r.Rule == MaxSnippet && counts(NoSnippet) && d.by[NoSnippet].Rule == NoSnippet && r.Number != 0,
				r.Number != strictest.Number || !r.Time.Equal(strictest.Time):
				r.Effect = Overruled
			case r.Number < 0 || r.Rule == MaxImagePreview && r.Number == 2:
				r.Effect = Default
			}
		}
	}
}

// overruled reports whether a rule is stated, and a permission counts.
func (d *Directives) overruled(rule Rule) bool {
	return slices.ContainsFunc(d.Opposed, func(pair [2]Directive) bool {
		lost := pair[1].Rule
		return d.by[rule].IsZero() && (lost == rule || lost == None && (rule == NoIndex || rule == NoFollow))
	})
}

// Word is the answer to what an engine can do: a closed set. The zero value is Unsure.
type Word uint8

// The words.
const (
	Unsure Word = iota // it is not known
	No
	// AddressOnly is an answer to Index alone: not the page, but its address may be
	// listed, as others link to it.
	AddressOnly
	Yes
)

// Reason is why an answer is what it is: a closed set.
type Reason uint8

// The reasons.
const (
	NotAsked    Reason = iota // robots.txt is not known
	Allowed                   // robots.txt allows
	Disallowed                // robots.txt disallows
	Undecided                 // robots.txt cannot be had: not now
	Unread                    // the page is not known
	NothingSaid               // no rule restricts it
	ByRule                    // a rule forbids it
	Limited                   // a rule limits it
	Expires                   // until the time of unavailable_after
	Expired                   // that time has passed
	Embedded                  // noindex with indexifembedded
	NotIndexed                // what is not indexed is not shown
	Missing                   // the status says that there is no page
	Redirects                 // the status sends the crawler elsewhere
	Failing                   // the status is a failure: 429 or 5xx
)

// An Answer is whether an engine can do something, and why.
type Answer struct {
	Is     Word
	Reason Reason
	Rule   Directive // the one that forbids or limits it, the zero value if none does
}

// An Outlook is what a search engine can do with a page.
type Outlook struct {
	Crawl   Answer // fetch it
	Index   Answer // have it in the index
	Follow  Answer // follow its links
	Snippet Answer // show something of its text in results
	// Hidden is the contradiction of a page that robots.txt disallows: the directive
	// that would count and cannot be read, a noindex before others. It is the zero
	// value where there is none, or where the page is not known.
	Hidden Directive
	// Directives are what the page says to the crawler.
	Directives Directives
}

// Outlook combines the verdict of robots.txt with what a page says to the crawler with
// these product tokens, as at a time. A nil verdict is one that is not known: the other
// answers are then those of a page that may be fetched. A nil page is one that is not
// known.
func (p *Page) Outlook(verdict *robots.Verdict, at time.Time, e Engine, tokens ...string) Outlook {
	var o Outlook
	if p != nil {
		o.Directives = p.For(e, tokens...)
	} else {
		o.Directives.Engine = e
	}
	all := func(w Word, r Reason) {
		o.Index, o.Follow, o.Snippet = Answer{Is: w, Reason: r}, Answer{Is: w, Reason: r}, Answer{Is: w, Reason: r}
	}
	switch {
	case verdict == nil:
	case verdict.Undecided():
		o.Crawl = Answer{Is: Unsure, Reason: Undecided}
		all(Unsure, Undecided)
		return o
	case !verdict.Allowed:
		o.Crawl = Answer{Is: No, Reason: Disallowed}
		all(No, Disallowed)
		o.Index.Is = AddressOnly
		o.Hidden = o.Directives.hide()
		return o
	default:
		o.Crawl = Answer{Is: Yes, Reason: Allowed}
	}
	if p == nil {
		all(Unsure, Unread)
		return o
	}
	switch s := p.Status; {
	case s == 0 || s/100 == 2:
		o.judge(at)
	case s/100 == 3:
		all(No, Redirects)
	case s/100 == 4 && s != 429:
		all(No, Missing)
	default:
		all(Unsure, Failing)
	}
	return o
}

// judge answers by what a page says that is read.
func (o *Outlook) judge(at time.Time) {
	d := &o.Directives
	answer := func(r Rule) Answer {
		if by := d.By(r); !by.IsZero() {
			return Answer{No, ByRule, by}
		}
		return Answer{Is: Yes, Reason: NothingSaid}
	}
	o.Index, o.Follow, o.Snippet = answer(NoIndex), answer(NoFollow), answer(NoSnippet)
	until := d.By(UnavailableAfter)
	switch {
	case o.Index.Is == No:
		if !d.By(IndexIfEmbedded).IsZero() {
			o.Index.Reason = Embedded
		}
	case until.IsZero():
	case at.Before(until.Time):
		o.Index = Answer{Yes, Expires, until}
	default:
		o.Index = Answer{No, Expired, until}
	}
	switch limit := d.By(MaxSnippet); {
	case o.Index.Is == No:
		o.Snippet = Answer{No, NotIndexed, o.Index.Rule}
	case o.Snippet.Is == Yes && !limit.IsZero() && limit.Number > 0:
		o.Snippet = Answer{Yes, Limited, limit}
	}
}

// hide marks what would count as hidden, and returns the first of it, a noindex before
// others.
func (d *Directives) hide() (first Directive) {
	first = d.by[NoIndex]
	for i := range d.Readings {
		if r := &d.Readings[i]; r.Effect == Counts {
			r.Effect = Hidden
			if first.IsZero() {
				first = r.Directive
			}
		}
	}
	return first
}
