package page

import (
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/budget"
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

// A parsed file has what the editor draws, as RFC 9309 reads the file.
type parsed struct {
	Bytes int           `json:"bytes"` // of the file
	Kinds string        `json:"kinds"` // a letter for each line
	Notes []answer.Note `json:"notes"` // on the file as a whole
	Names []string      `json:"names"` // of crawlers that it names, at most maxNamed
	Start []string      `json:"start"` // crawlers to begin with: that of Google and two others that the file names
}

// maxNamed limits the names of crawlers, and the sitemaps, of an answer.
const maxNamed = 1000

// parse returns the kind of each line, notes and named crawlers.
func parse(b *budget.Budget, args []string) (any, error) {
	const passes = 3 // over the lines: two here, the crawlers
	if err := b.Work(passes * budget.Reading(args[0])); err != nil {
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
	names := []string{}
	for i, name := range f.Crawlers(rfc) {
		if i == maxNamed {
			break
		}
		c := answer.Auto(name, name)
		names = append(names, titleOf(&c))
	}
	return parsed{Bytes: len(args[0]), Kinds: string(letters), Notes: answer.NewNotes(f.Notes(rfc)), Names: names, Start: startOf(names)}, nil
}

// startOf returns the crawlers to begin with for a file that names some.
func startOf(names []string) []string {
	const most = 3
	start := []string{"Googlebot"}
	for _, name := range append(slices.Clone(names), "bingbot", "GPTBot") {
		if len(start) < most && !slices.ContainsFunc(start, func(other string) bool { return strings.EqualFold(other, name) }) {
			start = append(start, name)
		}
	}
	return start
}

func blank(s string) bool { return strings.Trim(s, " \t\r") == "" }
