package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/indexing"
)

// This file writes the answers of the verb page.

// placeOf says where a directive stands.
func placeOf(d indexing.Directive) string {
	if d.Place.Header > 0 {
		return "X-Robots-Tag line " + strconv.Itoa(d.Place.Header)
	}
	return "HTML line " + strconv.Itoa(d.Place.Line)
}

// cited is a directive with its place.
func cited(d indexing.Directive) string { return clip(d.String()) + " (" + placeOf(d) + ")" }

// contradictions says what of the rules for a crawler cannot be meant so, the worst
// first.
func (w *pageAsker) contradictions() (list []string) {
	d := &w.outlook.Directives
	if h := w.outlook.Hidden; !h.IsZero() {
		text := "robots.txt disallows the page, so nobody reads its " + cited(h)
		if by := d.By(indexing.NoIndex); !by.IsZero() {
			text += "; its address may be listed all the same: for noindex to be read the page must be allowed"
		}
		list = append(list, text)
	}
	for _, pair := range d.Opposed {
		text := cited(pair[0]) + " against " + cited(pair[1]) + ": the first counts"
		if d.Engine != indexing.AnyEngine {
			text += " with " + d.Engine.Title()
		}
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// reasonFor says why an answer is as it is.
func reasonFor(a indexing.Answer) string {
	text := a.Reason.Sentence()
	switch {
	case a.Is == indexing.AddressOnly:
		return text + ": its address alone may be listed, as others link to it"
	case a.Reason == indexing.ByRule, a.Reason == indexing.Limited:
		return cited(a.Rule)
	case a.Reason == indexing.Expires, a.Reason == indexing.Expired:
		return text + ", " + stamp(a.Rule.Time) + ": " + cited(a.Rule)
	case !a.Rule.IsZero():
		return text + ": " + cited(a.Rule)
	}
	return text
}

// crawlReason says by which line of which robots.txt a page may be fetched or not.
func (c *pageCall) crawlReason(w *pageAsker, colours palette) string {
	if c.noFile {
		return w.outlook.Crawl.Reason.Sentence() + ": what follows is of a page that may be fetched"
	}
	text := because(colours, w.verdict)
	if w.shutAt != "" {
		text = "it redirects to " + robots.Printable(w.shutAt) + ": " + text
	}
	return text
}

// whyShut is the reason of the first answer that is not yes, or of the index.
func (c *pageCall) whyShut(w *pageAsker, colours palette) string {
	o := &w.outlook
	if o.Crawl.Is == indexing.No || o.Crawl.Reason == indexing.Undecided {
		return c.crawlReason(w, colours)
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

// print writes the answer as text.
func (c *pageCall) print(p *page, got *fetchedPage, who []pageAsker) {
	w := c.std.out
	if c.answers > 0 {
		fmt.Fprintln(w)
	}
	title := "The page"
	if !c.noURL {
		title = robots.Printable(p.url)
	}
	if c.askers == nil && who[0].name != "" {
		title += ", for " + robots.Printable(who[0].name) + ", in " + who[0].dialect.Name
	}
	fmt.Fprintln(w, c.palette.paint(bold, title))
	c.printContradictions(who)
	if c.askers == nil {
		c.printOutlook(&who[0])
	} else {
		c.printOutlooks(who)
	}
	c.printState("  ", c.state(p, factOf))
	c.printState("  ", got.state())
	if got.page != nil {
		c.printRules(got.page, who)
	}
}

// printContradictions writes each contradiction once, with the crawlers that it concerns
// where there are several.
func (c *pageCall) printContradictions(who []pageAsker) {
	var texts []string
	whose := map[string][]string{}
	for i := range who {
		for _, text := range who[i].contradictions() {
			if whose[text] == nil {
				texts = append(texts, text)
			}
			whose[text] = append(whose[text], who[i].name)
		}
	}
	for _, text := range texts {
		if len(who) > 1 {
			text += " (" + someNames(whose[text]) + ")"
		}
		wrap(c.std.out, textWidth, "  "+c.palette.paint(yellow, "contradiction")+": ", robots.Printable(text))
	}
	hidden := len(who) > 0 && c.ours == nil && !slices.ContainsFunc(who, func(w pageAsker) bool { return w.outlook.Crawl.Is != indexing.No })
	if hidden {
		wrap(c.std.out, textWidth, "  note: ", "whether the page says noindex is not known, as it may not be fetched; if it does, no crawler reads it either")
	}
}

// someNames joins names, of many the first.
func someNames(names []string) string {
	const most = 3
	if n := len(names); n > most+1 {
		return strings.Join(names[:most], ", ") + " and " + strconv.Itoa(n-most) + " more"
	}
	return strings.Join(names, ", ")
}

// paintWord colours an answer, filled up to the longest word.
func (c *pageCall) paintWord(a indexing.Answer) string {
	style := map[indexing.Word]string{indexing.Yes: green, indexing.No: red}[a.Is]
	if style == "" {
		style = yellow
	}
	return c.palette.paint(style, fill(a.Is.String(), len("unknown")))
}

// printOutlook writes the answers for one crawler, a line each.
func (c *pageCall) printOutlook(w *pageAsker) {
	o := &w.outlook
	for _, line := range []struct {
		what   string
		answer indexing.Answer
		why    string
	}{
		{"crawl", o.Crawl, c.crawlReason(w, c.palette)},
		{"index", o.Index, robots.Printable(reasonFor(o.Index))},
		{"follow", o.Follow, robots.Printable(reasonFor(o.Follow))},
		{"snippet", o.Snippet, robots.Printable(reasonFor(o.Snippet))},
	} {
		fmt.Fprintf(c.std.out, "  %-7s  %s  %s\n", line.what, c.paintWord(line.answer), line.why)
	}
	if w.ifRead != nil {
		var said []string
		for i, a := range []indexing.Answer{w.ifRead.Index, w.ifRead.Follow, w.ifRead.Snippet} {
			text := []string{"index", "follow", "snippet"}[i] + " " + a.Is.String()
			if !a.Rule.IsZero() {
				text += ", " + cited(a.Rule)
			}
			said = append(said, text)
		}
		wrap(c.std.out, textWidth, "  if it could be read: ", robots.Printable(strings.Join(said, "; ")))
	}
}

// printOutlooks writes a row for each crawler.
func (c *pageCall) printOutlooks(who []pageAsker) {
	names, dialects := 0, 0
	for i := range who {
		names, dialects = max(names, columns(who[i].name)), max(dialects, len(who[i].dialect.Name))
	}
	for i := range who {
		w := &who[i]
		o := &w.outlook
		fmt.Fprintf(c.std.out, "  %s  %s  crawl %s  index %s  follow %s  snippet %s  %s\n", fill(robots.Printable(w.name), names), fill(w.dialect.Name, dialects),
			c.paintWord(o.Crawl), c.paintWord(o.Index), c.paintWord(o.Follow), c.paintWord(o.Snippet), c.whyShut(w, c.palette))
	}
}

// printRules writes the rules of the page in its order, with what becomes of each.
func (c *pageCall) printRules(page *indexing.Page, who []pageAsker) {
	w := c.std.out
	heading(w, c.palette, "Rules of the page")
	if len(page.Directives) == 0 {
		fmt.Fprintln(w, "  none")
	}
	place, rule := 0, 0
	for _, d := range page.Directives {
		place, rule = max(place, len(placeOf(d))), max(rule, min(columns(clip(d.String())), maxRuleColumn))
	}
	for i, d := range page.Directives {
		text, _ := shown(clip(d.String()))
		fmt.Fprintf(w, "  %s  %s  %s\n", fill(placeOf(d), place), fill(text, rule), effectOf(i, who))
	}
	if page.Cut {
		fmt.Fprintln(w, "  and what is behind the part that was read is not known")
	}
}

// effectOf says what becomes of a directive for those who ask.
func effectOf(i int, who []pageAsker) string {
	first := &who[0].outlook.Directives
	r := first.Readings[i]
	counts, same := 0, true
	for k := range who {
		effect := who[k].outlook.Directives.Readings[i].Effect
		same = same && effect == r.Effect
		if effect == indexing.Counts {
			counts++
		}
	}
	switch {
	case r.Effect == indexing.Meaningless && same:
		return r.Problem.Sentence()
	case r.Effect == indexing.NotRead && same && len(who) == 1:
		return "is no rule that " + first.Engine.Title() + " documents"
	case same && (len(who) == 1 || r.Effect != indexing.Counts):
		return r.Effect.Sentence()
	}
	return "counts for " + strconv.Itoa(counts) + " of " + strconv.Itoa(len(who))
}

// state says in one line what came of the fetch of a page, "" if it was not fetched.
func (f *fetchedPage) state() string {
	var said []string
	switch {
	case f.page == nil && f.err == nil, f.page != nil && f.page.Status == 0:
		return ""
	case f.page != nil:
		said = append(said, "status "+strconv.Itoa(f.page.Status))
	}
	if n := len(f.urls) - 1; n > 0 {
		said = append(said, "redirected to "+clip(f.urls[n]))
	}
	switch {
	case f.page == nil:
		said = append(said, "it cannot be read: "+f.err.Error())
	case f.page.Status/100 != 2:
	case !indexing.IsHTML(http.Header{"Content-Type": {f.kind}}):
		said = append(said, "only the headers are read, as it is no HTML: "+clip(f.kind))
	default:
		said = append(said, count(f.size, "byte")+" of HTML read")
		if f.err != nil {
			said = append(said, "cut: "+f.err.Error())
		}
	}
	return "page: " + strings.Join(said, ", ")
}

// pageAnswer is one answer of a line of JSON.
type pageAnswer struct {
	Answer indexing.Word   `json:"answer"`
	Reason indexing.Reason `json:"reason"`
	Rule   *jsonDirective  `json:"rule"`
}

func newPageAnswer(a indexing.Answer) pageAnswer {
	j := pageAnswer{a.Is, a.Reason, nil}
	if !a.Rule.IsZero() {
		d := newJSONDirective(a.Rule)
		j.Rule = &d
	}
	return j
}

// jsonDirective is a directive: header is the number of the X-Robots-Tag line, line
// that of the HTML.
type jsonDirective struct {
	Agent  *string `json:"agent"`
	Name   string  `json:"name"`
	Value  *string `json:"value"`
	Header *int    `json:"header"`
	Line   *int    `json:"line"`
}

func newJSONDirective(d indexing.Directive) jsonDirective {
	j := jsonDirective{Agent: notEmpty(d.Agent), Name: d.Name, Value: notEmpty(d.Value)}
	if d.Place.Header > 0 {
		j.Header = &d.Place.Header
	} else {
		j.Line = &d.Place.Line
	}
	return j
}

type jsonReading struct {
	jsonDirective
	Effect  indexing.Effect   `json:"effect"`
	Problem *indexing.Problem `json:"problem"`
}

// jsonContradiction is a rule that nobody reads (kind hidden), or the one that counts
// of two that contradict each other (opposed), with the other.
type jsonContradiction struct {
	Kind  string         `json:"kind"`
	Rule  jsonDirective  `json:"rule"`
	Other *jsonDirective `json:"other"`
}

type jsonIfRead struct {
	Index   pageAnswer `json:"index"`
	Follow  pageAnswer `json:"follow"`
	Snippet pageAnswer `json:"snippet"`
}

// jsonPage is what came of the fetch of a page.
type jsonPage struct {
	Status *int     `json:"status"`
	URLs   []string `json:"urls"`
	Type   *string  `json:"type"`
	Bytes  int      `json:"bytes"`
	Cut    bool     `json:"cut"`
	Error  *string  `json:"error"`
}

func (f *fetchedPage) json() *jsonPage {
	j := &jsonPage{URLs: f.urls, Type: notEmpty(f.kind), Bytes: f.size}
	if f.page != nil {
		j.Status, j.Cut = &f.page.Status, f.page.Cut
	}
	if f.err != nil {
		text := f.err.Error()
		j.Error = &text
	}
	return j
}

// writeJSON writes a line for each crawler.
func (c *pageCall) writeJSON(p *page, got *fetchedPage, who []pageAsker) error {
	var url *string
	if !c.noURL {
		url = &p.url
	}
	var fetched *jsonPage
	if c.ours == nil && (got.page != nil || got.err != nil) {
		fetched = got.json()
	}
	var state *jsonState
	if c.record != nil {
		state = newJSONState(c.record, c.rules[0].State().Text())
	}
	for i := range who {
		w := &who[i]
		o := &w.outlook
		line := struct {
			Schema  int             `json:"schema"`
			URL     *string         `json:"url"`
			Name    *string         `json:"name"`
			Agent   []string        `json:"agent"`
			Dialect string          `json:"dialect"`
			Engine  indexing.Engine `json:"engine"`
			Crawl   pageAnswer      `json:"crawl"`
			jsonIfRead
			IfRead         *jsonIfRead         `json:"if_read"`
			Contradictions []jsonContradiction `json:"contradictions"`
			Rules          []jsonReading       `json:"rules"`
			Verdict        json.RawMessage     `json:"verdict"`
			Page           *jsonPage           `json:"page"`
			*jsonState
		}{
			Schema: 1, URL: url, Agent: w.tokens, Dialect: w.dialect.Name, Engine: o.Directives.Engine,
			Crawl: newPageAnswer(o.Crawl), jsonIfRead: newJSONIfRead(o),
			Contradictions: []jsonContradiction{}, Rules: []jsonReading{}, Page: fetched, jsonState: state,
		}
		if w.listed {
			line.Name = &w.name
		}
		if w.ifRead != nil {
			j := newJSONIfRead(w.ifRead)
			line.IfRead = &j
		}
		if !o.Hidden.IsZero() {
			line.Contradictions = append(line.Contradictions, jsonContradiction{"hidden", newJSONDirective(o.Hidden), nil})
		}
		for _, pair := range o.Directives.Opposed {
			other := newJSONDirective(pair[1])
			line.Contradictions = append(line.Contradictions, jsonContradiction{"opposed", newJSONDirective(pair[0]), &other})
		}
		for _, r := range o.Directives.Readings {
			j := jsonReading{newJSONDirective(r.Directive), r.Effect, nil}
			if r.Problem != indexing.NoProblem {
				j.Problem = &r.Problem
			}
			line.Rules = append(line.Rules, j)
		}
		if !c.noFile {
			text, err := w.verdict.MarshalJSON()
			if err != nil {
				return errors.New("cannot write the answer")
			}
			line.Verdict = text
		}
		if err := encode(c.std.out, line); err != nil {
			return err
		}
	}
	return nil
}

func newJSONIfRead(o *indexing.Outlook) jsonIfRead {
	return jsonIfRead{newPageAnswer(o.Index), newPageAnswer(o.Follow), newPageAnswer(o.Snippet)}
}

// writeRows writes a row of CSV for each crawler, under a head.
func (c *pageCall) writeRows(p *page, got *fetchedPage, who []pageAsker) error {
	var rows [][]string
	if c.answers == 0 {
		rows = append(rows, []string{"url", "agent", "dialect", "engine", "crawl", "index", "follow", "snippet", "reason", "contradiction", "status"})
	}
	url, status := p.url, ""
	if c.noURL {
		url = ""
	}
	if got.page != nil && got.page.Status > 0 {
		status = strconv.Itoa(got.page.Status)
	}
	for i := range who {
		w := &who[i]
		o := &w.outlook
		rows = append(rows, []string{
			url, strings.Join(w.tokens, " > "), w.dialect.Name, o.Directives.Engine.String(),
			o.Crawl.Is.String(), o.Index.Is.String(), o.Follow.Is.String(), o.Snippet.Is.String(),
			c.whyShut(w, palette{}), strings.Join(w.contradictions(), "; "), status,
		})
	}
	return writeCSV(c.std.out, rows)
}
