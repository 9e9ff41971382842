package page

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/lint"
)

// kinds are the letters of kinds of lines.
var kinds = map[robots.Field]byte{
	robots.FieldUnknown:       '?', // a field that no dialect knows
	robots.FieldUserAgent:     'u',
	robots.FieldAllow:         'a',
	robots.FieldDisallow:      'd',
	robots.FieldSitemap:       's',
	robots.FieldCrawlDelay:    'r',
	robots.FieldRequestRate:   'r',
	robots.FieldVisitTime:     'r',
	robots.FieldCleanParam:    'o',
	robots.FieldHost:          'o',
	robots.FieldContentSignal: 'o',
	robots.FieldContentUsage:  'o',
	robots.FieldLicense:       'o',
}

// Kinds of lines other than fields.
const (
	kindBlank   = ' '
	kindComment = '#'
	kindOther   = '!' // text without a meaning
	kindLenient = 'g' // not valid in the standard, but read as a field by google
	kindIgnored = 'x' // beyond the size limit
)

// maxNamed limits the notes, crawlers and sitemaps of one answer.
const maxNamed = 1000

// parse returns the kind of each line, notes, named crawlers and sitemaps.
func parse(b *budget.Budget, args []string) (any, error) {
	const passes = 4 // over the lines: two here, the crawlers, the sitemaps
	if err := b.Work(passes * budget.Reading(len(args[0]))); err != nil {
		return nil, err
	}
	f := robots.Parse([]byte(args[0]))
	rfc := robots.RFC9309
	lenient := []bool{false} // by the number of the line
	for l := range f.Lines(robots.GoogleCPP) {
		for len(lenient) <= l.Number {
			lenient = append(lenient, false)
		}
		lenient[l.Number] = l.Field > robots.FieldUnknown
	}
	letters := make([]byte, 0, len(lenient))
	for l := range f.Lines(robots.Dialect{}) {
		kind := byte(kindBlank)
		switch k, known := kinds[l.Field]; {
		case l.Span.Start >= rfc.MaxFileBytes || l.Span.End > rfc.MaxFileBytes:
			kind = kindIgnored
		case known && l.Field != robots.FieldUnknown:
			kind = k
		case l.Number < len(lenient) && lenient[l.Number]:
			kind = kindLenient
		case l.Field == robots.FieldUnknown:
			kind = k
		case l.Comment.End > l.Comment.Start && blank(f.Text(robots.Span{Start: l.Span.Start, End: l.Comment.Start})):
			kind = kindComment
		case !blank(f.Text(l.Span)):
			kind = kindOther
		}
		letters = append(letters, kind)
	}
	crawlers := []column{}
	for i, name := range f.Crawlers(rfc) {
		if i == maxNamed {
			break
		}
		crawlers = append(crawlers, known(name).column())
	}
	sitemaps := f.Rules(rfc).Sitemaps()
	notes := f.Notes(rfc)
	return object{
		"bytes": len(args[0]), "kinds": string(letters), "notes": answer.NewNotes(notes[:min(len(notes), maxNamed)]), "crawlers": crawlers,
		"sitemaps": list(sitemaps[:min(len(sitemaps), maxNamed)]),
	}, nil
}

// A column is a crawler in answers.
type column struct {
	Dialect string   `json:"dialect"`
	Tokens  []string `json:"tokens"`
}

func (c crawler) column() column { return column{c.Dialect.Name, list(c.Tokens)} }

func blank(s string) bool { return strings.Trim(s, " \t\r") == "" }

// engines are the dialects of current crawlers; the page marks verdicts that differ in one.
var engines = []robots.Dialect{robots.RFC9309, robots.Google, robots.Bing, robots.Seznam, robots.Yandex}

// A cell is a verdict: Line is 0 without a rule, Others are engines with another verdict for
// the same tokens.
type cell struct {
	Word   string   `json:"word,omitempty"`
	Line   int      `json:"line"`
	Reason string   `json:"reason,omitempty"`
	Others []string `json:"others,omitempty"`
	Error  string   `json:"error,omitempty"`
}

type row struct {
	URL   string `json:"url"`
	Error string `json:"error,omitempty"`
	Cells []cell `json:"cells"`
}

// matrix returns the verdict for each crawler and URL.
func matrix(b *budget.Budget, args []string) (any, error) {
	f := robots.Parse([]byte(args[0]))
	crawlers, err := readCrawlers(args[1])
	if err != nil {
		return nil, err
	}
	urls, err := readURLs(args[2])
	if err != nil {
		return nil, err
	}
	paths, rows := make([]robots.Path, len(urls)), make([]row, len(urls))
	for n, url := range urls {
		r := &rows[n]
		r.URL, r.Cells = url, make([]cell, len(crawlers))
		if paths[n], err = robots.ParsePath(url); err != nil {
			r.Error = err.Error()
		}
	}
	columns := []object{}
	var others []*robots.Rules // of all engines, for the tokens of the crawler before
	for i, c := range crawlers {
		if i == 0 || !slices.Equal(c.Tokens, crawlers[i-1].Tokens) {
			if err := b.Work(len(engines) * budget.Reading(len(args[0]))); err != nil {
				return nil, err
			}
			others = nil
			for _, d := range engines {
				others = append(others, f.Rules(d, c.Tokens...))
			}
		}
		g, err := fillColumn(b, f, c, i, others, paths, rows)
		if err != nil {
			return nil, err
		}
		columns = append(columns, g)
	}
	return object{"columns": columns, "rows": rows}, nil
}

// fillColumn fills the cells of a crawler, and returns its group.
func fillColumn(b *budget.Budget, f *robots.File, c crawler, i int, others []*robots.Rules, paths []robots.Path, rows []row) (object, error) {
	if err := b.Work(budget.Reading(len(f.Bytes()))); err != nil {
		return nil, err
	}
	rules := c.rules(f)
	g := rules.Group()
	lines := list(g.Lines())
	if err := b.Hold(32 * len(lines)); err != nil {
		return nil, err
	}
	for n := range rows {
		path, err := answer.Path(c.Dialect, rows[n].URL)
		if err != nil {
			rows[n].Cells[i].Error = err.Error()
			continue
		}
		v, work := rules.MatchWork(path)
		names, more := differing(v, others, paths[n])
		if err := b.Work(budget.Matching(work + more)); err != nil {
			return nil, err
		}
		rows[n].Cells[i] = cell{Word: v.Word(), Line: v.Rule.Line(), Reason: v.Reason.String(), Others: names}
	}
	return object{"group": g.Token(), "lines": lines, "fallback": c.Fallback(rules), "binds": c.Binds()}, nil
}

// differing returns the engines with another verdict, and the work of their matches.
func differing(v robots.Verdict, others []*robots.Rules, p robots.Path) (names []string, work int) {
	if p == (robots.Path{}) || v.Reason == robots.ReasonRobotsTxt || p.String() == "/robots.txt" {
		return nil, 0 // only google-cpp applies rules to the file itself
	}
	for _, r := range others {
		o, more := r.MatchWork(p)
		if work += more; o.Allowed != v.Allowed && o.Dialect != v.Dialect {
			names = append(names, o.Dialect)
		}
	}
	return names, work
}

// explain returns the steps of one verdict, and the verdicts in the other dialects.
func explain(_ *budget.Budget, args []string) (any, error) {
	f := robots.Parse([]byte(args[0]))
	c, err := readCrawler(args[1])
	if err != nil {
		return nil, err
	}
	path, err := answer.Path(c.Dialect, args[2])
	if err != nil {
		return nil, err
	}
	rules := c.rules(f)
	e := lint.Explain(rules, path)
	d := answer.NewDerivation(&e, 0)
	if s := c.FallbackSentence(rules); s != "" {
		d.Notes = append(d.Notes, answer.Note{Clause: "D-62", Text: s})
	}
	matches, others := []object{}, []object{}
	const most = 100
	for i, m := range e.Matches[:min(len(e.Matches), most)] {
		own := d.Matches[i]
		matches = append(matches, object{
			"line": own.Line, "rule": m.Rule.String(), "won": own.Won, "allows": m.Rule.Allows(), "clause": own.Clause, "why": own.Why,
		})
	}
	if e.Dropped > 0 {
		d.Notes = append(d.Notes, answer.Note{Text: "and " + strconv.Itoa(e.Dropped) + " more"})
	}
	for _, d := range robots.Dialects() {
		o := crawler{answer.InDialect(d, "", c.Tokens...)}
		if path, err := answer.Path(o.Dialect, args[2]); err == nil {
			others = append(others, verdictOf(o.rules(f).Match(path)))
		}
	}
	explained := verdictOf(e.Verdict)
	maps.Copy(explained, object{"fallback": c.Fallback(rules), "binds": c.Binds(), "steps": d.Steps, "more": max(0, len(e.Matches)-most), "matches": matches, "notes": d.Notes, "others": others})
	return explained, nil
}

func verdictOf(v robots.Verdict) object {
	return object{
		"dialect": v.Dialect, "word": v.Word(), "sentence": v.String(), "reason": v.Reason.String(),
		"line": v.Rule.Line(), "rule": v.Rule.String(),
	}
}
