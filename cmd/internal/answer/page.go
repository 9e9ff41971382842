package answer

import (
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/indexing"
)

// An Outlook is what a crawler and its search engine can do with a page.
type Outlook struct {
	URL            *string                `json:"url"`            // as given, null for a page without one
	Name           *string                `json:"name"`           // of a known crawler
	Agent          []string               `json:"agent"`          // the given product tokens, as the dialect reads them
	Dialect        string                 `json:"dialect"`        // in which the crawler reads robots.txt
	Fallback       *crawlers.FurtherToken `json:"fallback"`       // whose group applies because no group names the crawler, or null
	Binds          crawlers.Binds         `json:"binds"`          // whom robots.txt addresses: yes, not-by-star or no
	Engine         indexing.Engine        `json:"engine"`         // whose rules for pages apply, any for those that all read
	Crawl          PageAnswer             `json:"crawl"`          // fetch the page
	Index          PageAnswer             `json:"index"`          // list it
	Follow         PageAnswer             `json:"follow"`         // follow its links
	Snippet        PageAnswer             `json:"snippet"`        // show its text in results
	IfRead         *IfRead                `json:"if_read"`        // if the page may not be read
	Contradictions []Contradiction        `json:"contradictions"` // the worst first
	Rules          []PageRule             `json:"rules"`          // all of the page, in order
	Verdict        *robots.Verdict        `json:"verdict"`        // that of robots.txt, null without one
	Signals        []PageSignal           `json:"signals"`        // of the headers, such as Content-Usage
}

// A PageSignal is one value of a header of a page that states a preference. It changes nothing else.
type PageSignal struct {
	Field  string `json:"field"`  // in lower case
	Name   string `json:"name"`   // of the preference, empty for the field itself
	Value  string `json:"value"`  // as written
	Known  bool   `json:"known"`  // the document has the name and the value
	Source Draft  `json:"source"` // the document that defines it
}

// Text is the signal as a header has it.
func (s *PageSignal) Text() string {
	if s.Name == "" {
		return draftOf(s.Field).title + ": " + s.Value
	}
	return draftOf(s.Field).title + ": " + s.Name + "=" + s.Value
}

// pageSignals returns the signals in the headers of a page; not nil.
func pageSignals(page *indexing.Page) []PageSignal {
	list := []PageSignal{}
	if page == nil {
		return list
	}
	for _, h := range page.Signals {
		d := draftOf(h.Name)
		for part := range strings.SplitSeq(h.Value, ",") {
			name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
			if !ok {
				value = name
				name = ""
			}
			list = append(list, PageSignal{Field: strings.ToLower(h.Name), Name: name, Value: value, Known: d.has(name, value), Source: d.Draft})
		}
	}
	return list
}

// IfRead is what an engine could do with a page if its crawler could read it.
type IfRead struct {
	Index   PageAnswer `json:"index"`   // list it
	Follow  PageAnswer `json:"follow"`  // follow its links
	Snippet PageAnswer `json:"snippet"` // show its text in results
}

// A PageAnswer is whether something can be done with a page, and why.
type PageAnswer struct {
	Answer indexing.Word   `json:"answer"` // yes, no, address (only the address can be listed) or unknown
	Reason indexing.Reason `json:"reason"` // one word
	Rule   *Directive      `json:"rule"`   // of the page, that forbids or limits it

	Why string `json:"-"` // a sentence, printable on a terminal
}

// A Directive is a rule of a page, in a header or a meta tag.
type Directive struct {
	Agent  *string `json:"agent"`  // that it addresses, null for all
	Name   string  `json:"name"`   // such as noindex
	Value  *string `json:"value"`  // after its colon
	Header *int    `json:"header"` // number of its X-Robots-Tag line
	Line   *int    `json:"line"`   // of the HTML

	text string // as a page would write it
}

// A PageRule is a rule of a page with its effect on a crawler.
type PageRule struct {
	Directive
	Effect  indexing.Effect `json:"effect"`  // one word
	Problem *string         `json:"problem"` // why it has no effect

	Why string `json:"-"` // a phrase: the effect, or the problem
}

// A Contradiction is a rule that robots.txt hides, or one that counts against another.
type Contradiction struct {
	Kind  string     `json:"kind"`  // hidden: no crawler reads the rule; opposed: the rule counts, and the other does not
	Rule  *Directive `json:"rule"`  // of the page
	Other *Directive `json:"other"` // of an opposed one

	Text string `json:"-"` // a sentence, printable on a terminal
}

// Page returns what a crawler can do with a page at a time, by the verdict of rules on its address,
// nil if there is no robots.txt. A nil page is one that is not known.
func Page(rules *robots.Rules, who *Crawler, url string, verdict *robots.Verdict, page *indexing.Page, at time.Time) Outlook {
	engine := indexing.EngineOf(who.Dialect)
	tokens := who.OwnTokens()
	reading := page.Outlook(verdict, at, engine, tokens...)
	o := Outlook{
		URL: notEmpty(url), Name: notEmpty(who.Entry()), Agent: who.Echo(), Dialect: who.Dialect.Name, Fallback: who.Fallback(rules),
		Binds: who.Binds(), Engine: reading.Directives.Engine, Crawl: newPageAnswer(reading.Crawl), Index: newPageAnswer(reading.Index),
		Follow: newPageAnswer(reading.Follow), Snippet: newPageAnswer(reading.Snippet),
		Contradictions: contradictions(&reading), Rules: []PageRule{}, Verdict: verdict, Signals: pageSignals(page),
	}
	if verdict == nil {
		o.Crawl.Why += "; the page is assumed to be allowed"
	}
	if page != nil && reading.Crawl.Is == indexing.No {
		read := page.Outlook(nil, at, engine, tokens...)
		o.IfRead = &IfRead{Index: newPageAnswer(read.Index), Follow: newPageAnswer(read.Follow), Snippet: newPageAnswer(read.Snippet)}
	}
	for _, r := range reading.Directives.Readings {
		o.Rules = append(o.Rules, newPageRule(&r, reading.Directives.Engine))
	}
	return o
}

func newPageRule(r *indexing.Reading, engine indexing.Engine) PageRule {
	rule := PageRule{Directive: *newDirective(r.Directive), Effect: r.Effect, Why: r.Effect.Sentence()}
	if r.Problem != indexing.NoProblem {
		rule.Problem = notEmpty(r.Problem.String())
	}
	switch r.Effect {
	case indexing.Meaningless:
		rule.Why = r.Problem.Sentence()
	case indexing.NotRead:
		rule.Why = "not documented by " + engine.Title()
	}
	if readers := r.Readers(); len(readers) > 0 &&
		(r.Effect == indexing.Counts && engine == indexing.AnyEngine || r.Effect == indexing.NotRead) {
		var titles []string
		for _, e := range readers {
			titles = append(titles, e.Title())
		}
		rule.Why += "; read by " + strings.Join(titles, ", ")
	}
	return rule
}

func newPageAnswer(a indexing.Answer) PageAnswer {
	return PageAnswer{Answer: a.Is, Reason: a.Reason, Rule: newDirective(a.Rule), Why: whyOf(a)}
}

// whyOf explains an answer.
func whyOf(a indexing.Answer) string {
	text := a.Reason.Sentence()
	rule := newDirective(a.Rule)
	switch {
	case a.Is == indexing.AddressOnly:
		return text + "; only its address can be listed, if other pages link to it"
	case a.Reason == indexing.ByRule, a.Reason == indexing.Limited:
		return rule.Cite()
	case a.Reason == indexing.Expires, a.Reason == indexing.Expired:
		return text + ", " + a.Rule.Time.UTC().Format(time.RFC3339) + ": " + rule.Cite()
	case rule != nil:
		return text + ": " + rule.Cite()
	}
	return text
}

// newDirective returns nil, in JSON null, for none.
func newDirective(d indexing.Directive) *Directive {
	if d.IsZero() {
		return nil
	}
	return &Directive{
		Agent: notEmpty(d.Agent), Name: d.Name, Value: notEmpty(d.Value), Header: notEmpty(d.Place.Header), Line: notEmpty(d.Place.Line),
		text: robots.Printable(clip(d.String())),
	}
}

// String returns the directive as a page would write it, printable on a terminal.
func (d *Directive) String() string { return d.text }

// Place returns where the directive is.
func (d *Directive) Place() string {
	if d.Line != nil {
		return "HTML line " + strconv.Itoa(*d.Line)
	}
	return "X-Robots-Tag line " + strconv.Itoa(*d.Header)
}

// Cite returns the directive with its place.
func (d *Directive) Cite() string { return d.text + " (" + d.Place() + ")" }

// contradictions returns the contradictions for a crawler.
func contradictions(o *indexing.Outlook) []Contradiction {
	list := []Contradiction{}
	if hidden := newDirective(o.Hidden); hidden != nil {
		text := "robots.txt disallows the page, so no crawler reads its " + hidden.Cite()
		if by := o.Directives.By(indexing.NoIndex); !by.IsZero() {
			text += "; its address can be listed anyway; allow the page so that noindex is read"
		}
		list = append(list, Contradiction{Kind: "hidden", Rule: hidden, Text: text})
	}
	for _, pair := range o.Directives.Opposed {
		counts := newDirective(pair[0])
		other := newDirective(pair[1])
		text := counts.Cite() + " against " + other.Cite() + ": the first counts"
		if o.Directives.Engine != indexing.AnyEngine {
			text += " for " + o.Directives.Engine.Title()
		}
		list = append(list, Contradiction{Kind: "opposed", Rule: counts, Other: other, Text: text})
	}
	return list
}

// notEmpty returns nil, in JSON null, for a zero value.
func notEmpty[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}
