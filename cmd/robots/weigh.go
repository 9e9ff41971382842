package main

import (
	"errors"
	"fmt"
	"io"
)

// This file counts the URLs of --urls that a change of a robots.txt blocks or allows.

// A tally is how many URLs change in one direction, with the first of them.
type tally struct {
	n     int
	first string
}

// weight is what --urls finds of a comparison.
type weight struct{ blocked, open tally }

func (w *weight) any() bool { return w.blocked.n+w.open.n > 0 }

// weigh counts the URLs of --urls on both sides of every comparison.
func (d *differ) weigh() error {
	if d.urls == "" {
		return nil
	}
	list, err := openURLs(d.std, d.urls)
	if err != nil {
		return err
	}
	defer list.close()
	var skipped, firstSkipped int
	for {
		url, err := list.next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil && !errors.As(err, new(lineError)) {
			return err
		}
		if err == nil && d.weighURL(url) {
			d.read++
		} else if skipped++; skipped == 1 {
			firstSkipped = list.line
		}
	}
	switch {
	case d.read == 0:
		return fmt.Errorf("%s holds no URL: --urls takes a list, CSV, a sitemap or an access log", list.title)
	case skipped > 0:
		d.warn("%s of %s without a URL, the first is line %d", count(skipped, "line"), list.title, firstSkipped)
	}
	return nil
}

// weighURL counts one URL, and reports whether it is one.
func (d *differ) weighURL(url string) bool {
	for i := range d.sections {
		s := &d.sections[i]
		_, before, err := split(s.old, url, false)
		if err != nil {
			return false
		}
		_, after, _ := split(s.new, url, false) // the same but for the form
		if s.between() && after.String() == robotsTxt.String() {
			continue
		}
		done := map[*comparison]bool{}
		for _, c := range s.crawlers {
			if done[c.shared] {
				continue
			}
			done[c.shared] = true
			a, b := c.shared.rules[0].Allowed(before), c.shared.rules[1].Allowed(after)
			n := &c.shared.urls.blocked
			if b {
				n = &c.shared.urls.open
			}
			if a != b {
				if n.n++; n.n == 1 {
					n.first = url
				}
			}
		}
	}
	return true
}
