package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/indexing"
	"github.com/spf13/cobra"
)

// A pageCommand is one run of robots page.
type pageCommand struct {
	*judgeFlags
	j       *judge
	html    string
	headers []string

	local  *indexing.Page // of --html and --header, nil if the page is fetched
	noURL  bool
	status int // the worst so far
}

func newPage(std *screen.Streams) *cobra.Command {
	p := &pageCommand{judgeFlags: newJudgeFlags(std)}
	cmd := &cobra.Command{Use: "page", RunE: p.run(p.check)}
	f := cmd.Flags()
	p.crawlerFlags.register(cmd, true)
	p.registerPurpose(cmd)
	f.StringVar(&p.html, "html", "", "`FILE` HTML of the page, - for standard input")
	f.StringArrayVar(&p.headers, "header", nil, "`LINE` header of the page, such as 'X-Robots-Tag: noindex' (repeat for more)")
	p.registerFile(cmd, &p.file)
	f.StringVar(&p.urls, "urls", "", "`FILE` list, CSV, sitemap or access log to read URLs from")
	p.formatFlag(cmd)
	p.site.register(cmd)
	p.site.pages = true
	registerMaxBytes(cmd, &p.maxBytes)
	timeFlag(cmd, &p.at, "`TIME` time to judge at, such as 2026-01-31T18:00:00Z, for unavailable_after and outages")
	p.colorFlag(cmd)
	return cmd
}

// A pageVerdict is the result for one crawler.
type pageVerdict struct {
	answer.Crawler
	rules     *robots.Rules   // of the site of the page
	verdict   *robots.Verdict // nil without a robots.txt
	blockedAt string          // the redirect that is blocked, "" for the page itself
	outlook   answer.Outlook
}

func (p *pageCommand) check(ctx context.Context) (int, error) {
	if err := p.readPage(); err != nil {
		return exitBad, err
	}
	j, urls, err := p.open(ctx)
	if err != nil {
		return exitBad, err
	}
	p.j = j
	defer j.live.Close()
	if status, err := j.each(ctx, urls, p.checkURL); status == exitBad {
		return status, err
	}
	return p.status, nil // of the pages; the other is that of robots.txt alone
}

// readPage reads the page of --html and --header.
func (p *pageCommand) readPage() (err error) {
	if !p.given("html") && len(p.headers) == 0 {
		if p.given("file") {
			return errors.New("-f needs the page too; add --html FILE or --header LINE")
		}
		return nil
	}
	p.noRobots = !p.given("file")
	if err := source.StdinOnce(p.html, p.file); err != nil {
		return err
	}
	if !ask.NamesSite(p.file) {
		if err := p.site.unused("with --html or --header"); err != nil {
			return err
		}
	}
	switch {
	case p.given("html") && p.html == "":
		return errors.New("empty file name")
	case len(p.args) > 1 || p.given("urls"):
		return errors.New("--html and --header describe one page; name one URL")
	case len(p.args) == 1 && p.args[0] == "-":
		return errors.New("--html and --header describe one page; name its URL, or omit it")
	case len(p.args) == 0 && !p.noRobots:
		return errors.New("no URL; name the page to check against robots.txt")
	case len(p.args) == 0:
		p.args, p.noURL = []string{"/"}, true
	}
	header := http.Header{}
	for _, line := range p.headers {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t") {
			return fmt.Errorf("invalid --header %q; write it as 'X-Robots-Tag: noindex'", clip(line))
		}
		header.Add(name, strings.TrimSpace(value))
	}
	var body []byte
	if p.html != "" {
		if body, _, err = p.reader().Text(p.html); err != nil {
			return err
		}
	}
	p.local = indexing.Parse(header, body)
	if len(body) > 0 && !p.local.HTML {
		p.warn("%s is ignored: Content-Type %q is not HTML", p.html, clip(header.Get("Content-Type")))
	}
	return nil
}

// results returns the crawlers with their verdicts on the current URL.
func (p *pageCommand) results() (list []pageVerdict) {
	for i, c := range p.j.crawlers {
		r := pageVerdict{Crawler: c, rules: p.j.rules[i].Rules}
		if !p.noRobots {
			r.verdict = new(p.j.verdicts[i])
		}
		list = append(list, r)
	}
	return list
}

// checkURL checks one page.
func (p *pageCommand) checkURL(ctx context.Context, t *urlTarget) error {
	list := p.results()
	got := fetchedPage{page: p.local}
	if p.noURL {
		t.url = ""
	}
	if p.local == nil {
		_ = p.std.Out.Flush() // show earlier results during the wait; the last flush reports its error
		got = p.fetch(ctx, t.raw, list)
		if ctx.Err() != nil {
			return screen.ErrInterrupted
		}
	}
	at := cmp.Or(p.at, p.std.Now())
	for i := range list {
		r := &list[i]
		r.outlook = answer.Page(r.rules, &r.Crawler, t.url, r.verdict, got.page, at)
		switch r.outlook.Index.Answer {
		case indexing.Yes:
		case indexing.Unsure:
			p.status = max(p.status, exitUndecided)
		default:
			p.status = max(p.status, exitDisallowed)
		}
	}
	if p.format == formatJSON {
		p.writePageJSON(&got, list)
	} else {
		p.writePage(t, &got, list)
	}
	return nil
}
