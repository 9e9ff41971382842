package main

import (
	"fmt"

	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
)

// countURLs checks the URLs of --urls against both sides of every comparison.
func (d *differ) countURLs() error {
	if !d.given("urls") {
		return nil
	}
	list, err := openURLs(d.std, d.urls)
	if err != nil {
		return err
	}
	defer list.close()
	var skipped, firstSkipped int
	for url, err := range list.all() {
		if err == nil && d.countURL(url, list.asURL(url)) {
			d.read++
		} else if skipped++; skipped == 1 {
			firstSkipped = list.line
		}
	}
	for _, s := range d.sections {
		s.CountedURLs(d.read)
	}
	switch {
	case list.err != nil:
		return list.err
	case d.read == 0:
		return fmt.Errorf("%s: no URLs; --urls takes a list, CSV, a sitemap or an access log", list.title)
	case skipped > 0:
		d.warn("%s: %s without a URL, first line %d", list.title, render.Count(skipped, "line"), firstSkipped)
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
