package indexing

import (
	"slices"
	"time"

	"github.com/robotskit/robots"
)

// Effect is the effect of a directive for one crawler.
type Effect uint8

// The effects.
const (
	Counts       Effect = iota
	Default             // it states the default
	Hidden              // it would count, but robots.txt prevents the crawler from reading it
	Overruled           // another, contradicting directive counts
	NoEffect            // it needs another rule: indexifembedded needs noindex
	OtherCrawler        // it addresses another crawler
	NotRead             // the engine documents no such rule, or not in this place
	Meaningless         // it has a Problem
)

// A Reading is a directive with its effect.
type Reading struct {
	Directive
	Effect Effect
}

// Directives are the directives of a page for one crawler.
type Directives struct {
	Engine   Engine
	Readings []Reading // all directives, in the order of the page
	// Opposed are pairs of contradicting directives, the one that counts first.
	Opposed [][2]Directive

	deciding [ruleCount]Directive
}

// By returns the directive by which a rule counts, the zero value if it does not. For NoIndex
// and NoFollow it can be none, for NoSnippet max-snippet:0. All, Index, Follow, Archive, None
// and Retired never count by themselves.
func (d *Directives) By(r Rule) Directive {
	if r >= ruleCount {
		return Directive{}
	}
	return d.deciding[r]
}

// For returns the directives for a crawler with these product tokens: those for all crawlers,
// for one of the tokens, and for the engine as a whole. Without a token, or with "*", the
// crawler is addressed by no name.
func (p *Page) For(e Engine, tokens ...string) Directives {
	d := Directives{Engine: e, Readings: make([]Reading, len(p.Directives))}
	names := slices.DeleteFunc(slices.Clone(tokens), func(t string) bool { return t == "*" || t == "" })
	if len(names) > 0 {
		names = append(names, e.profile().names...)
	}
	for i := range names {
		names[i] = lower(names[i])
	}
	for i, directive := range p.Directives {
		r := Reading{Directive: directive}
		switch {
		case directive.Agent != "" && !slices.Contains(names, directive.Agent):
			r.Effect = OtherCrawler
		case directive.Problem != NoProblem:
			r.Effect = Meaningless
		case !e.reads(&directive):
			r.Effect = NotRead
		}
		d.Readings[i] = r
	}
	d.oppose(NoIndex, []Rule{None}, []Rule{Index, All})
	d.oppose(NoFollow, []Rule{None}, []Rule{Follow, All})
	d.oppose(NoArchive, nil, []Rule{Archive})
	for _, r := range []Rule{NoTranslate, NoImageIndex, NoYaca} {
		d.deciding[r], _ = d.find(r)
	}
	d.deciding[IndexIfEmbedded], _ = d.find(IndexIfEmbedded)
	if d.deciding[NoIndex].IsZero() {
		d.deciding[IndexIfEmbedded] = Directive{}
	}
	// The most restrictive of different values counts.
	for _, r := range []Rule{MaxSnippet, MaxImagePreview, MaxVideoPreview} {
		d.strictest(r, func(a, b Directive) bool { return b.Number < 0 || a.Number >= 0 && a.Number < b.Number })
	}
	d.strictest(UnavailableAfter, func(a, b Directive) bool { return a.Time.Before(b.Time) })
	d.deciding[NoSnippet], _ = d.find(NoSnippet)
	if m := d.deciding[MaxSnippet]; d.deciding[NoSnippet].IsZero() && !m.IsZero() && m.Number == 0 {
		d.deciding[NoSnippet] = m
	}
	d.settle()
	return d
}

// find returns the first directive with one of these rules that the engine reads.
func (d *Directives) find(rules ...Rule) (Directive, bool) {
	for i := range d.Readings {
		if r := &d.Readings[i]; r.Effect == Counts && slices.Contains(rules, r.Rule) {
			return r.Directive, true
		}
	}
	return Directive{}, false
}

// oppose decides between a restrictive rule and permissive ones.
func (d *Directives) oppose(rule Rule, also, permits []Rule) {
	no, restricted := d.find(append(also, rule)...)
	yes, permitted := d.find(permits...)
	wins := restricted
	if restricted && permitted {
		pair := [2]Directive{no, yes}
		if d.Engine.profile().permitsWin {
			wins = false
			pair = [2]Directive{yes, no}
		}
		d.Opposed = append(d.Opposed, pair)
	}
	if wins {
		d.deciding[rule] = no
	}
}

// strictest makes the strictest value of a rule count.
func (d *Directives) strictest(rule Rule, stricter func(a, b Directive) bool) {
	for i := range d.Readings {
		r := &d.Readings[i]
		if r.Effect == Counts && r.Rule == rule && (d.deciding[rule].IsZero() || stricter(r.Directive, d.deciding[rule])) {
			d.deciding[rule] = r.Directive
		}
	}
}

// settle sets the effect of each directive that the engine reads.
func (d *Directives) settle() {
	counts := func(r Rule) bool { return !d.deciding[r].IsZero() }
	// permits returns the effect of a permissive directive: it states the default, is
	// overruled, or counts if permissions win.
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
			strictest := d.deciding[r.Rule]
			switch {
			case r.Rule == MaxSnippet && counts(NoSnippet) && d.deciding[NoSnippet].Rule == NoSnippet && r.Number != 0,
				r.Number != strictest.Number || !r.Time.Equal(strictest.Time):
				r.Effect = Overruled
			case r.Number < 0 || r.Rule == MaxImagePreview && r.Number == 2:
				r.Effect = Default
			}
		}
	}
}

// overruled reports whether a rule is overruled by a permission.
func (d *Directives) overruled(rule Rule) bool {
	return slices.ContainsFunc(d.Opposed, func(pair [2]Directive) bool {
		lost := pair[1].Rule
		return d.deciding[rule].IsZero() && (lost == rule || lost == None && (rule == NoIndex || rule == NoFollow))
	})
}

// Word is the answer to what an engine can do. The zero value is Unsure.
type Word uint8

// The words.
const (
	Unsure Word = iota // unknown
	No
	// AddressOnly is an answer only for Index: the URL can be listed without the page's
	// content, as other pages link to it.
	AddressOnly
	Yes
)

// Reason is the reason of an answer.
type Reason uint8

// The reasons.
const (
	NotAsked    Reason = iota // robots.txt is unknown
	Allowed                   // robots.txt allows
	Disallowed                // robots.txt disallows
	Undecided                 // robots.txt is unreachable
	Unread                    // the page is unknown
	NothingSaid               // no rule restricts it
	ByRule                    // a rule forbids it
	Limited                   // a rule limits it
	Expires                   // until the time of unavailable_after
	Expired                   // after the time of unavailable_after
	Embedded                  // noindex with indexifembedded
	NotIndexed                // a page that is not indexed is not shown
	Missing                   // the status says that the page does not exist
	Redirects                 // the status redirects the crawler
	Failing                   // the status is an error: 429 or 5xx
)

// An Answer is whether an engine can do something, and why.
type Answer struct {
	Is     Word
	Reason Reason
	Rule   Directive // the directive that forbids or limits it, or the zero value
}

// An Outlook is what a search engine can do with a page.
type Outlook struct {
	Crawl   Answer // fetch the page
	Index   Answer // list it
	Follow  Answer // follow its links
	Snippet Answer // show its text in results
	// Hidden is set if robots.txt disallows a page with a directive that would count, a
	// noindex before others: the crawler cannot read it. It is zero if the page is unknown.
	Hidden Directive
	// Directives are the page's directives for the crawler.
	Directives Directives
}

// Outlook combines the verdict of robots.txt with the page's directives for the crawler with
// these product tokens, at a given time. If the verdict is nil, it is unknown, and the other
// answers assume that the page can be fetched. If the page is nil, it is unknown.
func (p *Page) Outlook(verdict *robots.Verdict, at time.Time, e Engine, tokens ...string) Outlook {
	var o Outlook
	if p != nil {
		o.Directives = p.For(e, tokens...)
	} else {
		o.Directives.Engine = e
	}
	all := func(w Word, r Reason) {
		o.Index = Answer{Is: w, Reason: r}
		o.Follow = Answer{Is: w, Reason: r}
		o.Snippet = Answer{Is: w, Reason: r}
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
	if p == nil || p.Status == 304 { // the content of an earlier response, which is not here
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

// judge sets the answers by the directives that the engine reads.
func (o *Outlook) judge(at time.Time) {
	d := &o.Directives
	answer := func(r Rule) Answer {
		if by := d.By(r); !by.IsZero() {
			return Answer{No, ByRule, by}
		}
		return Answer{Is: Yes, Reason: NothingSaid}
	}
	o.Index = answer(NoIndex)
	o.Follow = answer(NoFollow)
	o.Snippet = answer(NoSnippet)
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

// hide marks directives that would count as hidden, and returns the first, a noindex before
// others.
func (d *Directives) hide() (first Directive) {
	first = d.deciding[NoIndex]
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
