package robotstest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
)

// Own is the Engine of package robots. In google-cpp the URL is any string, whose path is
// found as that library does; in other dialects it is a URL or a path.
func Own(body []byte, dialect string, agents []string, url string) (Answer, error) {
	d, ok := robots.DialectByName(dialect)
	if !ok {
		return Answer{}, fmt.Errorf("unknown dialect %q", dialect)
	}
	path := robots.RawPath(url)
	if dialect != robots.GoogleCPP.Name {
		var err error
		if path, err = robots.ParsePath(url); err != nil {
			return Answer{}, err
		}
	}
	v := robots.Parse(body).Rules(d, agents...).Match(path)
	return Answer{Verdict: v.Word(), Line: v.Rule.Line(), Reason: v.Reason.String()}, nil
}

// OwnFacts returns the facts of package robots, for Options.Facts.
func OwnFacts(kind Kind, body []byte, dialect string, agents []string) (string, error) {
	d, ok := robots.DialectByName(dialect)
	if !ok {
		return "", fmt.Errorf("unknown dialect %q", dialect)
	}
	r := robots.Parse(body).Rules(d, agents...)
	var list []string
	sep := ","
	switch kind {
	case Delay:
		if seconds, ok := r.CrawlDelay(); ok {
			return strconv.FormatFloat(seconds, 'f', -1, 64), nil
		}
	case Rates:
		for _, rate := range r.RequestRates() {
			list = append(list, strings.Replace(rate.String(), " ", "@", 1))
		}
	case Group:
		g := r.Group()
		if g.IsZero() {
			return None, nil
		}
		for _, line := range g.Lines() {
			list = append(list, strconv.Itoa(line))
		}
		return g.Token() + ":" + strings.Join(list, ","), nil
	case Sitemaps:
		list = r.Sitemaps()
		sep = "\n"
	default:
		return "", fmt.Errorf("unknown kind of fact %q", kind)
	}
	if len(list) == 0 {
		return None, nil
	}
	return strings.Join(list, sep), nil
}
