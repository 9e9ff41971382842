package crawlers

import "github.com/robotskit/robots"

// Callers returns the crawlers of a list as a robots.Crawlers, each with its dialect and tokens,
// to get the rules for all of them from each file.
func Callers(list []Crawler) *robots.Crawlers {
	all := new(robots.Crawlers)
	for _, c := range list {
		all.Add(c.ReadAs(), c.Tokens...)
	}
	return all
}
