package page

import (
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/indexing"
)

// outlook combines the verdict for a URL with the directives in pasted headers and HTML.
func outlook(w *writer, args []string) string {
	c, wrong := readCrawler(args[1])
	if wrong != "" {
		return wrong
	}
	path, err := c.path(args[2])
	if err != nil {
		return err.Error()
	}
	header, html := pasted(args[3])
	page := indexing.Parse(header, []byte(html))
	verdict := c.rules(robots.Parse([]byte(args[0]))).Match(path)
	o := page.Outlook(&verdict, time.Time{}, indexing.EngineOf(c.dialect), c.tokens...)
	if !o.Hidden.IsZero() {
		w.text("hidden", o.Hidden.String())
	}
	w.list("answers")
	for _, a := range []struct {
		what string
		indexing.Answer
	}{{"Crawl", o.Crawl}, {"Index", o.Index}, {"Follow links", o.Follow}, {"Snippet", o.Snippet}} {
		w.open('{')
		w.text("what", a.what)
		w.text("is", a.Is.String())
		w.text("why", a.Reason.Sentence())
		w.close('}')
	}
	w.close(']')
	w.list("directives")
	for _, r := range o.Directives.Readings {
		w.open('{')
		w.text("text", r.Directive.String())
		w.text("effect", r.Effect.Sentence())
		w.close('}')
	}
	w.close(']')
	return ""
}

// pasted takes a text apart: header lines, and HTML from the first tag on.
func pasted(text string) (header map[string][]string, html string) {
	header = map[string][]string{}
	if i := strings.IndexByte(text, '<'); i >= 0 {
		text, html = text[:i], text[i:]
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		for _, known := range []string{"X-Robots-Tag", "Content-Type"} {
			if strings.EqualFold(strings.TrimSpace(name), known) {
				header[known] = append(header[known], strings.TrimSpace(value))
			}
		}
	}
	if html != "" {
		header["Content-Type"] = []string{"text/html"}
	}
	return header, html
}
