// Package page answers the questions of the web page: what a pasted robots.txt means for many
// crawlers and URLs, and why. It is compiled for browsers, where it runs in a worker; the server
// uses it for browsers without WebAssembly. Its only function is [Ask], from strings to JSON.
//
// This package decides what the page shows, the scripts of the page how.
package page

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/budget"
)

// The limits of a question. The answer counts what it omits.
const (
	MaxURLs     = 1000
	MaxCrawlers = 60 // columns: eight dialects of seven crawlers fit
	MaxLine     = 8 << 10
)

// Ask answers a question. These are the verbs with their arguments; body is the bytes of a
// robots.txt:
//
//	parse    body                    the kind of each line, notes, crawlers, sitemaps
//	matrix   body crawlers urls      a verdict for each crawler and URL
//	explain  body crawler url        the steps of one verdict
//	lint     body                    mistakes, with fixes
//	fix      body                    the file after all safe fixes, in base64
//	diff     before after crawlers   changes for each crawler, over all URLs
//	rates    body crawler seconds    the crawl rate on the day of a Unix time, in UTC
//	decides  body crawlers           rules that never decide
//	dialects                         names of dialects and crawlers
//	outlook  body crawler url text   what a search engine can do with a page with these headers and HTML
//
// Crawlers and urls are lines. A crawler is its dialect and its tokens, most specific first,
// separated by tabs. The answer is a JSON object; its only member is error, a sentence, if the
// question is invalid. Ask is safe for concurrent use.
func Ask(verb string, args ...string) string {
	text, err := AskWithin(nil, verb, args...)
	if err != nil {
		panic(err) // without a budget there is none
	}
	return text
}

// AskWithin is Ask within a budget, whose error it returns if that does not suffice.
func AskWithin(b *budget.Budget, verb string, args ...string) (string, error) {
	answer, err := answerTo(b, verb, args)
	switch {
	case errors.Is(err, budget.ErrSteps) || errors.Is(err, budget.ErrBytes):
		return "", err
	case err != nil:
		answer = object{"error": err.Error()}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err) // no answer has values that JSON lacks
	}
	return string(text), nil
}

// An object is a JSON object.
type object map[string]any

func answerTo(b *budget.Budget, verb string, args []string) (any, error) {
	v, ok := verbs[verb]
	switch {
	case !ok:
		return nil, errors.New("unknown verb " + strconv.Quote(clip(verb)))
	case len(args) != v.args:
		return nil, errors.New("the verb " + verb + " takes " + strconv.Itoa(v.args) + " arguments, not " + strconv.Itoa(len(args)))
	}
	size := 0
	for _, arg := range args {
		size += len(arg)
	}
	// A text is read a few times, and so are its lines.
	if err := b.Work(4 * budget.Reading(size)); err != nil {
		return nil, err
	}
	return v.answer(b, args)
}

var verbs = map[string]struct {
	args   int
	answer func(b *budget.Budget, args []string) (any, error)
}{
	"parse":    {1, parse},
	"matrix":   {3, matrix},
	"explain":  {3, explain},
	"lint":     {1, findings},
	"fix":      {1, fix},
	"diff":     {3, diff},
	"rates":    {3, rates},
	"decides":  {2, decides},
	"dialects": {0, dialects},
	"outlook":  {4, outlook},
}

// clip shortens text of a question for a message.
func clip(s string) string {
	const most = 60
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// A crawler is a column of the page.
type crawler struct{ answer.Crawler }

// autoDialect stands for all that the directory documents of the crawler (D-62).
const autoDialect = "auto"

// readCrawler reads a dialect and tokens with tabs between them. The dialect and tokens that the
// directory has for a crawler mean the same as the dialect auto.
func readCrawler(line string) (crawler, error) {
	name, rest, _ := strings.Cut(line, "\t")
	d, ok := robots.DialectByName(name)
	if !ok && name != autoDialect {
		return crawler{}, errors.New("unknown dialect " + strconv.Quote(clip(name)))
	}
	var tokens []string
	for t := range strings.SplitSeq(rest, "\t") {
		if t != "" {
			tokens = append(tokens, t)
		}
	}
	if len(tokens) > 20 {
		return crawler{}, errors.New("a crawler has at most 20 names")
	}
	if name == autoDialect {
		return crawler{answer.Auto("", tokens...)}, nil
	}
	if len(tokens) > 0 {
		if auto := answer.Auto("", tokens[0]); auto.Dialect.Name == d.Name && slices.Equal(auto.Tokens, tokens) {
			return crawler{auto}, nil
		}
	}
	return crawler{answer.InDialect(d, "", tokens...)}, nil
}

func readCrawlers(text string) (list []crawler, err error) {
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			continue
		}
		if len(list) == MaxCrawlers {
			return nil, errors.New("more than " + strconv.Itoa(MaxCrawlers) + " crawlers")
		}
		c, err := readCrawler(line)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// rules returns the rules for the crawler.
func (c crawler) rules(f *robots.File) *robots.Rules { return f.Rules(c.Dialect, c.Tokens...) }

// readURLs returns the lines that are not empty.
func readURLs(text string) (urls []string, err error) {
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.Trim(line, " \t\r"); line == "" {
			continue
		}
		if len(urls) == MaxURLs {
			return nil, errors.New("more than " + strconv.Itoa(MaxURLs) + " URLs")
		}
		if len(line) > MaxLine {
			return nil, errors.New("a URL is longer than " + strconv.Itoa(MaxLine) + " bytes")
		}
		urls = append(urls, line)
	}
	return urls, nil
}

// list returns a slice that is [] in JSON if it is nil.
func list[T any](s []T) []T { return append([]T{}, s...) }
