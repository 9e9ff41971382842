package page

import (
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/indexing"
)

// A pageOutlook is that of the answer, with the sentences that are drawn.
type pageOutlook struct {
	answer.Outlook
	Reasons outlookReasons `json:"reasons"`
	Effects []ruleEffect   `json:"effects"` // of rules
	Texts   []string       `json:"texts"`   // of contradictions
}

// The outlookReasons are why something can be done with a page.
type outlookReasons struct {
	Crawl   string `json:"crawl"`
	Index   string `json:"index"`
	Follow  string `json:"follow"`
	Snippet string `json:"snippet"`
}

// A ruleEffect describes a rule of a page.
type ruleEffect struct {
	Rule string `json:"rule"`
	Why  string `json:"why"` // its effect, or why it has none
}

// outlook combines the verdict for a URL with the directives in pasted headers and HTML.
func outlook(b *budget.Budget, args []string) (any, error) {
	c, err := readCrawler(args[1])
	if err != nil {
		return nil, err
	}
	path, err := readURL(&c, args[2])
	if err != nil {
		return nil, err
	}
	rules, err := rulesOf(b, robots.Parse([]byte(args[0])), &c)
	if err != nil {
		return nil, err
	}
	verdict, work := rules.MatchWork(path)
	if err := b.Work(budget.Matching(work)); err != nil {
		return nil, err
	}
	header, html := pasted(args[3])
	page := indexing.Parse(header, []byte(html))
	o := pageOutlook{Outlook: answer.Page(rules, &c, args[2], &verdict, page, time.Time{}), Effects: []ruleEffect{}, Texts: []string{}}
	o.Reasons = outlookReasons{Crawl: o.Crawl.Why, Index: o.Index.Why, Follow: o.Follow.Why, Snippet: o.Snippet.Why}
	for i := range o.Rules {
		o.Effects = append(o.Effects, ruleEffect{Rule: o.Rules[i].String(), Why: o.Rules[i].Why})
	}
	for i := range o.Contradictions {
		o.Texts = append(o.Texts, o.Contradictions[i].Text)
	}
	return o, nil
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
