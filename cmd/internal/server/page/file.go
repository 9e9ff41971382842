package page

import (
	"context"
	"maps"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
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

// maxNamed limits the crawlers and sitemaps of one answer.
const maxNamed = 1000

// parse returns the kind of each line, notes, named crawlers and sitemaps.
func parse(_ context.Context, args []string) (any, error) {
	f := robots.Parse([]byte(args[0]))
	rfc := robots.RFC9309
	lenient := map[int]bool{}
	for l := range f.Lines(robots.GoogleCPP) {
		lenient[l.Number] = l.Field > robots.FieldUnknown
	}
	letters := []byte{}
	for l := range f.Lines(robots.Dialect{}) {
		kind := byte(kindBlank)
		switch k, known := kinds[l.Field]; {
		case l.Span.Start >= rfc.MaxFileBytes || l.Span.End > rfc.MaxFileBytes:
			kind = kindIgnored
		case known && l.Field != robots.FieldUnknown:
			kind = k
		case lenient[l.Number]:
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
	return object{
		"bytes": len(args[0]), "kinds": string(letters), "notes": answer.NewNotes(f.Notes(rfc)), "crawlers": crawlers,
		"sitemaps": list(sitemaps[:min(len(sitemaps), maxNamed)]),
	}, nil
}

// A column is a crawler in answers.
type column struct {
	Dialect string   `json:"dialect"`
	Tokens  []string `json:"tokens"`
}

func (c crawler) column() column { return column{c.dialect.Name, list(c.tokens)} }

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
func matrix(ctx context.Context, args []string) (any, error) {
	f := robots.Parse([]byte(args[0]))
	crawlers, err := readCrawlers(args[1])
	if err != nil {
		return nil, err
	}
	urls, err := readURLs(args[2])
	if err != nil {
		return nil, err
	}
	rules := make([]*robots.Rules, len(crawlers))
	others := make([][]*robots.Rules, len(crawlers))
	shared := map[string][]*robots.Rules{} // rules of all engines by tokens
	columns := []object{}
	for i, c := range crawlers {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		rules[i] = c.rules(f)
		key := strings.Join(c.tokens, "\n")
		if shared[key] == nil {
			for _, d := range engines {
				shared[key] = append(shared[key], f.Rules(d, c.tokens...))
			}
		}
		others[i] = shared[key]
		g := rules[i].Group()
		columns = append(columns, object{"group": g.Token(), "lines": list(g.Lines())})
	}
	rows := make([]row, len(urls))
	for n, url := range urls {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		r := &rows[n]
		r.URL, r.Cells = url, make([]cell, len(crawlers))
		plain, err := robots.ParsePath(url)
		if err != nil {
			r.Error = err.Error()
		}
		for i, c := range crawlers {
			path, err := c.path(url)
			if err != nil {
				r.Cells[i].Error = err.Error()
				continue
			}
			v := rules[i].Match(path)
			r.Cells[i] = cell{Word: v.Word(), Line: v.Rule.Line(), Reason: v.Reason.String(), Others: differing(v, others[i], plain)}
		}
	}
	return object{"columns": columns, "rows": rows}, nil
}

// differing returns the engines with another verdict.
func differing(v robots.Verdict, others []*robots.Rules, p robots.Path) (names []string) {
	if p == (robots.Path{}) || v.Reason == robots.ReasonRobotsTxt || p.String() == "/robots.txt" {
		return nil // only google-cpp applies rules to the file itself
	}
	for _, r := range others {
		if o := r.Match(p); o.Allowed != v.Allowed && o.Dialect != v.Dialect {
			names = append(names, o.Dialect)
		}
	}
	return names
}

// explain returns the steps of one verdict, and the verdicts in the other dialects.
func explain(_ context.Context, args []string) (any, error) {
	f := robots.Parse([]byte(args[0]))
	c, err := readCrawler(args[1])
	if err != nil {
		return nil, err
	}
	path, err := c.path(args[2])
	if err != nil {
		return nil, err
	}
	e := lint.Explain(c.rules(f), path)
	d := answer.NewDerivation(&e)
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
		o := crawler{d, c.tokens}
		if path, err := o.path(args[2]); err == nil {
			others = append(others, verdictOf(o.rules(f).Match(path)))
		}
	}
	answer := verdictOf(e.Verdict)
	maps.Copy(answer, object{"steps": d.Steps, "more": max(0, len(e.Matches)-most), "matches": matches, "notes": d.Notes, "others": others})
	return answer, nil
}

func verdictOf(v robots.Verdict) object {
	return object{
		"dialect": v.Dialect, "word": v.Word(), "sentence": v.String(), "reason": v.Reason.String(),
		"line": v.Rule.Line(), "rule": v.Rule.String(),
	}
}
