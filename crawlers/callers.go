package crawlers

import "github.com/robotskit/robots"

// Callers returns the crawlers of a list, each in its dialect, to find their rules in many files.
func Callers(list []Crawler) *robots.Crawlers {
	all := new(robots.Crawlers)
	for _, c := range list {
		all.Add(c.ReadAs(), c.Tokens...)
	}
	return all
}
