package page

import (
	"strconv"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/lint"
)

// kinds are the letters by which parse names what lines are.
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

// Kinds of lines beside those of fields.
const (
	kindBlank   = ' '
	kindComment = '#'
	kindStrange = '!' // text that declares nothing
	kindLenient = 'g' // nothing in the standard, and read as a field by google
	kindIgnored = 'x' // behind the size limit
)

// maxNamed bounds the crawlers and sitemaps of one answer.
const maxNamed = 1000

// parse says what is in a file: a letter for each line, notes, crawlers that are
// named, sitemaps.
func parse(w *writer, args []string) string {
	f := robots.Parse([]byte(args[0]))
	rfc := robots.RFC9309
	w.number("bytes", len(args[0]))
	lenient := map[int]bool{}
	for r := range f.Readings(robots.GoogleCPP) {
		lenient[r.Line] = true
	}
	letters := []byte{}
	for l := range f.Lines() {
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
			kind = kindStrange
		}
		letters = append(letters, kind)
	}
	w.text("kinds", string(letters))
	w.list("notes")
	for _, n := range f.Notes(rfc) {
		w.note(n)
	}
	w.close(']')
	w.list("crawlers")
	for i, name := range f.Crawlers(rfc) {
		if i == maxNamed {
			break
		}
		c := known(name)
		w.open('{')
		w.text("dialect", c.dialect.Name)
		w.texts("tokens", c.tokens)
		w.close('}')
	}
	w.close(']')
	sitemaps := f.Rules(rfc).Sitemaps()
	w.texts("sitemaps", sitemaps[:min(len(sitemaps), maxNamed)])
	return ""
}

func blank(s string) bool {
	for i := range len(s) {
		if s[i] != ' ' && s[i] != '\t' && s[i] != '\r' {
			return false
		}
	}
	return true
}

func (w *writer) note(n robots.Note) {
	w.open('{')
	w.number("line", n.Line)
	w.text("clause", n.Clause)
	w.text("text", n.Text)
	w.close('}')
}

// engines are the dialects by which crawlers are run today, in one of which
// another verdict is worth a badge.
var engines = []robots.Dialect{robots.RFC9309, robots.Google, robots.Bing, robots.Seznam, robots.Yandex}

// matrix answers every crawler and URL. A cell has its word, its line (0 without a
// rule) and the names of the engines that answer otherwise about the same names.
func matrix(w *writer, args []string) string {
	f := robots.Parse([]byte(args[0]))
	crawlers, wrong := readCrawlers(args[1])
	if wrong != "" {
		return wrong
	}
	urls, wrong := readURLs(args[2])
	if wrong != "" {
		return wrong
	}
	rules := make([]*robots.Rules, len(crawlers))
	others := make([][]*robots.Rules, len(crawlers))
	shared := map[string][]*robots.Rules{} // columns of one crawler ask the same engines
	w.list("columns")
	for i, c := range crawlers {
		rules[i] = c.rules(f)
		key := ""
		for _, t := range c.tokens {
			key += t + "\n"
		}
		if shared[key] == nil {
			for _, d := range engines {
				shared[key] = append(shared[key], f.Rules(d, c.tokens...))
			}
		}
		others[i] = shared[key]
		w.open('{')
		w.text("dialect", c.dialect.Name)
		w.texts("tokens", c.tokens)
		g := rules[i].Group()
		w.text("group", g.Token())
		w.integers("lines", g.Lines())
		w.number("rules", rules[i].Len())
		w.close('}')
	}
	w.close(']')
	w.list("rows")
	for _, url := range urls {
		w.open('{')
		w.text("url", url)
		plain, err := robots.ParsePath(url)
		if err != nil {
			w.text("error", err.Error())
		}
		w.list("cells")
		for i, c := range crawlers {
			path, err := c.path(url)
			if err != nil {
				w.open('{')
				w.text("error", err.Error())
				w.close('}')
				continue
			}
			v := rules[i].Match(path)
			w.open('{')
			w.text("word", v.Word())
			w.number("line", v.Rule.Line())
			w.text("reason", v.Reason.String())
			if other := differing(v, others[i], plain); len(other) > 0 {
				w.texts("others", other)
			}
			w.close('}')
		}
		w.close(']')
		w.close('}')
	}
	w.close(']')
	return ""
}

// differing names the engines that do not say what v says.
func differing(v robots.Verdict, others []*robots.Rules, p robots.Path) (names []string) {
	if p == (robots.Path{}) || v.Reason == robots.ReasonRobotsTxt || p.String() == "/robots.txt" {
		return nil // google-cpp alone lets rules hold for the file itself
	}
	for _, r := range others {
		if o := r.Match(p); o.Allowed != v.Allowed && o.Dialect != v.Dialect {
			names = append(names, o.Dialect)
		}
	}
	return names
}

// explain says how one verdict came to be, and what the other dialects say.
func explain(w *writer, args []string) string {
	f := robots.Parse([]byte(args[0]))
	c, wrong := readCrawler(args[1])
	if wrong != "" {
		return wrong
	}
	path, err := c.path(args[2])
	if err != nil {
		return err.Error()
	}
	e := lint.Explain(c.rules(f), path)
	w.verdict(e.Verdict)
	w.text("path", e.Path)
	w.text("normal", e.Normal)
	w.list("steps")
	for _, s := range e.Steps {
		w.open('{')
		w.text("clause", s.Clause)
		w.text("text", s.Text)
		w.close('}')
	}
	w.close(']')
	const most = 100
	w.number("more", max(0, len(e.Matches)-most))
	w.list("matches")
	for _, m := range e.Matches[:min(len(e.Matches), most)] {
		w.open('{')
		w.number("line", m.Rule.Line())
		w.text("rule", m.Rule.String())
		w.number("bytes", m.Rule.Weight())
		w.yes("won", m.Won)
		w.yes("allows", m.Rule.Allows())
		w.text("clause", m.Clause)
		w.text("why", m.Why)
		w.close('}')
	}
	w.close(']')
	w.list("notes")
	for _, n := range e.Notes {
		w.note(n)
	}
	if e.Dropped > 0 {
		w.note(robots.Note{Text: "and " + strconv.Itoa(e.Dropped) + " more"})
	}
	w.close(']')
	w.list("others")
	for _, d := range robots.Dialects() {
		o := crawler{d, c.tokens}
		path, err := o.path(args[2])
		if err != nil {
			continue
		}
		w.open('{')
		w.verdict(o.rules(f).Match(path))
		w.close('}')
	}
	w.close(']')
	return ""
}

// verdict writes the members that say a verdict.
func (w *writer) verdict(v robots.Verdict) {
	w.text("dialect", v.Dialect)
	w.text("word", v.Word())
	w.text("sentence", v.String())
	w.text("reason", v.Reason.String())
	w.number("line", v.Rule.Line())
	w.text("rule", v.Rule.String())
}
