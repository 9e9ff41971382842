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
func cite(d indexing.Directive) string { return clip(d.String()) + " (" + placeOf(d) + ")" }

// contradictions describes the contradictions for a crawler, the worst first.
func (r *pageVerdict) contradictions() (list []string) {
	d := &r.outlook.Directives
	if h := r.outlook.Hidden; !h.IsZero() {
		text := "robots.txt disallows the page, so no crawler reads its " + cite(h)
		if by := d.By(indexing.NoIndex); !by.IsZero() {
			text += "; its address can be listed anyway; allow the page so that noindex is read"
		}
		list = append(list, text)
	}
	for _, pair := range d.Opposed {
		text := cite(pair[0]) + " against " + cite(pair[1]) + ": the first counts"
		if d.Engine != indexing.AnyEngine {
			text += " for " + d.Engine.Title()
		}
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
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

// crawlReason explains whether the page may be fetched.
func (p *pageCommand) crawlReason(r *pageVerdict) string {
	if p.noRobots {
		return r.outlook.Crawl.Reason.Sentence() + "; the page is assumed to be allowed"
	}
	text := because(p.palette, r.verdict, false)
	if r.blockedAt != "" {
		text = "redirects to " + robots.Printable(r.blockedAt) + ": " + text
	}
	return text
}

// mainReason explains the first answer that is not yes, or that on the index.
func (p *pageCommand) mainReason(r *pageVerdict) string {
	o := &r.outlook
	if o.Crawl.Is == indexing.No || o.Crawl.Reason == indexing.Undecided {
		return p.crawlReason(r)
	}
	for _, a := range []indexing.Answer{o.Index, o.Follow, o.Snippet} {
		if a.Is != indexing.Yes {
			return reasonFor(a)
		}
	}
	if o.Index.Rule.IsZero() && o.Snippet.Reason == indexing.Limited {
		return reasonFor(o.Snippet)
	}
	return reasonFor(o.Index)
}

// writePage writes the result as text.
func (p *pageCommand) writePage(t *urlTarget, got *fetchedPage, list []pageVerdict) {
	w := p.std.out
	if p.j.judged > 0 {
		fmt.Fprintln(w)
	}
	title := "The page"
	if !p.noURL {
		title = robots.Printable(t.url)
	}
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
	if state := got.state(); state != "" {
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
		for _, text := range list[i].contradictions() {
			if names[text] == nil {
				texts = append(texts, text)
			}
			names[text] = append(names[text], list[i].Name)
		}
		blocked = blocked && list[i].outlook.Crawl.Is == indexing.No
	}
	for _, text := range texts {
		if len(list) > 1 {
			text += " (" + listed(names[text], 3) + ")"
		}
		help.Wrap(p.std.out, "  "+p.palette.paint(yellow, "contradiction")+": ", robots.Printable(text))
	}
	if blocked {
		help.Wrap(p.std.out, "  note: ", "the page may not be fetched, so a noindex on it is unknown, and no crawler would read it")
	}
}

// answerWord colors an answer and pads it to the longest.
func (p *pageCommand) answerWord(a indexing.Answer) string {
	style := map[indexing.Word]string{indexing.Yes: green, indexing.No: red}[a.Is]
	return p.palette.paint(cmp.Or(style, yellow), fill(a.Is.String(), len("unknown")))
}

// writeOutlook writes the result for one crawler, a line for each answer.
func (p *pageCommand) writeOutlook(r *pageVerdict) {
	o := &r.outlook
	fmt.Fprintf(p.std.out, "  crawl    %s  %s\n", p.answerWord(o.Crawl), p.crawlReason(r))
	var unread []string
	for i, a := range []indexing.Answer{o.Index, o.Follow, o.Snippet} {
		what := []string{"index", "follow", "snippet"}[i]
		fmt.Fprintf(p.std.out, "  %-7s  %s  %s\n", what, p.answerWord(a), robots.Printable(reasonFor(a)))
		if r.ifRead != nil {
			b := []indexing.Answer{r.ifRead.Index, r.ifRead.Follow, r.ifRead.Snippet}[i]
			text := what + " " + b.Is.String()
			if !b.Rule.IsZero() {
				text += ", " + cite(b.Rule)
			}
			unread = append(unread, text)
		}
	}
	if r.ifRead != nil {
		help.Wrap(p.std.out, "  if allowed: ", robots.Printable(strings.Join(unread, "; ")))
	}
}

// writeOutlooks writes a row for each crawler.
func (p *pageCommand) writeOutlooks(list []pageVerdict) {
	var rows [][]string
	for i := range list {
		r := &list[i]
		o := &r.outlook
		rows = append(rows, []string{
			"  " + robots.Printable(r.Name), r.Dialect.Name, "crawl " + p.answerWord(o.Crawl), "index " + p.answerWord(o.Index),
			"follow " + p.answerWord(o.Follow), "snippet " + p.answerWord(o.Snippet), p.mainReason(r),
		})
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
	counts, same := 0, true
	for k := range list {
		effect := list[k].outlook.Directives.Readings[i].Effect
		same = same && effect == r.Effect
		if effect == indexing.Counts {
			counts++
		}
	}
	switch {
	case !same || counts > 1:
		return "counts for " + strconv.Itoa(counts) + " of " + strconv.Itoa(len(list))
	case r.Effect == indexing.Meaningless:
		return r.Problem.Sentence()
	case r.Effect == indexing.NotRead && len(list) == 1:
		return "not documented by " + first.Engine.Title()
	}
	return r.Effect.Sentence()
}

// state describes the fetch of a page, "" if it was not fetched.
func (f *fetchedPage) state() string {
	var parts []string
	switch {
	case f.page == nil && f.err == nil, f.page != nil && f.page.Status == 0:
		return ""
	case f.page != nil:
		parts = append(parts, "status "+strconv.Itoa(f.page.Status))
	}
	if n := len(f.urls) - 1; n > 0 {
		parts = append(parts, "redirected to "+clip(f.urls[n]))
	}
	switch {
	case f.page == nil:
		parts = append(parts, "unavailable: "+f.err.Error())
	case f.page.Status/100 != 2:
	case !indexing.IsHTML(http.Header{"Content-Type": {f.kind}}):
		parts = append(parts, "not HTML, only headers read: "+clip(f.kind))
	default:
		parts = append(parts, count(f.size, "byte")+" of HTML read")
		if f.err != nil {
			parts = append(parts, "truncated: "+f.err.Error())
		}
	}
	return "page: " + strings.Join(parts, ", ")
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

func pageAnswer(a indexing.Answer) jsonObject {
	return jsonObject{{"answer", a.Is}, {"reason", a.Reason}, {"rule", directiveMembers(a.Rule)}}
}

// useMembers describes the answers besides that on the crawl, null for no outlook.
func useMembers(o *indexing.Outlook) jsonObject {
	if o == nil {
		return nil
	}
	return jsonObject{{"index", pageAnswer(o.Index)}, {"follow", pageAnswer(o.Follow)}, {"snippet", pageAnswer(o.Snippet)}}
}

// json describes the outcome of fetching a page, null if none was fetched.
func (f *fetchedPage) json() jsonObject {
	if f.page == nil && f.err == nil {
		return nil
	}
	var status *int
	if f.page != nil {
		status = &f.page.Status
	}
	var failure *string
	if f.err != nil {
		failure = new(f.err.Error())
	}
	return jsonObject{
		{"status", status}, {"urls", f.urls}, {"type", notEmpty(f.kind)}, {"bytes", f.size}, {"cut", f.page != nil && f.page.Cut}, {"error", failure},
	}
}

// writePageJSON writes a line for each crawler.
func (p *pageCommand) writePageJSON(t *urlTarget, got *fetchedPage, list []pageVerdict) {
	for i := range list {
		w := &list[i]
		o := &w.outlook
		var url, name *string
		if !p.noURL {
			url = &t.url
		}
		if w.known {
			name = &w.Name
		}
		var verdict *robots.Verdict
		if !p.noRobots {
			verdict = &w.verdict
		}
		var page jsonObject
		if p.local == nil {
			page = got.json()
		}
		contradictions, rules := []jsonObject{}, []jsonObject{}
		contradict := func(kind string, rule, other indexing.Directive) {
			contradictions = append(contradictions, jsonObject{{"kind", kind}, {"rule", directiveMembers(rule)}, {"other", directiveMembers(other)}})
		}
		if !o.Hidden.IsZero() {
			contradict("hidden", o.Hidden, indexing.Directive{})
		}
		for _, pair := range o.Directives.Opposed {
			contradict("opposed", pair[0], pair[1])
		}
		for _, r := range o.Directives.Readings {
			rules = append(rules, append(directiveMembers(r.Directive), jsonObject{{"effect", r.Effect}, {"problem", notEmpty(r.Problem)}}...))
		}
		line := jsonObject{
			{"schema", 1}, {"url", url}, {"name", name}, {"agent", w.tokens}, {"dialect", w.Dialect.Name}, {"engine", o.Directives.Engine},
			{"crawl", pageAnswer(o.Crawl)},
		}
		line = append(line, useMembers(o)...)
		line = append(line, jsonObject{
			{"if_read", useMembers(w.ifRead)}, {"contradictions", contradictions}, {"rules", rules}, {"verdict", verdict}, {"page", page},
		}...)
		if p.local != nil && p.local.Cut {
			line = append(line, jsonMember{"truncated", true}) // later rules of a page given with --html are unknown
		}
		if r := p.j.from.Record; r != nil {
			line = append(line, stateMembers(r, p.j.rules[0].State().Text())...)
		}
		p.std.encode(line)
	}
}
