package page

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/cmd/internal/urllist"
)

// A mention is a crawler that a person types.
type mention struct {
	ask.Mention
	Title     string `json:"title"`     // its name in the table
	Duplicate *int   `json:"duplicate"` // the crawler of the table, or of the lines before, that it is; null for a new one
}

type mentionList struct {
	Crawlers []mention `json:"crawlers"` // in the order of the lines
}

// mentions returns what is meant by the lines of a text, and which of the crawlers are in a table.
func mentions(b *budget.Budget, args []string) (any, error) {
	inTable, err := readCrawlers(args[1])
	if err != nil {
		return nil, err
	}
	list := mentionList{Crawlers: []mention{}}
	for text := range strings.SplitSeq(args[0], "\n") {
		switch {
		case len(list.Crawlers) == MaxCrawlers:
			return nil, errors.New("more than " + strconv.Itoa(MaxCrawlers) + " crawlers")
		case len(text) > MaxLine:
			return nil, errors.New("a crawler is longer than " + strconv.Itoa(MaxLine) + " bytes")
		}
		if err := b.Work(mentionWork); err != nil {
			return nil, err
		}
		m, err := ask.ReadMention(text)
		if err != nil {
			return nil, err
		}
		if len(m.Tokens) > maxTokens {
			return nil, errors.New("a crawler has at most " + strconv.Itoa(maxTokens) + " names")
		}
		c := answer.Auto(m.Tokens[0], m.Tokens...)
		entry := mention{Mention: m, Title: titleOf(&c)}
		if i := slices.IndexFunc(inTable, func(other answer.Crawler) bool { return isSame(&c, &other) }); i >= 0 {
			entry.Duplicate = &i
		}
		list.Crawlers = append(list.Crawlers, entry)
		inTable = append(inTable, c)
	}
	return list, nil
}

// mentionWork is the steps of comparing a name with those of the directory.
const mentionWork = 20_000

// isSame reports whether two crawlers have one name in the table, and the same tokens if several are given.
func isSame(a, b *answer.Crawler) bool {
	x := a.Given()
	y := b.Given()
	return strings.EqualFold(titleOf(a), titleOf(b)) && (len(x) < 2 && len(y) < 2 || slices.EqualFunc(x, y, strings.EqualFold))
}

// A urlList is what a pasted text has.
type urlList struct {
	Kind       urllist.Kind `json:"kind"`       // lines, csv, sitemap, index, robots or markup
	URLs       []string     `json:"urls"`       // that the table does not have
	Duplicates []string     `json:"duplicates"` // that it has
	Dropped    int          `json:"dropped"`    // new ones beyond MaxURLs in all
}

// listed returns the URLs of a pasted text.
func listed(b *budget.Budget, args []string) (any, error) {
	const passes = 4 // over the text, besides those over all arguments
	if err := b.Work(passes * budget.Reading(args[0])); err != nil {
		return nil, err
	}
	if err := b.Hold(passes * len(args[0])); err != nil {
		return nil, err
	}
	inTable := map[string]bool{}
	for url := range strings.SplitSeq(args[1], "\n") {
		inTable[url] = true
	}
	delete(inTable, "")
	read := urllist.Read(args[0])
	list := urlList{Kind: read.Kind, URLs: []string{}, Duplicates: []string{}}
	for _, url := range read.URLs {
		switch {
		case len(url) > MaxLine:
			return nil, errLongURL
		case inTable[url] && len(list.Duplicates) < MaxURLs:
			list.Duplicates = append(list.Duplicates, url)
		case inTable[url]:
		case len(inTable)+len(list.URLs) < MaxURLs:
			list.URLs = append(list.URLs, url)
		default:
			list.Dropped++
		}
	}
	return list, nil
}
