package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// This file opens robots.txt files that a verb takes by name: files, standard input
// and sites.

// isURL reports whether the name of a robots.txt is the URL of a site.
func isURL(name string) bool { return strings.Contains(name, "://") }

// siteOf returns the site whose robots.txt a URL names. A URL of any page will not
// do: who names https://example.com/old/robots.txt means another file than that of
// the site.
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

// sources opens what names stand for, all sites at a time. A site out of reach is an
// error: what it says is not known.
func (c *call) sources(ctx context.Context, names []string) ([]source, error) {
	origins := make([]robots.Origin, len(names))
	stdin, asking := 0, false
	for i, name := range names {
		switch {
		case name == "":
			return nil, errors.New("the name of a file is empty")
		case name == "-":
			stdin++
		case isURL(name):
			asking = true
			var err error
			if origins[i], err = siteOf(name); err != nil {
				return nil, err
			}
		}
	}
	if stdin > 1 {
		return nil, errors.New("standard input can be read only once")
	}
	if !asking {
		if err := c.site.unused("without a URL"); err != nil {
			return nil, err
		}
	}
	list := make([]source, len(names))
	for i, name := range names {
		if isURL(name) {
			continue
		}
		var err error
		if list[i].File, err = c.readRobots(name, c.dialects[0], c.maxBytes); err != nil {
			return nil, err
		}
	}
	if !asking {
		return list, nil
	}
	return list, c.askSites(ctx, origins, list)
}

// askSites fills in the records of the sites among origins.
func (c *call) askSites(ctx context.Context, origins []robots.Origin, list []source) (err error) {
	if c.live, err = newLive(&c.command, &c.site, c.dialects, c.maxBytes); err != nil {
		return err
	}
	defer c.live.close()
	defer c.live.progress.report(c.std.screen, c.name)()
	ctx, stop := interruptible(ctx)
	defer stop()
	sites := map[robots.Origin]*site{}
	for _, o := range origins {
		if !o.IsZero() && sites[o] == nil {
			sites[o] = c.live.start(ctx, o)
		}
	}
	for i, o := range origins {
		if o.IsZero() {
			continue
		}
		if !sites[o].await(ctx, func() {}) {
			return errInterrupted
		}
		from, err := c.live.get(ctx, sites[o])
		r := from.Record
		switch {
		case ctx.Err() != nil:
			return errInterrupted
		case err != nil:
			return err
		}
		for _, d := range c.dialects {
			rules := c.compile(source{Record: r}, d, c.maxBytes, c.std.now(), nil)
			if !isKnown(rules.Rules) {
				return errors.New("cannot get " + c.live.stateLine(r, rules.State(), rules.State().Text()))
			}
		}
		if r.Outcome == fetch.Success {
			c.warnFile(r.Origin.RobotsURL(), robots.Parse(r.Body), c.dialects[0], c.maxBytes)
		}
		list[i].Record = r
	}
	return nil
}

// isKnown reports whether it is known what a site says: it has a file, or none.
func isKnown(rules *robots.Rules) bool {
	reason, fallback := rules.FallbackReason()
	return !fallback || reason == robots.ReasonUnavailable || reason == robots.ReasonRedirectLimit
}
