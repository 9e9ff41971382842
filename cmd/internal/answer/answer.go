// Package answer answers the questions of people and programs about a robots.txt: one function
// and one struct for each question. The command line, the HTTP service, the page, the language
// server and the bulk program only show these structs; the tags of a struct are its JSON
// everywhere. The package reads no files, network or clock, and is compiled for browsers too.
package answer

import "github.com/robotskit/robots"

// A Source is where rules come from: a *robots.File, or the outcome of a fetch at some time.
type Source interface {
	Rules(d robots.Dialect, tokens ...string) *robots.Rules
}

// rulesOfAll returns the rules of crawlers.
func rulesOfAll(who *robots.Crawlers, source Source) []*robots.Rules {
	if file, ok := source.(*robots.File); ok {
		return who.Rules(file) // which is not read again for the crawlers that it does not name
	}
	return who.RulesBy(func(d robots.Dialect) *robots.Rules { return source.Rules(d) })
}

// AnyCrawler is the name of a crawler without a name: the group of * applies to it.
const AnyCrawler = "*"

// CurrentDialects returns the dialects of engines in use, those that the directory has for crawlers.
func CurrentDialects() []robots.Dialect {
	return []robots.Dialect{robots.RFC9309, robots.Google, robots.Bing, robots.Seznam, robots.Yandex}
}

// Path returns the path of a URL as a dialect reads it: in google-cpp any string is valid (C-17).
func Path(d robots.Dialect, url string) (robots.Path, error) {
	if d.Escapes == robots.EscapesRaw {
		return robots.RawPath(url), nil
	}
	return robots.ParsePath(url)
}
