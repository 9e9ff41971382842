package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/indexing"
	"github.com/robotskit/robots/polite"
	"github.com/spf13/cobra"
)

// A pageCall is one run of page.
type pageCall struct {
	*call
	html    string
	headers []string
	ours    *indexing.Page // of --html and --header, nil if the page is fetched
	noFile  bool           // there is no robots.txt: the page alone is asked about
	noURL   bool
	answers int // that are written
}

func pageCommand(std *streams, status *int) *cobra.Command {
	c := &pageCall{call: newCall(std)}
	c.formats = []string{formatCSV}
	cmd := &cobra.Command{
		Use:   "page [-a TOKEN]... [-d DIALECT] [--html FILE] [--header LINE]... [URL...]",
		Short: "Say what a search engine can do with a page",
		Long: `Page says whether a crawler may fetch a page, have it in its index, follow its
links and show a snippet of it: by the robots.txt of the site, and by what the
page says itself in X-Robots-Tag headers and meta tags (robots, or the name of a
crawler). A contradiction is told first: of a page that robots.txt disallows
nobody reads the noindex, and the address may be listed all the same.

If the crawler may fetch the page, robots fetches it, politely: each redirect is
held against the robots.txt of its site, and waits for its turn, in --timeout. Of
HTML the first 512 KiB are read, of all else the headers. The argument - stands
for URLs on standard input, one per line.

With --html or --header the page is yours, and nothing is fetched: robots.txt is
the file of -f, and without that the page alone is asked about. A URL is then
needed for -f only, and may be just /path.

How rules are read is that of the engine whose dialect it is, as its own page
says: with Google and Bing the more restrictive of two rules counts, with Yandex
the one that permits. With rfc9309 every rule counts that one of them documents.

A line of --format json has the members schema, url, name (of the directory),
agent, dialect, engine, crawl, index, follow, snippet (each with answer, reason
and rule), if_read (the last three of a page that may not be read), contradictions,
rules, verdict, page, and robots_url, outcome and note if the site was asked.

Exit status: 0 the page may be crawled and indexed; 1 something of that is shut;
2 bad use, unreadable input, a line of - that is no URL or interrupted; 3
undecided: the robots.txt or the page cannot be had, try again later.`,
		Example: `  robots page -a Googlebot https://example.com/list?sort=price
  robots page --as bingbot https://example.com/
  robots page --crawlers search https://example.com/
  robots page --html page.html --header 'X-Robots-Tag: noai, nofollow'
  robots page -f robots.txt --html page.html -a Googlebot /list?sort=price`,
		DisableFlagsInUseLine: true,
		RunE:                  c.run(status, c.answerAll),
	}
	f := cmd.Flags()
	f.SortFlags = false
	c.agentFlag(cmd)
	c.asFlag(cmd)
	c.eachFlags(cmd)
	f.StringVar(&c.html, "html", "", "take this `FILE` as the page, - for standard input")
	f.StringArrayVar(&c.headers, "header", nil, "take this `LINE` as a header of the page, as in\n'X-Robots-Tag: noindex'; repeat it for more")
	c.fileFlags(cmd)
	c.atFlag(cmd, "`TIME` time to judge at, such as 2026-01-31T18:00:00Z (for unavailable_after and outages)")
	c.site.register(cmd)
	c.site.registerLeased(cmd)
	registerFormat(cmd, &c.format, c.formats...)
	c.colourFlag(cmd)
	return cmd
}

// A pageAsker is a crawler that asks about a page.
type pageAsker struct {
	name    string // of the directory, or as it was given
	listed  bool   // it is one of the directory
	tokens  []string
	dialect robots.Dialect
	verdict robots.Verdict
	shutAt  string // the redirect at which the verdict fell, "" for the page itself
	outlook indexing.Outlook
	ifRead  *indexing.Outlook // of a page that is known and may not be read
}

func (c *pageCall) answerAll(ctx context.Context) (int, error) {
	if err := c.arguments(); err != nil {
		return exitBad, err
	}
	if err := c.open(); err != nil {
		return exitBad, err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	status := exitAllowed
	all, err := c.answer(ctx, func(p *page) error {
		s, err := c.answerPage(ctx, p)
		status = max(status, s)
		return err
	})
	if all == exitBad {
		return exitBad, err
	}
	return status, nil
}

// arguments finds out where the page comes from.
func (c *pageCall) arguments() (err error) {
	if !c.given("html") && len(c.headers) == 0 {
		if !c.fetches {
			return errors.New("with -f nothing is fetched: give the page with --html FILE or --header LINE")
		}
		return nil
	}
	if err := c.site.unused("with --html or --header"); err != nil {
		return err
	}
	c.noFile = c.fetches
	c.fetches = false
	switch {
	case c.given("html") && c.html == "":
		return errors.New("the name after --html is empty")
	case len(c.args) > 1:
		return fmt.Errorf("unexpected argument %q: --html and --header are one page", clip(c.args[1]))
	case len(c.args) == 1 && c.args[0] == "-":
		return errors.New("--html and --header are one page: name its URL, or leave it out")
	case c.html == "-" && c.fileName == "-":
		return errors.New("standard input can be read only once")
	case len(c.args) == 0 && !c.noFile:
		return errors.New("no URL given: name the page that robots.txt is asked about")
	case len(c.args) == 0:
		c.args, c.noURL = []string{"/"}, true
	}
	header := http.Header{}
	for _, line := range c.headers {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t") {
			return fmt.Errorf("--header %s is no header such as 'X-Robots-Tag: noindex'", strconv.Quote(clip(line)))
		}
		header.Add(name, strings.TrimSpace(value))
	}
	var body []byte
	if c.html != "" {
		if body, _, err = c.readNamed(c.html); err != nil {
			return err
		}
	}
	c.ours = indexing.Parse(header, body)
	if len(body) > 0 && !c.ours.HTML {
		c.warn("the file of --html is not read: Content-Type is %s, which is not HTML", strconv.Quote(clip(header.Get("Content-Type"))))
	}
	if c.noFile {
		c.file = robots.Parse(nil)
	}
	return nil
}

func (c *pageCall) rulesOf(i int) *ruleSet {
	if c.askers == nil {
		return c.rules[0]
	}
	return c.askers.rules[i]
}

func (c *pageCall) pathOf(p *page, i int) robots.Path {
	if c.askers == nil {
		return p.paths[0]
	}
	return c.pathFor(p.paths, i)
}

// whoAsks returns the crawlers with their verdicts on the page under way.
func (c *pageCall) whoAsks(p *page) (who []pageAsker) {
	if c.askers == nil {
		w := pageAsker{tokens: c.rules[0].Tokens(), dialect: c.dialects[0], name: strings.Join(c.agents, ", else ")}
		if c.as != "" {
			e, _ := crawlers.Find(c.as)
			w.name, w.listed, w.tokens = e.Name, true, ownTokens(e)
		}
		who = []pageAsker{w}
	} else {
		for _, e := range c.askers.list {
			known, listed := crawlers.Find(e.Name)
			who = append(who, pageAsker{name: e.Name, listed: listed && known.Name == e.Name, tokens: ownTokens(e), dialect: e.ReadAs()})
		}
	}
	for i := range who {
		who[i].verdict = c.rulesOf(i).Match(c.pathOf(p, i))
	}
	return who
}

// ownTokens are those of a crawler without that of a rival, whose group it obeys in
// robots.txt and whose meta tags nobody says that it reads.
func ownTokens(e crawlers.Crawler) []string {
	return slices.DeleteFunc(slices.Clone(e.Tokens), func(t string) bool { return e.Rival != "" && strings.EqualFold(t, e.Rival) })
}

// answerPage asks about one page, and returns its status.
func (c *pageCall) answerPage(ctx context.Context, p *page) (status int, err error) {
	who := c.whoAsks(p)
	got := fetchedPage{page: c.ours, urls: []string{p.url}}
	if c.ours == nil {
		if got, err = c.fetchFor(ctx, p, who); err != nil {
			return exitBad, err
		}
	}
	at := c.moment()
	for i := range who {
		w := &who[i]
		verdict := &w.verdict
		if c.noFile {
			verdict = nil
		}
		engine := indexing.EngineOf(w.dialect)
		w.outlook = got.page.Outlook(verdict, at, engine, w.tokens...)
		if got.page != nil && w.outlook.Crawl.Is == indexing.No {
			o := got.page.Outlook(nil, at, engine, w.tokens...)
			w.ifRead = &o
		}
		status = max(status, statusOfOutlook(&w.outlook))
	}
	switch c.format {
	case formatJSON:
		err = c.writeJSON(p, &got, who)
	case formatCSV:
		err = c.writeRows(p, &got, who)
	default:
		c.print(p, &got, who)
	}
	c.answers++
	return status, err
}

// fetchFor fetches a page for the first of those who ask that may fetch it, and all its
// redirects. Where a redirect keeps one out another may go on.
func (c *pageCall) fetchFor(ctx context.Context, p *page, who []pageAsker) (got fetchedPage, err error) {
	got.urls = []string{p.url}
	_ = c.std.out.Flush() // what is answered is shown while this waits; the last flush reports its error
	for i := range who {
		if !who[i].verdict.Allowed {
			continue
		}
		tokens := c.rulesOf(i).Tokens()
		if len(tokens) == 0 { // robots.txt does not name it, so its rules are those of all others
			tokens = c.askers.list[i].Tokens
		}
		got = c.live.fetchPage(ctx, p.url, who[i].dialect, tokens)
		if err := c.hops(ctx, &got, who); err != nil {
			return got, err
		}
		if _, disallowed := errors.AsType[*polite.DisallowedError](got.err); !disallowed {
			break
		}
	}
	if ctx.Err() != nil {
		return got, errInterrupted
	}
	return got, nil
}

// statusOfOutlook returns the exit status of an answer. Where no robots.txt is given
// the page alone decides.
func statusOfOutlook(o *indexing.Outlook) int {
	switch {
	case o.Crawl.Reason == indexing.Undecided:
		return exitUndecided
	case o.Crawl.Is == indexing.No:
		return exitDisallowed
	case o.Index.Is == indexing.Unsure:
		return exitUndecided
	case o.Index.Is != indexing.Yes:
		return exitDisallowed
	}
	return exitAllowed
}
