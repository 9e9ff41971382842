package page

import (
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/indexing"
)

// outlook combines the verdict for a URL with the directives in pasted headers and HTML.
func outlook(_ *budget.Budget, args []string) (any, error) {
	c, err := readCrawler(args[1])
	if err != nil {
		return nil, err
	}
	path, err := answer.Path(c.Dialect, args[2])
	if err != nil {
		return nil, err
	}
	header, html := pasted(args[3])
	page := indexing.Parse(header, []byte(html))
	verdict := c.rules(robots.Parse([]byte(args[0]))).Match(path)
	o := page.Outlook(&verdict, time.Time{}, indexing.EngineOf(c.Dialect), c.OwnTokens()...)
	answers, directives := []object{}, []object{}
	for _, a := range []struct {
		what string
		indexing.Answer
	}{{"Crawl", o.Crawl}, {"Index", o.Index}, {"Follow links", o.Follow}, {"Snippet", o.Snippet}} {
		answers = append(answers, object{"what": a.what, "is": a.Is.String(), "why": a.Reason.Sentence()})
	}
	for _, r := range o.Directives.Readings {
		directives = append(directives, object{"text": r.Directive.String(), "effect": r.Effect.Sentence()})
	}
	answer := object{"answers": answers, "directives": directives}
	if !o.Hidden.IsZero() {
		answer["hidden"] = o.Hidden.String()
	}
	return answer, nil
}

// pasted splits a text into header lines, and HTML from the first tag on.
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
