package main

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/indexing"
)

// A pageLine is an answer of one line of text.
type pageLine struct {
	what string // can be done
	answer.PageAnswer
	why string
}

// name returns the usual name of a crawler, or else the given one.
func (r *pageVerdict) name() string {
	if r.outlook.Name != nil {
		return *r.outlook.Name
	}
	return r.Name
}

// lines returns the answers of an outlook, that on the crawl first.
func (r *pageVerdict) lines(colors render.Palette) []pageLine {
	o := &r.outlook
	why := o.Crawl.Why
	if r.verdict != nil {
		why = because(colors, *r.verdict, false)
	}
	if r.blockedAt != "" {
		why = "redirects to " + robots.Printable(r.blockedAt) + ": " + why
	}
	return []pageLine{
		{"crawl", o.Crawl, why}, {"index", o.Index, o.Index.Why}, {"follow", o.Follow, o.Follow.Why}, {"snippet", o.Snippet, o.Snippet.Why},
	}
}

// mainReason explains the first answer that is not yes, or else the first that a directive limits.
func mainReason(lines []pageLine) string {
	for _, line := range lines {
		if line.Answer != indexing.Yes && line.Reason != indexing.NotAsked {
			return line.why
		}
	}
	for _, line := range lines {
		if line.Rule != nil {
			return line.why
		}
	}
	return lines[1].why // of the index
}

// writePage writes the result as text.
func (p *pageCommand) writePage(t *urlTarget, got *fetchedPage, list []pageVerdict) {
	w := p.std.Out
	if p.j.judged > 0 {
		fmt.Fprintln(w)
	}
	title := cmp.Or(robots.Printable(t.url), "The page")
	one := len(list) == 1
	if name := list[0].name(); one && name != answer.AnyCrawler {
		title += ", for " + robots.Printable(name) + ", in " + list[0].Dialect.Name
	}
	fmt.Fprintln(w, p.palette.Paint(render.Bold, title))
	p.writeContradictions(list)
	if one {
		p.writeOutlook(&list[0])
	} else {
		p.writeOutlooks(list)
	}
	p.j.writeState("  ", source.FactOf)
	if state := got.text(); state != "" {
		fmt.Fprintf(w, "  %s\n", p.palette.Paint(render.Faint, robots.Printable(state)))
	}
	if got.page != nil {
		p.writeRules(got.page, list)
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
		same := func(a, b answer.Contradiction) bool { return a.Text == b.Text }
		for _, c := range slices.CompactFunc(slices.Clone(r.outlook.Contradictions), same) {
			if names[c.Text] == nil {
				texts = append(texts, c.Text)
			}
			names[c.Text] = append(names[c.Text], r.name())
		}
		blocked = blocked && r.outlook.Crawl.Answer == indexing.No
	}
	for _, text := range texts {
		if len(list) > 1 {
			text += " (" + robots.Printable(render.Listed(names[text], 3)) + ")"
		}
		render.Wrap(p.std.Out, "  "+p.palette.Paint(render.Yellow, "contradiction")+": ", text)
	}
	if blocked {
		render.Wrap(p.std.Out, "  note: ", "the page may not be fetched, so a noindex on it is unknown, and no crawler would read it")
	}
}

// answerWord colors an answer and pads it to the longest.
func (p *pageCommand) answerWord(word indexing.Word) string {
	style := map[indexing.Word]string{indexing.Yes: render.Green, indexing.No: render.Red}[word]
	return p.palette.Paint(cmp.Or(style, render.Yellow), render.Fill(word.String(), len("unknown")))
}

// writeOutlook writes the result for one crawler, a line for each answer.
func (p *pageCommand) writeOutlook(r *pageVerdict) {
	for _, line := range r.lines(p.palette) {
		fmt.Fprintf(p.std.Out, "  %-7s  %s  %s\n", line.what, p.answerWord(line.Answer), line.why)
	}
	read := r.outlook.IfRead
	if read == nil {
		return
	}
	var parts []string
	for _, line := range []pageLine{{what: "index", PageAnswer: read.Index}, {what: "follow", PageAnswer: read.Follow}, {what: "snippet", PageAnswer: read.Snippet}} {
		text := line.what + " " + line.Answer.String()
		if line.Rule != nil {
			text += ", " + line.Rule.Cite()
		}
		parts = append(parts, text)
	}
	render.Wrap(p.std.Out, "  if allowed: ", strings.Join(parts, "; "))
}

// writeOutlooks writes a row for each crawler.
func (p *pageCommand) writeOutlooks(list []pageVerdict) {
	var rows [][]string
	for i := range list {
		r := &list[i]
		row := []string{"  " + robots.Printable(r.name()), r.Dialect.Name}
		lines := r.lines(p.palette)
		for _, line := range lines {
			row = append(row, line.what+" "+p.answerWord(line.Answer))
		}
		rows = append(rows, append(row, mainReason(lines)))
	}
	render.Align(p.std.Out, rows)
}

// writeRules writes the rules of the page in order, with their effect.
func (p *pageCommand) writeRules(page *indexing.Page, list []pageVerdict) {
	render.Heading(p.std.Out, p.palette, "Rules of the page")
	if len(page.Directives) == 0 {
		fmt.Fprintln(p.std.Out, "  none")
	}
	var rows [][]string
	for i := range list[0].outlook.Rules {
		rule := &list[0].outlook.Rules[i]
		rows = append(rows, []string{"  " + rule.Place(), rule.String(), effectOf(i, list)})
	}
	for i := range list[0].outlook.Signals {
		s := &list[0].outlook.Signals[i]
		effect := "a preference, " + s.Source.Document
		if !s.Known {
			effect = "not defined by " + s.Source.Document
		}
		rows = append(rows, []string{"  header", robots.Printable(s.Text()), effect})
	}
	render.Align(p.std.Out, rows)
	if page.Cut {
		fmt.Fprintln(p.std.Out, "  the page is truncated; later rules are unknown")
	}
}

// effectOf describes the effect of a rule of the page on the crawlers.
func effectOf(i int, list []pageVerdict) string {
	effects := map[indexing.Effect]int{}
	for k := range list {
		effects[list[k].outlook.Rules[i].Effect]++
	}
	counts := effects[indexing.Counts]
	rule := &list[0].outlook.Rules[i]
	switch {
	case len(effects) > 1 || counts > 1:
		return "counts for " + strconv.Itoa(counts) + " of " + strconv.Itoa(len(list))
	case rule.Effect == indexing.NotRead && len(list) > 1: // by engines with different names
		return rule.Effect.Sentence()
	}
	return rule.Why
}

// A pageFetch is the fetch of a page.
type pageFetch struct {
	Status *int     `json:"status"` // of the last response
	URLs   []string `json:"urls"`   // requested, redirects included
	Type   *string  `json:"type"`   // Content-Type
	Bytes  int      `json:"bytes"`  // of the body that were read
	Cut    bool     `json:"cut"`    // the page is longer than what was read
	Error  *string  `json:"error"`  // why the page is unavailable or truncated
}

// report describes the fetch of a page, nil if it was not fetched.
func (f *fetchedPage) report() *pageFetch {
	if len(f.urls) == 0 {
		return nil
	}
	var urls []string
	for _, url := range f.urls {
		urls = append(urls, answer.HideUser(url))
	}
	r := &pageFetch{URLs: urls, Type: notEmpty(f.kind), Bytes: f.size}
	if f.page != nil {
		r.Status = notEmpty(f.page.Status)
		r.Cut = f.page.Cut
	}
	if f.err != nil {
		r.Error = notEmpty(f.err.Error())
	}
	return r
}

// text describes the fetch of a page for people, "" if it was not fetched.
func (f *fetchedPage) text() string {
	r := f.report()
	if r == nil {
		return ""
	}
	var parts []string
	if f.page != nil {
		parts = append(parts, "status "+strconv.Itoa(f.page.Status))
	}
	if n := len(f.urls) - 1; n > 0 {
		parts = append(parts, "redirected to "+clip(r.URLs[n]))
	}
	switch {
	case f.page == nil:
		parts = append(parts, "unavailable: "+f.err.Error())
	case f.page.Status/100 != 2:
	case !indexing.IsHTML(http.Header{"Content-Type": {f.kind}}):
		parts = append(parts, "not HTML, only headers read: "+clip(f.kind))
	default:
		parts = append(parts, render.Count(f.size, "byte")+" of HTML read")
		if f.err != nil {
			parts = append(parts, "truncated: "+f.err.Error())
		}
	}
	return "page: " + strings.Join(parts, ", ")
}

// A shownPage is a line of JSON: an outlook, and where the page and its robots.txt are from.
type shownPage struct {
	answer.Outlook
	Page      *pageFetch `json:"page"`                // that was fetched
	Truncated bool       `json:"truncated,omitempty"` // later rules of a page given with --html are unknown
	*siteOutcome
}

// writePageJSON writes a line for each crawler.
func (p *pageCommand) writePageJSON(got *fetchedPage, list []pageVerdict) {
	for i := range list {
		line := shownPage{Outlook: list[i].outlook, Page: got.report(), Truncated: p.local != nil && p.local.Cut}
		if record := p.j.from.Record; record != nil {
			line.siteOutcome = newSiteOutcome(record, p.j.rules[0].State().Text())
		}
		p.std.EncodeAnswer(line)
	}
}
