package crawlers

import "github.com/robotskit/robots"

// Callers returns crawlers, each by its tokens and in its dialect, to be asked about one
// file after another.
func Callers(list []Crawler) *robots.Callers {
	callers := make([]robots.Caller, len(list))
	for i, c := range list {
		callers[i] = robots.Caller{Dialect: c.ReadAs(), Tokens: c.Tokens}
	}
	return robots.NewCallers(callers...)
}
