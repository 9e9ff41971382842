package main

import (
	"fmt"

	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/source"
)

// countURLs checks the URLs of --urls against both sides of every comparison.
func (d *differ) countURLs() error {
	if !d.given("urls") {
		return nil
	}
	list, err := source.OpenURLs(d.std, d.urls)
	if err != nil {
		return err
	}
	defer list.Close()
	var skipped, firstSkipped int
	for url, err := range list.All() {
		if err == nil && d.countURL(url, list.AsURL(url)) {
			d.read++
		} else if skipped++; skipped == 1 {
			firstSkipped = list.Line
		}
	}
	for _, s := range d.sections {
		s.CountedURLs(d.read)
	}
	switch {
	case list.Err != nil:
		return list.Err
	case d.read == 0:
		return fmt.Errorf("%s: no URLs; --urls takes a list, CSV, a sitemap or an access log", list.Title)
	case skipped > 0:
		d.warn("%s: %s without a URL, first line %d", list.Title, render.Count(skipped, "line"), firstSkipped)
	}
	return nil
}

// countURL counts one URL, named as in its list, and reports whether it is one.
func (d *differ) countURL(name, url string) bool {
	for _, s := range d.sections {
		_, before, err := ask.URL(s.dialects[0], url, false)
		_, after, failed := ask.URL(s.dialects[1], url, false) // the same but for the form
		if err != nil || failed != nil {
			return false
		}
		s.CountURL(name, before, after)
	}
	return true
}
