package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
)

// isURL reports whether the name of a robots.txt is the URL of a site.
func isURL(name string) bool { return strings.Contains(name, "://") }

// siteOf returns the site whose robots.txt a URL names. The URL of a page is an error:
// https://example.com/old/robots.txt is a different file than that of the site.
func siteOf(name string) (robots.Origin, error) {
	origin, path, err := split(robots.RFC9309, name, true)
	if err != nil {
		return origin, err
	}
	if p := path.String(); p != "/" && p != "/robots.txt" {
		return origin, fmt.Errorf("URL %s is not a site: write %s", strconv.Quote(clip(name)), origin.RobotsURL())
	}
	return origin, nil
}

// isKnown reports whether the rules of a site are known: it has a file, or none.
func isKnown(rules *robots.Rules) bool {
	reason, fallback := rules.FallbackReason()
	return !fallback || reason == robots.ReasonUnavailable || reason == robots.ReasonRedirectLimit
}

// readOnce returns an error unless each of the named files can be read, standard input only once.
func readOnce(names ...string) error {
	seen := false
	for _, name := range names {
		switch {
		case name == "":
			return errors.New("empty file name")
		case name == "-" && seen:
			return errors.New("standard input can be read only once")
		}
		seen = seen || name == "-"
	}
	return nil
}
