package main

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/help"
	"github.com/robotskit/robots/indexing"
)

// placeOf returns the place of a directive.
func placeOf(d indexing.Directive) string {
	if d.Place.Header > 0 {
		return "X-Robots-Tag line " + strconv.Itoa(d.Place.Header)
	}
	return "HTML line " + strconv.Itoa(d.Place.Line)
}

// cite returns a directive with its place.
func cite(d indexing.Directive) string {
	return robots.Printable(clip(d.String())) + " (" + placeOf(d) + ")"
}

// A pageAnswer is whether a crawler may fetch a page, or its engine can index it, follow its links
// or show a snippet.
type pageAnswer struct {
	what string
	indexing.Answer
	why string // for people
}

// answers returns the answers of an outlook, that on the crawl first.
func (p *pageCommand) answers(r *pageVerdict, o indexing.Outlook) []pageAnswer {
	why := o.Crawl.Reason.Sentence() + "; the page is assumed to be allowed"
	if r.verdict != nil {
		why = because(p.palette, *r.verdict, false)
	}
	if r.blockedAt != "" {
		why = "redirects to " + robots.Printable(r.blockedAt) + ": " + why
	}
	return []pageAnswer{
		{"crawl", o.Crawl, why}, {"index", o.Index, reasonFor(o.Index)}, {"follow", o.Follow, reasonFor(o.Follow)}, {"snippet", o.Snippet, reasonFor(o.Snippet)},
	}
}

// A contradiction is a directive that robots.txt hides, or one that counts against another.
type contradiction struct {
	kind        string
	rule, other indexing.Directive
	text        string
}

// contradictions returns the contradictions for a crawler, the worst first.
func contradictions(o *indexing.Outlook) (list []contradiction) {
	d := &o.Directives
	if h := o.Hidden; !h.IsZero() {
		text := "robots.txt disallows the page, so no crawler reads its " + cite(h)
		if by := d.By(indexing.NoIndex); !by.IsZero() {
			text += "; its address can be listed anyway; allow the page so that noindex is read"
		}
		list = append(list, contradiction{"hidden", h, indexing.Directive{}, text})
	}
	for _, pair := range d.Opposed {
		text := cite(pair[0]) + " against " + cite(pair[1]) + ": the first counts"
		if d.Engine != indexing.AnyEngine {
			text += " for " + d.Engine.Title()
		}
		list = append(list, contradiction{"opposed", pair[0], pair[1], text})
	}
	return list
}

// reasonFor explains an answer.
func reasonFor(a indexing.Answer) string {
	text := a.Reason.Sentence()
	switch {
	case a.Is == indexing.AddressOnly:
		return text + "; only its address can be listed, if other pages link to it"
	case a.Reason == indexing.ByRule, a.Reason == indexing.Limited:
		return cite(a.Rule)
	case a.Reason == indexing.Expires, a.Reason == indexing.Expired:
		return text + ", " + stamp(a.Rule.Time) + ": " + cite(a.Rule)
	case !a.Rule.IsZero():
		return text + ": " + cite(a.Rule)
	}
	return text
}

// mainReason explains the first answer that is not yes, or else the first that a directive limits.
func (r *pageVerdict) mainReason() string {
	for _, a := range r.answers {
		if a.Is != indexing.Yes && a.Reason != indexing.NotAsked {
			return a.why
		}
	}
	for _, a := range r.answers {
		if !a.Rule.IsZero() {
			return a.why
		}
	}
	return reasonFor(r.outlook.Index)
}

// writePage writes the result as text.
func (p *pageCommand) writePage(t *urlTarget, got *fetchedPage, list []pageVerdict) {
	w := p.std.out
	if p.j.judged > 0 {
		fmt.Fprintln(w)
	}
	title := cmp.Or(robots.Printable(t.url), "The page")
	one := len(list) == 1
	if one && list[0].Name != anyCrawler {
		title += ", for " + robots.Printable(list[0].Name) + ", in " + list[0].Dialect.Name
	}
	fmt.Fprintln(w, p.palette.paint(bold, title))
	p.writeContradictions(list)
	if one {
		p.writeOutlook(&list[0])
	} else {
		p.writeOutlooks(list)
	}
	p.j.writeState("  ", factOf)
	if _, state := got.describe(); state != "" {
		fmt.Fprintf(w, "  %s\n", p.palette.paint(faint, robots.Printable(state)))
	}
	if got.page != nil {
		p.writeDirectives(got.page, list)
	}
}

// writeContradictions writes each contradiction once, with its crawlers if there are
// several.
func (p *pageCommand) writeContradictions(list []pageVerdict) {
	var texts []string
	names := map[string][]string{}
	blocked := p.local == nil
	for i := range list {
		r := &list[i]
		// A none against an all is two contradictions with one text.
		same := func(a, b contradiction) bool { return a.text == b.text }
		for _, c := range slices.CompactFunc(contradictions(&r.outlook), same) {
			if names[c.text] == nil {
				texts = append(texts, c.text)
			}
			names[c.text] = append(names[c.text], r.Name)
		}
		blocked = blocked && r.outlook.Crawl.Is == indexing.No
	}
	for _, text := range texts {
		if len(list) > 1 {
			text += " (" + robots.Printable(listed(names[text], 3)) + ")"
		}
		help.Wrap(p.std.out, "  "+p.palette.paint(yellow, "contradiction")+": ", text)
	}
	if blocked {
		help.Wrap(p.std.out, "  note: ", "the page may not be fetched, so a noindex on it is unknown, and no crawler would read it")
	}
}

// answerWord colors an answer and pads it to the longest.
func (p *pageCommand) answerWord(a pageAnswer) string {
	style := map[indexing.Word]string{indexing.Yes: green, indexing.No: red}[a.Is]
	return p.palette.paint(cmp.Or(style, yellow), fill(a.Is.String(), len("unknown")))
}

// writeOutlook writes the result for one crawler, a line for each answer.
func (p *pageCommand) writeOutlook(r *pageVerdict) {
	for _, a := range r.answers {
		fmt.Fprintf(p.std.out, "  %-7s  %s  %s\n", a.what, p.answerWord(a), a.why)
	}
	var ifRead []string
	for _, a := range r.ifRead {
		text := a.what + " " + a.Is.String()
		if !a.Rule.IsZero() {
			text += ", " + cite(a.Rule)
		}
		ifRead = append(ifRead, text)
	}
	if ifRead != nil {
		help.Wrap(p.std.out, "  if allowed: ", strings.Join(ifRead, "; "))
	}
}

// writeOutlooks writes a row for each crawler.
func (p *pageCommand) writeOutlooks(list []pageVerdict) {
	var rows [][]string
	for i := range list {
		r := &list[i]
		row := []string{"  " + robots.Printable(r.Name), r.Dialect.Name}
		for _, a := range r.answers {
			row = append(row, a.what+" "+p.answerWord(a))
		}
		rows = append(rows, append(row, r.mainReason()))
	}
	align(p.std.out, rows)
}

// writeDirectives writes the directives of the page in order, with their effect.
func (p *pageCommand) writeDirectives(page *indexing.Page, list []pageVerdict) {
	heading(p.std.out, p.palette, "Rules of the page")
	if len(page.Directives) == 0 {
		fmt.Fprintln(p.std.out, "  none")
	}
	var rows [][]string
	for i, d := range page.Directives {
		rows = append(rows, []string{"  " + placeOf(d), robots.Printable(clip(d.String())), effectOf(i, list)})
	}
	align(p.std.out, rows)
	if page.Cut {
		fmt.Fprintln(p.std.out, "  the page is truncated; later rules are unknown")
	}
}

// effectOf describes the effect of a directive on the crawlers.
func effectOf(i int, list []pageVerdict) string {
	first := &list[0].outlook.Directives
	r := first.Readings[i]
	effects := map[indexing.Effect]int{}
	for k := range list {
		effects[list[k].outlook.Directives.Readings[i].Effect]++
	}
	counts := effects[indexing.Counts]
	switch {
	case len(effects) > 1 || counts > 1:
		return "counts for " + strconv.Itoa(counts) + " of " + strconv.Itoa(len(list))
	case r.Effect == indexing.Meaningless:
		return r.Problem.Sentence()
	case r.Effect == indexing.NotRead && len(list) == 1:
		return "not documented by " + first.Engine.Title()
	}
	return r.Effect.Sentence()
}

// describe describes the fetch of a page in JSON and for people, null and "" if it was not fetched.
func (f *fetchedPage) describe() (j jsonObject, text string) {
	if len(f.urls) == 0 {
		return nil, ""
	}
	var page indexing.Page
	var parts []string
	failure := ""
	if f.err != nil {
		failure = f.err.Error()
	}
	if f.page != nil {
		page = *f.page
		parts = append(parts, "status "+strconv.Itoa(page.Status))
	}
	if n := len(f.urls) - 1; n > 0 {
		parts = append(parts, "redirected to "+clip(f.urls[n]))
	}
	switch {
	case f.page == nil:
		parts = append(parts, "unavailable: "+failure)
	case page.Status/100 != 2:
	case !indexing.IsHTML(http.Header{"Content-Type": {f.kind}}):
		parts = append(parts, "not HTML, only headers read: "+clip(f.kind))
	default:
		parts = append(parts, count(f.size, "byte")+" of HTML read")
		if f.err != nil {
			parts = append(parts, "truncated: "+failure)
		}
	}
	return jsonObject{
		{"status", notEmpty(page.Status)}, {"urls", f.urls}, {"type", notEmpty(f.kind)}, {"bytes", f.size}, {"cut", page.Cut}, {"error", notEmpty(failure)},
	}, "page: " + strings.Join(parts, ", ")
}

// directiveMembers describes a directive in JSON, null for none: with the number of its
// X-Robots-Tag line in header, or of its HTML line.
func directiveMembers(d indexing.Directive) jsonObject {
	if d.IsZero() {
		return nil
	}
	return jsonObject{
		{"agent", notEmpty(d.Agent)}, {"name", d.Name}, {"value", notEmpty(d.Value)}, {"header", notEmpty(d.Place.Header)}, {"line", notEmpty(d.Place.Line)},
	}
}

// answersJSON describes answers, nil for none.
func answersJSON(list []pageAnswer) (j jsonObject) {
	for _, a := range list {
		j = append(j, jsonMember{a.what, jsonObject{{"answer", a.Is}, {"reason", a.Reason}, {"rule", directiveMembers(a.Rule)}}})
	}
	return j
}

// writePageJSON writes a line for each crawler.
func (p *pageCommand) writePageJSON(t *urlTarget, got *fetchedPage, list []pageVerdict) {
	page, _ := got.describe()
	for i := range list {
		r := &list[i]
		o := &r.outlook
		contradicting, rules := []jsonObject{}, []jsonObject{}
		for _, c := range contradictions(o) {
			contradicting = append(contradicting, jsonObject{{"kind", c.kind}, {"rule", directiveMembers(c.rule)}, {"other", directiveMembers(c.other)}})
		}
		for _, r := range o.Directives.Readings {
			rules = append(rules, append(directiveMembers(r.Directive), jsonObject{{"effect", r.Effect}, {"problem", notEmpty(r.Problem)}}...))
		}
		line := jsonObject{
			{"schema", 1}, {"url", notEmpty(t.url)}, {"name", notEmpty(r.entry)}, {"agent", r.Echo()}, {"dialect", r.Dialect.Name},
			{"fallback", r.fallback}, {"binds", r.Binds()},
			{"engine", o.Directives.Engine},
		}
		line = append(line, answersJSON(r.answers)...)
		line = append(line, jsonObject{
			{"if_read", answersJSON(r.ifRead)}, {"contradictions", contradicting}, {"rules", rules}, {"verdict", r.verdict}, {"page", page},
			{"truncated", onlyIf(p.local != nil && p.local.Cut, true)}, // later rules of a page given with --html are unknown
		}...)
		if record := p.j.from.Record; record != nil {
			line = append(line, stateMembers(record, p.j.rules[0].State().Text())...)
		}
		p.std.encode(line)
	}
}
