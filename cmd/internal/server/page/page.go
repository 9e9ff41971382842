// Package page answers the questions of the web page: what a pasted robots.txt means for many
// crawlers and URLs, and why. It is compiled for browsers, where it runs in a worker; the server
// uses it for browsers without WebAssembly. Its only function is [Ask], from strings to JSON.
//
// This package decides what the page shows, the scripts of the page how.
package page

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/crawlers"
)

// The limits of a question. The answer counts what it omits.
const (
	MaxURLs     = 1000
	MaxCrawlers = 60 // columns: eight dialects of seven crawlers fit
	MaxLine     = 8 << 10
	maxTokens   = 20 // of a crawler
)

// Ask answers a question. These are the verbs with their arguments; body is the bytes of a
// robots.txt:
//
//	parse      body                    the kind of each line, notes, names of crawlers
//	matrix     body crawlers urls view a verdict for each crawler and URL, and the rows that the view shows
//	crawler    text crawlers           what is meant by crawlers that are typed, a line each, and which of them the table has
//	urls       text urls               the URLs of a pasted list, and which of them the table has
//	explain    body crawler url        the steps of one verdict
//	lint       body                    mistakes, with fixes
//	fix        body                    the file after all safe fixes, in base64
//	diff       before after crawlers   changes for each crawler, over all URLs
//	show       body crawler seconds    delays from a Unix time on, in UTC, and sitemaps
//	decides    body crawlers           rules that never decide
//	access     body                    the access of AI crawlers and search engines
//	block      body                    the file after robots block --purpose ai-training
//	directory                          names of dialects, crawlers and checks
//	outlook    body crawler url text   what a search engine can do with a page with these headers and HTML
//
// Crawlers and urls are lines. A crawler is a dialect, or auto, and its tokens, most specific first,
// separated by tabs. A view is a JSON object with the members of view, or empty. The answer is a JSON object: where package
// answer has a struct for the question, the members of that. Its only member is error, a sentence, if the question is invalid.
// Ask is safe for concurrent use.
func Ask(verb string, args ...string) string {
	text, err := AskWithin(nil, verb, args...)
	if err != nil {
		panic(err) // without a budget there is none
	}
	return text
}

// AskWithin is Ask within a budget, whose error it returns if that does not suffice.
func AskWithin(b *budget.Budget, verb string, args ...string) (string, error) {
	result, err := answerTo(b, verb, args)
	switch {
	case errors.Is(err, budget.ErrSteps) || errors.Is(err, budget.ErrBytes):
		return "", err
	case err != nil:
		result = failure{err.Error()}
	}
	return string(answer.JSON(result)), nil
}

// A failure is the answer to an invalid question.
type failure struct {
	Error string `json:"error"`
}

func answerTo(b *budget.Budget, verb string, args []string) (any, error) {
	v, ok := verbs[verb]
	switch {
	case !ok:
		return nil, errors.New("unknown verb " + strconv.Quote(clip(verb)))
	case len(args) != v.args:
		return nil, errors.New("the verb " + verb + " takes " + strconv.Itoa(v.args) + " arguments, not " + strconv.Itoa(len(args)))
	}
	// A text is read a few times, and so are its lines.
	if err := b.Work(4 * budget.Reading(args...)); err != nil {
		return nil, err
	}
	return v.answer(b, args)
}

var verbs = map[string]struct {
	args   int
	answer func(b *budget.Budget, args []string) (any, error)
}{
	"parse":     {1, parse},
	"matrix":    {4, matrix},
	"crawler":   {2, mentions},
	"urls":      {2, listed},
	"explain":   {3, explain},
	"lint":      {1, findings},
	"fix":       {1, fix},
	"diff":      {3, diff},
	"show":      {3, show},
	"decides":   {2, decides},
	"access":    {1, access},
	"block":     {1, block},
	"directory": {0, directory},
	"outlook":   {4, outlook},
}

// clip shortens text of a question for a message.
func clip(s string) string {
	const most = 60
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// readCrawler reads a dialect, or auto, and tokens with tabs between them.
func readCrawler(line string) (c answer.Crawler, err error) {
	if len(line) > MaxLine {
		return c, errors.New("a crawler is longer than " + strconv.Itoa(MaxLine) + " bytes")
	}
	name, rest, _ := strings.Cut(line, "\t")
	var tokens []string
	for t := range strings.SplitSeq(rest, "\t") {
		if t != "" {
			tokens = append(tokens, t)
		}
	}
	if len(tokens) > maxTokens {
		return c, errors.New("a crawler has at most " + strconv.Itoa(maxTokens) + " names")
	}
	first := answer.AnyCrawler
	if len(tokens) > 0 {
		first = tokens[0]
	}
	if name == ask.AutoDialect {
		return answer.Auto(first, tokens...), nil
	}
	d, ok := robots.DialectByName(name)
	if !ok {
		return c, errors.New("unknown dialect " + strconv.Quote(clip(name)))
	}
	return answer.InDialect(d, first, tokens...), nil
}

func readCrawlers(text string) (list []answer.Crawler, err error) {
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

// titleOf returns the name of a crawler in the table: as given, spelled as in the directory, and for a
// User-Agent header the name of its crawler.
func titleOf(c *answer.Crawler) string {
	if strings.ContainsAny(c.Name, " /") {
		if e, ok := crawlers.Find(c.Name); ok {
			return e.Name
		}
	}
	return cmp.Or(c.Entry(), c.Name)
}

// rulesOf returns the rules for a crawler, and takes the steps of reading them.
func rulesOf(b *budget.Budget, f *robots.File, c *answer.Crawler) (*robots.Rules, error) {
	if err := b.Work(budget.Reading(f.Bytes())); err != nil {
		return nil, err
	}
	return f.Rules(c.Dialect, c.Tokens...), nil
}

// readURL returns the path of a URL, which has at most MaxLine bytes.
func readURL(c *answer.Crawler, url string) (robots.Path, error) {
	if len(url) > MaxLine {
		return robots.Path{}, errLongURL
	}
	return answer.Path(c.Dialect, url)
}

var errLongURL = errors.New("a URL is longer than " + strconv.Itoa(MaxLine) + " bytes")

// readURLs returns the lines that are not empty.
func readURLs(text string) (urls []string, err error) {
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.Trim(line, " \t\r")
		if line == "" {
			continue
		}
		if len(urls) == MaxURLs {
			return nil, errors.New("more than " + strconv.Itoa(MaxURLs) + " URLs")
		}
		if len(line) > MaxLine {
			return nil, errLongURL
		}
		urls = append(urls, line)
	}
	return urls, nil
}
