package crawlers

import "github.com/robotskit/robots"

// Callers returns the crawlers of a list, each in its dialect, to find their rules in many files.
func Callers(list []Crawler) *robots.Crawlers {
	callers := make([]robots.Crawler, len(list))
	for i, c := range list {
		callers[i] = robots.Crawler{Dialect: c.ReadAs(), Tokens: c.Tokens}
	}
	return robots.NewCrawlers(callers...)
}
